//! A configuration that has been checked, and what follows from it.

use md_comm::World;
use md_core::force::{Precision, mixed_precision_problem};
use md_core::grid::axis;
use md_core::{CellGrid, ConservedMomentum, Domain, SimdLevel, TotalMomentum};

use crate::balance::loads;
use crate::config::{Config, Forces, NeighborConfig, ParallelConfig, SimdChoice};
use crate::decomposition::Division;
use crate::error::EngineError;

/// A checked configuration and what follows from it and the number of ranks without communication.
#[derive(Debug, Clone)]
pub struct Setup {
    /// What it was made from.
    pub config: Config,
    /// The global box.
    pub domain: Domain,
    /// Its cells and their owners at the start.
    pub division: Division,
    /// Instruction set of the kernels, before anything has been measured.
    pub simd: SimdLevel,
    /// Ranks it was made for.
    pub ranks: usize,
}

impl Setup {
    /// For `ranks` ranks.
    ///
    /// # Errors
    /// [`EngineError::Config`] for values that contradict each other, [`EngineError::Grid`] for a box too small for the
    /// cutoff or too thin for the ranks, [`EngineError::MixedPrecision`].
    pub fn new(config: Config, ranks: usize) -> Result<Self, EngineError> {
        config.check()?;
        let NeighborConfig { method, skin, precision, .. } = config.neighbor;
        let ParallelConfig { partition, simd, protocol, .. } = config.parallel;
        let (domain, cutoff) = (config.domain(), config.forces.cutoff());
        let rank_grid = config.parallel.rank_grid_for(&domain, ranks);
        let division =
            Division::new(domain, cutoff + skin, config.particles.len(), ranks, partition, rank_grid)?;
        let simd = match simd {
            SimdChoice::Named(level) => level,
            SimdChoice::Cpu | SimdChoice::Measured => method.best_simd(),
        };
        protocol.check_rows(&division.grid, ranks)?;
        let setup = Self { domain, division, simd, config, ranks };
        setup.check_cells(&setup.division.grid, cutoff)?;
        match &setup.config.forces {
            Forces::Pairs(potential)
                if precision == Precision::Mixed && !potential.fits_single_precision() =>
            {
                Err(EngineError::SinglePrecision)
            }
            Forces::Pairs(_) | Forces::Own { .. } => Ok(setup),
        }
    }

    /// The same, where the partition follows from what cells cost: divided by the number of particles in each. *Collective.*
    ///
    /// # Errors
    /// [`EngineError::Grid`]; communication.
    pub(crate) fn weighted(self, world: &dyn World) -> Result<Self, EngineError> {
        let ParallelConfig { partition, shell, .. } = self.config.parallel;
        if !partition.is_weighted() || world.ranks() == 1 {
            return Ok(self);
        }
        let loads = loads::at_start(&self, shell, world)?;
        let weighted = self.division.weighted(partition, self.ranks, &loads)?;
        if let Some(division) = &weighted {
            loads::agree(&division.partition.owners(&division.grid), world)?;
        }
        Ok(Self { division: weighted.unwrap_or(self.division.clone()), ..self })
    }

    /// The same in another box, which is divided anew.
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

    /// Whether it divides this box, every cell has an owner, and [`Self::check_cells`]. Takes time for every cell.
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

    /// Whether cells hold all partners of a particle in adjacent ones, and f32 its coordinates.
    pub(crate) fn check_cells(&self, grid: &CellGrid, cutoff: f64) -> Result<(), EngineError> {
        /// Of a cell that is exactly as long as it must be.
        const ROUNDING: f64 = 1e-9;
        let Self { domain, config, .. } = self;
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

    /// The same with [displaced](Config::displaced) lattice sites.
    #[must_use]
    pub fn displaced(&self, diameter: f64) -> Self {
        Self { config: self.config.clone().displaced(diameter), ..self.clone() }
    }

    /// Degrees of freedom under an integrator that does this to the total momentum.
    pub fn degrees_of_freedom(&self, momentum: TotalMomentum) -> u64 {
        ConservedMomentum::new(&self.domain, momentum).degrees_of_freedom(self.atoms(), self.domain.dimension)
    }

    /// Number of particles of the whole system.
    pub fn atoms(&self) -> u64 {
        self.config.particles.len()
    }

    /// Ranks per dimension as `2x1x1`, or `-`.
    pub fn grid_text(&self) -> String {
        let rank_grid = self.division.partition.rank_grid();
        rank_grid.map_or_else(|| "-".to_owned(), |[x, y, z]| format!("{x}x{y}x{z}"))
    }
}
