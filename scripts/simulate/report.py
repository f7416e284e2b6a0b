#!/usr/bin/env python3
"""Calculations of simulate.sh.

report.py machine FIT_CSV                    a machine for `predict`, from two simulated ranks and barriers
report.py shapes PREDICT_CSV                 numbers of ranks and their grids
report.py table SIMULATED_CSV PREDICT_CSV... compares simulation and prediction, as Markdown; fails if
                                             fewer than MD_LEAST_SAME_ORDER per cent of the pairs of
                                             backends are in the same order
"""

import csv
import os
import sys
from itertools import combinations
from math import log2

COMPUTE = """[[compute]]
method = "cells"
precision = "double"
""" + "".join(
    f"{key}_s = 0.0\n"
    for key in ("per_computed_pair", "per_particle", "per_ghost_packed", "per_ghost_unpacked")
)
# Backends that complete the transfer of their data before they notify the receiver: those with a
# `flushed` part in crates/md-lab/src/predict/protocol.rs.
FLUSHED = ("rma-lock", "rma-barrier", "rma-notify", "rma-ring")
# Backends that wait for a post, which takes a latency, before each message
# (`Synchronisation::Post`). In consecutive exchanges, both latencies count.
POSTED = ("rma-pscw",)
# Relative difference of times below which their order has no meaning.
TIE = 0.02


def line_through(points):
    """Returns latency and time per byte with the smallest relative residuals, and the largest of
    these."""
    weights = [(1.0 / y, x / y) for x, y in points]
    aa, ab, bb = (sum(w[i] * w[j] for w in weights) for i, j in ((0, 0), (0, 1), (1, 1)))
    a, b = (sum(w[i] for w in weights) for i in (0, 1))
    latency, per_byte = (a * bb - b * ab) / (aa * bb - ab * ab), (b * aa - a * ab) / (aa * bb - ab * ab)
    return latency, per_byte, max(abs((latency + per_byte * x) / y - 1.0) for x, y in points)


def busy(alone, messages, seconds, ends):
    """Returns the time that each of several messages keeps its sender, and with two ends its
    receiver, busy, such that in the model, which sends all of them and then receives all, they take
    as long as in the simulation."""
    return max(0.0, min((seconds - alone) / (messages - 1), seconds / (ends * messages)))


def machine(fit_csv):
    """Fits a machine: among several messages between two ranks, the shortest determine the
    overhead, and the longest the serial share."""
    points, several, barriers = {}, {}, []
    for backend, ranks, messages, size, seconds in csv.reader(open(fit_csv)):
        if backend == "barrier":
            barriers.append((log2(int(ranks)), float(seconds)))
        elif messages == "1":
            points.setdefault(backend, []).append((int(size), float(seconds)))
        else:
            several.setdefault(backend, []).append((int(size), int(messages), float(seconds)))
    print('[provenance]\nhost = "SimGrid"\n')
    for backend, measured in points.items():
        latency, per_byte, residual = line_through(measured)
        (_, messages, seconds), (size, *longest) = min(several[backend]), max(several[backend])
        overhead = busy(latency, messages, seconds, 2)
        longer = per_byte * size / longest[0]
        ends = 1 if backend in FLUSHED else 2
        serial = min(1.0, ends * max(0.0, busy(latency + longer, *longest, ends) - overhead) / longer)
        if backend in POSTED:
            latency /= 2
        print(f'[[message]]\nbackend = "{backend}"\ndistance = "network"\nfrom_bytes = 0\nlatency_s = {latency:.4e}')
        print(f"overhead_s = {overhead:.4e}\nseconds_per_byte = {per_byte:.4e}\nserial_share = {serial:.4f}")
        print(f"largest_residual = {residual:.4f}\n")
    doubling = sum(x / y for x, y in barriers) / sum((x / y) ** 2 for x, y in barriers)
    print(f'[[collective]]\noperation = "barrier"\ndistance = "network"\nbase_s = 0.0\nper_doubling_s = {doubling:.4e}\n')
    print(COMPUTE, end="")


def shapes(predict_csv):
    rows = csv.DictReader(open(predict_csv))
    for ranks, grid in {int(row["ranks"]): row["grid"] for row in rows}.items():
        print(ranks, grid)


def table(simulated_csv, predict_csvs):
    predicted = {}
    for name in predict_csvs:
        for row in csv.DictReader(open(name)):
            key = *name.split("/")[-3:-1], row["backend"], int(row["ranks"])
            predicted[key] = float(row["messages"]), float(row["bytes"]), 1e6 * float(row["step_s"])
    times = {}
    for sharing, side, backend, ranks, messages, size, seconds in csv.reader(open(simulated_csv)):
        expected = predicted[sharing, side, backend, int(ranks)]
        if (float(messages), float(size)) != expected[:2]:
            sys.exit(f"{backend} on {ranks} ranks: {messages} messages, {size} bytes; predicted were {expected[:2]}")
        times.setdefault((sharing, side), {}).setdefault(backend, {})[int(ranks)] = 1e6 * float(seconds), expected[2]
    same, all_pairs = 0, 0
    for (sharing, side), by_backend in sorted(times.items()):
        own = print_table(f"{sharing}, {int(side) ** 3 * 8} particles per rank", by_backend)
        same, all_pairs = same + own[0], all_pairs + own[1]
    least = float(os.environ.get("MD_LEAST_SAME_ORDER", 0.0)) / 100.0
    if same < least * all_pairs:
        sys.exit(f"only {same} of {all_pairs} pairs are in the same order, not {least:.0%}")


def print_table(title, by_backend):
    ranks = sorted(next(iter(by_backend.values())))
    first, last = ranks[0], ranks[-1]
    print(f"\n| {title} | " + " | ".join(map(str, ranks)) + f" | growth from {first} to {last} |")
    print("| --- |" + " --- |" * (len(ranks) + 1))
    for backend, by_ranks in sorted(by_backend.items(), key=lambda item: item[1][last]):
        cells = [f"{simulated:.1f}, {predicted:.1f}" for simulated, predicted in (by_ranks[n] for n in ranks)]
        growth = [by_ranks[last][i] / by_ranks[first][i] for i in (0, 1)]
        print(f"| `{backend}` | " + " | ".join(cells) + f" | {growth[0]:.2f}, {growth[1]:.2f} |")
    same, all_pairs = 0, 0
    for n in ranks:
        for one, other in combinations(by_backend.values(), 2):
            ratios = [one[n][i] / other[n][i] for i in (0, 1)]
            if abs(ratios[0] - 1.0) > TIE:
                all_pairs += 1
                same += (ratios[0] > 1.0) == (ratios[1] > 1.0)
    errors = sorted(abs(p / s - 1.0) for by_ranks in by_backend.values() for s, p in by_ranks.values())
    print(f"\nIn the same order: {same} of {all_pairs} pairs that differ by more than {TIE:.0%} in the simulation. ", end="")
    print(f"Prediction: off by {errors[len(errors) // 2]:.0%} in the median, {errors[-1]:.0%} at worst.")
    return same, all_pairs


def main():
    match sys.argv[1:]:
        case ["machine", fit_csv]:
            machine(fit_csv)
        case ["shapes", predict_csv]:
            shapes(predict_csv)
        case ["table", simulated_csv, *predict_csvs]:
            table(simulated_csv, predict_csvs)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
