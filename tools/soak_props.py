#!/usr/bin/env python3
"""./dev soak props: the property tests of the workspace with seeds that nobody has tried.

  ./dev soak props [--minutes N] [--cases N] [--seed N] [--only TEXT]

Every test in a `proptest!` block is tried, round after round, each round with another seed; whoever writes a new one need
not name it here. `./dev test` always has the same seed, so that it says the same today and tomorrow. A failure
prints its seed and the smallest example; the seed repeats it. Exit code 1 where a property did not hold.
"""
import argparse
import json
import os
import pathlib
import re
import secrets
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent.parent


def property_tests():
    """The names of the tests in `proptest!` blocks, by crate folder; and what cargo must build for them."""
    found, targets = {}, {"--lib"}
    for path in sorted((HERE / "crates").rglob("*.rs")):
        text = path.read_text()
        for block in re.finditer(r"^( *)proptest! \{\n(.*?)^\1\}\n", text, re.M | re.S):
            names = re.findall(r"^\s*fn (\w+)\(", block.group(2), re.M)
            crate, folder, *rest = path.relative_to(HERE / "crates").parts
            found.setdefault(crate, set()).update(names)
            if folder == "tests":
                targets.add(f"--test={rest[0].removesuffix('.rs')}")
    return found, sorted(targets)


def executables(crates, targets):
    """The test programs of these crates."""
    built = subprocess.run(
        ["cargo", "test", "--release", "--workspace", *targets, "--no-run", "--message-format", "json"],
        cwd=HERE, stdout=subprocess.PIPE, text=True)
    if built.returncode != 0:
        sys.exit("the tests cannot be built")
    for line in built.stdout.splitlines():
        message = json.loads(line)
        program = message.get("executable")
        if program and message.get("profile", {}).get("test"):
            crate = pathlib.Path(message["manifest_path"]).parent
            if crate.name in crates:
                yield crate, program


def programs_with_properties(tests, targets):
    for crate, program in executables(tests, targets):
        listed = subprocess.run([program, "--list"], cwd=crate, stdout=subprocess.PIPE, text=True).stdout
        there = [line.split(": ")[0] for line in listed.splitlines() if line.endswith(": test")]
        wanted = [name for name in there if name.split("::")[-1] in tests[crate.name]]
        if wanted:
            yield crate, program, wanted


def main():
    parser = argparse.ArgumentParser(prog="./dev soak props", description=__doc__.split("\n\n")[0])
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--cases", type=int, default=5000, help="of each property in each round")
    parser.add_argument("--seed", type=int, help="this one, and one round")
    parser.add_argument("--only", default="", help="tests whose names contain this")
    options = parser.parse_args()
    tests, targets = property_tests()
    programs = [(crate, program, [name for name in wanted if options.only in name])
                for crate, program, wanted in programs_with_properties(tests, targets)]
    programs = [one for one in programs if one[2]]
    known = {name for names in tests.values() for name in names}
    seen = {name.split("::")[-1] for _, _, names in programs for name in names}
    if not options.only and known - seen:
        sys.exit(f"no program has {sorted(known - seen)}")
    print(f"{len(seen)} properties in {len(programs)} programs, {options.cases:,} cases each round", flush=True)
    end, rounds, broken = time.monotonic() + 60 * options.minutes, 0, 0
    while rounds == 0 or (options.seed is None and time.monotonic() < end):
        seed = secrets.randbits(63) if options.seed is None else options.seed
        for crate, program, names in programs:
            if rounds > 0 and time.monotonic() > end:
                break
            changed = dict(os.environ, PROPTEST_RNG_SEED=str(seed), PROPTEST_CASES=str(options.cases),
                           PROPTEST_MAX_GLOBAL_REJECTS="1000000", PROPTEST_DISABLE_FAILURE_PERSISTENCE="1")
            ran = subprocess.run([program, "--exact", *names], cwd=crate, env=changed, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if ran.returncode != 0:
                broken += 1
                print(f"BROKEN in crates/{crate.name} with --seed {seed} --cases {options.cases}:\n{ran.stdout[-6000:]}", flush=True)
        rounds += 1
    print(f"{rounds} rounds, {broken} broken", flush=True)
    sys.exit(1 if broken else 0)


main()
