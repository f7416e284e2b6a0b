"""Measures halos of grids: grids.py MD_CLI [PART...] [--short] [--output DIR]

| part | what | file |
| --- | --- | --- |
| monc | MONC's weak shape (29 fields, depth 2, 16 x 16 x 256 nodes per rank) on 2 ranks: every backend and two-sided messages, fields together and one by one, packed and (two-sided) as MPI datatypes | monc.csv |
| divisions | a flow on 2 ranks, divided along x, y and z, with one buffer per message (slots 1), with two, and with none: as MPI datatypes | divisions.csv |
| strong | a flow of one size on 1 and 2 ranks | strong.csv |
| weak | a flow of one size per rank on 1 and 2 ranks | weak.csv |

All parts are measured by default. Times are medians with 95 % intervals. Runs are interleaved, so
that a temporary slow-down of the machine affects all of them. The environment variable PREFIX is
put before every command, for instance "chrt -f 20".
"""

import argparse
import csv
import json
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
MPIRUN = REPOSITORY / "scripts" / "mpirun.sh"
FLOW = """[lbm]
grid = {grid}
viscosity = 0.05
steps = {steps}
initial = {{ kind = "taylor-green", velocity = 0.01 }}
[parallel]
backend = "{backend}"
grid = {ranks}
messages = "{messages}"
[parallel.rma]
slots = {slots}
[output]
thermo = {{ every = {steps} }}
"""


def call(program, ranks, *arguments):
    prefix = os.environ.get("PREFIX", "").split()
    subprocess.run([MPIRUN, str(ranks), *prefix, program, *arguments], check=True, stdout=subprocess.DEVNULL)


def read(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def write(path, rows):
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)


def monc(program, folder, given):
    """Returns the rows of compare.csv, with the way in which fields share messages."""
    rows = []
    effort = ["--steps", "20", "--repeat", "5" if given.short else "15"]
    ways = {messages: given.backends for messages in ["aggregated", "per-field"]}
    ways |= {f"{messages}-datatypes": "p2p" for messages in ways}
    for messages, backends in ways.items():
        out = folder / messages
        scenario = REPOSITORY / "configs" / "monc-weak.toml"
        keys = ["--set", f"parallel.messages={messages}", "--backends", backends, "--quiet", "--output", out]
        call(program, 2, "compare", scenario, *effort, *keys)
        rows += read(out / "compare.csv")
    kept = ["field_messages", "backend", "messages_per_exchange", "bytes_per_exchange", "exchange_median_s", "exchange_low_s"]
    kept += ["exchange_high_s", "status", "ranks", "nodes", "fields", "host"]
    return [{key: row[key] for key in kept} for row in rows]


def flow(program, folder, grid, ranks, steps, backend="p2p", slots=2, messages="aggregated"):
    """Returns million node updates per second, without the rows of totals at both ends, and the
    seconds of a step's halo."""
    scenario, out = folder / "flow.toml", folder / "flow"
    keys = {"grid": list(grid), "steps": steps, "backend": backend, "ranks": list(ranks)}
    scenario.write_text(FLOW.format(**keys, slots=slots, messages=messages))
    call(program, ranks[0] * ranks[1] * ranks[2], "lbm", scenario, "--quiet", "--output", out)
    summary = json.loads((out / "summary.json").read_text())
    busy_s = summary["wall_s"] - summary["phases"]["output"]["max_s"]
    return summary["fluid_nodes"] * steps / busy_s / 1e6, summary["halo_s"]


def interval(values):
    """Returns the median and its 95 % interval by ranks of a binomial distribution; the extremes
    for few values."""
    values = sorted(values)
    skipped = max(0, int((len(values) - 1.96 * len(values) ** 0.5) / 2))
    return statistics.median(values), values[skipped], values[-1 - skipped]


def measured(program, folder, given, cases):
    """Returns one row per case; the runs of all cases are interleaved."""
    kept = given.output / f"{given.part}-samples.csv"
    samples = read(kept) if given.add and kept.exists() else []
    for _ in range(given.samples or (3 if given.short else 11)):
        for case in cases:
            speed, halo_s = flow(program, folder, *case)
            samples.append(named(*case) | {"mlups": speed, "halo_s": halo_s})
        write(kept, samples)
    return [summary(named(*case), samples) for case in cases]


def named(grid, ranks, steps, backend, slots, messages="aggregated"):
    across = {"nodes": "x".join(map(str, grid)), "grid": "x".join(map(str, ranks))}
    return across | {"backend": backend, "slots": str(slots), "messages": messages, "steps": str(steps)}


def summary(row, samples):
    samples = [sample for sample in samples if row.items() <= sample.items()]
    columns = {"mlups": "mlups_{}", "halo_s": "halo_{}_s"}
    for name, column in columns.items():
        values = interval([float(sample[name]) for sample in samples])
        row |= {column.format(kind): f"{value:.4g}" for kind, value in zip(["median", "low", "high"], values)}
    return row | {"samples": len(samples)}


def divisions(program, folder, given):
    nodes, steps = (64, 20) if given.short else (128, 50)
    cuts = [(2, 1, 1), (1, 2, 1), (1, 1, 2)]
    backends = ["p2p", "shm", "rma-fence"]
    cases = [((nodes,) * 3, cut, steps, backend, slots) for cut in cuts for backend in backends for slots in [1, 2]]
    cases += [((nodes,) * 3, cut, steps, "p2p", 1, "aggregated-datatypes") for cut in cuts]
    return measured(program, folder, given, cases)


def scaling(program, folder, given, is_weak):
    nodes, steps = (64, 20) if given.short else (96 if is_weak else 200, 30)
    double = (2 * nodes, nodes, nodes) if is_weak else (nodes,) * 3
    cases = [((nodes,) * 3, (1, 1, 1), steps, "p2p", 2)]
    cases += [(double, (2, 1, 1), steps, backend, 2) for backend in ["p2p", "shm"]]
    kind = "weak" if is_weak else "strong"
    return [{"kind": kind} | row for row in measured(program, folder, given, cases)]


PARTS = {
    "monc": ("monc.csv", monc),
    "divisions": ("divisions.csv", divisions),
    "strong": ("strong.csv", lambda *given: scaling(*given, is_weak=False)),
    "weak": ("weak.csv", lambda *given: scaling(*given, is_weak=True)),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[])
    parser.add_argument("--short", action="store_true", help="small grids and few samples: whether it works, and a first look")
    parser.add_argument("--samples", type=int, help="runs of each case of a flow; 11, short 3")
    parser.add_argument("--add", action="store_true", help="to the runs that an earlier call left in the output folder")
    parser.add_argument("--backends", default="p2p,p2p-persistent,rma-fence,rma-pscw,rma-lock,rma-notify,shm", help="of monc")
    parser.add_argument("--output", type=Path, default=Path("out/grids"))
    given = parser.parse_args()
    if not given.program.is_file():
        parser.error(f"{given.program}: there is no such program")
    given.output.mkdir(parents=True, exist_ok=True)
    for part in given.parts or PARTS:
        name, measure = PARTS[part]
        given.part = part
        with tempfile.TemporaryDirectory() as folder:
            rows = measure(given.program.absolute(), Path(folder), given)
        write(given.output / name, rows)
        print(given.output / name)


if __name__ == "__main__":
    main()
