//! The halo of one step as an exchange that can be repeated, and forces that show whether ghosts
//! have been updated.

use md_core::Evaluation;

use super::Simulation;
use crate::division::Decomposition;
use crate::division::halo::{FrozenHalo, HaloView};
use crate::error::EngineError;
use crate::forces::GhostPositions;
use crate::state::State;

/// Coordinate beyond every cutoff. Not NaN: at the end of a run of particles, the spare vector
/// lanes of the kernels read the following entries, including ghosts, and multiply them by zero.
/// (In mixed precision, coordinates wrap around, so this becomes an arbitrary position: forces of a
/// ghost that stays there are then wrong instead of missing.)
const NOWHERE: f64 = 1e100;

impl Simulation<'_> {
    /// Packs the halo with the present positions and forces.
    ///
    /// # Errors
    /// Insufficient memory for the messages.
    pub fn freeze(&mut self) -> Result<FrozenHalo<'_>, EngineError> {
        let Self { state: State { particles, domain, .. }, decomposition, clock, threads, .. } = self;
        let cells = &mut self.neighborhood.cells;
        let Decomposition { plan, halo, .. } = decomposition;
        let view = HaloView { particles, cells, plan, domain, threads, clock };
        halo.freeze(&view)
    }

    /// Moves all ghosts beyond the cutoff of all particles and recomputes all forces after a new
    /// exchange: the forces of ghosts that are not updated are missing. *Collective.*
    ///
    /// # Errors
    /// Communication.
    pub fn recompute_from_fresh_halo(&mut self) -> Result<(), EngineError> {
        // A pending half kick needs the present forces.
        self.complete_step()?;
        let ghosts = self.state.particles.ghost_start()..self.state.particles.len();
        for column in &mut self.state.particles.position {
            column[ghosts.clone()].fill(NOWHERE);
        }
        self.state.particles.clear_forces(&self.threads);
        self.compute_forces(GhostPositions::Stale, Evaluation::ForcesOnly)
    }
}
