"""Cost of ensembles and analyses, compared with LAMMPS:
ensembles.py MD_CLI [--lmp lmp] [--suffix opt] [--cells 32] [--steps 200] [--ranks 1,2] [--repeat 5]

The melt with 4 CELLS^3 atoms, cutoff 2.5, skin 0.3, lists rebuilt every 20 steps. Programs and
cases are interleaved, so that a temporary slow-down of the machine affects all of them. The results
per case are the nanoseconds per atom and step, the speed of md relative to LAMMPS with the
equivalent fix or compute (median of the ratios within a round), and the cost in addition to md's
own step of velocity-verlet (likewise; minimum and maximum).
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KEYS = "temperature = 0.72\nrelaxation = 0.5"
NPT = 'barostat = { kind = "stochastic-cell-rescaling", pressure = 1.0, relaxation = 2.0, compressibility = 0.1 }'
# By name: integrator and outputs of md, fixes and computes of LAMMPS.
CASES = {
    "velocity-verlet": ("", "", "fix 1 all nve"),
    "csvr": (f'kind = "csvr"\n{KEYS}', "", None),
    "berendsen": (f'kind = "berendsen"\n{KEYS}', "", None),
    "nose-hoover": (f'kind = "nose-hoover"\n{KEYS}', "", "fix 1 all nvt temp 0.72 0.72 0.5"),
    "langevin": (
        'kind = "langevin"\ntemperature = 0.72\nfriction = 1.0',
        "",
        "fix 1 all nve\nfix 2 all langevin 0.72 0.72 1.0 87287",
    ),
    "npt": (f'kind = "csvr"\n{KEYS}\n{NPT}', "", "fix 1 all npt temp 0.72 0.72 0.5 iso 1.0 1.0 2.0"),
    "rdf every 10": (
        "",
        "rdf = { every = 10 }",
        "fix 1 all nve\ncompute r all rdf 200\nfix r all ave/time 10 1 10 c_r[*] file r.dat mode vector",
    ),
    "msd every 10": (
        "",
        "msd = { every = 10 }",
        "fix 1 all nve\ncompute m all msd\nfix m all ave/time 10 1 10 c_m[4] file m.dat",
    ),
}
SCENARIO = """[simulation]
steps = {steps}
seed = 87287
[system]
lattice = {{ kind = "fcc", density = 0.8442, cells = [{cells}, {cells}, {cells}] }}
temperature = 1.44
[interaction]
cutoff = 2.5
[neighbor]
skin = 0.3
rebuild = {{ every = 20 }}
[integrator]
{integrator}
[output]
directory = "out"
thermo = {{ every = {steps} }}
{outputs}
"""


def launched(ranks, command, folder):
    ran = subprocess.run(
        [ROOT / "scripts/mpirun.sh", str(ranks), *command], cwd=folder, capture_output=True, text=True, check=False
    )
    if ran.returncode != 0:
        sys.exit(f"ensembles.py: {command[0]} ended with {ran.returncode}:\n{ran.stdout[-2000:]}{ran.stderr[-2000:]}")
    return ran.stdout


def md_ns(args, case, ranks, folder):
    integrator, outputs, _ = CASES[case]
    text = SCENARIO.format(steps=args.steps, cells=args.cells, integrator=integrator, outputs=outputs)
    (folder / "melt.toml").write_text(text)
    launched(ranks, [args.md, "run", "melt.toml", "--quiet"], folder)
    return json.loads((folder / "out/summary.json").read_text())["ns_per_atom_step"]


def lmp_ns(args, case, ranks, folder):
    (folder / "fixes").write_text(CASES[case][2] + "\n")
    variables = ["-var", "cells", str(args.cells), "-var", "steps", str(args.steps), "-var", "fixes", "fixes"]
    script = ROOT / "benches/peers/in.melt"
    suffix = ["-sf", args.suffix] if args.suffix else []
    said = launched(ranks, [args.lmp, "-in", script, "-log", "none", *variables, *suffix], folder)
    loop = next(line for line in said.splitlines() if line.startswith("Loop time of"))
    return float(loop.split()[3]) / args.steps / (4 * args.cells**3) * 1e9


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("md")
    parser.add_argument("--lmp", default="lmp", help="LAMMPS; empty for md alone")
    parser.add_argument("--suffix", default="opt", help="LAMMPS's accelerated styles; empty for none")
    parser.add_argument("--cells", type=int, default=32)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--ranks", default="1,2")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--cases", default=",".join(CASES), help="which of them; velocity-verlet is always there")
    args = parser.parse_args()
    args.md = os.path.abspath(args.md)
    unknown = [case for case in args.cases.split(",") if case not in CASES]
    if unknown:
        sys.exit(f"ensembles.py: there is no case {unknown[0]!r}: choose from {', '.join(CASES)}")
    wanted = [case for case in CASES if case in args.cases.split(",") or case == "velocity-verlet"]
    os.environ["OMP_NUM_THREADS"] = "1"
    print("| ranks | case | md, ns | LAMMPS, ns | times as fast | adds to md's step, % (least to most) |")
    print("| --- | --- | --- | --- | --- | --- |")
    for ranks in map(int, args.ranks.split(",")):
        turns = []
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(args.repeat):
                turn = {case: [md_ns(args, case, ranks, Path(folder)), None] for case in wanted}
                for case in wanted:
                    if args.lmp and CASES[case][2]:
                        turn[case][1] = lmp_ns(args, case, ranks, Path(folder))
                turns.append(turn)
        for case in wanted:
            row(ranks, case, turns)


def row(ranks, case, turns):
    md, lmp = zip(*(turn[case] for turn in turns))
    added = [100 * (turn[case][0] / turn["velocity-verlet"][0] - 1) for turn in turns]
    has_lmp = lmp[0] is not None
    lammps = f"{statistics.median(lmp):.1f}" if has_lmp else ""
    faster = f"{statistics.median(b / a for a, b in zip(md, lmp)):.2f}" if has_lmp else ""
    cost = "" if case == "velocity-verlet" else f"{statistics.median(added):.1f} ({min(added):.1f} to {max(added):.1f})"
    print(f"| {ranks} | {case} | {statistics.median(md):.1f} | {lammps} | {faster} | {cost} |", flush=True)


if __name__ == "__main__":
    main()
