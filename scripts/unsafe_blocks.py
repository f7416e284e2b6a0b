#!/usr/bin/env python3
"""Prints docs/reference/unsafe.md: every `unsafe` block of the project with its invariant, which is its `SAFETY` comment, and
the checks that would see it broken. Fails if a block has no comment, a file has no check, or a check is gone."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FFI = Path("crates/md-comm/src/mpi/ffi")
SUITE = "crates/md-comm/tests/conformance/main.rs"
ADVERSE = "crates/md-comm/tests/conformance/adverse.rs"
JOBS = "crates/md-comm/tests/conformance/jobs.rs"
GROWTH = "crates/md-comm/src/conformance/growth.rs"
RACES = "scripts/check-races.sh"
MODEL = "crates/md-comm/src/flag_protocol/loom_model.rs"
FAULTS = "tests/faults/main.rs"

# Per file: what runs its blocks under conditions in which a broken invariant shows.
CHECKS = {
    "mod.rs": [SUITE, FAULTS],
    "communicator.rs": [SUITE, JOBS],
    "constants.rs": [SUITE],
    "neighbours.rs": [SUITE, JOBS],
    "transfers.rs": [SUITE, JOBS, RACES],
    "window/access.rs": [ADVERSE, GROWTH, RACES],
    "window/epochs.rs": [ADVERSE, SUITE],
    "window/making.rs": [GROWTH, SUITE, RACES],
    "window/shared.rs": [ADVERSE, MODEL, RACES],
}

HEAD = """<!-- Made by scripts/unsafe_blocks.py from the sources. -->
# Unsafe code

All unsafe code of the project is in `{ffi}`, behind safe functions; every other crate and, without MPI, this one too forbid
it. The rules that the wrappers keep are in the documentation of that module and of its windows. Below is every block, in
the order of the sources: the function it is in, and the invariant it relies on, as its comment states it. The checks named per
file are those that run these blocks where a broken invariant shows: with delays and overwritten buffers (`adverse.rs`), with contexts
dropped in flight (`jobs.rs`), with windows that grow, under memcheck (`check-races.sh`), or in all interleavings (the model).
"""


def blocks(text):
    """Function and SAFETY comment of each unsafe block."""
    lines = text.split("\n")
    function, found = "", []
    for number, line in enumerate(lines):
        code = line.split("//")[0]
        declared = re.search(r"\bfn (\w+)", code)
        if declared:
            function = declared[1]
        if not re.search(r"\bunsafe (\{|extern)", code):
            continue
        found.append((function if "extern" not in code else "declarations", comment_before(lines, number)))
    return found


def comment_before(lines, number):
    """The nearest SAFETY comment above a line, as long as only lines of the same statement are in between."""
    last = number - 1
    while last >= 0 and not lines[last].strip().startswith("//"):
        if not lines[last].strip() or lines[last].strip() == "}":
            return None
        last -= 1
    first = last
    while first > 0 and lines[first - 1].strip().startswith("//") and "SAFETY" not in lines[first]:
        first -= 1
    text = " ".join(line.strip().lstrip("/").strip() for line in lines[first : last + 1])
    return text.partition("SAFETY:")[2].strip() or None


def page():
    wrong, out = [], [HEAD.format(ffi=f"{FFI}/")]
    sources = sorted((ROOT / FFI).rglob("*.rs"))
    names = [str(source.relative_to(ROOT / FFI)) for source in sources]
    for name, source in zip(names, sources):
        found = blocks(source.read_text())
        if not found:
            continue
        wrong += [f"{name}: no check is named for its unsafe blocks"] * (name not in CHECKS)
        checks = CHECKS.get(name, [])
        wrong += [f"{name}: {check} is gone" for check in checks if not (ROOT / check).exists()]
        out.append(f"\n## `{name}`\n\nSeen by: {', '.join(f'`{check}`' for check in checks)}.\n")
        out.append("| function | invariant |\n| --- | --- |")
        for function, invariant in found:
            if invariant is None:
                wrong.append(f"{name}: an unsafe block of `{function}` has no SAFETY comment")
            out.append(f"| `{function}` | {(invariant or '').replace('|', chr(92) + '|')} |")
    elsewhere = [
        str(source.relative_to(ROOT))
        for source in sorted((ROOT / "crates").rglob("*.rs"))
        if not source.is_relative_to(ROOT / FFI) and blocks(source.read_text())
    ]
    wrong += [f"{name}: unsafe code outside of {FFI}" for name in elsewhere]
    return "\n".join(out), wrong


def main():
    text, wrong = page()
    print(text)
    print("\n".join(wrong), file=sys.stderr, end="\n" if wrong else "")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
