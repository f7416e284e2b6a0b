"""The standard melt with OpenMM: melt-openmm.py CELLS STEPS THREADS.

Prints nanoseconds per atom and step, and the drift of the energy per atom and unit time (`-` below
2000 steps). The CPU platform computes pairs in single precision and rebuilds its lists when
particles have moved by half of its padding. With sigma = 1 nm, epsilon = 1 kJ/mol and mass = 1 u
the unit of time is 1 ps, and k_B T = 1.44 epsilon is 173.19 K. The steps are timed after as many
others, so that the start does not count.
"""

import itertools
import sys
import time

import numpy
import openmm

DENSITY, CUTOFF, TEMPERATURE, TIME_STEP = 0.8442, 2.5, 173.19, 0.005
SITES = ((0, 0, 0), (0.5, 0.5, 0), (0.5, 0, 0.5), (0, 0.5, 0.5))


def melt(cells, threads):
    """Returns a context with the fcc crystal."""
    spacing = (4 / DENSITY) ** (1 / 3)
    corners = itertools.product(range(cells), repeat=3)
    positions = spacing * numpy.array([numpy.add(c, s) for c in corners for s in SITES])
    system, force = openmm.System(), openmm.NonbondedForce()
    system.setDefaultPeriodicBoxVectors(*(spacing * cells * numpy.eye(3)))
    force.setNonbondedMethod(openmm.NonbondedForce.CutoffPeriodic)
    force.setCutoffDistance(CUTOFF)
    force.setUseDispersionCorrection(False)
    for _ in positions:
        system.addParticle(1.0)
        force.addParticle(0.0, 1.0, 1.0)
    system.addForce(force)
    platform = openmm.Platform.getPlatformByName("CPU")
    context = openmm.Context(system, openmm.VerletIntegrator(TIME_STEP), platform, {"Threads": str(threads)})
    context.setPositions(positions)
    context.setVelocitiesToTemperature(TEMPERATURE, 87287)
    return context


def energy_per_atom(context, atoms):
    state = context.getState(getEnergy=True)
    total = state.getPotentialEnergy() + state.getKineticEnergy()
    return total.value_in_unit(openmm.unit.kilojoule_per_mole) / atoms


def main(cells, steps, threads):
    context, atoms = melt(cells, threads), 4 * cells**3
    integrator = context.getIntegrator()
    integrator.step(steps)
    energy_per_atom(context, atoms)
    begun = time.perf_counter()
    integrator.step(steps)
    energy_per_atom(context, atoms)
    time_ns = (time.perf_counter() - begun) / steps / atoms * 1e9
    drift = "-"
    if steps >= 2000:
        samples = []
        for _ in range(50):
            integrator.step(steps // 50)
            samples.append(energy_per_atom(context, atoms))
        times = numpy.arange(50) * (steps // 50) * TIME_STEP
        drift = f"{numpy.polyfit(times, samples, 1)[0]:.1e}"
    print(f"{time_ns:.3f} {drift}")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:4]))
