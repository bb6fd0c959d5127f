#!/usr/bin/env python3
"""./dev soak city: honest hosts among hostile ones, and thousands of servers that drip.

  ./dev soak city [--seconds N] [--rounds N] [--drips N] [--only corners|slow|long|crowd]

Four scenes with the real program, on loopback, with traps, index and catalog as people have them:
  corners  every corner of the hostile city at once (HTTP, bodies, redirects, HTTP/2, TLS, HTML, CSS, feeds, sitemaps,
           robots.txt, traps), one host in five; how much of their rate honest hosts keep
  slow     the same with servers that all drip a byte a second: more of them than hosts are asked at once
  long     the same with servers that all send pages of 600 KB, each leading to more of them, where 16 hosts are asked at once
  crowd    10,000 servers that drip, a byte in ten seconds, at once: what each costs in memory, and how much of their rate honest
           hosts keep while all of them are held

A rate is measured with and without the hostile hosts, in turns, so that a busy machine is busy for both. How busy it was
is printed: where all of it is used, hostile hosts get their share of it like others, and no more can be asked for than that.
Ends by itself; exit code 1 where a goal is missed.
"""
import argparse
import asyncio
import json
import multiprocessing
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent.parent
BINARIES = HERE / "target/release"
KEPT = 0.90  # of the rate of honest pages
KEPT_IN_CROWD = 0.95  # of it, among thousands of servers that drip (HTTP-25)
HONEST_SHARE = 25  # one honest host for so many of these
MEMORY_CAP = 1 << 30  # of the whole process
EACH_BYTES = 64 << 10  # of one server that drips
missed = []


def judge(what, met, figure, goal):
    print(f"{what}: {figure} (goal: {goal}): {'met' if met else 'MISSED'}", flush=True)
    if not met:
        missed.append(what)


# --- servers ---


class Web:
    """Honest hosts."""

    def __init__(self, hosts, pages):
        self.process = subprocess.Popen(
            [BINARIES / "testweb", "--hosts", str(hosts), "--pages", str(hosts * pages), "--page-bytes", "8192",
             "--links", "12", "--latency", "20ms", "--all-seeds"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        ready = json.loads(self.process.stdout.readline())
        self.address, self.seeds = ready["address"], ready["seeds"]

    def close(self):
        """Ends it; the pages that it has served."""
        out, _ = self.process.communicate("", timeout=60)
        return json.loads(out.splitlines()[-1])["distinct_pages"]


class City:
    """Every corner of the hostile city, a host name for each."""

    def __init__(self):
        self.process = subprocess.Popen([BINARIES / "city"], stdout=subprocess.PIPE, text=True)
        self.corners = []
        for line in self.process.stdout:
            if line.startswith("Ctrl-C"):
                break
            words = line.split()
            if words[-1].startswith("http") and words[-1].endswith("/"):
                scheme, rest = words[-1].split("://")
                self.corners.append((scheme, rest.rstrip("/").split(":")[1]))

    def seeds(self, tricks):
        paths = ["", "next"] + [f"trick{n}" for n in range(tricks)]
        for number, (scheme, port) in enumerate(self.corners):
            for path in paths:
                yield f"{scheme}://c{number}.city.test:{port}/{path}"

    def close(self):
        self.process.terminate()
        self.process.wait(timeout=60)


def listen(pipe, handle_limit, answer):
    """Answers robots.txt at once, and everything else as `answer` does. Says what it counts."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (handle_limit, handle_limit))
    counted = {"pages": 0}

    async def visit(reader, writer):
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                if b" /robots.txt " in head.split(b"\r\n")[0]:
                    writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
                else:
                    await answer(writer, counted)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def main():
        server = await asyncio.start_server(visit, "127.0.0.1", 0, backlog=4096)
        pipe.send(server.sockets[0].getsockname()[1])
        while True:
            await asyncio.sleep(0.2)
            if pipe.poll():
                if pipe.recv() == "end":
                    # With thousands of visitors still there; they are not worth a farewell.
                    os._exit(0)
                pipe.send(counted["pages"])

    asyncio.run(main())


async def drip(writer, held, pause=1):
    """A byte a second for ever; counts those that are held so."""
    held["pages"] += 1
    try:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
        while not writer.is_closing():
            writer.write(b"a")
            await writer.drain()
            await asyncio.sleep(pause)
    finally:
        held["pages"] -= 1


async def drip_slowly(writer, held):
    """A byte in ten seconds, as HTTP-25 has it: ten thousand that say more are work for whoever serves them."""
    await drip(writer, held, 10)


WORDS = " ".join(f"word{n % 7919} and" for n in range(48_000)).encode()


async def send_long(writer, sent):
    """A page of 600 KB that leads to four others; counts them."""
    sent["pages"] += 1
    number = sent["pages"]
    links = b"".join(b'<a href="/%d">%d</a> ' % (4 * number + n, n) for n in range(4))
    # Each says something new, or it would be taken for a trap.
    news = b" ".join(b"news%d" % (200 * number + n) for n in range(200))
    body = b"<title>%d</title><p>%s %s<p>" % (number, links, news) + WORDS
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(body))
    writer.write(body)
    await writer.drain()


async def send_page(writer, sent):
    """An honest page of 8 KB that leads to two others; counts them."""
    sent["pages"] += 1
    number = sent["pages"]
    links = b"".join(b'<a href="/%d">%d</a> ' % (2 * number + n, n) for n in range(2))
    body = b"<title>%d</title><p>%s" % (number, links) + b" ".join(b"news%d" % (900 * number + n) for n in range(900))
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    await writer.drain()


class Listener:
    """One listener behind any number of names."""

    def __init__(self, answer):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.pipe, there = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=listen, args=(there, hard, answer))
        self.process.start()
        self.port = self.pipe.recv()

    def count(self):
        """What it holds, or what it has sent."""
        self.pipe.send("count")
        return self.pipe.recv()

    def close(self):
        self.pipe.send("end")
        self.process.join(timeout=30)


# --- the program ---


class Crawl:
    """`teia crawl` over these seeds, and the most memory that it had."""

    def __init__(self, place, name, seeds, resolve, settings, options):
        seed_file, settings_file = place / f"{name}.seeds", place / f"{name}.toml"
        seed_file.write_text("\n".join(seeds) + "\n")
        settings_file.write_text(settings)
        command = [BINARIES / "teia", "crawl", "--data", place / name, "--seeds", seed_file, "--config", settings_file,
                   "--report", "json"]
        for pair in resolve:
            command += ["--resolve", pair]
        self.peak = self.peak_mapped = 0
        self.errors = open(place / f"{name}.err", "w+")
        self.process = subprocess.Popen([str(word) for word in command + options], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=self.errors)
        self.watcher = threading.Thread(target=self.watch, daemon=True)
        self.watcher.start()

    def resident(self):
        """What it has for itself, as `run.memory` counts it; and with parts of files that are mapped (the index, the program)."""
        try:
            status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        except OSError:
            return 0, 0
        figures = dict(line.split(":", 1) for line in status.splitlines())
        of = lambda name: int(figures.get(name, "0 kB").split()[0]) * 1024
        return of("RssAnon") + of("RssShmem"), of("VmRSS")

    def watch(self):
        while self.process.poll() is None:
            own, mapped = self.resident()
            self.peak, self.peak_mapped = max(self.peak, own), max(self.peak_mapped, mapped)
            time.sleep(0.1)

    def wait(self, seconds):
        try:
            code = self.process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            sys.exit(f"the crawl did not end within {seconds} s")
        if code != 0:
            self.errors.seek(0)
            sys.exit(f"the crawl ended with {code}: {self.errors.read()[-2000:]}")


# Traps, index and catalog are on, as people have them. The program is told what it may have, and is held to it.
SETTINGS = f"""[run]
alias-pages = 0
retries = 1
memory = "{MEMORY_CAP >> 20}MiB"
"""


def computed():
    """Seconds of all processors since the machine was started: used by anybody, and by programs that we began and that ended."""
    ticks = os.sysconf("SC_CLK_TCK")
    fields = [int(field) for field in pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    own = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (sum(fields) - fields[3] - fields[4]) / ticks, own.ru_utime + own.ru_stime


def crawl_for(place, name, web, seeds, resolve, options, more=()):
    """Pages of honest hosts in so many seconds, and the peak of memory."""
    began, (used, own) = time.monotonic(), computed()
    crawl = Crawl(place, name, seeds, resolve, SETTINGS,
                  ["--scope", "host", "--delay", options.delay, "--max-time", f"{options.seconds}s", *more])
    crawl.wait(options.seconds + 240)
    lasted, (used_now, own_now) = time.monotonic() - began, computed()
    busy = (used_now - used) / lasted / os.cpu_count()
    print(f"  {name}: ended after {lasted:.0f} s, at most {crawl.peak >> 20} MiB, "
          f"{crawl.peak_mapped >> 20} with files that are mapped; it computed for {own_now - own:.0f} s, "
          f"and the machine was used to {busy:.0%}", flush=True)
    pages = web.close()
    shutil.rmtree(place / name, ignore_errors=True)
    return pages, crawl.peak


def rates(scene, hostile_hosts, hostile_seeds, hostile_resolve, options, more=()):
    """Alone and among hostile hosts, in turns."""
    honest_hosts = 4 * hostile_hosts
    pages = {"alone": 0, "among": 0}
    peak = 0
    with tempfile.TemporaryDirectory(prefix="teia-soak-") as folder:
        for number in range(options.rounds):
            for case in pages:
                web = Web(honest_hosts, 60)
                seeds, resolve = list(web.seeds), [f"*.web.test={web.address}"]
                if case == "among":
                    # Hostile ones first: who comes first has the places.
                    seeds, resolve = hostile_seeds + seeds, resolve + hostile_resolve
                got, most = crawl_for(pathlib.Path(folder), f"{scene}-{case}-{number}", web, seeds, resolve, options, more)
                pages[case] += got
                peak = max(peak, most)
    seconds = options.rounds * options.seconds
    alone, among = pages["alone"] / seconds, pages["among"] / seconds
    print(f"{scene}: {honest_hosts} honest hosts alone {alone:.1f} pages/s, among {hostile_hosts} hostile ones {among:.1f} pages/s")
    kept = among / alone if alone else 0
    judge(f"{scene}: rate that honest pages keep", kept >= KEPT, f"{kept:.1%}", f"at least {KEPT:.0%}")
    judge(f"{scene}: most memory", peak <= MEMORY_CAP, f"{peak >> 20} MiB", f"at most {MEMORY_CAP >> 20} MiB")


def corners(options):
    city = City()
    try:
        # A trick for every turn that a host gets.
        seeds = list(city.seeds(options.seconds // 2))
        rates("corners", len(city.corners), seeds, ["*.city.test=127.0.0.1"], options)
    finally:
        city.close()


def among(scene, answer, seeds_each, options, more=()):
    """300 hosts that all answer so, with so many seeds each."""
    listener, hosts = Listener(answer), 300
    try:
        seeds = [f"http://d{n}.{scene}.test/{page}" for n in range(hosts) for page in range(seeds_each)]
        rates(scene, hosts, seeds, [f"*.{scene}.test=127.0.0.1:{listener.port}"], options, more)
        return listener.count()
    finally:
        listener.close()


def slow(options):
    among("slow", drip, 8, options)


def long(options):
    sent = among("long", send_long, 2, options, ["--hosts", "16"])
    print(f"long: {sent:,} long pages were sent in all")


def crowd_of(place, case, seeds, listeners, options):
    """One crawl: how many drips it held, what they cost, and its rate of honest pages while all of them were held."""
    drips, honest = listeners
    settings = SETTINGS + "[fetch]\nmin-rate = 0\ntimeout = \"10m\"\nfirst-byte-timeout = \"5m\"\n"
    resolve = [f"*.drip.test=127.0.0.1:{drips.port}", f"*.honest.test=127.0.0.1:{honest.port}"]
    # The limits that end a drip are off, so a place for each host, or those that drip would have them all.
    crawl = Crawl(place, f"crowd-{case}", seeds, resolve, settings,
                  ["--scope", "host", "--hosts", str(options.drips + options.drips // HONEST_SHARE), "--delay", options.delay,
                   "--max-time", "10m", "--no-index", "--no-catalog"])
    wanted = sum(".drip.test" in seed for seed in seeds)
    try:
        # What the same hosts cost while none of them is asked: seeds and records, but no connection.
        before, most, first, until = 0, 0, honest.count(), time.monotonic() + 240
        while time.monotonic() < until and (most < wanted or honest.count() == first) and crawl.process.poll() is None:
            time.sleep(0.5)
            held = drips.count()
            if held == 0:
                before = crawl.resident()[1]
            elif held > most:
                most, until = held, time.monotonic() + 15
        # Each honest host has had a turn, and has links to go on with.
        time.sleep(10)
        grown = crawl.resident()[1] - before
        began, (used, _), first = time.monotonic(), computed(), honest.count()
        time.sleep(options.seconds)
        lasted, (used_now, _), pages = time.monotonic() - began, computed(), honest.count() - first
        still = drips.count()
        if crawl.process.poll() is not None:
            crawl.wait(1)
            sys.exit(f"crowd: the crawl ended before it was measured ({case})")
    finally:
        crawl.process.terminate()
        try:
            crawl.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            crawl.process.kill()
            crawl.process.wait()
    shutil.rmtree(place / f"crowd-{case}", ignore_errors=True)
    busy = (used_now - used) / lasted / os.cpu_count()
    print(f"  crowd-{case}: {pages:,} honest pages in {lasted:.0f} s while {still:,} drips were held; at most {crawl.peak >> 20} MiB, "
          f"and the machine was used to {busy:.0%}", flush=True)
    return pages / lasted, most, grown


def crowd(options):
    listeners = drips, honest = Listener(drip_slowly), Listener(send_page)
    hosts = options.drips // HONEST_SHARE
    # Each host that lets us wait has one descriptor here and one in the process that serves it. Of those that the program may have,
    # a quarter is for people who are served, and of the rest a quarter for idle connections and files (engine/src/limits.rs);
    # some of these places are for honest hosts.
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    held_at_most = min(options.drips, (hard - 64) // 4 * 3 // 4 * 3 - hosts)
    of_honest = [f"http://h{n}.honest.test/" for n in range(hosts)]
    # Hostile ones first: who comes first has the places.
    cases = {"alone": of_honest, "among": [f"http://d{n}.drip.test/" for n in range(held_at_most)] + of_honest}
    rates, most, grown = {"alone": 0, "among": 0}, 0, 0
    try:
        with tempfile.TemporaryDirectory(prefix="teia-soak-") as folder:
            for _ in range(options.rounds):
                for case, seeds in cases.items():
                    rate, held, more = crowd_of(pathlib.Path(folder), case, seeds, listeners, options)
                    rates[case] += rate / options.rounds
                    if held > most:
                        most, grown = held, more
    finally:
        drips.close()
        honest.close()
    judge("crowd: servers that drip at once", most >= options.drips, f"{most:,}",
          f"{options.drips:,}; this system allows {hard:,} descriptors")
    if most:
        each = grown / most
        judge("crowd: memory for each", each <= EACH_BYTES, f"{each / 1024:.1f} KiB", f"at most {EACH_BYTES >> 10} KiB")
    print(f"crowd: {hosts} honest hosts alone {rates['alone']:.1f} pages/s, among {most:,} that drip {rates['among']:.1f} pages/s")
    kept = rates["among"] / rates["alone"] if rates["alone"] else 0
    judge("crowd: rate that honest pages keep", kept >= KEPT_IN_CROWD, f"{kept:.1%}", f"at least {KEPT_IN_CROWD:.0%}")


def main():
    scenes = {"corners": corners, "slow": slow, "long": long, "crowd": crowd}
    parser = argparse.ArgumentParser(prog="./dev soak city", description=__doc__.split("\n\n")[0])
    parser.add_argument("--seconds", type=int, default=45, help="of each crawl")
    parser.add_argument("--rounds", type=int, default=1, help="of each pair of crawls")
    parser.add_argument("--drips", type=int, default=10_000, help="servers of the crowd")
    parser.add_argument("--delay", default="3s", help="between two requests to a host")
    parser.add_argument("--only", choices=scenes, help="one scene")
    options = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    for name, scene in scenes.items():
        if options.only in (None, name):
            scene(options)
    if missed:
        sys.exit("MISSED: " + "; ".join(missed))


main()
