#!/usr/bin/env python3
"""How fast documents become searchable, how large the index is, and how long queries take, beside three databases.

    ./dev bench search                                     100,000 documents, 100 queries of each kind
    ./dev bench search --documents 5000 --queries 30       a trial of some minutes
    ./dev bench search --only teia,SQLite                  some of them
    ./dev bench search --only MariaDB --add                beside what earlier calls with as many documents gave

The documents are the HTML documentation of Debian packages (downloaded once; below target/bench/search, at most 6 GB
in all). MariaDB FULLTEXT, PostgreSQL (GIN on tsvector) and SQLite FTS5 get the same texts in the same run, one after
the other. The kinds of query are those of Fischer's Quadro 26, each cold (engine started anew, its files out of the
page cache, the first time that a query is asked; how long it took to open is said beside it) and warm (asked again, three times). On a machine that others use too,
the clock says little: processor time is given beside it. tools/search_peers.py says how each is set up. Results also go
to target/bench/search.json.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
sys.dont_write_bytecode = True
DRIVERS = ROOT / "target/tools/sql"
KINDS = {"any": "any word", "all": "all words", "not": "one, not the other", "phrase": "phrase"}
BOOLEAN = ("all", "not", "phrase")
WARM_PASSES = 3


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--documents", type=int, default=100_000)
    options.add_argument("--queries", type=int, default=100, help="of each kind")
    options.add_argument("--seconds", type=float, default=60, help="for one kind, engine and pass; what is left is said")
    options.add_argument("--only", default="", help="engines by the beginning of their names, with commas; `teia` is the one in the process")
    options.add_argument("--add", action="store_true", help="show the engines of earlier calls too: same documents, same queries")
    options.add_argument("--part", choices=["fill", "ask"], help="only fill, or ask what was filled before; with --add")
    options.add_argument("--keep", action="store_true", help="leave the filled engines in target/bench/search")
    options = options.parse_args()
    # The drivers live in an environment of their own.
    if not sys.executable.startswith(str(DRIVERS)):
        packages = ["mariadb-server-core", "postgresql"]
        subprocess.run([ROOT / "tools/install-packages.sh", *packages], check=True)
        subprocess.run([ROOT / "tools/sql-drivers.sh", DRIVERS], check=True)
        # By its whole name: only so does it know which environment it is of.
        python = str(DRIVERS / "bin/python")
        os.execv(python, [python, *sys.argv])
    build = ["cargo", "build", "--release", "--workspace", "--example", "search_bench", "--example", "documents"]
    subprocess.run(build, cwd=ROOT, check=True)
    examples = ROOT / "target/release/examples"
    program = examples / "search_bench"

    import search_corpus

    folder = ROOT / "target/bench/search"
    corpus, packages = search_corpus.build(folder, options.documents, examples / "documents")
    queries = drawn(folder, corpus, options)
    engines = folder / "engines"
    results = ROOT / "target/bench/search.json"
    asked = {"documents": options.documents, "queries": options.queries, "packages": packages}
    known = json.loads(results.read_text()) if options.add and results.exists() else asked | {"engines": []}
    if any(known.get(name) != value for name, value in asked.items()):
        sys.exit(f"{results} is of other documents or queries: leave --add away")
    rows = {row["name"]: row for row in known["engines"]}
    keeps = options.keep or options.part == "fill"
    if not options.part:
        shutil.rmtree(engines, ignore_errors=True)
    try:
        for engine in chosen(engines, program, options.only):
            rows[engine.name] = measure(engine, corpus, options, queries, rows.get(engine.name))
            # Space for the next: only our own index is asked again.
            if not keeps and not engine.name.startswith("teia"):
                shutil.rmtree(engine.folder, ignore_errors=True)
    finally:
        if not keeps and not options.part:
            shutil.rmtree(engines, ignore_errors=True)
    rows = list(rows.values())
    results.write_text(json.dumps(asked | {"engines": rows}, indent=1))
    if all(row["latency"] for row in rows):
        show(rows, packages, options)


def drawn(folder, corpus, options):
    """The queries, drawn once for a number of documents and of queries: calls for one engine each ask the same."""
    import search_corpus

    kept = folder / f"queries-{options.documents}-{options.queries}.json"
    if not kept.exists():
        kept.write_text(json.dumps(search_corpus.draw_queries(corpus, options.documents, options.queries), indent=0))
    return json.loads(kept.read_text())


def chosen(folder, program, only):
    """One engine after the other, made when its turn comes."""
    import search_peers as peers

    wanted = [name.strip().lower() for name in only.split(",") if name.strip()]
    # `teia` alone is not `teia over HTTP`.
    fits = lambda name, word: name == word or (word != "teia" and name.startswith(word))
    is_wanted = lambda name: not wanted or any(fits(name.lower(), word) for word in wanted)
    index = folder / "teia/index"
    makers = [
        (peers.Teia, lambda: peers.Teia(folder / "teia", program)),
        (peers.TeiaCold, lambda: peers.TeiaCold(folder / "teia", program)),
        (peers.TeiaServer, lambda: peers.TeiaServer(folder / "http", program, ROOT / "target/release/teia", index)),
        (peers.Sqlite, lambda: peers.Sqlite(folder / "sqlite")),
        (peers.Postgres, lambda: peers.Postgres(folder / "postgres")),
        (peers.MariaDb, lambda: peers.MariaDb(folder / "mariadb")),
    ]
    for kind, make in makers:
        if is_wanted(kind.name):
            yield make()


def measure(engine, corpus, options, queries, known):
    row = known if options.part == "ask" else {"name": engine.name, "latency": {}}
    try:
        if engine.fills and options.part != "ask":
            print(f"{engine.name}: indexing", file=sys.stderr)
            row["fill_seconds"] = engine.fill(corpus, options.documents)
            row["documents_per_second"] = options.documents / row["fill_seconds"]
            row["fill_worked_ms"] = engine.fill_worked * 1e3 / options.documents
            whole, index = engine.sizes()
            row["bytes_per_document"] = whole / options.documents
            row["index_bytes_per_document"] = index / options.documents
            print(f"  {row['documents_per_second']:.0f} documents/s", file=sys.stderr)
        for kind in KINDS if options.part != "fill" else ():
            asked = [engine.query(kind, words) for words in queries[kind]]
            engine.restart_cold()
            cold, found = one_pass(engine, asked, options.seconds)
            warm = []
            for _ in range(WARM_PASSES):
                warm += one_pass(engine, asked[: len(cold)], options.seconds)[0]
            row["latency"][kind] = {"asked": len(cold), "found": found}
            for moment, times in (("cold", cold), ("cold_work", cold), ("warm", warm), ("work", warm)):
                own = [time[moment.endswith("work")] for time in times]
                row["latency"][kind] |= {f"{moment}_p50": percentile(own, 50), f"{moment}_p99": percentile(own, 99)}
            print(f"  {kind}: {json.dumps(row['latency'][kind])}", file=sys.stderr)
        row["round_trip"] = engine.round_trip
        row["opened"] = engine.opened
    finally:
        engine.stop()
    return row


def one_pass(engine, queries, seconds):
    """Times of the queries by the clock and by the processor, as many as fit into the time, at least one; and how many found something."""
    times, found, until = [], 0, time.monotonic() + seconds
    for query in queries:
        taken, worked, rows = engine.timed(query)
        times.append((taken, worked))
        found += rows > 0
        if time.monotonic() > until:
            break
    return times, found


def percentile(times, share):
    ordered = sorted(times)
    return ordered[max(0, -(-len(ordered) * share // 100) - 1)]


def show(rows, packages, options):
    print(f"\n{options.documents:,} documents of {sum(packages.values()):,}: ", end="")
    print(", ".join(f"{name} {count:,}" for name, count in packages.items()))
    heads = ["documents/s", "CPU ms a document", "bytes a document, text and all", "of the index alone"]
    print("\n| | " + " | ".join(heads) + " |\n|---|--:|--:|--:|--:|")
    for row in rows:
        if "fill_seconds" in row:
            figures = [row["bytes_per_document"], row["index_bytes_per_document"]]
            print(f"| {row['name']} | {row['documents_per_second']:,.0f} | {row['fill_worked_ms']:.2f} | ", end="")
            print(" | ".join(f"{figure:,.0f}" for figure in figures) + " |")
    print("\nMilliseconds, p50 / p99; in brackets the queries that found something, of those asked.")
    print("\n| kind | " + " | ".join(row["name"] for row in rows) + " |\n|---|" + "--:|" * len(rows))
    if any(row.get("opened") for row in rows):
        seconds = [[1e3 * each for each in row.get("opened") or ()] for row in rows]
        cells = [f"{min(times):.0f} to {max(times):.0f}" if times else "" for times in seconds]
        print("| from its start until it can be asked, cold | " + " | ".join(cells) + " |")
    for kind, name in KINDS.items():
        for moment in ("cold", "cold_work", "warm", "work"):
            cells = []
            for row in rows:
                times = row["latency"][kind]
                cell = f"{times[moment + '_p50'] * 1e3:.2f} / {times[moment + '_p99'] * 1e3:.2f}"
                if moment == "cold":
                    cell += f" ({times['found']} of {times['asked']})"
                cells.append(cell)
            shown = {"work": "warm, CPU", "cold_work": "cold, CPU"}.get(moment, moment)
            print(f"| {name}, {shown} | " + " | ".join(cells) + " |")
    trips = [f"{row['name']} {row['round_trip'] * 1e3:.2f} ms" for row in rows if row.get("round_trip")]
    if trips:
        print(f"\nAn empty question and answer, taken off above: {', '.join(trips)}.")
    goals(rows)


def goals(rows):
    """Each goal, what it came to, and whether it is met."""
    own = next((row for row in rows if row["name"] == "teia"), None)
    others = [row for row in rows if not row["name"].startswith("teia")]
    if not own or not others:
        return
    print("\n| goal | | |\n|---|---|---|")
    best = max(others, key=lambda row: row["documents_per_second"])
    times = own["documents_per_second"] / best["documents_per_second"]
    print(verdict("indexing at least 5 times the best of them", f"{times:.1f} times {best['name']}", times >= 5))
    least = min(others, key=lambda row: row["fill_worked_ms"])
    times = least["fill_worked_ms"] / own["fill_worked_ms"]
    print(verdict("the same by processor time", f"{times:.1f} times {least['name']}", times >= 5))
    for kind in BOOLEAN:
        for moment in ("warm", "work", "cold", "cold_work"):
            key = f"{moment}_p99"
            best = min(others, key=lambda row: row["latency"][kind][key])
            times = best["latency"][kind][key] / max(own["latency"][kind][key], 1e-9)
            named = {"work": "warm, by processor time", "cold_work": "cold, by processor time"}.get(moment, moment)
            what = f"{KINDS[kind]}, {named}: p99 at least 20 times better than the best of them"
            print(verdict(what, f"{times:.1f} times {best['name']}", times >= 20))
    phrase = own["latency"]["phrase"]["work_p99"]
    slowest = max(own["latency"][kind]["work_p99"] for kind in KINDS if kind != "phrase")
    said = f"CPU p99 {phrase * 1e3:.2f} ms; the slowest other kind {slowest * 1e3:.2f} ms"
    print(verdict("phrase never the slow case", said, phrase <= slowest))


def verdict(goal, figure, is_met):
    return f"| {goal} | {figure} | {'PASS' if is_met else 'MISS'} |"


main()
