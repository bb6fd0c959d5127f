#!/usr/bin/env python3
"""What the catalog costs a crawl: the same web with and without it, in turns, in SQLite and in PostgreSQL.

    ./dev bench catalog                             five rounds of 12,000 pages: about ten minutes
    ./dev bench catalog --pages 2000 --rounds 2     a trial
    ./dev bench catalog --with-index                index and links on, as in most crawls

Each round has one crawl without a catalog and one with each kind, in an order that turns, every one with a fresh
server (`testweb`, one thread), a fresh folder and a fresh database. What counts is the ratio within a round: whatever else the machine
does meanwhile, it does to all of them. Printed: each run, the medians, and the goal (5 %), judged by CPU and by time. The server of PostgreSQL is a
process of its own; its CPU is told apart, and is no part of the crawl's.
"""

import argparse
import json
import os
import pathlib
import pwd
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from bench_crawl import OUT, ROOT, TEIA, TESTWEB, Folder, Web, machine, measure  # noqa: E402

GOAL = 1.05
KINDS = ("none", "sqlite", "postgresql")


def main():
    options = parse_options()
    kinds = [kind for kind in KINDS if kind != "postgresql" or programs()]
    if len(kinds) < len(KINDS):
        print("LEFT OUT: postgresql is not installed here")
    runs = []
    for number in range(options.rounds):
        turn = number % len(kinds)
        for kind in kinds[turn:] + kinds[:turn]:
            run = crawl(kind, options) | {"round": number + 1}
            runs.append(run)
            print(line_of(run), flush=True)
            if run["exit"] != 0 or run["found"] < options.pages:
                sys.exit(f"this run is not whole: {run.get('output', run)}")
    report = {"machine": machine(), "options": vars(options), "runs": runs, "verdicts": []}
    print(f"\n| catalog | pages/s | CPU s per 1,000 pages | of the database's server |\n|---|---|---|---|")
    for kind in kinds:
        own = [run for run in runs if run["kind"] == kind]
        median = lambda key: statistics.median(run[key] for run in own)
        server = f"{median('server_cpu') * 1000 / options.pages:.3f}" if kind == "postgresql" else "–"
        print(f"| {kind} | {median('speed'):.0f} | {median('cpu') * 1000 / options.pages:.3f} | {server} |")
    print()
    for kind in kinds[1:]:
        for what, key in (("CPU", "cpu"), ("time", "seconds")):
            report["verdicts"].append(verdict(kind, what, ratios(runs, kind, key)))
            print(report["verdicts"][-1])
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "catalog.json").write_text(json.dumps(report, indent=1))
    print(f"\nall runs: {(OUT / 'catalog.json').relative_to(ROOT)}")


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pages", type=int, default=12_000)
    parser.add_argument("--hosts", type=int, default=100)
    parser.add_argument("--timeout", type=float, default=600, help="seconds, for each run")
    parser.add_argument("--with-index", action="store_true", help="index and links on, as in most crawls")
    options = parser.parse_args()
    if not TESTWEB.exists() or not TEIA.exists():
        parser.error("target/release/teia or testweb is missing: start this with ./dev bench catalog, which builds them")
    return options


def crawl(kind, options):
    """One crawl of a fresh web; its catalog is of this kind."""
    web_arguments = ["--literal", "--hosts", str(options.hosts), "--pages", str(options.pages)]
    with Folder(OUT) as folder, Web(web_arguments) as web, Database(kind) as database:
        settings = folder / "settings.toml"
        others = "" if options.with_index else "[index]\nenabled = false\n[links]\nenabled = false\n"
        settings.write_text(f"{others}[catalog]\nenabled = {str(kind != 'none').lower()}\n")
        command = [str(TEIA), "crawl", web.seeds[0], "--data", str(folder / "data"), "--config", str(settings)]
        command += ["--delay", "0s", "--scope", "any", "--allow-private", "--report", "json"]
        command += ["--catalog", database.url] if database.url else []
        before = database.cpu()
        measured = measure(command, folder, options.timeout)
        server_cpu = database.cpu() - before
        served = web.end()
    found = served["distinct_pages"]
    return {
        "kind": kind,
        "found": found,
        "seconds": measured["seconds"],
        "cpu": measured["cpu_seconds"],
        "server_cpu": server_cpu,
        "speed": found / measured["seconds"],
        "exit": measured["exit"],
        "output": measured.get("output"),
        "load": os.getloadavg()[0],
    }


class Database:
    """A PostgreSQL of one run: a cluster in a folder of its own, reached by a socket in it. Nothing for other kinds."""

    def __init__(self, kind):
        self.kind, self.url, self.process = kind, None, None

    def __enter__(self):
        if self.kind != "postgresql":
            return self
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="teia-pg-"))
        self.user = pwd.getpwnam("postgres") if os.getuid() == 0 else None
        if self.user:
            os.chown(self.folder, self.user.pw_uid, self.user.pw_gid)
        data = self.folder / "data"
        self.run("initdb", "-D", str(data), "-U", "teia", "--auth=trust", "--no-sync")
        self.process = subprocess.Popen(
            [programs() / "postgres", "-D", data, "-k", self.folder, "-h", ""],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.folder, **self.identity(),
        )
        # Its file of locks says `ready` when it is.
        pid_file = data / "postmaster.pid"
        until = time.monotonic() + 30
        while not (pid_file.exists() and "ready" in pid_file.read_text()):
            if time.monotonic() > until or self.process.poll() is not None:
                self.__exit__()
                sys.exit("PostgreSQL did not start")
            time.sleep(0.1)
        self.url = f"postgres://teia@/postgres?host={self.folder}"
        return self

    def identity(self):
        """Whom it runs as: it refuses to run as root."""
        return {"user": self.user.pw_uid, "group": self.user.pw_gid} if self.user else {}

    def run(self, name, *arguments):
        done = subprocess.run(
            [programs() / name, *arguments], capture_output=True, text=True, cwd=self.folder, **self.identity()
        )
        if done.returncode != 0:
            sys.exit(f"{name}: {done.stderr}")

    def cpu(self):
        """CPU of the server and of its children so far, also of those that have ended."""
        if self.process is None:
            return 0.0
        ticks = 0
        for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            pid, parent = int(stat.parent.name), int(fields[1])
            if pid == self.process.pid:
                ticks += sum(int(fields[at]) for at in (11, 12, 13, 14))
            elif parent == self.process.pid:
                ticks += sum(int(fields[at]) for at in (11, 12))
        return ticks / os.sysconf("SC_CLK_TCK")

    def __exit__(self, *_):
        if self.process is not None:
            self.process.terminate()
            self.process.wait(30)
        if self.kind == "postgresql":
            shutil.rmtree(self.folder, ignore_errors=True)


def programs():
    """Where the programs of PostgreSQL are; none where it is not installed."""
    found = shutil.which("initdb")
    if found:
        return pathlib.Path(found).parent
    return max(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), default=None)


def ratios(runs, kind, key):
    """With the catalog to without, in each round."""
    of = lambda number, kind: next(run[key] for run in runs if run["round"] == number and run["kind"] == kind)
    return [of(number, kind) / of(number, "none") for number in sorted({run["round"] for run in runs})]


def verdict(kind, what, found):
    middle = statistics.median(found)
    held = "held" if middle <= GOAL else "NOT held"
    all_of_them = ", ".join(f"{ratio:.3f}" for ratio in found)
    return f"{kind}, {what}: {middle:.3f} of that without (rounds: {all_of_them}); goal at most {GOAL}: {held}"


def line_of(run):
    return (
        f"round {run['round']} {run['kind']:>10}: {run['found']} pages, {run['seconds']:.1f} s, {run['speed']:.0f} pages/s, "
        f"{run['cpu']:.2f} s of CPU, server {run['server_cpu']:.2f} s, load {run['load']:.1f}"
    )


if __name__ == "__main__":
    main()
