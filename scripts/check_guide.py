#!/usr/bin/env python3
"""Runs the Python code in a page of the guide and compares the readers' results with those of a
run.

usage: check_guide.py PAGE FOLDER
FOLDER contains traj.extxyz, traj.lammpstrj, traj.nc and traj.xtc of the last run of the page's
scenario, and its thermo.csv. Needs ASE, MDAnalysis and netCDF4; OVITO's module is used if it is
installed. Exits with 1 and a reason if anything differs.
"""

import csv
import importlib.util
import re
import sys
import warnings
from pathlib import Path

import numpy as np

from check_ase import columns_of, frames_of

warnings.simplefilter("ignore")

SINGLE = 2e-6
XTC = 0.00051


def check(what, actual, expected, tolerance):
    """Exits unless both agree to an absolute difference."""
    worst = np.max(np.abs(np.asarray(actual, float) - np.asarray(expected, float)))
    if not worst <= tolerance:
        sys.exit(f"check_guide: {what}: found\n{actual}\nexpected\n{expected}")


def check_block(block, found, last, kinetic):
    """Checks the variables that a code block of the page has set."""
    entries, table = last
    positions = table[:, columns_of(entries["Properties"])["pos"]].astype(float)
    lengths = np.array(entries["Lattice"].split(), float).reshape(3, 3).diagonal()
    origin = np.array(entries["Origin"].split(), float)
    accuracy = XTC if ".xtc" in block else SINGLE
    if "atoms =" in block:
        atoms = found["atoms"]
        check(f"kinetic energy by ASE:\n{block}", atoms.get_kinetic_energy() / len(atoms), kinetic, SINGLE)
        check(f"positions by ASE:\n{block}", atoms.positions, positions, SINGLE)
    elif "trajectory =" in block:
        frame = found["trajectory"][-1]
        corner = 0.0 if ".nc" in block else origin
        check(f"positions by MDAnalysis:\n{block}", frame.positions, positions - corner, accuracy)
        check(f"box by MDAnalysis:\n{block}", frame.dimensions[:3], lengths, SINGLE)
        check(f"time by MDAnalysis:\n{block}", frame.time, float(entries["Time"]), SINGLE)
    else:
        data = found["pipeline"].compute(found["pipeline"].num_frames - 1)
        corner = data.cell[:, 3]
        check(f"positions by OVITO:\n{block}", data.particles.positions - corner, positions - origin, accuracy)
        check(f"box by OVITO:\n{block}", data.cell[:, :3].diagonal(), lengths, SINGLE)


def main():
    """Runs and checks all code blocks."""
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    page, folder = Path(sys.argv[1]), Path(sys.argv[2])
    last = list(frames_of(folder / "traj.extxyz"))[-1]
    with open(folder / "thermo.csv", encoding="utf-8") as file:
        kinetic = float(list(csv.DictReader(file))[-1]["kinetic_per_atom"])
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    if len(blocks) != 8:
        sys.exit(f"check_guide: {len(blocks)} pieces, expected 8")
    found = {}
    for block in blocks:
        if "ovito" not in block or importlib.util.find_spec("ovito"):
            exec(block, found)
            check_block(block, found, last, kinetic)
    print(f"check_guide: {len(blocks)} pieces of {page}")


if __name__ == "__main__":
    main()
