#!/usr/bin/env python3
"""What the tests of the catalogue of hostile behaviour gave in the last run.

  tools/case_results.py [LOG] [PAGE]

Reads the log of the tests (`target/dev/tests.log`) and the list of cases (`docs/hostile-web.md`), and writes the list with
the result of each case to PAGE (`target/dev/hostile-web.md`). Part of `./dev test`; exit code 1 where a case that is
listed as covered was not run.
"""
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent.parent
ROW = re.compile(r"^\| ([A-Z0-9]+-\d+) \|.*\| covered \| (.*) \|$")
TEST = re.compile(r"`(\w+)` in `([^`]+)`")
# The worst of them is the result of a case.
RESULTS = ["FAILED", "not run", "skipped", "passed"]


def results(log):
    """What became of each test: by the file of its program, with its crate, and by its last name."""
    program, section, found = "", "", {}
    for line in re.sub(r"\x1b\[[0-9;]*m", "", log).splitlines():
        if running := re.match(r" *Running (?:unittests )?(\S+) \((\S+)\)", line):
            file, built = running.groups()
            program, section = f"{crate_of(file, built)}/{file}", ""
        elif ended := re.match(r"test (\S+)(?: - should panic)? \.\.\. (\w+)", line):
            name, result = ended.groups()
            key = (program, name.split("::")[-1])
            result = {"ok": "passed", "ignored": "skipped"}.get(result, "FAILED")
            if found.get(key) != "FAILED":
                found[key] = result
        elif begun := re.match(r"---- (\S+) stdout ----", line):
            section = begun.group(1).split("::")[-1]
        elif line.startswith("SKIPPED") and found.get((program, section)) == "passed":
            found[(program, section)] = "skipped"
    return found


def crate_of(file, built):
    """The crate of a program of tests: two crates may have files of the same name. What it was built from lies beside it."""
    sources = (HERE / f"{built}.d").read_text()
    crates = set(re.findall(rf"(crates/[^/\s]+)/{re.escape(file)}", sources))
    if len(crates) != 1:
        sys.exit(f"{built}.d does not say of which crate {file} is: {sorted(crates)}")
    return crates.pop()


def program_of(file):
    """The program that has the tests of a file."""
    crate, inside = "/".join(file.split("/")[:2]), file.split("/", 2)[2]
    if inside.startswith("src/"):
        return f"{crate}/src/main.rs" if inside == "src/main.rs" else f"{crate}/src/lib.rs"
    parts = inside.split("/")
    return f"{crate}/{inside}" if len(parts) == 2 else f"{crate}/tests/{parts[1]}/main.rs"


def main():
    log = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else HERE / "target/dev/tests.log")
    page = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else HERE / "target/dev/hostile-web.md")
    found = results(log.read_text(errors="replace"))
    counts, missing, lines = {}, [], []
    for line in (HERE / "docs/hostile-web.md").read_text().splitlines():
        if row := ROW.match(line):
            case, tests = row.groups()
            each = {(name, file): found.get((program_of(file), name), "not run") for name, file in TEST.findall(tests)}
            result = min(each.values(), key=RESULTS.index)
            counts[result] = counts.get(result, 0) + 1
            missing.extend(f"{case} ({name} in {file})" for (name, file), result in each.items() if result == "not run")
            line = line.replace("| covered |", f"| {result} |")
        lines.append(line)
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text("\n".join(lines) + "\n")
    told = ", ".join(f"{count} {result}" for result, count in sorted(counts.items()))
    print(f"note: cases of the hostile web in this run: {told} (listed in {page.name} beside the log)")
    if not counts or missing:
        sys.exit(f"these cases are listed as covered, and were not run: {', '.join(missing) or 'all'}")


main()
