"""Merges the compare.csv of several MPI libraries: merge_compare.py DIR NAME...

Reads DIR/NAME/compare.csv, writes DIR/compare-libraries.csv (all rows, with a first column `library`) and
DIR/compare-libraries.md: one row per strategy, one column per library, the exchange alone in microseconds.
"""

import csv
import sys
from pathlib import Path

STRATEGY = ("backend", "shell", "exchange", "partition", "ranks")
MICROSECONDS_PER_SECOND = 1e6


def read(folder, names):
    """Returns all rows with their library, and the libraries that have none."""
    rows, missing = [], []
    for name in names:
        path = folder / name / "compare.csv"
        if not path.is_file():
            missing.append(name)
            continue
        with path.open(newline="") as file:
            rows += [{"library": name, **row} for row in csv.DictReader(file)]
    return rows, missing


def write_csv(path, rows):
    columns = list(dict.fromkeys(column for row in rows for column in row))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def microseconds(row, bound):
    """Returns a time of the row, or None if it was not measured."""
    try:
        return float(row[f"exchange_{bound}_s"]) * MICROSECONDS_PER_SECOND
    except ValueError:
        return None


def cell(row, best):
    """Formats `12.3 [11.9, 12.8]`, bold for the library's fastest, or the reason why there is no
    number."""
    if row is None:
        return ""
    median, low, high = (microseconds(row, bound) for bound in ("median", "low", "high"))
    if row["status"] != "ok" or median is None:
        return row["status"]
    text = f"{median:.2f} [{low:.2f}, {high:.2f}]"
    return f"**{text}**" if median == best else text


def markdown(rows, missing):
    libraries = list(dict.fromkeys(row["library"] for row in rows))
    columns = [*STRATEGY, *(column for column in rows[0] if column.startswith("parallel."))]
    strategies = list(dict.fromkeys(tuple(row[key] for key in columns) for row in rows))
    by_place = {(row["library"], tuple(row[key] for key in columns)): row for row in rows}
    best = {}
    for library in libraries:
        timed = [microseconds(row, "median") for row in rows if row["library"] == library and row["status"] == "ok"]
        best[library] = min((time for time in timed if time is not None), default=None)
    lines = [
        f"{rows[0]['atoms']} atoms on {rows[0]['host']}. The exchange alone, microseconds: median [its 95 % interval; with fewer",
        "than 6 repetitions the smallest and the largest]; bold: the library's fastest.",
        "",
    ]
    for library in libraries:
        full = next(row["mpi_library"] for row in rows if row["library"] == library)
        lines.append(f"- {library}: {full}")
    lines += [f"- {library}: no result" for library in missing]
    lines += ["", "| " + " | ".join([*columns, *libraries]) + " |"]
    lines.append("|" + " --- |" * (len(columns) + len(libraries)))
    for strategy in strategies:
        cells = [cell(by_place.get((library, strategy)), best[library]) for library in libraries]
        lines.append("| " + " | ".join([*strategy, *cells]) + " |")
    return "\n".join(lines) + "\n"


def main():
    folder, names = Path(sys.argv[1]), sys.argv[2:]
    rows, missing = read(folder, names)
    if not rows:
        sys.exit(f"merge_compare: no compare.csv of {', '.join(names) or 'any library'} in {folder}")
    write_csv(folder / "compare-libraries.csv", rows)
    text = markdown(rows, missing)
    (folder / "compare-libraries.md").write_text(text)
    print(text, end="")


if __name__ == "__main__":
    main()
