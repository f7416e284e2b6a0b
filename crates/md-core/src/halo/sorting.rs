//! Particles sorted by the cells of a plan.

use super::plan::HaloPlan;
use crate::cells::LocalCells;
use crate::grid::CellGrid;
use crate::particles::Particles;
use crate::threads::Threads;

impl LocalCells {
    /// Sorts the owned particles by cell and, inside a cell, along a curve. All of them must lie in
    /// cells of this rank.
    pub fn sort(&mut self, particles: &mut Particles, grid: &CellGrid, plan: &HaloPlan, threads: &Threads) {
        let local_cell = |cell| plan.local_cell(cell).unwrap_or(0);
        self.sort_by_cell(particles, grid, plan.owned.len(), local_cell, threads);
    }

    /// Drops the ghost cells.
    pub fn clear_ghosts(&mut self, plan: &HaloPlan) {
        self.keep_owned(plan.owned.len());
    }
}
