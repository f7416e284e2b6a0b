"""Tables of compare.sh's measurements: compare.py CSV.

Times are minimum, median and maximum over the repetitions. Ratios are formed within a repetition,
so that a temporary slow-down of the machine affects both programs.
"""

import csv
import statistics
import sys

OURS = "md"


def read(path):
    """Returns times by program (code, precision, SIMD) and repetition."""
    times = {}
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            program = (row["code"], row["precision"], row["simd"])
            times.setdefault(program, {})[row["repeat"]] = float(row["ns_per_atom_step"])
    return times


def spread(values):
    return min(values), statistics.median(values), max(values)


def tables(times):
    yield "| code | precision | built for | ns per atom and step: fastest | median | slowest |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for program, runs in times.items():
        yield "| {} | {} | {} | {:.1f} | {:.1f} | {:.1f} |".format(*program, *spread(runs.values()))
    yield ""
    yield "| times as fast as | precision | built for | md precision | min | median | max |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    ours = [program for program in times if program[0] == OURS]
    for our in ours:
        for their in times:
            if their != our:
                ratios = [times[their][turn] / time for turn, time in times[our].items() if turn in times[their]]
                yield "| {} | {} | {} | {} | {:.2f} | {:.2f} | {:.2f} |".format(*their, our[1], *spread(ratios))


if __name__ == "__main__":
    print("\n".join(tables(read(sys.argv[1]))))
