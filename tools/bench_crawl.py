#!/usr/bin/env python3
"""Pages per second, CPU and memory of Teia beside its peers, over a web on loopback.

    ./dev bench crawl                                       the whole of it: about two hours, half of it Scrapy
    ./dev bench crawl --pages 2000 --hosts 20 --rounds 1    a trial: a minute or two
    ./dev bench crawl --only teia,wget-warc --no-polite     only some

Each run has a fresh server (`testweb`, one thread) and a fresh folder, and is bounded in time; the order of the
peers turns from round to round. What a peer found is what the server says it served. Medians of the rounds are
printed as Markdown and all runs are written to target/bench/crawl.json.
"""

import argparse
import json
import os
import pathlib
import platform
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TEIA = ROOT / "target/release/teia"
TESTWEB = ROOT / "target/release/testweb"
SCRAPY = ROOT / "target/tools/scrapy/bin/python"
SPIDER = ROOT / "target/bench-spider/release/bench-spider"
OUT = ROOT / "target/bench"

# The peers, by name: program, arguments (SEED and DIR are filled in), and what a reader must know of it.
# None needs to be told to stay within the web: it has no link that leads out of it.
PEERS = {
    "teia": (
        TEIA,
        "crawl SEED --data DIR/data --delay 0s --scope any --allow-private --no-index --no-catalog --report json",
        "archive on, index off, one connection to a host",
    ),
    "wget-warc": (
        "wget",
        "--recursive --level=inf --span-hosts --no-verbose --warc-file=DIR/pages --delete-after -P DIR/files SEED",
        "the same work: an archive, compressed; pages are deleted after reading",
    ),
    "wget": (
        "wget",
        "--recursive --level=inf --span-hosts --no-verbose -P DIR/files SEED",
        "pages as files, no archive",
    ),
    "wget2": (
        "wget2",
        "--recursive --level=0 --span-hosts --quiet --max-threads=16 -P DIR/files SEED",
        "pages as files, no archive, 16 threads",
    ),
    "httrack": (
        "httrack",
        "SEED -O DIR/files --quiet --go-everywhere --robots=2 --depth=9999 --sockets=32 --max-rate=0 "
        "--connection-per-second=0 --disable-security-limits --display=0 --index=0 --cache=0",
        "pages as files with rewritten links, no archive; its limits on speed are off",
    ),
    "scrapy": (
        SCRAPY,
        f"{ROOT / 'tools/bench-scrapy/spider.py'} SEED",
        "keeps nothing; told to have one connection to a host, which Scrapy 2.19 with asyncio does not hold to",
    ),
    "spider": (SPIDER, "SEED", "keeps nothing; reads robots.txt of the seed's host only; no limit of connections to a host"),
}

MIB = 1024 * 1024
POLITE_HOSTS, POLITE_GAP, POLITE_LATENCY = 2000, 1.0, 0.05


def main():
    options = parse_options()
    if not options.no_setup:
        subprocess.run([ROOT / "tools/crawl-peers.sh"], check=False)
    raise_file_limit()
    names = options.only or list(PEERS)
    missing = [name for name in names if shutil.which(str(PEERS[name][0])) is None]
    for name in missing:
        print(f"LEFT OUT: {name} is not installed here")
    names = [name for name in names if name not in missing]

    report = {"machine": machine(), "options": plain(options), "left_out": missing, "runs": [], "verdicts": []}
    report["commands"] = {
        name: f"{pathlib.Path(PEERS[name][0]).name} {PEERS[name][1]}".replace(f"{ROOT}/", "") for name in names
    }
    for hosts in options.hosts:
        for number in range(options.rounds):
            turn = number % max(len(names), 1)
            for name in names[turn:] + names[:turn]:
                run = crawl(name, hosts, options)
                run["round"] = number + 1
                report["runs"].append(run)
                print(line_of(run), flush=True)
                complain(run)
                save(report)
    for hosts in options.hosts:
        runs = [run for run in report["runs"] if run["hosts"] == hosts]
        medians = medians_of(runs)
        print_table(hosts, medians, options)
        report["verdicts"] += verdicts(hosts, medians, runs)
    if not options.no_polite and "teia" in names:
        run = polite(options)
        complain(run)
        report["polite"] = run
        report["verdicts"].append(polite_verdict(run))
    print()
    for verdict in report["verdicts"]:
        print(verdict)
    save(report)
    print(f"\nall runs: {(OUT / 'crawl.json').relative_to(ROOT)}")
    return 0


def parse_options():
    """Options, each with a bound that lets the bench end by itself."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    numbers = lambda text: [int(part) for part in text.split(",")]
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pages", type=int, default=50_000)
    parser.add_argument("--hosts", type=numbers, default=[200, 2000], help="one setting for each number: 200,2000")
    parser.add_argument("--only", type=lambda text: text.split(","), help=f"of: {','.join(PEERS)}")
    parser.add_argument("--timeout", type=float, default=900, help="seconds, for each run")
    parser.add_argument("--teia-args", default="", help="more arguments for teia crawl")
    parser.add_argument("--no-polite", action="store_true", help="leave out the setting with gap and latency")
    parser.add_argument("--polite-seconds", type=int, default=60)
    parser.add_argument("--folder", type=pathlib.Path, default=OUT, help="where the runs write; on the disk to be measured")
    parser.add_argument("--no-setup", action="store_true", help="install nothing")
    options = parser.parse_args()
    unknown = set(options.only or []) - set(PEERS)
    if unknown:
        parser.error(f"no such peer: {', '.join(sorted(unknown))}; there are {', '.join(PEERS)}")
    if not TESTWEB.exists():
        parser.error("target/release/testweb is missing: start this with ./dev bench crawl, which builds it")
    return options


# --- one run ---


def crawl(name, hosts, options):
    """One crawl of a fresh web by one peer."""
    program, arguments, _ = PEERS[name]
    arguments = arguments.split() + (options.teia_args.split() if name == "teia" else [])
    web_arguments = ["--literal", "--hosts", str(hosts), "--pages", str(options.pages)]
    with Folder(options.folder) as folder, Web(web_arguments) as web:
        filled = [part.replace("SEED", web.seeds[0]).replace("DIR", str(folder)) for part in arguments]
        measured = measure([str(program), *filled], folder, options.timeout)
        served = web.end()
        measured["archive_bytes"] = size_of(folder, (".warc.gz", ".warc"))
    return summed(name, hosts, web.pages, measured, served)


def polite(options):
    """Teia with a gap and a latency: is every host asked as often as politeness allows?"""
    seconds = options.polite_seconds
    pages = POLITE_HOSTS * (int(seconds / (POLITE_GAP + POLITE_LATENCY)) + 20)
    web_arguments = ["--literal", "--all-seeds", "--hosts", str(POLITE_HOSTS), "--pages", str(pages)]
    web_arguments += ["--latency", f"{POLITE_LATENCY * 1000:.0f}ms"]
    with Folder(options.folder) as folder, Web(web_arguments) as web:
        seeds = folder / "seeds.txt"
        seeds.write_text("".join(f"{seed}\n" for seed in web.seeds))
        command = [str(TEIA), "crawl", "--seeds", str(seeds), "--data", str(folder / "data")]
        command += ["--delay", f"{POLITE_GAP:g}s", "--hosts", str(POLITE_HOSTS), "--scope", "any", "--allow-private"]
        command += ["--no-index", "--no-catalog", "--max-time", f"{seconds}s", "--report", "json", *options.teia_args.split()]
        measured = measure(command, folder, seconds + 120)
        served = web.end()
    return summed("teia", POLITE_HOSTS, web.pages, measured, served)


def summed(name, hosts, pages, measured, served):
    """What a run came to, in the words of the report."""
    found = served["distinct_pages"]
    return measured | {
        "name": name,
        "hosts": hosts,
        "pages": pages,
        "found": found,
        "pages_per_second": found / measured["seconds"],
        "cpu_per_1000": measured["cpu_seconds"] * 1000 / found if found else None,
        "requests": served["requests"],
        "connections": served["connections"],
        "connections_per_host": served["max_connections_per_host"],
        "server_cpu_seconds": served["cpu_seconds"],
    }


class Web:
    """The test web, in a process of its own; it ends when its input closes."""

    def __init__(self, arguments):
        self.process = subprocess.Popen(
            [TESTWEB, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self):
        ready = self.process.stdout.readline()
        if not ready:
            sys.exit("testweb did not start")
        ready = json.loads(ready)
        self.seeds, self.pages = ready["seeds"], ready["pages"]
        return self

    def end(self):
        """Ends the web; returns its counters."""
        self.process.stdin.close()
        counters = json.loads(self.process.stdout.readline())
        self.process.wait(30)
        return counters

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class Folder:
    """A fresh folder, gone afterwards; what earlier runs wrote is on disk before a run begins."""

    def __init__(self, parent):
        self.parent = parent

    def __enter__(self):
        self.parent.mkdir(parents=True, exist_ok=True)
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="run-", dir=self.parent))
        os.sync()
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


def measure(command, folder, timeout):
    """Runs a command as a session of its own; whatever is left of it at the end is killed."""
    log = folder / "output.log"
    with open(log, "wb") as output:
        began = time.monotonic()
        process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        watch = Watch(process.pid, began + timeout)
        watch.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
        finally:
            seconds = time.monotonic() - began
            watch.stop()
            kill_session(process.pid)
    process.returncode = os.waitstatus_to_exitcode(status)
    measured = {
        "seconds": seconds,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "user_seconds": usage.ru_utime,
        "system_seconds": usage.ru_stime,
        "peak_bytes": watch.peak_bytes,
        "exit": process.returncode,
        "timed_out": watch.timed_out,
    }
    tail = log.read_bytes()[-4000:].decode(errors="replace")
    if process.returncode != 0:
        measured["output"] = tail
    elif tail.rstrip().endswith("}"):
        try:
            measured["own_report"] = json.loads(tail.rstrip().splitlines()[-1])
        except ValueError:
            pass
    return measured


class Watch(threading.Thread):
    """Looks at the memory of a session 20 times a second, and kills it when its time is over.

    Peak memory is that of the whole tree. The high-water mark of the kernel is used for a single process,
    since a look may come too late; it counts from exec, unlike the one wait4 gives.
    """

    def __init__(self, session, deadline):
        super().__init__(daemon=True)
        self.session, self.deadline = session, deadline
        self.peak_bytes, self.timed_out, self.ended = 0, False, threading.Event()

    def run(self):
        looks = 0
        members = [self.session]
        while not self.ended.wait(0.05):
            # Looking through all processes is dear; most peers are a single one.
            members = members_of(self.session) if looks % 20 == 0 else members
            looks += 1
            memory = [memory_of(pid) for pid in members]
            together = sum(now for now, _ in memory)
            alone = max((most for _, most in memory), default=0)
            self.peak_bytes = max(self.peak_bytes, together, alone)
            if time.monotonic() > self.deadline:
                self.timed_out = True
                kill_session(self.session)

    def stop(self):
        self.ended.set()
        self.join()


def memory_of(pid):
    """Resident bytes of a process: now, and at most so far."""
    found = {"VmRSS": 0, "VmHWM": 0}
    try:
        with open(f"/proc/{pid}/status") as status:
            for line in status:
                name, _, rest = line.partition(":")
                if name in found:
                    found[name] = int(rest.split()[0]) * 1024
    except (OSError, IndexError):
        pass  # It has just ended.
    return found["VmRSS"], found["VmHWM"]


def members_of(session):
    """The processes of a session that have not ended."""
    members = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                fields = pathlib.Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == session and fields[0] not in "ZX":
                members.append(int(entry))
    return members


def kill_session(session):
    for pid in members_of(session):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def size_of(folder, endings):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.name.endswith(endings))


# --- the report ---

MEASURES = ["found", "seconds", "pages_per_second", "cpu_seconds", "cpu_per_1000", "peak_bytes", "server_cpu_seconds"]


def medians_of(runs):
    """For each peer the median of each measure, the worst of connections, and whether every run was whole."""
    medians = {}
    for name in dict.fromkeys(run["name"] for run in runs):
        own = [run for run in runs if run["name"] == name]
        middle = {key: statistics.median([run[key] or 0 for run in own]) for key in MEASURES}
        middle["connections_per_host"] = max(run["connections_per_host"] for run in own)
        middle["whole"] = all(run["found"] == run["pages"] and not run["timed_out"] for run in own)
        middle["slowest"] = min(run["pages_per_second"] for run in own)
        middle["fastest"] = max(run["pages_per_second"] for run in own)
        medians[name] = middle
    return medians


def line_of(run):
    state = "TIMED OUT" if run["timed_out"] else f"exit {run['exit']}"
    return (
        f"{run['hosts']:>5} hosts  round {run['round']}  {run['name']:<10} {run['found']:>6} of {run['pages']} pages  "
        f"{run['seconds']:7.1f} s  {run['pages_per_second']:7.0f} pages/s  cpu {run['cpu_seconds']:6.1f} s  "
        f"{run['peak_bytes'] / MIB:6.0f} MiB  {run['connections_per_host']} connections/host  {state}"
    )


def complain(run):
    """What a run that failed had to say."""
    if run["exit"] != 0 and not run["timed_out"]:
        print(f"      {run['name']} ended with {run['exit']}: " + run["output"].strip()[-600:].replace("\n", "\n      "))


def print_table(hosts, medians, options):
    teia = medians.get("teia")
    print(f"\n### {options.pages} pages on {hosts} hosts, gap 0: medians of {options.rounds} round(s)\n")
    print("| | pages found | seconds | pages/s (least to most) | CPU s per 1,000 | peak MiB | connections to a host | server CPU s | Teia is |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    for name, row in sorted(medians.items(), key=lambda item: -item[1]["pages_per_second"]):
        ratio = ""
        if teia and name != "teia" and row["pages_per_second"]:
            faster = teia["pages_per_second"] / row["pages_per_second"]
            cpu = teia["cpu_per_1000"] / row["cpu_per_1000"] if row["cpu_per_1000"] else 0
            ratio = f"{faster:.2f} x as fast, {cpu:.2f} x the CPU"
        print(
            f"| {name} | {row['found']:.0f} | {row['seconds']:.1f} | "
            f"{row['pages_per_second']:.0f} ({row['slowest']:.0f} to {row['fastest']:.0f}) | {row['cpu_per_1000']:.2f} | "
            f"{row['peak_bytes'] / MIB:.0f} | {row['connections_per_host']} | {row['server_cpu_seconds']:.1f} | {ratio} |"
        )


def verdicts(hosts, medians, runs):
    """One line for each goal that can be judged from what ran."""
    teia = medians.get("teia")
    if not teia:
        return []
    lines = []

    def goal(met, text):
        lines.append(f"{'PASS' if met else 'MISS'}  {hosts} hosts: {text}")

    goal(teia["whole"], f"Teia finds every page in every round ({teia['found']:.0f} in the median)")
    if warc := medians.get("wget-warc"):
        faster = teia["pages_per_second"] / warc["pages_per_second"]
        cpu = teia["cpu_per_1000"] / warc["cpu_per_1000"]
        goal(faster >= 5, f"{faster:.2f} times the pages/s of wget --warc-file (goal: at least 5)")
        goal(cpu <= 0.25, f"{cpu:.3f} of its CPU for a page (goal: at most 0.25)")
    # wget2 has a goal of its own as well, and counts here like any other when it misses nothing.
    whole = {name: row for name, row in medians.items() if row["whole"] and name != "teia"}
    if whole:
        name, row = max(whole.items(), key=lambda item: item[1]["pages_per_second"])
        faster = teia["pages_per_second"] / row["pages_per_second"]
        goal(faster >= 1.5, f"{faster:.2f} times the fastest peer that finds every page, {name} (goal: at least 1.5)")
    if wget2 := medians.get("wget2"):
        faster = teia["pages_per_second"] / wget2["pages_per_second"]
        found = "which found every page" if wget2["whole"] else f"which found {wget2['found']:.0f}"
        goal(faster >= 1, f"{faster:.2f} times wget2, {found} (goal: at least 1)")
    most = max(run["peak_bytes"] for run in runs if run["name"] == "teia") / MIB
    bound = 128 if hosts <= 200 else 192
    goal(most <= bound, f"{most:.0f} MiB at the most (goal: at most {bound})")
    connections = teia["connections_per_host"]
    goal(connections <= 1, f"{connections} connection(s) to a host at once (goal: 1)")
    return lines


def polite_verdict(run):
    ideal = POLITE_HOSTS / (POLITE_GAP + POLITE_LATENCY)
    share = run["pages_per_second"] / ideal
    print(f"\n### {POLITE_HOSTS} hosts, gap {POLITE_GAP:g} s, latency {POLITE_LATENCY * 1000:.0f} ms\n")
    print(
        f"{run['found']} pages in {run['seconds']:.1f} s: {run['pages_per_second']:.0f} pages/s of {ideal:.0f} possible; "
        f"CPU {run['cpu_seconds']:.1f} s, peak {run['peak_bytes'] / MIB:.0f} MiB, exit {run['exit']}"
    )
    verdict = "PASS" if share >= 0.9 else "MISS"
    return f"{verdict}  polite: {share:.1%} of hosts / (gap + latency), the whole run counted (goal: at least 90 %)"


def machine():
    model = "unknown"
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    versions = {}
    for name, command in {
        "wget": ["wget", "--version"],
        "wget2": ["wget2", "--version"],
        "httrack": ["httrack", "--version"],
        "scrapy": [str(SCRAPY), "-m", "scrapy", "version"],
    }.items():
        if shutil.which(command[0]):
            text = subprocess.run(command, capture_output=True, text=True, check=False).stdout
            versions[name] = text.strip().splitlines()[0] if text.strip() else "unknown"
    return {"cpu": model, "cores": os.cpu_count(), "kernel": platform.release(), "load": os.getloadavg()[0], "versions": versions}


def raise_file_limit():
    """As many descriptors as the system lets us have, for every peer alike."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def plain(options):
    """The options without the paths, which are those of this machine."""
    return {name: value for name, value in vars(options).items() if not isinstance(value, pathlib.Path)}


def save(report):
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "crawl.json").write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    sys.exit(main())
