#!/usr/bin/env python3
"""Checks `md-cli predict` against `md-cli compare`: fits the machine, measures and predicts
scenarios with every backend, and prints the differences with their median and maximum.

check_predictions.py [--cases melt,sparse,dense,monc,tvd,poisson,flow] [--ranks 1,2] [--output DIR]
                     [--launcher 'scripts/mpirun.sh {ranks}'] [--program target/release/md-cli]
                     [--repeat 10] [--ranks-per-node N] [--keep]

Every number of ranks is fitted separately: the speed of a rank depends on how many others compute
at the same time. For scenarios with a grid, every second size is run separately to give `predict
--measured` the costs of computing and packing; the sizes in between are held out. --keep reuses the
results of an earlier call and measures only those that are missing. Between nodes: --launcher
'scripts/nodes.sh run 1 --mca osc pt2pt,sm' --ranks 2 --ranks-per-node 1. Writes DIR/machine-P/,
DIR/SCENARIO-P/ and DIR/predictions.md. Exit code 1 if one of the programs fails.
"""

import argparse
import csv
import shlex
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Case:
    """A scenario of one size."""

    family: str
    scenario: str
    # Number of steps of a sample.
    steps: int
    settings: list
    # Name of the scenario's size.
    size: str = ""
    # Command that measures the cost of computation, and the number of steps of such a run.
    run: str = ""
    run_steps: int = 0

    @property
    def name(self):
        return f"{self.family}-{self.size}" if self.size else self.family

    @property
    def overrides(self):
        return [word for setting in self.settings for word in ("--set", setting)]


def of_grid(family, scenario, steps, key, sizes, run, run_steps, fixed=()):
    """Yields one case per size, every second of them to be run; the others are held out."""
    for number, size in enumerate(sizes):
        size = size if isinstance(size, tuple) else (size,) * 3
        settings = [*fixed, f"{key}={list(size)}"]
        own_run = run if number % 2 == 0 else ""
        yield Case(family, scenario, steps, settings, "x".join(map(str, size)), own_run, run_steps)


CASES = [
    Case("melt", "configs/lj-bench.toml", 40, []),
    Case("sparse", "configs/sparse.toml", 200, []),
    # The same number of particles per cell in an eighth of the box.
    Case("dense", "configs/dense.toml", 2, ["system.lattice.cells=[56,56,56]"]),
    *of_grid("monc", "configs/monc-weak.toml", 10, "stencil.grid_per_rank",
             [(8, 8, 64), (16, 16, 64), (16, 16, 256), (32, 32, 128), (32, 32, 256)], "stencil", 50),
    *of_grid("tvd", "configs/tvd.toml", 10, "stencil.grid", [16, 32, 48, 64, 96], "stencil", 50),
    *of_grid("poisson", "configs/poisson.toml", 10, "stencil.grid", [16, 32, 48, 64, 96], "stencil", 1000),
    # The probe must lie inside the smallest grid.
    *of_grid("flow", "configs/lbm-taylor-green.toml", 10, "lbm.grid", [16, 32, 48, 64, 96], "lbm", 50, ["output.probe.nodes=[[0, 0, 0]]"]),
]
QUANTITIES = {"step": ("step_median_s", ("mean_s", "step_s")), "exchange": ("exchange_median_s", ("exchange_s",))}
MICROSECONDS_PER_SECOND = 1e6


def arguments():
    families = list(dict.fromkeys(case.family for case in CASES))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default=families, type=lambda text: text.split(","))
    parser.add_argument("--ranks", default="1,2", type=lambda text: [int(ranks) for ranks in text.split(",")])
    parser.add_argument("--output", default="out/predictions", type=Path)
    parser.add_argument("--launcher", default="scripts/mpirun.sh {ranks}")
    parser.add_argument("--program", default="target/release/md-cli")
    parser.add_argument("--repeat", default=10, type=int)
    parser.add_argument("--budget", default=60, type=int, help="seconds of each fit")
    parser.add_argument("--ranks-per-node", type=int)
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    unknown = set(options.cases) - set(families)
    if unknown:
        parser.error(f"no such cases: {', '.join(sorted(unknown))}; there are {', '.join(families)}")
    return options


def run(words):
    """Runs a command. If one backend fails, the other measurements are kept, and its row reports
    the failure."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode not in (0, 3):
        sys.exit(f"{shlex.join(map(str, words))}\nexit code {done.returncode}\n{done.stderr}")


def rows(path):
    with path.open(newline="") as file:
        return {row["backend"]: row for row in csv.DictReader(file)}


def cases(options):
    return [case for case in CASES if case.family in options.cases]


def measure(options, ranks):
    """Fits the machine, and compares all backends on it."""
    launcher = [*shlex.split(options.launcher.format(ranks=ranks)), options.program]

    def once(file, words):
        if not (options.keep and file.exists()):
            run([*launcher, *words, "--output", file.parent])

    once(options.output / f"machine-{ranks}" / "machine.toml", ["fit", "--budget", options.budget])
    for case in cases(options):
        sampling = ["--steps", case.steps, "--repeat", options.repeat]
        once(options.output / f"{case.name}-{ranks}" / "compare.csv", ["compare", case.scenario, *case.overrides, *sampling])
        if case.run:
            # Rows of thermo.csv need sums over all nodes, which are not part of a step.
            few = ["--set", f"output.thermo.every={case.run_steps}"]
            steps = ["--set", f"{'lbm' if case.run == 'lbm' else 'stencil'}.steps={case.run_steps}"]
            once(summary_of(options, case, ranks), [case.run, case.scenario, *case.overrides, *steps, *few])


def summary_of(options, case, ranks):
    return options.output / f"run-{case.name}-{ranks}" / "summary.json"


def predict(options, ranks):
    machine = options.output / f"machine-{ranks}" / "machine.toml"
    nodes = ["--ranks-per-node", options.ranks_per_node] if options.ranks_per_node else []
    for case in cases(options):
        output = options.output / f"predicted-{case.name}-{ranks}"
        runs = [other for other in CASES if other.run and other.family == case.family]
        measured = [word for other in runs for word in ("--measured", summary_of(options, other, ranks))]
        call = ["predict", case.scenario, *case.overrides, "--ranks", ranks, "--machine", machine, *nodes, *measured, "--output", output]
        run([options.program, *call])


def errors(options, ranks):
    """Yields times in seconds and predicted / measured - 1 for every scenario and backend that was
    measured and predicted."""
    for case in cases(options):
        predicted = rows(options.output / f"predicted-{case.name}-{ranks}" / "predict.csv")
        for backend, measured in rows(options.output / f"{case.name}-{ranks}" / "compare.csv").items():
            if measured["status"] != "ok" or backend not in predicted:
                continue
            found = {"case": case, "ranks": ranks, "backend": backend}
            for quantity, (ours, theirs) in QUANTITIES.items():
                [theirs] = [predicted[backend][name] for name in theirs if name in predicted[backend]][:1]
                times = float(measured[ours]), float(theirs)
                # On a single rank nothing is sent.
                found[quantity] = (*times, times[1] / times[0] - 1) if min(times) > 0 else None
            yield found


def cells(found):
    for quantity in QUANTITIES:
        if found[quantity] is None:
            yield from ("", "", "")
            continue
        measured, predicted, error = found[quantity]
        yield from (f"{time * MICROSECONDS_PER_SECOND:.4g}" for time in (measured, predicted))
        yield f"{100 * error:+.0f} %"


def summed_up(what, found):
    """Yields one line per quantity with the median and the maximum."""
    for quantity in QUANTITIES:
        known = [it for it in found if it[quantity] is not None]
        if known:
            middle = statistics.median(abs(it[quantity][2]) for it in known)
            worst = max(known, key=lambda it: abs(it[quantity][2]))
            yield (
                f"{what}, {quantity}: median error {100 * middle:.0f} % of {len(known)}, the worst "
                f"{100 * worst[quantity][2]:+.0f} % ({worst['case'].name}, {worst['backend']})\n"
            )


def report(found):
    header = ["scenario", "ranks", "backend"]
    for quantity in QUANTITIES:
        header += [f"{quantity}, us", "predicted", "error"]
    lines = [header, ["---"] * len(header)]
    lines += [[it["case"].name, str(it["ranks"]), it["backend"], *cells(it)] for it in found]
    text = "".join(f"| {' | '.join(line)} |\n" for line in lines) + "\n"
    for ranks in dict.fromkeys(it["ranks"] for it in found):
        own = [it for it in found if it["ranks"] == ranks]
        groups = {"particles": [it for it in own if not it["case"].size]}
        for family in dict.fromkeys(it["case"].family for it in own if it["case"].size):
            of_family = [it for it in own if it["case"].family == family]
            groups[f"{family}, run"] = [it for it in of_family if it["case"].run]
            groups[f"{family}, held out"] = [it for it in of_family if not it["case"].run]
        groups["grids, run"] = [it for it in own if it["case"].size and it["case"].run]
        groups["grids, held out"] = [it for it in own if it["case"].size and not it["case"].run]
        for name, members in groups.items():
            text += "".join(summed_up(f"{ranks} ranks, {name}", members))
    return text


def main():
    options = arguments()
    found = []
    for ranks in options.ranks:
        measure(options, ranks)
        predict(options, ranks)
        found += errors(options, ranks)
    text = report(found)
    (options.output / "predictions.md").write_text(text)
    print(text, end="")


if __name__ == "__main__":
    main()
