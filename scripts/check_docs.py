#!/usr/bin/env python3
"""Checks the documentation: every relative link and picture leads to a file and a heading, in the
book's pages to one of the book; every include finds its file and its anchor; every page of docs/ is
listed in SUMMARY.md.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "benches/README.md", "tests/data/README.md")]
BOOK = ROOT / "docs"
LINK = re.compile(r"\]\(([^)\s]+)\)")
INCLUDE = re.compile(r"\{\{#include ([^}:\s]+)(?::([\w-]+))?[^}]*\}\}")


def prose(text):
    """Returns the text without code blocks and code spans."""
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S))


def heading_ids(page):
    """Returns the ids of a page's headings, as in GitHub and mdBook, including those of included
    pages."""
    text = page.read_text()
    for name, _ in INCLUDE.findall(text):
        included = page.parent / name
        text += included.read_text() if included.suffix == ".md" and included.exists() else ""
    headings = re.findall(r"^#+ +(.*)$", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def is_in_book(page):
    """Returns whether a page is in docs/, or is the one that is included as a whole from elsewhere.
    """
    return page.is_relative_to(BOOK) or page.name == "ARCHITECTURE.md"


def problems_of_links(page):
    for target in LINK.findall(prose(page.read_text())):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, fragment = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists():
            yield f"`{target}`: no such file"
        elif is_in_book(page) and path and not file.is_relative_to(BOOK):
            yield f"`{target}`: leads out of the book; name the path instead"
        elif fragment and fragment not in heading_ids(file):
            yield f"`{target}`: no such heading"


def problems_of_includes(page):
    for name, anchor in INCLUDE.findall(page.read_text()):
        file = page.parent / name
        if not file.exists():
            yield f"include of `{name}`: no such file"
        elif anchor and not re.search(rf"ANCHOR: {anchor}\b", file.read_text()):
            yield f"include of `{name}`: no anchor `{anchor}`"


def main():
    book = sorted(BOOK.rglob("*.md"))
    contents = (BOOK / "SUMMARY.md").read_text()
    found = []
    for page in [*PAGES, *book]:
        name = page.relative_to(ROOT)
        found += [f"{name}: {problem}" for problem in [*problems_of_links(page), *problems_of_includes(page)]]
        if page in book and page.name != "SUMMARY.md" and f"({page.relative_to(BOOK)})" not in contents:
            found.append(f"{name}: not in SUMMARY.md")
    print("\n".join(found), file=sys.stderr, end="\n" if found else "")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
