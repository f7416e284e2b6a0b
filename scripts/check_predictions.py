#!/usr/bin/env python3
"""Checks `md-cli predict` against `md-cli compare`: the machine is fitted, three scenarios are measured and predicted with every backend, and
what is between the two is printed, with the median and the worst.

check_predictions.py [--ranks 1,2] [--output DIR] [--launcher 'scripts/mpirun.sh {ranks}'] [--program target/release/md-cli] [--repeat 10]
                     [--ranks-per-node N] [--keep]

Every number of ranks is fitted by itself: how fast a rank computes depends on how many compute beside it. --keep takes what an earlier
call has fitted and measured, and only predicts anew. Between nodes: --launcher 'scripts/nodes.sh run 1 --mca osc pt2pt,sm' --ranks 2 --ranks-per-node 1.
Writes DIR/machine-P/, DIR/SCENARIO-P/ and DIR/predictions.md. Exit code 1 if one of the programs fails.
"""

import argparse
import csv
import shlex
import statistics
import subprocess
import sys
from pathlib import Path

# Scenario, steps of a sample, and what makes it small enough: the same particles per cell in an eighth of the box.
CASES = {
    "melt": ("configs/lj-melt.toml", 40, []),
    "sparse": ("configs/sparse.toml", 200, []),
    "dense": ("configs/dense.toml", 2, ["--set", "system.lattice.cells=[56,56,56]"]),
}
QUANTITIES = {"step": ("step_median_s", "mean_s"), "exchange": ("exchange_median_s", "exchange_s")}
MICROSECONDS_PER_SECOND = 1e6


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", default="1,2", type=lambda text: [int(ranks) for ranks in text.split(",")])
    parser.add_argument("--output", default="out/predictions", type=Path)
    parser.add_argument("--launcher", default="scripts/mpirun.sh {ranks}")
    parser.add_argument("--program", default="target/release/md-cli")
    parser.add_argument("--repeat", default=10, type=int)
    parser.add_argument("--budget", default=60, type=int, help="seconds of each fit")
    parser.add_argument("--ranks-per-node", type=int)
    parser.add_argument("--keep", action="store_true")
    return parser.parse_args()


def run(words):
    """What was measured is kept where one backend fails: its row says so."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode not in (0, 3):
        sys.exit(f"{shlex.join(map(str, words))}\nexit code {done.returncode}\n{done.stderr}")


def rows(path):
    with path.open(newline="") as file:
        return {row["backend"]: row for row in csv.DictReader(file)}


def measure(options, ranks):
    """Fits the machine, and compares all backends on it."""
    launcher = [*shlex.split(options.launcher.format(ranks=ranks)), options.program]
    run([*launcher, "fit", "--budget", options.budget, "--output", options.output / f"machine-{ranks}"])
    for name, (scenario, steps, small) in CASES.items():
        output = options.output / f"{name}-{ranks}"
        run([*launcher, "compare", scenario, *small, "--steps", steps, "--repeat", options.repeat, "--output", output])


def predict(options, ranks):
    machine = options.output / f"machine-{ranks}" / "machine.toml"
    nodes = ["--ranks-per-node", options.ranks_per_node] if options.ranks_per_node else []
    for name, (scenario, _, small) in CASES.items():
        output = options.output / f"predicted-{name}-{ranks}"
        call = ["predict", scenario, *small, "--ranks", ranks, "--machine", machine, *nodes, "--output", output]
        run([options.program, *call])


def errors(options, ranks):
    """Of every scenario and backend that was measured and predicted: times in seconds, and predicted / measured - 1."""
    for name in CASES:
        predicted = rows(options.output / f"predicted-{name}-{ranks}" / "predict.csv")
        for backend, measured in rows(options.output / f"{name}-{ranks}" / "compare.csv").items():
            if measured["status"] != "ok" or backend not in predicted:
                continue
            found = {"scenario": name, "ranks": ranks, "backend": backend}
            for quantity, (ours, theirs) in QUANTITIES.items():
                times = float(measured[ours]), float(predicted[backend][theirs])
                # On one rank nothing is sent.
                found[quantity] = (*times, times[1] / times[0] - 1) if times[1] > 0 else None
            yield found


def cells(found):
    for quantity in QUANTITIES:
        if found[quantity] is None:
            yield from ("", "", "")
            continue
        measured, predicted, error = found[quantity]
        yield from (f"{time * MICROSECONDS_PER_SECOND:.4g}" for time in (measured, predicted))
        yield f"{100 * error:+.0f} %"


def report(found):
    header = ["scenario", "ranks", "backend"]
    for quantity in QUANTITIES:
        header += [f"{quantity}, us", "predicted", "error"]
    lines = [header, ["---"] * len(header)]
    lines += [[it["scenario"], str(it["ranks"]), it["backend"], *cells(it)] for it in found]
    text = "".join(f"| {' | '.join(line)} |\n" for line in lines) + "\n"
    for ranks in dict.fromkeys(it["ranks"] for it in found):
        for quantity in QUANTITIES:
            known = [it for it in found if it["ranks"] == ranks and it[quantity] is not None]
            if known:
                middle = statistics.median(abs(it[quantity][2]) for it in known)
                worst = max(known, key=lambda it: abs(it[quantity][2]))
                text += (
                    f"{quantity}, {ranks} ranks: median error {100 * middle:.0f} % of {len(known)}, the worst "
                    f"{100 * worst[quantity][2]:+.0f} % ({worst['scenario']}, {worst['backend']})\n"
                )
    return text


def main():
    options = arguments()
    found = []
    for ranks in options.ranks:
        if not options.keep:
            measure(options, ranks)
        predict(options, ranks)
        found += errors(options, ranks)
    text = report(found)
    (options.output / "predictions.md").write_text(text)
    print(text, end="")


if __name__ == "__main__":
    main()
