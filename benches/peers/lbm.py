"""Lattice Boltzmann compared with lbmpy's generated kernels:
lbm.py MD_CLI [--nodes 128] [--steps 20] [--repeat 5] [--single] [--simd avx2+fma]

Both use the same lattice (D3Q19), collision (BGK), layout (velocity index slowest), number of
nodes, one thread, a periodic box, and as patterns two grids and one (AA). lbmpy's kernels are timed
alone, without the copies that make a box periodic; md's time is that of the whole step. The
programs are interleaved, so that a temporary slow-down of the machine affects both. The table also
has the copy bandwidth of md-cli bench, measured in the same rounds, and the fraction of it given by
bytes per update times updates per second.

Both use the widest vectors of this CPU, or those of --simd. Needs `pip install lbmpy cython` and a
C compiler. Prints a table.
"""

import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

try:
    import numpy
    import pystencils
    from lbmpy import LBMConfig, LBMOptimisation, LBStencil, Method, Stencil, create_lb_update_rule
    from lbmpy.advanced_streaming import Timestep
except ImportError as missing:
    # --help works without these packages.
    if not {"-h", "--help"} & set(sys.argv):
        sys.exit(f"lbm.py: {missing}: pip install lbmpy cython")

POPULATIONS = 19
# For lbmpy: the name of the pattern, and the number of times that a step reads or writes each
# population.
PATTERNS = {"two-grid": ("push", 3), "single-grid": ("aa", 2)}
# Level names of md, and of lbmpy for vectors of the same width, from wide to narrow.
LEVELS = {"avx512": "avx512", "avx2+fma": "avx", "sse4.2": "sse"}


def widest_level():
    flags = Path("/proc/cpuinfo").read_text().split()
    return next((level for flag, level in [("avx512f", "avx512"), ("avx2", "avx2+fma")] if flag in flags), "sse4.2")


class Peer:
    """lbmpy's kernels of a pattern."""

    def __init__(self, pattern, nodes, dtype, level):
        name, _ = PATTERNS[pattern]
        stencil = LBStencil(Stencil.D3Q19)
        shape = (nodes,) * 3
        boxes = pystencils.create_data_handling(shape, periodicity=False, default_layout="fzyx")
        source = boxes.add_array("source", values_per_cell=POPULATIONS, dtype=dtype, alignment=True)
        target = boxes.add_array("target", values_per_cell=POPULATIONS, dtype=dtype, alignment=True)
        for index in range(POPULATIONS):
            boxes.fill("source", float(stencil_weight(stencil[index])), value_idx=index, ghost_layers=True)
            boxes.fill("target", float(stencil_weight(stencil[index])), value_idx=index, ghost_layers=True)
        optimisation = LBMOptimisation(symbolic_field=source, symbolic_temporary_field=target)
        steps = [Timestep.EVEN, Timestep.ODD] if name == "aa" else [Timestep.BOTH]
        self.boxes, self.kernels, self.swaps = boxes, [], name != "aa"
        vectors = {"instruction_set": LEVELS[level], "assume_inner_stride_one": True, "nontemporal": False}
        numbers = "float64" if dtype == numpy.float64 else "float32"
        for step in steps:
            method = LBMConfig(
                stencil=stencil, method=Method.SRT, relaxation_rate=1.6, compressible=True, streaming_pattern=name, timestep=step
            )
            rule = create_lb_update_rule(lbm_config=method, lbm_optimisation=optimisation)
            config = pystencils.CreateKernelConfig(cpu_openmp=False, cpu_vectorize_info=vectors, data_type=numbers)
            self.kernels.append(pystencils.create_kernel(rule, config=config).compile())

    def seconds(self, steps):
        begun = time.perf_counter()
        for step in range(steps):
            self.boxes.run_kernel(self.kernels[step % len(self.kernels)])
            if self.swaps:
                self.boxes.swap("source", "target")
        return time.perf_counter() - begun


def stencil_weight(direction):
    return {0: 1 / 3, 1: 1 / 18, 2: 1 / 36}[sum(map(abs, direction))]


def own(program, pattern, nodes, steps, precision, level, folder):
    """Returns md's million updates per second, and bytes per update."""
    scenario = folder / "flow.toml"
    scenario.write_text(
        f"""[lbm]
grid = [{nodes}, {nodes}, {nodes}]
viscosity = 0.0416666666
steps = {steps}
pattern = "{pattern}"
precision = "{precision}"
initial = {{ kind = "taylor-green", velocity = 0.01 }}
[output]
thermo = {{ every = {steps} }}
"""
    )
    command = [program, "lbm", scenario, "--quiet", "--output", folder / "out"]
    subprocess.run(command, check=True, env=os.environ | {"MD_SIMD": level})
    summary = json.loads((folder / "out" / "summary.json").read_text())
    if summary["simd"] != level:
        sys.exit(f"lbm.py: md used {summary['simd']}, not {level}")
    # The rows of totals at the end are not part of a step.
    busy_s = summary["wall_s"] - summary["phases"]["output"]["max_s"]
    return summary["fluid_nodes"] * steps / busy_s / 1e6, summary["bytes_per_update"]


def copy_bytes_per_s(program, folder):
    """Returns the results of md-cli bench copy, beyond the caches, by part."""
    command = [program, "bench", "copy", "--budget", "10", "--quiet", "--output", folder / "bench"]
    subprocess.run(command, check=True)
    with open(folder / "bench" / "bench.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if int(row["bytes"]) > 64 << 20]
    return {row["mechanism"]: float(row["bytes_per_s"]) for row in rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--nodes", type=int, default=128)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--single", action="store_true")
    parser.add_argument("--simd", choices=LEVELS, default=widest_level(), help="vectors of both (default: the widest of this CPU)")
    given = parser.parse_args()
    dtype, precision = (numpy.float32, "single") if given.single else (numpy.float64, "double")
    speeds, copies, bytes_per_update = {}, {}, {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        peers = {pattern: Peer(pattern, given.nodes, dtype, given.simd) for pattern in PATTERNS}
        for peer in peers.values():
            peer.seconds(2)
        for _ in range(given.repeat):
            for pattern in PATTERNS:
                speed, moved = own(given.program, pattern, given.nodes, given.steps, precision, given.simd, folder)
                speeds.setdefault(("md", pattern), []).append(speed)
                bytes_per_update["md", pattern] = moved
                bytes_per_update["lbmpy", pattern] = PATTERNS[pattern][1] * POPULATIONS * numpy.dtype(dtype).itemsize
                their = given.nodes**3 * given.steps / peers[pattern].seconds(given.steps) / 1e6
                speeds.setdefault(("lbmpy", pattern), []).append(their)
            for part, speed in copy_bytes_per_s(given.program, folder).items():
                copies.setdefault(part, []).append(speed)
    print(f"vectors: {given.simd}, of lbmpy {LEVELS[given.simd]}")
    for part, speed in copies.items():
        print(f"copy, {part}: {statistics.median(speed) / 1e9:.2f} GB/s")
    best = max(statistics.median(speed) for speed in copies.values())
    print("| code | pattern | million updates per second: least | median | most | of copy bandwidth | as fast as lbmpy |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for (code, pattern), values in speeds.items():
        moved = bytes_per_update[code, pattern] * statistics.median(values) * 1e6
        ratio = statistics.median(a / b for a, b in zip(values, speeds["lbmpy", pattern]))
        print(
            f"| {code} | {pattern} | {min(values):.2f} | {statistics.median(values):.2f} | {max(values):.2f} "
            f"| {moved / best:.2f} | {ratio:.2f} |"
        )


if __name__ == "__main__":
    main()
