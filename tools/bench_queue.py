#!/usr/bin/env python3
"""A crawl with very many URLs in its queue: memory of the whole process, and how soon it goes on after a kill.

    ./dev bench queue                                   10 million URLs on 100,000 hosts: some minutes, 2 GB of disk
    ./dev bench queue --urls 100000000                  a hundred million: an hour, 15 GB of disk
    ./dev bench queue --urls 100000 --hosts 1000        a trial

The URLs are added (`teia urls add`), a crawl takes up the queue against a server on loopback that knows none of them
(each is answered, most with 404), is killed with SIGKILL, and started again. Counted is from the start of the process to
the first request that the server sees, and the largest resident memory that the system has noted for it.
"""

import argparse
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TEIA = ROOT / "target/release/teia"
MIB = 1 << 20


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--urls", type=int, default=10_000_000)
    parser.add_argument("--hosts", type=int, default=100_000)
    parser.add_argument("--seconds", type=int, default=30, help="how long each crawl lasts")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "target/bench", help="on the disk to be measured")
    parser.add_argument("--data", type=pathlib.Path, help="a data directory that has the URLs already; it is kept")
    parser.add_argument("--no-build", action="store_true")
    options = parser.parse_args()
    if not options.no_build:
        subprocess.run(["cargo", "build", "--release", "--workspace", "--bins"], cwd=ROOT, check=True)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    options.folder.mkdir(parents=True, exist_ok=True)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="queue-", dir=options.folder))
    try:
        run(options, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run(options, folder):
    data = options.data or folder / "data"
    if not options.data:
        added = add(options, data)
        print(f"added: {added['new']:,} URLs in {added['seconds']:.0f} s, {added['peak'] / MIB:.0f} MiB at the most")
        if added["new"] != options.urls:
            sys.exit(f"MISS  {options.urls:,} URLs are new, and {added['new']:,} were said to be")
    part = data / "default/part-0"
    for name in ("journal", "urls", "state"):
        size = sum(path.stat().st_size for path in (part / name).rglob("*") if path.is_file())
        print(f"{name}: {size / 1e6:,.0f} MB")
    status = [str(TEIA), "status", "--json", "--data", str(data)]
    began = time.monotonic()
    looked = measured(status)
    print(f"teia status: {time.monotonic() - began:.1f} s, {looked['peak'] / MIB:.0f} MiB")
    worst = 0
    waits = []
    for number in range(3):
        server = Server()
        crawl = measured_crawl(options, data, server)
        worst = max(worst, crawl["peak"])
        waits.append(crawl["first_request"])
        print(
            f"crawl {number + 1}: first request after {crawl['first_request']:.1f} s, {crawl['requests']:,} requests "
            f"in {options.seconds} s, {crawl['peak'] / MIB:.0f} MiB at the most; killed"
        )
    verdict = "PASS" if worst <= 1 << 30 else "MISS"
    print(f"{verdict}  {worst / MIB:.0f} MiB for the whole process (goal at 10 million on 100,000 hosts: 1024)")
    verdict = "PASS" if max(waits[1:]) <= 30 else "MISS"
    print(f"{verdict}  goes on within {max(waits[1:]):.1f} s after a kill (goal at 100 million: 30 s)")


def add(options, data):
    command = [str(TEIA), "urls", "add", "-", "--data", str(data)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    writer = threading.Thread(target=write_urls, args=(options, process.stdin))
    writer.start()
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    writer.join()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"teia urls add ended with {process.returncode}")
    return json.loads(out) | {"peak": usage.ru_maxrss * 1024}


def write_urls(options, stream):
    """Few hosts have many URLs, many have few."""
    chance = random.Random(5)
    with stream:
        lines = []
        for number in range(options.urls):
            host = int(options.hosts * chance.random() ** 3)
            lines.append(f"http://h{host}.queue.test/section-{number * 7919 % 50}/article/{number}-title-of-page.html\n")
            if len(lines) == 10_000:
                stream.write("".join(lines).encode())
                lines.clear()
        stream.write("".join(lines).encode())


class Server:
    """Answers every request with 404, at once, and notes when the first came."""

    def __init__(self):
        import socket

        self.socket = socket.create_server(("127.0.0.1", 0), backlog=4096)
        self.port = self.socket.getsockname()[1]
        self.first = None
        self.requests = 0
        self.stopped = False
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        import selectors

        chosen = selectors.DefaultSelector()
        chosen.register(self.socket, selectors.EVENT_READ)
        self.socket.setblocking(False)
        answer = b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\nContent-Type: text/plain\r\n\r\ngone"
        while not self.stopped:
            for key, _ in chosen.select(0.2):
                if key.fileobj is self.socket:
                    connection, _ = self.socket.accept()
                    connection.setblocking(False)
                    chosen.register(connection, selectors.EVENT_READ, b"")
                    continue
                try:
                    got = key.fileobj.recv(65536)
                    if not got:
                        raise OSError
                    whole = got.count(b"\r\n\r\n")
                    self.first = self.first or time.monotonic()
                    self.requests += whole
                    key.fileobj.send(answer * whole)
                except OSError:
                    chosen.unregister(key.fileobj)
                    key.fileobj.close()
        chosen.close()
        self.socket.close()

    def stop(self):
        self.stopped = True
        self.thread.join()


def measured_crawl(options, data, server):
    command = [str(TEIA), "resume", "--data", str(data), "--resolve", f"*.test=127.0.0.1:{server.port}"]
    command += ["--allow-private", "--scope", "any", "--hosts", "1000", "--no-index", "--no-catalog", "--delay", "1s"]
    began = time.monotonic()
    log = tempfile.TemporaryFile()
    process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    while server.first is None and process.poll() is None and time.monotonic() - began < 600:
        time.sleep(0.05)
    if server.first is None:
        log.seek(0)
        sys.exit(f"the crawl asked for nothing:\n{log.read().decode()}")
    time.sleep(options.seconds)
    process.send_signal(signal.SIGKILL)
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = -9
    server.stop()
    return {"first_request": server.first - began, "requests": server.requests, "peak": usage.ru_maxrss * 1024}


def measured(command):
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {process.returncode}")
    return {"peak": usage.ru_maxrss * 1024}


if __name__ == "__main__":
    main()
