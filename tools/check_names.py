#!/usr/bin/env python3
"""Nothing in the tracked files that belongs to one machine, and no promise without an issue.

- no absolute path of this machine (outside the system's own directories), no home directory;
- no package registry but the public ones, in manifests and lock files;
- no "to do" mark in code without the number of its issue: `(#12)` right after it.

Files of more than 700 lines are listed as a note.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LONG = 700
# Spelt apart, so that this file passes its own check.
MARKS = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X)\b(?!\(#\d+\))")
CODE = {".rs", ".py", ".sh", ".toml"}
SYSTEM = {"bin", "boot", "dev", "etc", "lib", "lib64", "opt", "proc", "run", "sbin", "sys", "tmp", "usr", "var"}
ABSOLUTE = re.compile(r"(?<![\w.~$}{)\]/:%*-])(/[\w.-]+/[\w.-]+)")
HOMES = re.compile(r"(?<![\w.])/(?:home|Users)/\w+/")
PRIVATE_REGISTRY = re.compile(
    r"\bsparse\+|/artifactory/|--(?:extra-)?index-url|\[source\.|registry\+(?!https://github\.com/rust-lang/crates\.io-index)"
)


def main():
    problems, long_files, files = [], [], tracked_files()
    for path in files:
        name = path.relative_to(ROOT).as_posix()
        try:
            text = path.read_text()
        except (UnicodeDecodeError, FileNotFoundError):
            continue
        lines = text.splitlines()
        if len(lines) > LONG and path.suffix == ".rs":
            long_files.append(f"note: {name} has {len(lines)} lines; is a second idea hiding in it?")
        for number, line in enumerate(lines, 1):
            problems += [f"{name}:{number}: {problem}" for problem in problems_of(path, line)]
    print("\n".join(long_files + problems) or f"{len(files)} files, nothing found")
    return 1 if problems else 0


def problems_of(path, line):
    code = path.suffix in CODE or path.name == "dev"
    if code and MARKS.search(line):
        yield f"a mark without an issue, such as (#12): {line.strip()[:100]}"
    for match in HOMES.finditer(line):
        yield f"somebody's home directory: {match.group()}"
    for match in ABSOLUTE.finditer(line):
        start = match.group(1)
        if start.split("/")[1] not in SYSTEM and pathlib.Path(start).exists():
            yield f"a path of this machine: {start}"
    registry = path != pathlib.Path(__file__).resolve() and PRIVATE_REGISTRY.search(line)
    if registry:
        yield f"a package registry of its own: {registry.group()}"


def tracked_files():
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT, check=True, capture_output=True, text=True,
        ).stdout.split("\0")
        return sorted({ROOT / name for name in listed if name and (ROOT / name).is_file()})
    except (OSError, subprocess.CalledProcessError):
        # No repository, as in a source archive: everything but what is built.
        skipped = {"target", "teia-data", ".git"}
        return sorted(
            path for path in ROOT.rglob("*")
            if path.is_file() and not skipped & set(path.relative_to(ROOT).parts)
        )


def self_test():
    """Each rule catches what it is for, and lets pass what looks alike."""
    here = str(ROOT)
    # A checkout below a system directory looks like any path of a system.
    is_seen = ROOT.parts[1] not in SYSTEM
    for name, line, bad in [
        ("a.rs", "// TO" "DO: later", True),
        ("a.rs", "// TO" "DO(#12): later", False),
        ("a.md", "no TO" "DO without an issue", False),
        ("a.md", f"see {here}/x" if here.count("/") > 1 else f"see {here}/Cargo.toml", is_seen),
        ("a.md", "see /usr/bin and http://h/usr/x", False),
        ("a.md", "see /ho" "me/ana/x", True),
        ("a.toml", 'registry = "sparse' '+https://h/"', True),
        ("Cargo.lock", 'source = "registry+https://github.com/rust-lang/crates.io-index"', False),
    ]:
        assert any(problems_of(pathlib.Path(name), line)) is bad, line


if __name__ == "__main__":
    self_test()
    sys.exit(main())
