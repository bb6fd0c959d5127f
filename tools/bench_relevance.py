#!/usr/bin/env python3
"""How good the first results are, on judged collections, beside plain BM25 and PostgreSQL.

    ./dev bench relevance                        every relevance-* of the shared data
    ./dev bench relevance --weights '{"k1": 2}'  with other weights (see crates/search/src/weights.rs)
    ./dev bench relevance DIRECTORY...           other collections in the same form

nDCG@10, MAP (over the first 100), RR@10 and recall@100. Teia and plain Tantivy are asked by the same program;
PostgreSQL (ts_rank_cd over a stemmed vector, any word) runs in a cluster of its own in a temporary folder.
The reference figures are those of the collections' own README files. Results also go to target/bench/relevance.json.
"""

import argparse
import gzip
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHARED = pathlib.Path(os.environ.get("TEIA_SHARED", ROOT.parent / "shared"))
MEASURES = ("ndcg10", "map", "rr10", "recall100")

# BM25 with stemmer and stop words, as the README of each collection has it.
REFERENCES = {
    ("relevance-cranfield", "qrels-binary.txt"): {"ndcg10": 0.519, "map": 0.422, "recall100": 0.754},
    ("relevance-cranfield", "qrels.txt"): {"ndcg10": 0.370, "map": 0.306, "recall100": 0.735},
    ("relevance-faquad-pt", "qrels.txt"): {"ndcg10": 0.913, "rr10": 0.889},
    ("relevance-juris-tcu-pt", "qrels.txt"): {"ndcg10": 0.703, "map": 0.598, "rr10": 0.936},
}


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("directories", nargs="*", type=pathlib.Path)
    options.add_argument("--weights", default="{}")
    options.add_argument("--no-postgres", action="store_true")
    options = options.parse_args()
    directories = options.directories or sorted((SHARED / "data").glob("relevance-*"))
    if not directories:
        sys.exit(f"SKIPPED: no judged collections in {SHARED / 'data'}")
    subprocess.run(
        ["cargo", "build", "--release", "--workspace", "--example", "relevance"], cwd=ROOT, check=True
    )
    program = ROOT / "target/release/examples/relevance"
    output = subprocess.run(
        [program, *directories, "--weights", options.weights], check=True, capture_output=True, text=True
    ).stdout
    rows = [json.loads(line) for line in output.splitlines()]
    if not options.no_postgres:
        rows += postgres(directories)
    for (collection, judgements), figures in REFERENCES.items():
        if any(row["collection"] == collection for row in rows):
            rows.append({"collection": collection, "judgements": judgements, "system": "BM25 of the README", **figures})
    show(rows)
    out = ROOT / "target/bench"
    out.mkdir(parents=True, exist_ok=True)
    (out / "relevance.json").write_text(json.dumps(rows, indent=1))


def show(rows):
    behind = []
    for collection, judgements in dict.fromkeys((row["collection"], row["judgements"]) for row in rows):
        own = [row for row in rows if (row["collection"], row["judgements"]) == (collection, judgements)]
        print(f"\n### {collection}, {judgements}\n\n| system | nDCG@10 | MAP | RR@10 | recall@100 |\n|---|---|---|---|---|")
        for row in own:
            print("| " + " | ".join([row["system"], *(f"{row[m]:.4f}" if m in row else "" for m in MEASURES)]) + " |")
        teia = own[0]
        for row in own[1:]:
            if row["system"].startswith("teia"):
                continue
            behind += [
                f"{collection} {judgements}: {m} {teia[m]:.4f}, {row['system']} {row[m]:.4f}"
                for m in MEASURES
                if m in row and teia[m] < row[m]
            ]
    print("\nTeia is " + ("better than all of them on each." if not behind else "BEHIND:\n" + "\n".join(behind)))


# --- PostgreSQL ---


def postgres(directories):
    binaries = find_postgres()
    if binaries is None:
        print("SKIPPED PostgreSQL: not installed, and could not be installed", file=sys.stderr)
        return []
    folder = tempfile.mkdtemp(prefix="teia-pg-")
    as_owner = []
    if os.geteuid() == 0:
        # PostgreSQL does not run as root.
        shutil.chown(folder, "postgres", "postgres")
        as_owner = ["runuser", "-u", "postgres", "--"]
    run = lambda *command: subprocess.run([*as_owner, *command], check=True, capture_output=True, cwd="/")
    try:
        run(binaries / "initdb", "-D", f"{folder}/data", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8")
        settings = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off"
        run(binaries / "pg_ctl", "-D", f"{folder}/data", "-w", "-o", settings, "-l", f"{folder}/log", "start")
        try:
            return [row for directory in directories for row in ask_postgres(binaries, as_owner, folder, directory)]
        finally:
            run(binaries / "pg_ctl", "-D", f"{folder}/data", "-m", "immediate", "stop")
    except subprocess.CalledProcessError as error:
        print(f"SKIPPED PostgreSQL: {error.stderr.decode(errors='replace')[-400:]}", file=sys.stderr)
        return []
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def find_postgres():
    for attempt in range(2):
        found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"))
        if found:
            return found[-1].parent
        if attempt == 0 and subprocess.run([ROOT / "tools/install-packages.sh", "postgresql"]).returncode != 0:
            break
    return None


def ask_postgres(binaries, as_owner, folder, directory):
    language = "portuguese" if directory.name.endswith("-pt") else "english"
    quote = lambda text: "'" + text.replace("\0", "").replace("'", "''") + "'"
    script = ["\\set QUIET on", "\\pset tuples_only on", "\\pset format unaligned"]
    script.append("drop table if exists d; create table d (id text, v tsvector);")
    for line in documents(directory):
        whole = f"{line.get('title', '')}\n{line.get('text', '')}"
        script.append(f"insert into d values ({quote(line['id'])}, to_tsvector('{language}', {quote(whole)}));")
    script.append("create index on d using gin (v); analyze d;")
    queries = [json.loads(line) for line in (directory / "queries.jsonl").read_text().splitlines()]
    for query in queries:
        # Any of the words: what the query parser makes of them, with or in place of and.
        script.append(
            f"select {quote(query['id'])} || ' ' || id from (select id, ts_rank_cd(v, q, 1) as s from d, "
            f"(select replace(plainto_tsquery('{language}', {quote(query['text'])})::text, '&', '|')::tsquery as q) as t "
            "where v @@ q order by s desc, id limit 100) as best;"
        )
    output = psql(binaries, as_owner, folder, "\n".join(script))
    run = {}
    for line in output.splitlines():
        query, _, document = line.partition(" ")
        run.setdefault(query, []).append(document)
    for name in ("qrels-binary.txt", "qrels.txt"):
        if (directory / name).exists():
            figures = measure(run, judged(directory / name))
            yield {"collection": directory.name, "judgements": name, "system": "PostgreSQL", **figures}


def psql(binaries, as_owner, folder, script):
    command = [*as_owner, binaries / "psql", "-h", folder, "-d", "postgres", "-v", "ON_ERROR_STOP=1", "-f", "-"]
    done = subprocess.run(command, input=script.encode(), check=True, capture_output=True, cwd="/")
    return done.stdout.decode()


def documents(directory):
    plain = directory / "docs.jsonl"
    text = plain.read_text() if plain.exists() else gzip.decompress((directory / "docs.jsonl.gz").read_bytes()).decode()
    return [json.loads(line) for line in text.splitlines()]


def judged(path):
    judgements = {}
    for line in path.read_text().splitlines():
        query, _, document, gain = re.split(r"\s+", line.strip())
        judgements.setdefault(query, {})[document] = int(gain)
    return judgements


def measure(run, judgements):
    sums, queries = dict.fromkeys(MEASURES, 0.0), 0
    discounted = lambda gains: sum(gain / math.log2(rank + 2) for rank, gain in enumerate(gains[:10]))
    for query, judged_ones in judgements.items():
        relevant = sum(gain > 0 for gain in judged_ones.values())
        if relevant == 0:
            continue
        queries += 1
        gains = [max(judged_ones.get(document, 0), 0) for document in run.get(query, [])]
        sums["ndcg10"] += discounted(gains) / discounted(sorted(judged_ones.values(), reverse=True))
        hits = [rank for rank, gain in enumerate(gains) if gain > 0]
        sums["map"] += sum((n + 1) / (rank + 1) for n, rank in enumerate(hits)) / relevant
        sums["rr10"] += 1 / (hits[0] + 1) if hits and hits[0] < 10 else 0
        sums["recall100"] += len(hits) / relevant
    return {name: value / queries for name, value in sums.items()}


main()
