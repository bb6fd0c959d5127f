#!/usr/bin/env python3
"""The store of URLs beside DRUM, RocksDB and a set in memory, over one stream of links.

    ./dev bench repository                         to 10 million URLs, all stores: about 20 minutes
    ./dev bench repository --urls 350000000        the whole experiment: hours, and about 20 GB of disk
    ./dev bench repository --urls 2000000 --cycles 3 --only teia,drum    a trial: a minute
    ./dev bench repository --only teia --keep --urls 100000000 --at 100000000 --cycles 0    a part of a long fill
    ./dev bench repository --only teia --latency   how long the calls on the caller's thread take
    ./dev bench repository --drain                 one host of 1 and of 10 million URLs, drained by priority and by due date
    ./dev bench repository --sweep                 block size, delay, window, memory and more, one at a time
    ./dev bench repository --sweep delay,window --urls 50000000    some of them only, at a size that can judge them
    ./dev bench repository --from FILE…            the table and the curves again, from what was written before

Each store alone, in a fresh folder that is removed before the next (or left, with --keep, and gone on with by the next
call). Teia is filled by cycles of a million new URLs; the others take the same URLs in by their quickest way: DRUM's
sorted table is written at once, RocksDB takes in sorted files. At 1, 10, 50, 100, 200 and 350 million (as far as --urls
goes; RocksDB to 50 only, which is where its goal is) crawl cycles are measured: 100,000 URLs taken out and their states
written, 900,000 links offered, about three in four of them met before; with --settle after some crawl cycles that are
not measured; and with --cold some more, each after the store's files were dropped from the system's cache. Of the DRUM
that merges every 64 cycles 64 are measured. Teia alone takes the 100,000 out of host windows, and folds beside
the next cycle; the others are given them. Links are made while the store rests, so that all it does in the background
is counted. What each store calls new is counted and summed, and must agree with the generator's own count. Bytes are
those asked of the system, in MB. Wall clock depends on what else the machine does: compare within one run. All
that was measured, cycle by cycle, is written to target/bench/repository.json, curves to target/bench/repository-*.svg,
and with --publish to docs/bench/.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import threading

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = ROOT / "target/bench"
DOCS = ROOT / "docs/bench"
PROGRAM = ROOT / "target/release/examples/bench_repository"
HELPER = OUT / "bench-rocksdb"
# Beyond this many URLs nothing is asked of it, and its files would take too much disk.
MOST_ROCKSDB = 50_000_000
# Seconds that the other stages of a crawl take for 100,000 pages, in VEUNI's second experiment.
OTHER_STAGES = 270
STORES = ["teia", "teia-filter", "teia-recent", "drum", "drum64", "rocksdb", "memory"]
MILLION = 1_000_000
POINTS = [MILLION, 10 * MILLION, 50 * MILLION, 100 * MILLION, 200 * MILLION, 350 * MILLION]
VEUNI = {1: 1.35, 50: 2.60, 100: 3.53, 200: 6.11, 350: 9.07}

# One setting at a time, beside the defaults. The delay that is reached at a size follows from delay, scan-rows and
# waiting-share together.
SWEEP = {
    "block-bytes": [16 << 20, 32 << 20, 128 << 20],
    "delay": [4, 16, 64],
    "scan-rows": [500_000, 6_000_000],
    "waiting-share": [10, 50],
    "memory": [64 << 20, 256 << 20, 1 << 30],
    "compact-share": [1, 3],
    "page-bytes": [8 << 10, 32 << 10],
    "base-packing": ["1", "3"],
    "small-packing": ["no", "1"],
    "pending-packing": ["no", "1"],
    "threads": [1],
    "recent-links": [4 << 20],
}
WINDOWS = [100, 10_000]


def main():
    options = parse_options()
    OUT.mkdir(parents=True, exist_ok=True)
    if options.from_files:
        return conclude([record for path in options.from_files for record in records_of(path)], options)
    subprocess.run(
        ["cargo", "build", "--release", "-p", "teia-repository", "--example", "bench_repository"], cwd=ROOT, check=True
    )
    if options.drain:
        return drain(options)
    if options.sweep:
        options.at = [options.urls]
        return sweep(options)
    names = options.only
    helper = build_helper() if "rocksdb" in names else None
    if "rocksdb" in names and helper is None:
        print("SKIPPED: rocksdb, because there is no librocksdb-dev (apt-get install librocksdb-dev)", flush=True)
        names = [name for name in names if name != "rocksdb"]
    records = []
    for name in names:
        records += run(name, options, helper)
        save(records, options)
    return conclude(records, options)


def records_of(path):
    """What was written before: a result, or a log with a record on each line."""
    text = path.read_text()
    if path.suffix == ".log":
        return [json.loads(line) for line in text.splitlines()]
    return json.loads(text)["records"]


def conclude(records, options):
    points = [record for record in records if record["kind"] == "point"]
    print_table(points)
    print_veuni(points)
    print()
    failures = print_goals(points, records)
    draw(points, OUT)
    if options.publish:
        DOCS.mkdir(parents=True, exist_ok=True)
        draw(points, DOCS)
    print(f"\nall points: {(OUT / 'repository.json').relative_to(ROOT)}")
    return 1 if failures else 0


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--urls", type=int, default=10 * MILLION, help="fill up to so many")
    parser.add_argument("--cycles", type=int, default=10, help="crawl cycles measured at each size")
    parser.add_argument("--cold", type=int, default=0, help="cycles with a cold cache measured at each size")
    parser.add_argument("--settle", type=int, default=0, help="crawl cycles before those that are measured")
    parser.add_argument("--at", type=lambda text: [int(size) for size in text.split(",")], help="measure at these sizes only")
    parser.add_argument(
        "--keep",
        nargs="?",
        const="yes",
        default="no",
        choices=["no", "yes", "last"],
        help="go on with what is there, and leave it there; with 'last', end it and check everything",
    )
    parser.add_argument("--latency", action="store_true", help="time each call of Teia's")
    parser.add_argument(
        "--drain",
        nargs="?",
        const="1000000,10000000",
        help="drain hosts of so many URLs by windows: bytes read for each URL, by tenth",
    )
    parser.add_argument("--window", type=int, default=1000, help="URLs asked of a host at once")
    parser.add_argument("--only", type=lambda text: text.split(","), default=STORES, help=f"some of {','.join(STORES)}")
    parser.add_argument("--set", action="append", default=[], help="a setting of the store: key=number")
    parser.add_argument("--folder", type=pathlib.Path, default=OUT / "repository", help="where the stores are made")
    parser.add_argument("--timeout", type=int, default=6 * 3600, help="seconds for one store")
    parser.add_argument(
        "--sweep",
        nargs="?",
        const=[*SWEEP, "window"],
        type=lambda text: text.split(","),
        help="vary the settings, one at a time; or only these",
    )
    parser.add_argument("--publish", action="store_true", help="write the curves to docs/bench as well")
    parser.add_argument("--from", dest="from_files", nargs="+", type=pathlib.Path, help="results that were written before")
    options = parser.parse_args()
    unknown = [name for name in options.only if name not in STORES]
    if unknown:
        parser.error(f"there is no store {unknown[0]}; there is: {', '.join(STORES)}")
    unknown = [key for key in options.sweep or [] if key not in SWEEP and key != "window"]
    if unknown:
        parser.error(f"there is no setting {unknown[0]} to sweep; there is: {', '.join([*SWEEP, 'window'])}")
    return options


def drain(options):
    """One host with very many URLs, emptied in order: what is read for each of them, from the first to the last."""
    command = [PROGRAM, "--drain", options.drain, "--folder", options.folder]
    environment = {**os.environ, "MIMALLOC_PURGE_DELAY": "0"}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment, timeout=options.timeout, check=True)
    rows = [record for record in map(json.loads, done.stdout.splitlines()) if record["kind"] == "drain"]
    print("| order | URLs of the host (M) | bytes read for a URL, by tenth | in order | longest window s | memory MiB |")
    print("|---|--:|---|--:|--:|--:|")
    missed = False
    for name in ["priority", "due date"]:
        for size in sorted({row["urls"] for row in rows}):
            mine = [row for row in rows if row["order"] == name and row["urls"] == size]
            right = sum(row["right"] * row["taken"] for row in mine) / size
            tenths = ", ".join(f"{row['bytes']:.0f}" for row in mine)
            longest = max(row["longest"] for row in mine)
            print(f"| {name} | {size / MILLION:g} | {tenths} | {right:.2%} | {longest:.2f} | {mine[-1]['memory_mib']:.0f} |")
            missed |= right < 0.99 or sum(row["taken"] for row in mine) != size
    print("MISSED" if missed else "met   ", "all of them, and at least 99 % in the right order")
    return 1 if missed else 0


def build_helper():
    """The little C program over the system's RocksDB; none where that is missing."""
    if shutil.which("cc") is None:
        return None
    built = subprocess.run(
        ["cc", "-O2", "-o", HELPER, ROOT / "tools/bench-rocksdb.c", "-lrocksdb"], capture_output=True, check=False
    )
    return HELPER if built.returncode == 0 else None


def run(name, options, helper=None, settings=(), quiet=False):
    sizes = options.at or [size for size in POINTS if size < options.urls] + [options.urls]
    if name == "rocksdb":
        sizes = [size for size in sizes if size <= MOST_ROCKSDB]
    if not sizes:
        return []
    command = [PROGRAM, "--sizes", ",".join(map(str, sizes)), "--cycles", str(options.cycles), "--only", name]
    command += ["--settle", str(options.settle), "--keep", options.keep]
    command += ["--latency", "yes" if options.latency else "no"]
    command += ["--window", str(options.window), "--cold", str(options.cold), "--folder", options.folder]
    for setting in [*options.set, *settings]:
        command += ["--set", setting]
    if helper:
        command += ["--rocksdb", helper]
    records = []
    # As the program does: what is freed is given back at once.
    environment = {**os.environ, "MIMALLOC_PURGE_DELAY": "0"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    timer = threading.Timer(options.timeout, process.kill)
    timer.start()
    try:
        for line in process.stdout:
            record = json.loads(line)
            record["load"] = os.getloadavg()[0]
            records.append(record)
            with (OUT / "repository.log").open("a") as log:
                log.write(json.dumps(record) + "\n")
            if not quiet and record["kind"] == "point":
                print(line_of(record), flush=True)
        if process.wait() != 0:
            print(f"FAILED: {name} ended with {process.returncode}", flush=True)
            records.append({"kind": "failed", "store": name})
    finally:
        timer.cancel()
        if process.poll() is None:
            process.kill()
        if options.keep != "yes":
            shutil.rmtree(options.folder, ignore_errors=True)
    return records


def millions(point):
    """The size that was aimed at: cycles of a million seldom end on it exactly."""
    nearest = min(POINTS, key=lambda size: abs(size - point["urls"]))
    return round((nearest if abs(nearest - point["urls"]) <= MILLION else point["urls"]) / MILLION)


def line_of(point):
    return (
        f"{point['store']:12} {point['urls'] / MILLION:6.1f} M  wall {point['wall']:6.2f} s  CPU {point['cpu']:5.2f} s  "
        f"longest {point['longest']:6.2f} s  read {point['read_mb']:7.0f} MB  written {point['written_mb']:7.0f} MB  "
        f"{point['bytes_per_url']:5.1f} B/URL  at once {100 * point['at_once']:5.1f} %  memory {memory(point):5.0f} MiB"
    )


def memory(point):
    """Without what the generator holds; the filter is counted apart."""
    return point["memory_mib"] - point["apart_mib"]


def print_table(points):
    print("\n| store | URLs (M) | wall s | longest s | CPU s | read MB | written MB | device MB | memory MiB | apart MiB | B/URL | new at once | all new: wall s | CPU s | cold: wall s | CPU s |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    for p in points:
        print(
            f"| {p['store']} | {p['urls'] / MILLION:.1f} | {p['wall']:.2f} | {p['longest']:.2f} | {p['cpu']:.2f} | "
            f"{p['read_mb']:.0f} | {p['written_mb']:.0f} | {p['device_mb']:.0f} | {memory(p):.0f} | {p['apart_mib']:.0f} | "
            f"{p['bytes_per_url']:.1f} | {100 * p['at_once']:.1f} % | {p['fill_wall']:.2f} | {p['fill_cpu']:.2f} | {p['cold_wall']:.2f} | {p['cold_cpu']:.2f} |"
        )


def print_veuni(points):
    """Beside VEUNI's published seconds for a cycle; another machine, another year, and no same delay."""
    ours = {millions(p): p for p in points if p["store"] == "teia"}
    both = [size for size in VEUNI if size in ours]
    if both:
        print("\n| URLs (M) | VEUNI, published s per cycle | here, crawl cycle s | here, all-new cycle s (mean of the last 8 before) |")
        print("|--:|--:|--:|--:|")
        for size in both:
            print(f"| {size} | {VEUNI[size]} | {ours[size]['wall']:.2f} | {ours[size]['fill_wall']:.2f} |")
        print_whole_crawl(ours)
    for p in points:
        for name, calls in p.get("latency", {}).items():
            print(
                f"{p['store']} at {millions(p)} M, {name}: {calls['calls']} calls, 99 of 100 within {calls['p99_ms']:.4f} ms, "
                f"the longest {calls['longest_ms']:.1f} ms"
            )


def print_whole_crawl(ours):
    """VEUNI's second experiment: the other stages take 270 s for 100,000 pages, and then the cycle comes, as if nothing
    of it went on beside them."""
    rates = {size: 100_000 / (OTHER_STAGES + point["wall"]) for size, point in sorted(ours.items())}
    print("\n| URLs (M) | pages/s of a whole crawl |\n|--:|--:|")
    for size, rate in rates.items():
        print(f"| {size} | {rate:.2f} |")
    first, *_, last = [*rates.values(), *rates.values()]
    print(f"\nfrom the first size to the last it falls by {100 * (1 - last / first):.2f} % (VEUNI's fell by 1.3 %)")


def print_goals(points, records):
    """The goals as ratios within this run; returns how many stores of ours disagreed with the generator."""
    at = {(p["store"], millions(p)): p for p in points}
    sizes = sorted({size for _, size in at})
    failures = 0
    for record in records:
        if record["kind"] == "end":
            agrees = record["agrees"]
            failures += record["store"].startswith("teia") and not agrees
            print(f"{'met   ' if agrees else 'MISSED'} {record['store']}: {record['new']} called new, {record['distinct']} were")
        elif record["kind"] == "failed":
            failures += 1

    def ratio(what, size, other, field, most):
        ours, theirs = at.get(("teia", size)), at.get((other, size))
        if ours and theirs and theirs[field] > 0:
            value = ours[field] / theirs[field]
            judge(f"{what} at {size} M: {value:.2f} times {other}'s, at most {most:.2f}", value <= most)

    for size in sizes:
        for limit, most in [(100, 1 / 3), (350, 1 / 10)]:
            if size == limit:
                ratio("wall", size, "drum", "wall", most)
        if size == 350:
            ours, drum = at.get(("teia", size)), at.get(("drum", size))
            if ours and drum:
                moved = (ours["read_mb"] + ours["written_mb"]) / (drum["read_mb"] + drum["written_mb"])
                judge(f"bytes moved at {size} M: {moved:.3f} times drum's, at most 0.02", moved <= 0.02)
        if size == 50:
            ratio("wall", size, "rocksdb", "wall", 1 / 5)
            ratio("CPU", size, "rocksdb", "cpu", 1 / 4)
            ratio("wall with a cold cache", size, "rocksdb", "cold_wall", 1 / 15)
        if size not in (50, 100, 350):
            for other in ("drum", "rocksdb"):
                ours, theirs = at.get(("teia", size)), at.get((other, size))
                if ours and theirs:
                    print(
                        f"       at {size} M (no goal): wall {ours['wall'] / theirs['wall']:.2f}, "
                        f"CPU {ours['cpu'] / theirs['cpu']:.2f}, bytes moved "
                        f"{(ours['read_mb'] + ours['written_mb']) / max(1, theirs['read_mb'] + theirs['written_mb']):.3f} times {other}'s"
                    )
        if size >= 64:
            ratio("wall against the same delay", size, "drum64", "wall", 1.0)
            ratio("longest cycle against the same delay", size, "drum64", "longest", 1 / 5)
        elif ("drum64", size) in at:
            print(f"       at {size} M drum64 has not merged once: no comparison at the same delay")
        for name in ("teia", "teia-filter"):
            ours = at.get((name, size))
            if ours:
                judge(f"{name}, bytes a URL at {size} M: {ours['bytes_per_url']:.1f}, at most 36", ours["bytes_per_url"] <= 36)
                judge(f"{name}, memory at {size} M: {memory(ours):.0f} MiB, at most 512", memory(ours) <= 512)
        filtered = at.get(("teia-filter", size))
        if filtered:
            share = filtered["at_once"]
            judge(f"new URLs known at once with the filter at {size} M: {100 * share:.1f} %, at least 98", share >= 0.98)
    low, high = at.get(("teia", 50)), at.get(("teia", 350))
    if low and high:
        judge(f"cost from 50 to 350 M: {high['cpu'] / low['cpu']:.2f} times the CPU, at most 2", high["cpu"] <= 2 * low["cpu"])
    else:
        print("       growth from 50 to 350 M: not measured in this run")
    return failures


def judge(text, met):
    print(f"{'met   ' if met else 'MISSED'} {text}")


def sweep(options):
    """One setting at a time; wall is noisy, so CPU and bytes come first."""
    rows = []
    print(
        "| setting | CPU s | wall s | longest s | read MB | written MB | memory MiB | B/URL | all new: CPU s |\n"
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
        flush=True,
    )

    def measure(name, settings=()):
        points = [record for record in run("teia", options, settings=settings, quiet=True) if record["kind"] == "point"]
        if points:
            p = points[-1]
            rows.append((name, p))
            print(
                f"| {name} | {p['cpu']:.2f} | {p['wall']:.2f} | {p['longest']:.2f} | {p['read_mb']:.0f} | "
                f"{p['written_mb']:.0f} | {memory(p):.0f} | {p['bytes_per_url']:.1f} | {p['fill_cpu']:.2f} |",
                flush=True,
            )

    measure("defaults")
    for key in options.sweep:
        for value in SWEEP.get(key, []):
            measure(f"{key}={value}", [f"{key}={value}"])
    for window in WINDOWS if "window" in options.sweep else []:
        options.window = window
        measure(f"window={window}")
    (OUT / "repository-sweep.json").write_text(json.dumps(rows, indent=1))
    return 0


def save(records, options):
    plain = {key: str(value) for key, value in vars(options).items()}
    (OUT / "repository.json").write_text(json.dumps({"options": plain, "records": records}, indent=1))


COLOURS = {"teia": "#0a6", "teia-filter": "#06a", "teia-recent": "#6a0", "drum": "#c33", "drum64": "#c93", "rocksdb": "#93c", "memory": "#777"}


def draw(points, folder):
    for field, title in [
        ("wall", "seconds per crawl cycle"),
        ("cpu", "CPU seconds per crawl cycle"),
        ("fill_wall", "seconds per all-new cycle"),
        ("bytes_per_url", "bytes on disk per URL"),
    ]:
        draw_one(points, field, title, folder)


def draw_one(points, field, title, folder):
    width, height, left, bottom = 640, 320, 50, 40
    most_x = max((p["urls"] for p in points), default=1) / MILLION
    most_y = max((p[field] for p in points), default=1) or 1
    place = lambda p: (
        left + (width - left - 120) * p["urls"] / MILLION / most_x,
        height - bottom - (height - bottom - 30) * p[field] / most_y,
    )
    parts = [f'<text x="{left}" y="18">{title} against millions of URLs (largest: {most_y:.1f} at {most_x:.0f} M)</text>']
    parts.append(f'<path d="M{left} 30V{height - bottom}H{width - 120}" fill="none" stroke="#999"/>')
    for number, name in enumerate(dict.fromkeys(p["store"] for p in points)):
        dots = [place(p) for p in points if p["store"] == name]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in dots)
        colour = COLOURS.get(name, "#000")
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in dots]
        parts.append(f'<text x="{width - 112}" y="{40 + 18 * number}" fill="{colour}">{name}</text>')
    body = "\n".join(parts)
    (folder / f"repository-{field}.svg").write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="12">\n{body}\n</svg>\n'
    )


if __name__ == "__main__":
    sys.exit(main())
