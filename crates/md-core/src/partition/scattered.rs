//! Cells of a rank far from each other: (x + 3 y + 9 z) modulo the number of ranks (`scattered` of
//! Matthey & Hansen).
//!
//! Advantage: balanced without any weights, provided that dense regions cover many cells.
//! Disadvantage: nearly every neighbouring cell belongs to another rank, so there are more ghosts
//! than particles.

use super::form::Form;
use super::weights::check_enough;
use super::{DivisionRequest, Ownership, Partition};
use crate::grid::{Cell, CellGrid, GridError};
use std::sync::Arc;

/// Increase of the rank for a step along x, y and z.
const STEPS: Cell = [1, 3, 9];

/// The scattered partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scattered {
    /// Number of ranks.
    pub ranks: usize,
}

/// Distributes the cells to the ranks one by one.
pub(super) fn divide(request: &DivisionRequest) -> Result<(CellGrid, Partition), GridError> {
    let (grid, ranks) = (CellGrid::new(request.domain, request.most_cells), request.ranks);
    check_enough(&grid, ranks)?;
    // A rank may have no cell, because steps along an axis can skip numbers.
    let scattered = Scattered { ranks };
    let mut seen = vec![false; ranks];
    for number in 0..grid.len() {
        seen[scattered.owner(&grid, grid.at(number))] = true;
    }
    match seen.into_iter().position(|seen| !seen) {
        None => Ok((grid, Arc::new(scattered))),
        Some(rank) => {
            let [x, y, z] = grid.counts();
            Err(GridError::TooThin(format!(
                "on {x}x{y}x{z} cells, (x + 3 y + 9 z) modulo {ranks} gives rank {rank} none"
            )))
        }
    }
}

impl Ownership for Scattered {
    fn owner(&self, _: &CellGrid, cell: Cell) -> usize {
        let place: i64 = cell.iter().zip(STEPS).map(|(&c, step)| i64::from(c) * i64::from(step)).sum();
        place as usize % self.ranks
    }

    fn words(&self, _: &CellGrid) -> Vec<u64> {
        Form::Scattered.with([])
    }
}
