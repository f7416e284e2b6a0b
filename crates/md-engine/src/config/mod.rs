//! Configuration of a simulation, checked by [`crate::Setup::new`].

mod check;
pub(crate) mod placement;
mod reproducible;
mod source;

use std::ops::Range;

use md_core::force::Summation;
use md_core::{Boundary, Dimension, Domain};

use crate::forces::Forces;
use crate::motion::barostat::Barostat;
use crate::motion::integrator::Integrator;
pub use crate::settings::{
    Balance, BalanceRule, BalanceWeights, NeighborConfig, Overlap, ParallelConfig, Protocol, SecondShare,
    SimdChoice,
};
use crate::wall::SolidWall;
#[cfg(test)]
pub(crate) use check::check_temperature;
pub use source::{FirstOfAll, ParticleSource, Share};

/// Whether energy and pressure include the mean-field contribution from beyond the cutoff.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TailCorrection {
    /// No correction.
    #[default]
    Off,
    /// Correction included.
    On,
}

/// Description of a simulation. Reduced units: mass m, length sigma, energy epsilon, `k_B` = 1.
#[derive(Debug, Clone)]
pub struct Config {
    /// Source of the particles.
    pub particles: ParticleSource,
    /// Number of dimensions.
    pub dimension: Dimension,
    /// Boundary conditions.
    pub boundary: [Boundary; 3],
    /// Solid walls at reflecting faces of the box; no particle may be on or behind one.
    pub walls: Vec<SolidWall>,
    /// Mass per species, \[mass\].
    pub masses: Vec<f64>,
    /// Share of the lattice sites per species, adding up to 1; particles from a list have their own
    /// species.
    pub shares: Vec<f64>,
    /// Velocity of the whole system, added to the drawn or given velocities, \[length / time\].
    pub drift: [f64; 3],
    /// Temperature for which velocities are drawn, exactly and with zero total momentum; `None`
    /// keeps the given velocities.
    pub temperature: Option<f64>,
    /// Largest random displacement of lattice sites along each axis, \[length\]; none towards
    /// walls.
    pub displacement: f64,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Source of the forces.
    pub forces: Forces,
    /// Mean-field correction for pairs beyond the cutoff.
    pub tail_correction: TailCorrection,
    /// Time step, \[time\]; negative only after [`crate::Setup::backwards`].
    pub timestep: f64,
    /// Largest allowed change per atom of the quantity that the integrator conserves, \[energy\]. A
    /// larger change ends the run when it is observed.
    pub max_drift: Option<f64>,
    /// Integrator of the equations of motion.
    pub integrator: Integrator,
    /// Barostat, if any.
    pub barostat: Option<Barostat>,
    /// Steps over which ramps of the integrator's keys extend.
    pub schedule: Range<u64>,
    /// Search for pairs.
    pub neighbor: NeighborConfig,
    /// Division of the work.
    pub parallel: ParallelConfig,
}

impl Config {
    /// Describes one species of mass 1 in a periodic box in three dimensions, with time step 0.005
    /// and defaults for everything else.
    pub fn new(particles: impl Into<ParticleSource>, forces: impl Into<Forces>) -> Self {
        const TIMESTEP: f64 = 0.005;
        Self {
            particles: particles.into(),
            dimension: Dimension::Three,
            boundary: [Boundary::Periodic; 3],
            walls: Vec::new(),
            masses: vec![1.0],
            shares: vec![1.0],
            drift: [0.0; 3],
            temperature: None,
            displacement: 0.0,
            seed: 0,
            forces: forces.into(),
            tail_correction: TailCorrection::default(),
            timestep: TIMESTEP,
            max_drift: None,
            integrator: Integrator::default(),
            barostat: None,
            schedule: 0..0,
            neighbor: NeighborConfig::default(),
            parallel: ParallelConfig::default(),
        }
    }

    /// Returns this configuration with every lattice site displaced at random, by as much as keeps
    /// two particles at least one diameter apart (but at least a little). Particles from a list are
    /// not displaced.
    #[must_use]
    pub fn displaced(self, diameter: f64) -> Self {
        /// In units of the distance between neighbours.
        const LEAST: f64 = 0.02;
        let displacement = self.particles.lattice().map_or(0.0, |lattice| {
            let distance = lattice.nearest_distance();
            ((distance - diameter) / (2.0 * 3_f64.sqrt())).max(LEAST * distance)
        });
        Self { displacement, ..self }
    }

    /// Returns the number of particles.
    pub fn atoms(&self) -> u64 {
        self.particles.len()
    }

    /// Returns the box.
    pub fn domain(&self) -> Domain {
        let (origin, lengths) = match &self.particles {
            ParticleSource::Lattice(lattice) => ([0.0; 3], lattice.lengths()),
            ParticleSource::Thinned(thinned) => ([0.0; 3], thinned.lattice().lengths()),
            ParticleSource::Regions(regions) => ([0.0; 3], regions.lengths),
            ParticleSource::Gas(gas) => ([0.0; 3], gas.lengths),
            ParticleSource::List { origin, lengths, .. } => (*origin, *lengths),
        };
        let domain = Domain { dimension: self.dimension, origin, lengths, boundary: self.boundary };
        match self.neighbor.summation {
            Summation::Rounded => domain,
            Summation::Exact => domain.in_quanta(),
        }
    }
}
