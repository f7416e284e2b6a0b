#!/usr/bin/env python3
"""Prints docs/reference/unsafe.md: every `unsafe` block of the project with its invariant, which is
its `SAFETY` comment, and the checks that would detect a violation, which that comment names after
`Test:`. Fails if a block has no comment or names no check, or if a check no longer exists.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMM = "crates/md-comm/"
SOURCES = Path(COMM + "src")
FFI = [SOURCES / "buffer/ffi", SOURCES / "mpi/ffi"]
CONFORMANCE = COMM + "tests/conformance/"

# Checks that comments may name: the file, a text in it, and a description of how it detects a
# broken invariant.
CHECKS = {
    "suite": (CONFORMANCE + "cases.rs", "fn all(", "every byte of every message is compared, and a failed call is an error"),
    "rough": (CONFORMANCE + "adverse.rs", "fn cases(", "the suite with delays, and with buffers overwritten after use"),
    "flag first": (CONFORMANCE + "adverse.rs", "fn flag_first_is_caught(", "shows that the suite sees a flag before its data"),
    "no window": (CONFORMANCE + "adverse.rs", "fn no_window_is_reported(", "a window that one rank does not get"),
    "options": (CONFORMANCE + "cases.rs", "options::slice()", "the suite over windows of each kind"),
    "paths": (CONFORMANCE + "cases.rs", "fn all_options(", "the suite over each of Open MPI's implementations (`MD_CONFORMANCE=full`)"),
    "growth": (COMM + "src/conformance/growth.rs", "CHECKS", "buffers and windows are replaced by larger ones"),
    "dropped": (CONFORMANCE + "jobs.rs", "fn dropped_in_flight(", "contexts are dropped while messages are under way"),
    "unpacked": (COMM + "src/conformance/unpacked.rs", "CHECKS", "every byte of the memory is compared, those between messages too"),
    "embedded": (CONFORMANCE + "jobs.rs", "fn embedded(", "MPI is started and finalised by somebody else"),
    "nodes": (CONFORMANCE + "jobs.rs", "fn small_nodes(", "the suite on several nodes"),
    "abort": (CONFORMANCE + "jobs.rs", "fn abort_ends_job(", "the exit code of a job that is aborted"),
    "blocked": (CONFORMANCE + "jobs.rs", "fn blocked_call(", "the exit code of a job that hangs in a call"),
    "memcheck": ("scripts/check-races.sh", "under_memcheck()", "accesses to memory that is not there or not written"),
    "model": (COMM + "src/flag_protocol/loom_model.rs", "loom", "all interleavings of who polls a word with who sets it"),
    "error text": ("tests/cli/compare.rs", "MPI_Win_allocate_shared failed: ", "the library's own words about a refused window"),
    "library": ("tests/cli/outputs.rs", '["library"]', "the library's name in a summary"),
    "component": ("tests/cli/outputs.rs", "fn the_summary_names_the_component", "the name of what moves a window's data"),
    "plain": ("tests/cli/bench.rs", "fn plain_calls_and_everything_over_mpi(", "contents after each kind of plain call, of one and two ranks"),
    "flow": ("crates/md-grid/src/lbm/tests/same_bits.rs", "PastCaches", "populations that are written past the caches, against those that are not"),
    "large pages": (COMM + "src/buffer/ffi/large_pages.rs", "fn much_memory_is_advised_and_keeps_what_it_holds(", "what memory holds after the advice"),
    "other": (CONFORMANCE + "cases.rs", "fn all(", "the suite, on processors other than x86-64"),
    "none": ("scripts/unsafe_blocks.py", "none", "nowhere on the machines at hand: tried, or the library says nothing"),
}

HEAD = """<!-- Made by scripts/unsafe_blocks.py from the sources. -->
# Unsafe code

All unsafe code of the project is in {ffi}, behind safe functions; every other crate and, without MPI, this one too forbid
it. The rules that the wrappers keep are in the documentation of that module and of its windows. Below is every block, in
the order of the sources: the function it is in, the invariant it relies on, as its comment states it, and the checks that would
see it broken:

| check | where | how a broken invariant shows |
| --- | --- | --- |
{checks}
"""


def blocks(text):
    """Returns function, invariant and checks of each unsafe block; for one without a comment, only
    the function."""
    lines = text.split("\n")
    function, found, used = "", [], set()
    for number, line in enumerate(lines):
        code = line.split("//")[0]
        declared = re.search(r"\bfn (\w+)", code)
        if declared:
            function = declared[1]
        if not re.search(r"\bunsafe\s*(\{|extern|impl|$)", code):
            continue
        last, comment = comment_before(lines, number)
        invariant, _, tests = comment.partition("SAFETY:")[2].partition("Test:")
        own, named = last not in used, [test.strip() for test in tests.strip(" .").split(",") if test.strip()]
        used.add(last)
        name = "declarations" if "extern" in code else function
        found.append((name, invariant.strip() if own else "", named if own else []))
    return found


def comment_before(lines, number):
    """Returns last line and text of the comment above a line, if only lines of the same statement
    are in between."""
    last = number - 1
    while not lines[last].strip().startswith("//"):
        if not lines[last].strip() or lines[last].rstrip().endswith((";", "}")):
            return last, ""
        last -= 1
    first = last
    while lines[first - 1].strip().startswith("//") and "SAFETY" not in lines[first]:
        first -= 1
    return last, " ".join(line.strip().lstrip("/").strip() for line in lines[first : last + 1])


def page():
    there = {check: text in (ROOT / path).read_text() for check, (path, text, _) in CHECKS.items() if (ROOT / path).exists()}
    wrong = [f"check `{check}` is gone from {CHECKS[check][0]}" for check in CHECKS if not there.get(check)]
    checks = "\n".join(f"| {check} | `{path}` | {how} |" for check, (path, _, how) in CHECKS.items())
    out = [HEAD.format(ffi=" and ".join(f"`{folder}/`" for folder in FFI), checks=checks)]
    for source in [source for folder in FFI for source in sorted((ROOT / folder).rglob("*.rs"))]:
        name, found = str(source.relative_to(ROOT / SOURCES)), blocks(source.read_text())
        if found:
            out.append(f"\n## `{name}`\n\n| function | invariant | seen by |\n| --- | --- | --- |")
        for function, invariant, tests in found:
            at = f"{name}: an unsafe block of `{function}`"
            wrong += [f"{at} has no SAFETY comment of its own"] * (not invariant) + [f"{at} names no check"] * (not tests)
            wrong += [f"{at} names `{test}`, which is no check" for test in tests if test not in CHECKS]
            out.append(f"| `{function}` | {invariant.replace('|', chr(92) + '|')} | {', '.join(tests)} |")
    elsewhere = [
        str(source.relative_to(ROOT))
        for source in sorted((ROOT / "crates").rglob("*.rs"))
        if not any(source.is_relative_to(ROOT / folder) for folder in FFI) and blocks(source.read_text())
    ]
    wrong += [f"{name}: unsafe code outside of the `ffi` folders" for name in elsewhere]
    return "\n".join(out), wrong


def main():
    text, wrong = page()
    print(text)
    print("\n".join(wrong), file=sys.stderr, end="\n" if wrong else "")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
