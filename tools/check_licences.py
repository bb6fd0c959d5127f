#!/usr/bin/env python3
"""Every crate we build with has a licence that deny.toml allows, and none is banned there.

Quick and offline: what cargo-deny's `licenses` and `bans.deny` say, read from `cargo tree`.
Bans are for what is shipped; licences also for what only tests use.
"""

import pathlib
import re
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent


def main():
    rules = tomllib.loads((ROOT / "deny.toml").read_text())
    allowed = set(rules["licenses"]["allow"])
    excepted = {rule["crate"]: set(rule["allow"]) for rule in rules["licenses"].get("exceptions", [])}
    bans = {ban["crate"]: ban["reason"] for ban in rules["bans"]["deny"]}
    crates, shipped = used_crates("normal,build,dev"), used_crates("normal,build")
    problems = [
        f"{name} {version}: {licence or 'no licence'} is not among those deny.toml allows"
        for name, version, licence in crates
        if not licence or not permits(licence, allowed | excepted.get(name, set()))
    ]
    problems += [
        f"{name} {version}: banned, {bans[name]}" for name, version, _ in shipped if name in bans
    ]
    print("\n".join(problems) or f"{len(crates)} crates ({len(shipped)} shipped), every licence allowed")
    return 1 if problems else 0


def used_crates(edges):
    """Name, version and licence of each crate that is compiled here (the lock file names more)."""
    tree = subprocess.run(
        ["cargo", "tree", "--locked", "--workspace", "--edges", edges, "--prefix=none", "--format={p}|{l}"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout
    lines = {line.removesuffix(" (*)") for line in tree.splitlines() if "|" in line}
    crates = {(*line.split("|")[0].split()[:2], line.split("|")[1]) for line in lines}
    return sorted(crates)


def permits(expression, allowed):
    """Whether a licence expression (SPDX, or the older `MIT/Apache-2.0`) can be met by allowed licences."""
    tokens = re.findall(r"[()/]|[^\s()/]+", expression)

    def any_of():
        verdict = all_of()
        while tokens and tokens[0] in ("OR", "/"):
            tokens.pop(0)
            verdict = all_of() or verdict  # The right side is read in any case.
        return verdict

    def all_of():
        verdict = one()
        while tokens and tokens[0] == "AND":
            tokens.pop(0)
            verdict = one() and verdict
        return verdict

    def one():
        token = tokens.pop(0)
        if token == "(":
            verdict = any_of()
            tokens.pop(0)
            return verdict
        if tokens and tokens[0] == "WITH":
            tokens.pop(0)
            return f"{token} WITH {tokens.pop(0)}" in allowed
        return token in allowed

    return any_of()


def self_test():
    """The reader of expressions is right where it is easy to be wrong."""
    allowed = {"MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception"}
    for expression, expected in [
        ("MIT", True),
        ("GPL-3.0", False),
        ("GPL-3.0 OR MIT", True),
        ("MIT/GPL-3.0", True),
        ("MIT AND GPL-3.0", False),
        ("(GPL-3.0 OR MIT) AND Apache-2.0", True),
        ("MIT OR GPL-3.0 AND GPL-2.0", True),
        ("Apache-2.0 WITH LLVM-exception OR GPL-3.0", True),
        ("MIT WITH Some-exception", False),
    ]:
        assert permits(expression, allowed) is expected, expression


if __name__ == "__main__":
    self_test()
    sys.exit(main())
