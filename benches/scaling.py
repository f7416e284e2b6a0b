"""Runs a program and prints atoms,method,precision,ns_per_atom_step,bytes_per_atom: scaling.py METHOD OUTPUT PROGRAM...

Bytes are the largest resident size of the process; times are from OUTPUT/summary.json.
"""

import json
import pathlib
import resource
import subprocess
import sys

# Linux reports kibibytes, macOS bytes.
RESIDENT_UNIT = 1 if sys.platform == "darwin" else 1024


def main():
    method, output, *command = sys.argv[1:]
    if subprocess.run(command, stdout=sys.stderr).returncode != 0:
        sys.exit("scaling.py: failed: " + " ".join(command))
    resident_bytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * RESIDENT_UNIT
    summary = json.loads((pathlib.Path(output) / "summary.json").read_text())
    time, precision, atoms = summary["ns_per_atom_step"], summary["precision"], summary["atoms"]
    print(f"{atoms},{method},{precision},{time:.3f},{resident_bytes / atoms:.1f}")


if __name__ == "__main__":
    main()
