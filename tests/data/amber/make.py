#!/usr/bin/env python3
"""Writes scaled.nc and scaled-64bit-data.nc: AMBER's convention as AMBER uses it. Needs netCDF4.

Four particles with constant velocities, 11 frames 0.1 apart. There is no variable `step`, velocities are divided by 20.455 and have
that as their `scale_factor`. By hand: the mean squared velocity is (0.25 + 0.25 + 0.0625 + 0.375) / 4 = 0.234375.
"""

import netCDF4
import numpy as np

SCALE = np.float32(20.455)
PLACES = np.array([[1, 1, 1], [4, 4, 4], [7, 7, 7], [1, 5, 8.0]])
VELOCITIES = np.array([[0.5, 0, 0], [0, -0.5, 0], [0, 0, 0.25], [0.25, 0.25, -0.5]])


def write(path, form):
    """Writes one file."""
    with netCDF4.Dataset(path, "w", format=form) as file:
        file.Conventions, file.ConventionVersion = "AMBER", "1.0"
        file.program, file.programVersion = "make.py", "1"
        for name, length in [("frame", None), ("spatial", 3), ("atom", 4), ("cell_spatial", 3), ("cell_angular", 3)]:
            file.createDimension(name, length)
        time = file.createVariable("time", "f4", ("frame",))
        places = file.createVariable("coordinates", "f4", ("frame", "atom", "spatial"))
        velocities = file.createVariable("velocities", "f4", ("frame", "atom", "spatial"))
        lengths = file.createVariable("cell_lengths", "f8", ("frame", "cell_spatial"))
        angles = file.createVariable("cell_angles", "f8", ("frame", "cell_angular"))
        time.units, places.units, velocities.units = "picosecond", "angstrom", "angstrom/picosecond"
        velocities.scale_factor = SCALE
        velocities.set_auto_scale(False)
        for frame in range(11):
            time[frame], places[frame] = 0.1 * frame, PLACES + 0.1 * frame * VELOCITIES
            velocities[frame], lengths[frame], angles[frame] = VELOCITIES / SCALE, [10] * 3, [90] * 3


write("scaled.nc", "NETCDF3_64BIT_OFFSET")
write("scaled-64bit-data.nc", "NETCDF3_64BIT_DATA")
