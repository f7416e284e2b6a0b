"""Tables of compare.sh's measurements: compare.py CSV.

The drift is that of one longer run, whose time does not count. Times are minimum, median and maximum over the repetitions. Ratios are formed within a repetition,
so that a temporary slow-down of the machine affects both programs.
"""

import csv
import statistics
import sys

OURS = ("md", "md-drift")


def read(path):
    """Returns times by program (code, precision, SIMD) and repetition, and drifts by program."""
    times, drifts = {}, {}
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            program = (row["code"], row["precision"], row["simd"])
            if row["repeat"] == "drift":
                drifts[program] = row["drift_per_atom_time"]
            else:
                times.setdefault(program, {})[row["repeat"]] = float(row["ns_per_atom_step"])
    return times, drifts


def spread(values):
    return min(values), statistics.median(values), max(values)


def tables(times, drifts):
    yield (
        "| code | precision | built for | ns per atom and step: fastest | median | slowest "
        "| drift of the energy per atom and time |"
    )
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for program, runs in times.items():
        drift = drifts.get(program, "-")
        yield "| {} | {} | {} | {:.1f} | {:.1f} | {:.1f} | {} |".format(*program, *spread(runs.values()), drift)
    yield ""
    yield "| times as fast as | precision | built for | md | min | median | max |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    ours = [program for program in times if program[0] in OURS]
    for our in ours:
        for their in times:
            if their != our:
                ratios = [times[their][turn] / time for turn, time in times[our].items() if turn in times[their]]
                yield "| {} | {} | {} | {} | {:.2f} | {:.2f} | {:.2f} |".format(*their, f"{our[0]} {our[1]}", *spread(ratios))


if __name__ == "__main__":
    print("\n".join(tables(*read(sys.argv[1]))))
