//! Consecutive cells in storage order, cut into equal pieces (`stripe` of Matthey & Hansen).
//!
//! Advantage: works for any number of ranks up to the number of cells, and a rank has few
//! neighbours. Disadvantage: the surface does not shrink as ranks are added, so the halo becomes
//! larger than the interior.

use super::form::Form;
use super::weights::check_enough;
use super::{CellLoads, DivisionRequest, Ownership, Partition, Path, Pieces, Rect, piece_of, piece_start};
use crate::grid::{Cell, CellGrid, GridError};
use std::sync::Arc;

/// The stripe partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stripe {
    /// Number of ranks.
    pub ranks: usize,
}

/// Creates a stripe of cells for each rank, or blocks if the user has chosen a grid of ranks.
pub(super) fn divide(request: &DivisionRequest) -> Result<(CellGrid, Partition), GridError> {
    let grid = CellGrid::new(request.domain, request.most_cells);
    if let Some(rank_grid) = request.rank_grid {
        return Ok((grid, Arc::new(Rect::new(rank_grid, request.most_cells, request.ranks)?)));
    }
    check_enough(&grid, request.ranks)?;
    Ok((grid, Arc::new(Stripe { ranks: request.ranks })))
}

impl Ownership for Stripe {
    fn owner(&self, grid: &CellGrid, cell: Cell) -> usize {
        piece_of(grid.len(), self.ranks, grid.linear(cell))
    }

    fn cells_of(&self, grid: &CellGrid, rank: usize) -> Vec<Cell> {
        let start = |part| piece_start(grid.len(), self.ranks, part);
        (start(rank)..start(rank + 1)).map(|linear| grid.at(linear)).collect()
    }

    fn rebalanced(&self, grid: &CellGrid, loads: &CellLoads) -> Result<Vec<Partition>, GridError> {
        Ok(vec![Arc::new(Pieces::new(Path::StorageOrder, grid, self.ranks, loads)?)])
    }

    fn words(&self, grid: &CellGrid) -> Vec<u64> {
        Form::Stripes.with((0..self.ranks).map(|part| piece_start(grid.len(), self.ranks, part) as u64))
    }
}
