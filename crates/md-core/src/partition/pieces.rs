//! Pieces of equal weight along a path through all cells, either in storage order (a balanced
//! `stripe`) or along a Hilbert curve (`hilbert`).
//!
//! ```text
//! 1 - 2   13-14     neighbours on the curve are neighbours in space, so a piece is compact;
//! |   |   |  |      pieces of any weights are found by cutting one list of numbers
//! 0   3 - 12 15
//! ```
//!
//! Advantage: works for any number of ranks, is balanced to one cell, and rebalancing moves cells
//! only between neighbours on the path. A rank stores only the starts of the pieces, not a table of
//! cells. Disadvantage: pieces are more jagged than blocks. (Campbell et al. 2003, Dynamic octree
//! load balancing using space-filling curves.)

use super::form::Form;
use super::weights::{CellLoads, check_enough};
use super::{DivisionRequest, Ownership, Partition};
use crate::curve;
use crate::domain::Dimension;
use crate::grid::{Cell, CellGrid, GridError};
use crate::memory;
use std::sync::Arc;

/// A path through all cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Path {
    /// x first, z last.
    StorageOrder,
    /// A Hilbert curve through the smallest cube (in two dimensions, square) with 2^n cells per
    /// side that contains the grid.
    Hilbert,
}

impl Path {
    /// Returns a cell's place on the path; not all places are used.
    fn place(self, grid: &CellGrid, cell: Cell) -> u64 {
        if self == Self::StorageOrder {
            return grid.linear(cell) as u64;
        }
        let side = grid.counts().into_iter().max().unwrap_or(1) as u32;
        let levels = side.next_power_of_two().trailing_zeros() as usize;
        let [x, y, z] = cell.map(|c| c as u32);
        match grid.domain().dimension {
            Dimension::Two => curve::place([x, y], levels),
            Dimension::Three => curve::place([x, y, z], levels),
        }
    }
}

/// Pieces of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pieces {
    path: Path,
    /// Start of each rank's piece on the path.
    starts: Arc<[u64]>,
}

/// Divides the box into equal pieces of a Hilbert curve.
pub(super) fn divide(request: &DivisionRequest) -> Result<(CellGrid, Partition), GridError> {
    let grid = CellGrid::new(request.domain, request.most_cells);
    let pieces = Pieces::new(Path::Hilbert, &grid, request.ranks, &CellLoads::uniform(&grid))?;
    Ok((grid, Arc::new(pieces)))
}

impl Pieces {
    /// Creates one piece per rank such that the heaviest piece is as light as possible.
    ///
    /// # Errors
    /// [`GridError::TooThin`] for more ranks than cells, [`GridError::NoWeight`].
    pub fn new(path: Path, grid: &CellGrid, ranks: usize, loads: &CellLoads) -> Result<Self, GridError> {
        check_enough(grid, ranks)?;
        loads.check()?;
        let mut cells = memory::with_capacity(grid.len());
        cells.extend((0..grid.len()).map(|number| (path.place(grid, grid.at(number)), number)));
        cells.sort_unstable();
        let mut before = memory::with_capacity(grid.len() + 1);
        before.push(0.0);
        let mut sum = 0.0;
        for &(_, number) in &cells {
            sum += loads.work[number];
            before.push(sum);
        }
        let starts = cut(&before, ranks).into_iter().map(|first| cells[first].0).collect();
        Ok(Self { path, starts })
    }

    /// Creates pieces from the [`Ownership::words`] that follow the form.
    pub(super) fn from_words(path: Path, starts: &[u64], ranks: usize) -> Option<Self> {
        let ascend = starts.windows(2).all(|pair| pair[0] < pair[1]);
        (starts.len() == ranks && ascend).then(|| Self { path, starts: starts.into() })
    }
}

/// Returns the first items of `parts` runs such that the heaviest run is as light as possible and
/// each has at least one item. `before` contains the total weight of the items before each item,
/// and finally that of all items.
fn cut(before: &[f64], parts: usize) -> Vec<usize> {
    /// Number of bisections of the interval that contains the smallest possible weight.
    const HALVINGS: usize = 50;
    let total = before[before.len() - 1];
    let (mut low, mut high) = (total / parts as f64, total);
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if greedy(before, parts, middle).is_some() { high = middle } else { low = middle }
    }
    greedy(before, parts, high).unwrap_or_else(|| (0..parts).collect())
}

/// Returns runs with a weight of at most `most` (except for those of one item) if `parts` runs
/// suffice.
fn greedy(before: &[f64], parts: usize, most: f64) -> Option<Vec<usize>> {
    let items = before.len() - 1;
    let mut starts = Vec::with_capacity(parts);
    let mut first = 0;
    for part in 0..parts {
        starts.push(first);
        let left = parts - part - 1;
        let end = before.partition_point(|&weight| weight <= before[first] + most) - 1;
        first = end.clamp(first + 1, items - left);
        if before[first] - before[starts[part]] > most && first - starts[part] > 1 {
            return None;
        }
    }
    (first == items).then_some(starts)
}

impl Ownership for Pieces {
    fn owner(&self, grid: &CellGrid, cell: Cell) -> usize {
        let place = self.path.place(grid, cell);
        self.starts.partition_point(|&start| start <= place).saturating_sub(1)
    }

    fn rebalanced(&self, grid: &CellGrid, loads: &CellLoads) -> Result<Vec<Partition>, GridError> {
        Ok(vec![Arc::new(Self::new(self.path, grid, self.starts.len(), loads)?)])
    }

    fn words(&self, _: &CellGrid) -> Vec<u64> {
        let form = match self.path {
            Path::StorageOrder => Form::Stripes,
            Path::Hilbert => Form::Curve,
        };
        form.with(self.starts.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with all possible cuts of short lists.
    #[test]
    fn the_heaviest_piece_is_as_light_as_can_be() {
        for seed in 0..40_u64 {
            let weights: Vec<f64> = (0..9).map(|item| ((item + 1) * (seed + 3) * 7919 % 13) as f64).collect();
            let mut before = vec![0.0];
            weights.iter().for_each(|weight| before.push(before[before.len() - 1] + weight));
            if before[9] == 0.0 {
                continue;
            }
            let heaviest = |starts: &[usize]| {
                let ends = starts[1..].iter().copied().chain([9]);
                starts.iter().zip(ends).map(|(&first, end)| before[end] - before[first]).fold(0.0, f64::max)
            };
            let mut least = f64::INFINITY;
            for a in 1..8 {
                for b in a + 1..9 {
                    least = least.min(heaviest(&[0, a, b]));
                }
            }
            let starts = cut(&before, 3);
            assert!(starts.windows(2).all(|pair| pair[0] < pair[1]) && starts.len() == 3);
            assert!(heaviest(&starts) <= least + 1e-9, "{weights:?}: {starts:?}");
        }
    }
}
