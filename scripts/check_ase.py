#!/usr/bin/env python3
"""Reads a trajectory with ASE and compares the result with the text of the file.

usage: check_ase.py TRAJECTORY N_FRAMES N_ATOMS
needs ASE (pip install ase); exits with 1 and a reason if anything differs.
"""

import re
import sys

import ase.io
import numpy as np


def columns_of(properties):
    """Returns name -> slice of the columns, from a Properties entry such as species:S:1:pos:R:3."""
    fields = properties.split(":")
    columns, start = {}, 0
    for name, count in zip(fields[::3], map(int, fields[2::3])):
        columns[name] = slice(start, start + count)
        start += count
    return columns


def frames_of(path):
    """Yields the frames in the file: the entries of the comment line and the table of words."""
    with open(path, encoding="utf-8") as file:
        while first := file.readline():
            comment = file.readline()
            entries = {key: quoted or plain for key, quoted, plain in
                       re.findall(r'(\w+)=(?:"([^"]*)"|(\S+))', comment)}
            words = [file.readline().split() for _ in range(int(first))]
            yield entries, np.array(words)


def check(what, actual, expected):
    """Exits unless both are equal to the last bit."""
    if not np.array_equal(np.asarray(actual), np.asarray(expected)):
        sys.exit(f"check_ase: {what} differ: ASE has\n{actual}\nthe file has\n{expected}")


def check_frame(number, atoms, entries, table, atom_count):
    """Compares one frame."""
    columns = columns_of(entries["Properties"])

    def numbers(name, kind):
        values = table[:, columns[name]].astype(kind)
        return values[:, 0] if values.shape[1] == 1 else values

    label = f"frame {number}: "
    check(label + "numbers of atoms", len(atoms), atom_count)
    check(label + "ids", atoms.arrays["id"], np.arange(1, atom_count + 1))
    check(label + "ids", atoms.arrays["id"], numbers("id", int))
    check(label + "types", atoms.arrays["type"], numbers("type", int))
    check(label + "positions", atoms.get_positions(), numbers("pos", float))
    check(label + "velocities", atoms.arrays["velo"], numbers("velo", float))
    check(label + "masses", atoms.get_masses(), numbers("masses", float))
    if not np.allclose(atoms.get_velocities(), numbers("velo", float), rtol=1e-14, atol=0.0):
        sys.exit(f"check_ase: {label}get_velocities() does not give the velocities of the file")
    kinetic = 0.5 * np.sum(numbers("masses", float)[:, None] * numbers("velo", float) ** 2)
    if not np.isclose(atoms.get_kinetic_energy(), kinetic, rtol=1e-12, atol=0.0):
        sys.exit(f"check_ase: {label}the kinetic energy is {atoms.get_kinetic_energy()}, in the file {kinetic}")
    check(label + "forces", atoms.get_forces(), numbers("forces", float))
    check(label + "energies", atoms.get_potential_energies(), numbers("energies", float))
    check(label + "images", atoms.arrays["images"], numbers("images", int))
    check(label + "cells", atoms.cell.array.ravel(), [float(word) for word in entries["Lattice"].split()])
    check(label + "boundaries", atoms.pbc, [word == "T" for word in entries["pbc"].split()])
    check(label + "times", atoms.info["Time"], float(entries["Time"]))
    check(label + "steps", atoms.info["Step"], int(entries["Step"]))


def main():
    """Checks the whole trajectory."""
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    path, frame_count, atom_count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    read_by_ase = ase.io.read(path, index=":", format="extxyz")
    as_written = list(frames_of(path))
    check("numbers of frames", len(read_by_ase), frame_count)
    check("numbers of frames", len(as_written), frame_count)
    for number, (atoms, (entries, table)) in enumerate(zip(read_by_ase, as_written)):
        check_frame(number, atoms, entries, table, atom_count)
    print(f"check_ase: ASE {ase.__version__} reads {frame_count} frames of {atom_count} atoms from {path}")


if __name__ == "__main__":
    main()
