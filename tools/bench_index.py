#!/usr/bin/env python3
"""What the index costs a crawl, and what a crowd of searches does.

    ./dev bench index                                  20,000 pages, three rounds
    ./dev bench index --pages 3000 --rounds 1          a trial

The same web on loopback is crawled without index and link graph, with both, and with both while 1,000 clients keep
asking heavy queries of `teia serve`, which has a collection of its own beside. The order turns from round to round. The
clients run at the lowest priority: on a machine of their own they would take nothing from the crawl. Goal: a crowd of
searches takes at most 10 % of the crawl's speed. All runs are written to target/bench/index.json.
"""

import argparse
import asyncio
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import bench_crawl
from bench_crawl import OUT, TEIA, Folder, Web, measure
from search_peers import free_port, wait_for

CLIENTS = 1_000
CRAWL = "crawl SEED --data DIR/data --delay 0s --scope any --allow-private --report json"
SETTINGS = {"no index": ["--no-index"], "index": ["--index"], "index, 1,000 searches at once": ["--index"]}
CROWD = "index, 1,000 searches at once"


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--pages", type=int, default=20_000)
    options.add_argument("--hosts", type=int, default=200)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--timeout", type=float, default=600, help="seconds, for each run")
    options.add_argument("--clients", help=argparse.SUPPRESS)
    options = options.parse_args()
    if options.clients:
        return asyncio.run(crowd(options.clients))
    bench_crawl.raise_file_limit()
    runs = []
    with Folder(OUT) as folder:
        served = folder / "served"
        fill(served, folder, options)
        names = list(SETTINGS)
        for number in range(options.rounds):
            turn = number % len(names)
            for name in names[turn:] + names[:turn]:
                run = one(name, served, folder, options)
                runs.append(run)
                print(f"{name}: {run['pages_per_second']:.0f} pages/s, {run['cpu_per_1000']:.2f} s of CPU per 1,000, "
                      f"{run['peak_bytes'] >> 20} MiB {run.get('crowd', '')}", flush=True)
    (OUT / "index.json").write_text(json.dumps(runs, indent=1))
    show(runs)


def fill(data, folder, options):
    """The collection that is searched."""
    with Web(["--literal", "--hosts", "50", "--pages", str(min(options.pages, 10_000))]) as web:
        command = CRAWL.replace("SEED", web.seeds[0]).replace("DIR/data", str(data)).split()
        done = measure([str(TEIA), *command], folder, options.timeout)
        web.end()
    if done["exit"] != 0:
        sys.exit(done["output"])


def one(name, served, parent, options):
    with Folder(parent) as folder, Web(["--literal", "--hosts", str(options.hosts), "--pages", str(options.pages)]) as web:
        command = [str(TEIA), *CRAWL.replace("SEED", web.seeds[0]).replace("DIR", str(folder)).split(), *SETTINGS[name]]
        others, server, clients = {}, None, None
        try:
            if name == CROWD:
                port = free_port()
                log = (folder / "serve.log").open("wb")
                server = subprocess.Popen([TEIA, "serve", "--data", served, "--listen", f"127.0.0.1:{port}"], stdout=log, stderr=log)
                wait_for(lambda: __import__("socket").create_connection(("127.0.0.1", port), 1).close())
                clients = subprocess.Popen(
                    ["nice", "-n", "19", sys.executable, __file__, "--clients", str(port)],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                )
                time.sleep(2)
            measured = measure(command, folder, options.timeout)
            if clients:
                others["crowd"] = json.loads(clients.communicate("")[0])
        finally:
            for process in (clients, server):
                if process and process.poll() is None:
                    process.terminate()
                    process.wait()
        counted = web.end()
    if measured["exit"] != 0:
        sys.exit(measured["output"])
    return bench_crawl.summed(name, options.hosts, web.pages, measured, counted) | others


async def crowd(port):
    """Clients that ask again as soon as they are answered, or when they are told to come back; until the input ends."""
    words = "tempo casa vida mundo ano dia parte governo cidade trabalho".split()
    counts, ended = {}, asyncio.Event()

    async def client(number):
        while not ended.is_set():
            query = "+OR+".join(f"{words[(number + at) % 10][:2]}*" for at in range(5))
            wait = 0.0
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", int(port))
                writer.write(f"GET /api/search?q={query} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
                answer = await reader.read()
                writer.close()
                status = answer[9:12].decode() or "cut off"
                wait = 2.0 if status == "503" else 0.0
            except OSError:
                status = "refused"
                wait = 2.0
            counts[status] = counts.get(status, 0) + 1
            if wait:
                try:
                    await asyncio.wait_for(ended.wait(), wait)
                except TimeoutError:
                    pass

    clients = [asyncio.create_task(client(number)) for number in range(CLIENTS)]
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    ended.set()
    await asyncio.wait(clients, timeout=10)
    print(json.dumps(counts), flush=True)
    os._exit(0)


def show(runs):
    print("\n| | pages/s (least to most) | CPU s per 1,000 | peak MiB |\n|---|--:|--:|--:|")
    medians = {}
    for name in SETTINGS:
        own = [run for run in runs if run["name"] == name]
        speeds = [run["pages_per_second"] for run in own]
        medians[name] = statistics.median(speeds)
        cpu = statistics.median(run["cpu_per_1000"] for run in own)
        peak = max(run["peak_bytes"] for run in own) >> 20
        print(f"| {name} | {medians[name]:,.0f} ({min(speeds):,.0f} to {max(speeds):,.0f}) | {cpu:.2f} | {peak} |")
    print(f"\nThe index takes {1 - medians['index'] / medians['no index']:.0%} of the crawl's speed.")
    lost = 1 - medians[CROWD] / medians["index"]
    print(f"{CLIENTS:,} searches at once take {lost:.0%} of what is left: {'PASS' if lost <= 0.10 else 'MISS'} (at most 10 %).")


if __name__ == "__main__":
    main()
