//! The division at the start by the number of particles in each cell.

use md_comm::{Reduction, World};
use md_core::Shell;
use md_core::partition::CellLoads;

use super::initial;
use crate::balance::loads;
use crate::config::{Config, ParallelConfig};
use crate::division::Division;
use crate::error::EngineError;
use crate::setup::Setup;

impl Setup {
    /// Returns the setup divided by the number of particles in each cell, if the partition depends
    /// on the cost of cells; otherwise returns it unchanged. *Collective.*
    ///
    /// # Errors
    /// [`EngineError::Grid`]; communication.
    pub(crate) fn weighted(self, world: &dyn World) -> Result<Self, EngineError> {
        let ParallelConfig { partition, shell, .. } = self.config.parallel;
        if !partition.is_weighted() || world.ranks() == 1 {
            return Ok(self);
        }
        let loads = loads_at_start(&self, shell, world)?;
        let weighted = self.division.weighted(partition, self.ranks, &loads)?;
        if let Some(division) = &weighted {
            loads::agree(&division.partition.owners(&division.grid), world)?;
        }
        Ok(Self { division: weighted.unwrap_or(self.division.clone()), ..self })
    }
}

/// Returns the loads that follow from the particle counts at the start. *Collective.*
fn loads_at_start(setup: &Setup, shell: Shell, world: &dyn World) -> Result<CellLoads, EngineError> {
    let Division { grid, .. } = &setup.division;
    // Velocities are omitted: they are drawn after the particles have reached their ranks.
    let still = Setup { config: Config { temperature: None, ..setup.config.clone() }, ..setup.clone() };
    let particles = initial::particles(&still, world)?;
    let mut counts = loads::words(grid.len())?;
    for index in 0..particles.owned() {
        counts[grid.linear(grid.cell_of(particles.position_of(index)))] += 1;
    }
    world.reduce(&mut counts, Reduction::Sum)?;
    let counts = counts.into_iter().map(|count| count as f64).collect();
    Ok(CellLoads::of_counts(grid, counts, shell))
}
