#!/usr/bin/env python3
"""Checks that no crate has a cycle of imports between its modules: those directly below its root, each with everything
inside it. Tests are left out. Prints one cycle per crate that has one, with an import for each step."""

import re
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TESTS = re.compile(r"/(tests|loom_model|fixtures)(\.rs$|/)")
TEST_MODULE = re.compile(r"^( *)#\[cfg\((?:all\()?test[^\n]*\n\1mod \w+ \{\n.*?^\1\}$", re.M | re.S)
USE = re.compile(r"\buse\s+([^;]+);")
INLINE = re.compile(r"\b(?:crate|super)(?:::\w+)+")


def leaves(tree):
    """The paths of a `use` declaration without its braces: `a::{b, c::d}` is `a::b` and `a::c::d`.
    An alias stands after an `@`."""
    tree = re.sub(r"\s+", "", re.sub(r"\s+as\s+", "@", tree))
    before, brace, inside = tree.partition("{")
    if not brace:
        return [tree]
    parts, depth, start = [], 0, 0
    inside = inside[: inside.rfind("}")]
    for at, letter in enumerate(inside + ","):
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            parts.append(inside[start:at])
            start = at + 1
    return [before + leaf for part in parts if part for leaf in leaves(part)]


def code(path):
    """The text of a file without comments and without its tests."""
    text = re.sub(r"//.*", "", path.read_text())
    return TEST_MODULE.sub("", text)


def modules(source):
    """For each module, the modules that it imports from, with a file that does."""
    files = [path for path in sorted(source.rglob("*.rs")) if not TESTS.search(f"/{path.relative_to(source)}")]
    top = {path: path.relative_to(source).with_suffix("").parts[0] for path in files}
    names = set(top.values()) - {"lib", "main"}
    root = source / "lib.rs"
    exported = {}
    for tree in re.findall(r"pub(?:\([^)]*\))?\s+use\s+([^;]+);", code(root)):
        for path in leaves(tree):
            parts = [part for part in path.split("::") if part not in ("crate", "self")]
            exported[parts[-1].partition("@")[2] or parts[-1]] = parts[0]
    graph = {name: {} for name in names}
    for path in files:
        if top[path] not in names:
            continue
        depth = len(path.relative_to(source).with_suffix("").parts) - (path.name == "mod.rs")
        text = code(path)
        paths = [leaf for tree in USE.findall(text) for leaf in leaves(tree)]
        for imported in paths + INLINE.findall(text):
            parts = imported.partition("@")[0].split("::")
            climbed = parts.count("super")
            if parts[0] == "crate" and len(parts) > 1:
                name = parts[1]
            elif climbed == depth and len(parts) > climbed:
                name = parts[climbed]
            else:
                continue
            name = name if name in names else exported.get(name)
            if name in names and name != top[path]:
                graph[top[path]].setdefault(name, path.relative_to(ROOT))
    return graph


def main():
    failed = False
    for source in sorted(ROOT.glob("crates/*/src")):
        graph = modules(source)
        try:
            list(TopologicalSorter(graph).static_order())
        except CycleError as error:
            failed = True
            cycle = error.args[1][::-1]
            print(f"{source.parent.name}: a cycle of modules: {' -> '.join(cycle)}")
            for module, imported in zip(cycle, cycle[1:]):
                print(f"    {module} imports from {imported} in {graph[module][imported]}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
