#!/usr/bin/env python3
"""Reads one run's trajectories in all formats with common readers, and compares their results.

usage: check_readers.py FOLDER
FOLDER contains traj.extxyz with all columns, and the same frames as traj.* in other formats. Needs
ASE, MDAnalysis and netCDF4; OVITO's module is used if it is installed. Exits with 1 and a reason if
anything differs.
"""

import sys
import warnings
from pathlib import Path

import numpy as np

from check_ase import columns_of, frames_of

warnings.simplefilter("ignore")

SINGLE = 2e-7
DIGIT = 1e-15
XTC = 0.00051
KCAL = 4.184  # MDAnalysis assumes forces in kcal/mol and returns them in kJ/mol.


class Expected:
    """A frame according to the text of traj.extxyz."""

    def __init__(self, entries, table):
        columns = columns_of(entries["Properties"])
        read = lambda name, kind=float: table[:, columns[name]].astype(kind).squeeze()
        self.ids, self.types = read("id", int), read("type", int)
        self.positions, self.velocities, self.forces = read("pos"), read("velo"), read("forces")
        self.energies, self.images, self.masses = read("energies"), read("images", int), read("masses")
        self.lengths = np.array(entries["Lattice"].split(), float).reshape(3, 3).diagonal()
        self.origin = np.array(entries["Origin"].split(), float)
        self.time, self.step = float(entries["Time"]), int(entries["Step"])


def check(what, actual, expected, tolerance=0.0, absolute=0.0):
    """Exits unless both agree, to the last bit if no tolerances are given."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    if actual.shape != expected.shape:
        sys.exit(f"check_readers: {what}: {actual.shape} values, expected {expected.shape}")
    scale = np.maximum(np.abs(expected), 1.0) if tolerance else 1.0
    worst = np.max(np.abs(actual - expected) / scale - absolute, initial=0.0)
    if not worst <= tolerance:
        sys.exit(f"check_readers: {what} differ by {worst}: found\n{actual}\nexpected\n{expected}")


def by_ase(folder, frames):
    import ase.io
    for name, form, tolerance in [("traj.lammpstrj", "lammps-dump-text", 0.0), ("traj.nc", "netcdftrajectory", SINGLE)]:
        read = ase.io.read(folder / name, index=":", format=form)
        check(f"ASE, {name}: frames", len(read), len(frames))
        for atoms, frame in zip(read, frames):
            check(f"ASE, {name}: positions", atoms.positions, frame.positions, tolerance)
            check(f"ASE, {name}: boxes", atoms.cell.lengths(), frame.lengths, 1e-15)
            check(f"ASE, {name}: forces", atoms.arrays.get("forces", frame.forces), frame.forces, tolerance)
            if name.endswith(".nc"):
                check(f"ASE, {name}: velocities", atoms.get_velocities(), frame.velocities, 2 * tolerance)
                check(f"ASE, {name}: types", atoms.numbers, frame.types)
            else:
                check(f"ASE, {name}: ids", atoms.arrays.get("id", frame.ids), frame.ids)
    return f"ASE {ase.__version__}"


def by_mdanalysis(folder, frames):
    import MDAnalysis
    from MDAnalysis.coordinates.LAMMPS import DumpReader
    from MDAnalysis.coordinates.TRJ import NCDFReader
    from MDAnalysis.coordinates.XTC import XTCReader
    # MDAnalysis stores positions as f32, measures those of a dump from the lower corner as XTC
    # does, and interprets those of XTC as nanometres.
    for name, reader, scale, absolute in [
        ("traj.lammpstrj", DumpReader, 1.0, 0.0), ("traj.nc", NCDFReader, 1.0, 0.0), ("traj.xtc", XTCReader, 10.0, XTC)
    ]:
        read = reader(str(folder / name), n_atoms=len(frames[0].ids))
        check(f"MDAnalysis, {name}: frames", read.n_frames, len(frames))
        for found, frame in zip(read, frames):
            label = f"MDAnalysis, {name}: "
            positions = frame.positions - (0.0 if name.endswith(".nc") else frame.origin)
            check(label + "positions", found.positions / scale, positions, 3 * SINGLE, absolute)
            check(label + "boxes", found.dimensions, [*(scale * frame.lengths), 90, 90, 90], 3 * SINGLE)
            if name.endswith(".nc"):
                check(label + "velocities", found.velocities, frame.velocities, 2 * SINGLE)
                check(label + "forces", found.forces / KCAL, frame.forces, 4 * SINGLE)
            if not name.endswith(".lammpstrj"):
                check(label + "times", found.time, frame.time, SINGLE)
    return f"MDAnalysis {MDAnalysis.__version__}"


def by_netcdf4(folder, frames):
    import netCDF4
    # Variables that the trajectory readers do not return.
    with netCDF4.Dataset(folder / "traj.nc") as file:
        check("netCDF4: frames", file.dimensions["frame"].size, len(frames))
        for number, frame in enumerate(frames):
            check("netCDF4: ids", file["identifier"][:], frame.ids)
            check("netCDF4: masses", file["mass"][:], frame.masses)
            check("netCDF4: images", file["images"][number], frame.images)
            check("netCDF4: energies", file["c_epot"][number], frame.energies, SINGLE)
            check("netCDF4: steps", file["step"][number], frame.step)
    return f"netCDF4 {netCDF4.__version__}"


def by_ovito(folder, frames):
    try:
        import ovito
        from ovito.io import import_file
    except ImportError:
        return "no OVITO (its module is not installed)"
    # OVITO rounds the last digit of a text differently.
    for name, tolerance in [("traj.extxyz", DIGIT), ("traj.extxyz.gz", DIGIT), ("traj.lammpstrj", DIGIT),
                            ("traj.lammpstrj.gz", DIGIT), ("traj.nc", SINGLE)]:
        pipeline = import_file(str(folder / name))
        check(f"OVITO, {name}: frames", pipeline.num_frames, len(frames))
        for number, frame in enumerate(frames):
            particles = pipeline.compute(number).particles
            label = f"OVITO, {name}: "
            check(label + "ids", particles["Particle Identifier"], frame.ids)
            check(label + "types", particles["Particle Type"], frame.types)
            check(label + "positions", particles["Position"], frame.positions, tolerance)
            check(label + "velocities", particles["Velocity"], frame.velocities, 2 * tolerance)
            check(label + "forces", particles["Force"], frame.forces, 2 * tolerance)
            cell = pipeline.compute(number).cell
            check(label + "boxes", cell[:, :3].diagonal(), frame.lengths, 1e-15)
            check(label + "corners", cell[:, 3], frame.origin, DIGIT)
            if name != "traj.extxyz" and "Potential Energy" in particles:
                check(label + "energies", particles["Potential Energy"], frame.energies, 2 * tolerance)
    pipeline = import_file(str(folder / "traj.xtc"))
    for number, frame in enumerate(frames):
        # OVITO places the middle of the box at the origin.
        data = pipeline.compute(number)
        positions = (np.asarray(data.particles["Position"]) - data.cell[:, 3]) / 10.0
        check("OVITO, traj.xtc: positions", positions, frame.positions - frame.origin, 3 * SINGLE, XTC)
    return "OVITO " + ".".join(map(str, ovito.version))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    frames = [Expected(*frame) for frame in frames_of(folder / "traj.extxyz")]
    readers = [reader(folder, frames) for reader in (by_ase, by_mdanalysis, by_netcdf4, by_ovito)]
    print(f"check_readers: {len(frames)} frames of {len(frames[0].ids)} particles: {', '.join(readers)}")


if __name__ == "__main__":
    main()
