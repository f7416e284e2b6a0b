//! A checked configuration and the values derived from it.

mod memory;

use md_core::force::{Precision, mixed_precision_problem};
use md_core::grid::axis;
use md_core::{CellGrid, Domain, SimdLevel, TotalMomentum};

use crate::config::{Config, NeighborConfig, ParallelConfig, SimdChoice};
use crate::division::Division;
use crate::error::EngineError;
use crate::motion::System;
use crate::motion::integrator::{Integrate, Integrator};

/// Checked configuration and what follows from it and the number of ranks without communication.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Configuration from which it was made.
    pub config: Config,
    /// Global box.
    pub domain: Domain,
    /// Cells of the box and their owners at the start.
    pub division: Division,
    /// Instruction set of the kernels, before anything has been measured.
    pub simd: SimdLevel,
    /// Number of ranks for which it was made.
    pub ranks: usize,
}

impl Setup {
    /// Checks a configuration for `ranks` ranks and divides its box.
    ///
    /// # Errors
    /// [`EngineError::Config`] for values that contradict each other, [`EngineError::Grid`] for a
    /// box too small for the cutoff or too thin for the ranks, [`EngineError::MixedPrecision`].
    pub fn new(config: Config, ranks: usize) -> Result<Self, EngineError> {
        config.check()?;
        let NeighborConfig { method, skin, .. } = config.neighbor;
        let ParallelConfig { partition, simd, protocol, .. } = config.parallel;
        let (domain, cutoff) = (config.domain(), config.forces.cutoff());
        let rank_grid = config.parallel.rank_grid_for(&domain, ranks);
        let division =
            Division::new(domain, cutoff + skin, config.particles.len(), ranks, partition, rank_grid)?;
        let simd = match simd {
            SimdChoice::Named(level) => level,
            SimdChoice::Cpu | SimdChoice::Measured => method.best_simd(),
        };
        config.check_reproducible(simd)?;
        protocol.check_rows(&division.grid, ranks)?;
        let setup = Self { domain, division, simd, config, ranks };
        setup.check_cells(&setup.division.grid, cutoff)?;
        let Config { forces, neighbor, parallel, .. } = &setup.config;
        forces.models().try_for_each(|model| model.check(neighbor, parallel))?;
        Ok(setup)
    }

    /// Returns the setup of a run that goes backwards in time, with a negative time step: it undoes
    /// the steps of a run with the present setup to the last bit.
    ///
    /// # Errors
    /// [`EngineError::NotReversible`]
    pub fn backwards(mut self) -> Result<Self, EngineError> {
        self.config.check_reversible()?;
        self.config.timestep = -self.config.timestep;
        Ok(self)
    }

    /// Returns the setup in another box, with a new division.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub(crate) fn in_box(&self, domain: Domain) -> Result<Self, EngineError> {
        let Config { forces, neighbor, parallel, particles, .. } = &self.config;
        let cutoff = forces.cutoff();
        let list_radius = cutoff + neighbor.skin;
        let ranks = self.ranks;
        let rank_grid = parallel.rank_grid_for(&domain, ranks);
        let division =
            Division::new(domain, list_radius, particles.len(), ranks, parallel.partition, rank_grid)?;
        parallel.protocol.check_rows(&division.grid, ranks)?;
        let setup = Self { domain, division, ..self.clone() };
        setup.check_cells(&setup.division.grid, cutoff)?;
        Ok(setup)
    }

    /// Checks that `division` divides this box, that every cell has an owner, and
    /// [`Self::check_cells`]. The time is proportional to the number of cells.
    pub(crate) fn check_division(&self, division: &Division, cutoff: f64) -> Result<(), EngineError> {
        let (Self { domain, ranks, .. }, Division { grid, partition }) = (self, division);
        if grid.domain() != domain {
            return Err(EngineError::Config("the division is one of another box".to_owned()));
        }
        let cells = (0..grid.len()).map(|number| grid.at(number));
        let owners = cells.map(|cell| (cell, partition.owner(grid, cell)));
        if let Some((cell, owner)) = owners.into_iter().find(|(_, owner)| owner >= ranks) {
            return Err(EngineError::Config(format!("cell {cell:?} belongs to rank {owner} of {ranks}")));
        }
        self.check_cells(grid, cutoff)
    }

    /// Checks that adjacent cells contain all partners of a particle, and that f32 can hold its
    /// coordinates.
    pub(crate) fn check_cells(&self, grid: &CellGrid, cutoff: f64) -> Result<(), EngineError> {
        /// Relative rounding error of a cell with exactly the required length.
        const ROUNDING: f64 = 1e-9;
        let (config, domain) = (&self.config, grid.domain());
        let NeighborConfig { skin, precision, .. } = config.neighbor;
        let list_radius = cutoff + skin;
        let mixed = (precision == Precision::Mixed).then(|| mixed_precision_problem(grid, list_radius));
        if let Some(problem) = mixed.flatten() {
            return Err(EngineError::MixedPrecision(problem));
        }
        let length = |dim: usize| domain.lengths[dim] / f64::from(grid.counts()[dim]);
        let matters = |dim: &usize| domain.is_periodic(*dim) || grid.counts()[*dim] > 1;
        let too_short = (0..domain.dimension.count())
            .filter(matters)
            .find(|&dim| length(dim) < list_radius * (1.0 - ROUNDING));
        match too_short {
            None => Ok(()),
            Some(dim) => Err(EngineError::Config(format!(
                "cells are {} long in {}, less than cutoff + skin = {list_radius}",
                length(dim),
                axis(dim)
            ))),
        }
    }

    /// Returns the setup with [displaced](Config::displaced) lattice sites.
    #[must_use]
    pub fn displaced(&self, diameter: f64) -> Self {
        Self { config: self.config.clone().displaced(diameter), ..self.clone() }
    }

    /// Returns the degrees of freedom under an integrator with this effect on the total momentum.
    pub fn degrees_of_freedom(&self, momentum: TotalMomentum) -> u64 {
        self.system().degrees_of_freedom(momentum)
    }

    /// Returns the system for which integrators and barostats are built.
    pub(crate) fn system(&self) -> System<'_> {
        let Config { masses, timestep, schedule, seed, neighbor, .. } = &self.config;
        System {
            domain: &self.domain,
            masses,
            atoms: self.atoms(),
            timestep: *timestep,
            schedule,
            seed: *seed,
            summation: neighbor.summation,
            simd: self.simd,
        }
    }

    /// Returns the number of particles of the whole system.
    pub fn atoms(&self) -> u64 {
        self.config.particles.len()
    }

    /// Returns the ranks per dimension as `2x1x1`, or `-`.
    pub fn grid_text(&self) -> String {
        let rank_grid = self.division.partition.rank_grid();
        rank_grid.map_or_else(|| "-".to_owned(), |[x, y, z]| format!("{x}x{y}x{z}"))
    }
}

impl Integrator {
    /// Builds the integrator for the system of a setup.
    ///
    /// # Errors
    /// [`EngineError::Config`] for an invalid key, for instance a negative temperature.
    pub fn build(self, setup: &Setup) -> Result<Box<dyn Integrate>, EngineError> {
        self.build_for(&setup.system())
    }
}
