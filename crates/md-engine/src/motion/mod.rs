//! Motion of the particles and of the box: integrators, thermostats and barostats.

pub mod barostat;
pub mod integrator;
pub(crate) mod thermal;

use std::ops::Range;

use md_core::force::Summation;
use md_core::integrate::VelocityVerlet;
use md_core::{ConservedMomentum, Domain, SimdLevel, TotalMomentum};

/// Properties of a system for which integrators and barostats are built.
#[derive(Debug, Clone, Copy)]
pub(crate) struct System<'a> {
    /// Global box.
    pub(crate) domain: &'a Domain,
    /// Mass per species, \[mass\].
    pub(crate) masses: &'a [f64],
    /// Number of particles on all ranks.
    pub(crate) atoms: u64,
    /// Time step, \[time\].
    pub(crate) timestep: f64,
    /// Steps over which ramps extend.
    pub(crate) schedule: &'a Range<u64>,
    /// Seed of all random numbers.
    pub(crate) seed: u64,
    /// How forces and energies are added up.
    pub(crate) summation: Summation,
    /// Instruction set of the kernels.
    pub(crate) simd: SimdLevel,
}

impl System<'_> {
    /// Returns the loops of velocity Verlet for this system.
    pub(crate) fn verlet(&self) -> VelocityVerlet {
        VelocityVerlet::new(self.timestep, self.masses, self.simd).with_summation(self.summation)
    }

    /// Returns the degrees of freedom under an integrator with this effect on the total momentum.
    pub(crate) fn degrees_of_freedom(&self, momentum: TotalMomentum) -> u64 {
        ConservedMomentum::new(self.domain, momentum).degrees_of_freedom(self.atoms, self.domain.dimension)
    }
}
