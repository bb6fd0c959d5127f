#!/usr/bin/env python3
"""PageRank of a generated power-law graph: time and memory of Teia beside igraph's, on the same graph.

    ./dev bench pagerank                        50 million links: some minutes, and 9 GB of memory for igraph
    ./dev bench pagerank --links 2000000        a trial: half a minute

Both read the same file of edges. Each step is a process of its own, so that its peak memory is its own. Teia builds
its graph on disk (names, both directions), then ranks it; igraph builds its graph in memory and ranks it (PRPACK).
The ranks are compared node by node. Everything is written to target/bench/pagerank.json.
"""

import argparse
import array
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "target/release/examples/pagerank"
PYTHON = ROOT / "target/tools/igraph/bin/python"
OUT = ROOT / "target/bench"
MIB = 1024 * 1024

IGRAPH = """
import json, sys, time
import igraph, numpy
edges = numpy.fromfile(sys.argv[1], dtype="<u4").reshape(-1, 2).astype("i8")
began = time.monotonic()
graph = igraph.Graph(n=int(sys.argv[2]), edges=edges, directed=True)
del edges
built = time.monotonic()
ranks = graph.pagerank(damping=0.85, implementation="prpack")
done = time.monotonic()
numpy.asarray(ranks, dtype="<f8").tofile(sys.argv[3])
print(json.dumps({"build": built - began, "rank": done - built, "version": igraph.__version__}))
"""


def main():
    options = parse_options()
    subprocess.run(["cargo", "build", "--release", "-p", "teia-graph", "--example", "pagerank"], cwd=ROOT, check=True)
    OUT.mkdir(parents=True, exist_ok=True)
    report = {"load": os.getloadavg()[0], "cores": os.cpu_count()}
    with tempfile.TemporaryDirectory(prefix="pagerank-", dir=OUT) as folder:
        folder = pathlib.Path(folder)
        edges = folder / "edges"
        made = report["graph"] = run([PROGRAM, "generate", edges, options.links], options.timeout)
        links, nodes = made["answer"]["links"], made["answer"]["nodes"]
        print(f"graph: {nodes:,} nodes, {links:,} links (asked for about {options.links:,})", flush=True)

        build = report["build"] = run([PROGRAM, "build", folder / "graph", edges, nodes], options.timeout)
        stored = build["answer"]["bytes"]
        row("Teia: build on disk", build, f"{stored / links:.2f} bytes a link, names and both directions included")
        rank = report["rank"] = run([PROGRAM, "rank", folder / "graph", folder / "teia.ranks"], options.timeout)
        row("Teia: rank", rank, f"{rank['answer']['sweeps']} sweeps, error at most {rank['answer']['error']:.1e}, hosts too")

        ours = numbers(folder / "teia.ranks")
        if not igraph_is_there():
            print("LEFT OUT: igraph is not installed here and could not be; there is nothing to compare with")
        else:
            command = [PYTHON, "-c", IGRAPH, edges, str(nodes), folder / "igraph.ranks"]
            peer = report["igraph"] = run(command, options.timeout)
            if peer["exit"]:
                print(f"LEFT OUT: igraph ended with {peer['exit']}: {peer['output'][-300:]}")
            else:
                own = peer["answer"]
                row(f"igraph {own['version']}", peer, f"build {own['build']:.1f} s, rank {own['rank']:.1f} s")
                judge(report, ours, numbers(folder / "igraph.ranks"), options)
    (OUT / "pagerank.json").write_text(json.dumps(report, indent=1))
    return 0


def judge(report, ours, theirs, options):
    differences = [abs(a - b) for a, b in zip(ours, theirs)]
    worst, together = max(differences), sum(differences)
    report["worst"], report["together"] = worst, together
    same = len(ours) == len(theirs) and together <= 1e-6
    print(f"{'PASS' if same else 'MISS'}  ranks differ by {worst:.1e} at most and {together:.1e} in all (goal: 1e-6)")
    rank, peer = report["rank"], report["igraph"]
    print(
        f"Teia's rank takes {rank['seconds'] / peer['answer']['rank']:.2f} times as long as igraph's pagerank alone, "
        f"{rank['seconds'] / peer['seconds']:.2f} times as long as its whole process, "
        f"and {rank['peak_bytes'] / peer['peak_bytes']:.3f} of its memory"
    )


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--links", type=int, default=50_000_000)
    parser.add_argument("--timeout", type=float, default=1800, help="seconds, for each step")
    return parser.parse_args()


def igraph_is_there():
    subprocess.run([ROOT / "tools/igraph.sh", PYTHON.parent.parent], check=False)
    return shutil.which(PYTHON) and not subprocess.run([PYTHON, "-c", "import igraph, numpy"], check=False).returncode


def run(command, timeout):
    """Runs one step; its last line of output is JSON."""
    began = time.monotonic()
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen([str(part) for part in command], stdout=log, stderr=subprocess.STDOUT)
        clock = threading.Timer(timeout, process.kill)
        clock.start()
        # The memory of this process alone; getrusage would give the largest of all so far.
        _, status, usage = os.wait4(process.pid, 0)
        clock.cancel()
        seconds = time.monotonic() - began
        log.seek(0)
        output = log.read()
    process.returncode = os.waitstatus_to_exitcode(status)
    step = {"seconds": seconds, "exit": process.returncode, "output": output, "peak_bytes": usage.ru_maxrss * 1024}
    step["cpu_seconds"] = usage.ru_utime + usage.ru_stime
    if process.returncode == 0:
        step["answer"] = json.loads(output.strip().splitlines()[-1])
    elif "igraph" not in " ".join(map(str, command)):
        sys.exit(f"{command[1]} ended with {process.returncode}: {output[-600:]}")
    return step


def row(name, step, note):
    print(f"{name:<22} {step['seconds']:8.1f} s   cpu {step['cpu_seconds']:7.1f} s   peak {step['peak_bytes'] / MIB:7.0f} MiB   {note}", flush=True)


def numbers(path):
    values = array.array("d")
    values.frombytes(path.read_bytes())
    return values


if __name__ == "__main__":
    sys.exit(main())
