//! Particles sorted by the cells of a plan.

use super::plan::HaloPlan;
use crate::cells::LocalCells;
use crate::grid::CellGrid;
use crate::particles::Particles;
use crate::prediction::Prediction;
use crate::threads::Threads;

impl LocalCells {
    /// Sorts the owned particles by cell and, inside a cell, along a curve. All of them must lie in
    /// cells of this rank.
    pub fn sort(&mut self, particles: &mut Particles, grid: &CellGrid, plan: &HaloPlan, threads: &Threads) {
        self.sort_predicted(particles, grid, plan, Prediction::NOW, threads);
    }

    /// Sorts the owned particles by the cells of their predicted positions, as [`Self::sort`].
    pub fn sort_predicted(
        &mut self,
        particles: &mut Particles,
        grid: &CellGrid,
        plan: &HaloPlan,
        prediction: Prediction,
        threads: &Threads,
    ) {
        let local_cell = |cell| plan.local_cell(cell).unwrap_or(0);
        self.sort_by_cell(particles, grid, plan.owned.len(), local_cell, prediction, threads);
    }

    /// Drops the ghost cells.
    pub fn clear_ghosts(&mut self, plan: &HaloPlan) {
        self.keep_owned(plan.owned.len());
    }
}
