"""Medians and ratios of the samples of exchange.sh: exchange.py CSV < samples.

A sample is a line `backend,bytes,exchanges,exchange_s`. Writes
`backend,bytes,exchanges,repeats,median_s,low_s,high_s` and prints a table: microseconds per
exchange, and each backend's median relative to that of C.
"""

import csv
import math
import statistics
import sys

CONFIDENCE = 0.95
MICROSECONDS_PER_SECOND = 1e6
REFERENCE = "c"


def interval(values):
    """Returns order statistics that bound the median with 95 % confidence (binomial); the extremes
    for few values."""
    values = sorted(values)
    many = len(values)
    outside = 0.0
    rank = 0
    while True:
        outside += 2 * math.comb(many, rank) / 2**many
        if outside > 1 - CONFIDENCE:
            break
        rank += 1
    rank = max(rank - 1, 0)
    return values[rank], values[many - 1 - rank]


def summarise(samples):
    rows = {}
    for backend, bytes_, exchanges, seconds in samples:
        rows.setdefault((backend, int(bytes_), int(exchanges)), []).append(float(seconds))
    summary = []
    for (backend, bytes_, exchanges), values in rows.items():
        low, high = interval(values)
        summary.append((backend, bytes_, exchanges, len(values), statistics.median(values), low, high))
    return sorted(summary, key=lambda row: (row[1], row[0] != REFERENCE, row[0]))


def table(summary):
    reference = {bytes_: median for backend, bytes_, _, _, median, _, _ in summary if backend == REFERENCE}
    yield "| backend | bytes | exchange, microseconds | relative to C |"
    yield "| --- | --- | --- | --- |"
    for backend, bytes_, _, _, median, low, high in summary:
        times = "{:.2f} [{:.2f}, {:.2f}]".format(*(value * MICROSECONDS_PER_SECOND for value in (median, low, high)))
        yield f"| {backend} | {bytes_} | {times} | {median / reference[bytes_]:.2f} |"


def main():
    summary = summarise(csv.reader(sys.stdin))
    with open(sys.argv[1], "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["backend", "bytes", "exchanges", "repeats", "median_s", "low_s", "high_s"])
        writer.writerows(summary)
    print("\n".join(table(summary)))


if __name__ == "__main__":
    main()
