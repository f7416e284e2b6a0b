//! Blocks of cells on a grid of ranks (`rect` of Matthey & Hansen, the usual domain decomposition).

use super::{CellLoads, DivisionRequest, Ownership, Partition, Uneven, piece_of, piece_start};
use crate::domain::Domain;
use crate::grid::{Cell, CellGrid, GridError, axis, balanced_count, places};
use crate::words::counted;
use std::sync::Arc;

/// The block partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rect {
    /// Ranks per dimension; their product is the number of ranks. Ranks are numbered with x first.
    pub grid: [usize; 3],
}

/// Returns the grid of ranks with the least surface between blocks, among the grids with at most
/// `most` ranks along each dimension, so that each has a cell. In a tie, it prefers cuts in z, then
/// in y, because uncut x rows stay long in memory.
///
/// # Errors
/// [`GridError::TooThin`] when no grid fits.
pub fn choose_grid(domain: &Domain, most: Cell, ranks: usize) -> Result<[usize; 3], GridError> {
    let fits = |grid: &[usize; 3]| (0..3).all(|dim| grid[dim] <= most[dim] as usize);
    let mut best: Option<(f64, [usize; 3])> = None;
    for grid in factorisations(ranks).filter(fits) {
        let surface = surface(domain, grid);
        if best.is_none_or(|(least, _)| surface < least * (1.0 - 1e-9)) {
            best = Some((surface, grid));
        }
    }
    best.map(|(_, grid)| grid).ok_or_else(|| {
        let [x, y, z] = most;
        GridError::TooThin(format!(
            "{ranks} ranks do not fit on {x}x{y}x{z} cells of at least cutoff + skin; use fewer ranks, a larger box, \
             or partition = \"stripe\""
        ))
    })
}

/// Returns all ways to write `ranks` as a product of three, ordered by the ranks in x, then in y.
fn factorisations(ranks: usize) -> impl Iterator<Item = [usize; 3]> {
    let divisors = move |n: usize| (1..=n).filter(move |d| n.is_multiple_of(*d));
    divisors(ranks).flat_map(move |x| divisors(ranks / x).map(move |y| [x, y, ranks / x / y]))
}

/// Returns the area of a block's faces. Faces towards images of the block itself count too, because
/// the work for their ghosts is the same.
fn surface(domain: &Domain, grid: [usize; 3]) -> f64 {
    let length = |dim: usize| {
        if dim < domain.dimension.count() { domain.lengths[dim] / grid[dim] as f64 } else { 1.0 }
    };
    (0..domain.dimension.count()).map(|dim| 2.0 * length((dim + 1) % 3) * length((dim + 2) % 3)).sum()
}

impl Rect {
    /// Creates blocks on a grid given by the user.
    ///
    /// # Errors
    /// The grid's product is not `ranks`, or it has more ranks than cells along a dimension.
    pub fn new(grid: [usize; 3], most: Cell, ranks: usize) -> Result<Self, GridError> {
        if places(grid) != ranks {
            return Err(GridError::WrongGrid { grid, ranks });
        }
        match (0..3).find(|&dim| grid[dim] > most[dim] as usize) {
            None => Ok(Self { grid }),
            Some(dim) => Err(GridError::TooThin(format!(
                "{} along {}, but only {} of at least cutoff + skin",
                counted(grid[dim], "rank"),
                axis(dim),
                counted(most[dim], "cell")
            ))),
        }
    }
}

/// Chooses the cells of a box and divides them into blocks.
pub(super) fn divide(request: &DivisionRequest) -> Result<(CellGrid, Partition), GridError> {
    let DivisionRequest { domain, most_cells, ranks, rank_grid } = *request;
    let rank_grid = rank_grid.map_or_else(|| choose_grid(&domain, most_cells, ranks), Ok)?;
    let rect = Rect::new(rank_grid, most_cells, ranks)?;
    let counts = [0, 1, 2].map(|dim| balanced_count(most_cells[dim], rank_grid[dim] as i32));
    Ok((CellGrid::new(domain, counts), Arc::new(rect)))
}

impl Ownership for Rect {
    fn owner(&self, grid: &CellGrid, cell: Cell) -> usize {
        let counts = grid.counts();
        let place = |dim: usize| piece_of(counts[dim] as usize, self.grid[dim], cell[dim] as usize);
        (place(2) * self.grid[1] + place(1)) * self.grid[0] + place(0)
    }

    fn cells_of(&self, grid: &CellGrid, rank: usize) -> Vec<Cell> {
        let place =
            [rank % self.grid[0], rank / self.grid[0] % self.grid[1], rank / (self.grid[0] * self.grid[1])];
        let counts = grid.counts();
        let range = |dim: usize| {
            let start = |part| piece_start(counts[dim] as usize, self.grid[dim], part) as i32;
            start(place[dim])..start(place[dim] + 1)
        };
        let rows = range(2).flat_map(|z| range(1).map(move |y| (y, z)));
        rows.flat_map(|(y, z)| range(0).map(move |x| [x, y, z])).collect()
    }

    fn owners(&self, grid: &CellGrid) -> Vec<usize> {
        Uneven::even(self.grid, grid).owners(grid)
    }

    fn rank_grid(&self) -> Option<[usize; 3]> {
        Some(self.grid)
    }

    fn rebalanced(&self, grid: &CellGrid, loads: &CellLoads) -> Result<Vec<Partition>, GridError> {
        Uneven::even(self.grid, grid).rebalanced(grid, loads)
    }

    fn words(&self, grid: &CellGrid) -> Vec<u64> {
        Uneven::even(self.grid, grid).words(grid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Boundary, Dimension};

    fn domain(lengths: [f64; 3], dimension: Dimension) -> Domain {
        Domain { dimension, origin: [0.0; 3], lengths, boundary: [Boundary::Periodic; 3] }
    }

    #[test]
    fn least_surface_wins_and_ties_cut_z_first() {
        let cube = domain([10.0; 3], Dimension::Three);
        assert_eq!(choose_grid(&cube, [9; 3], 2), Ok([1, 1, 2]));
        assert_eq!(choose_grid(&cube, [9; 3], 4), Ok([1, 2, 2]));
        assert_eq!(choose_grid(&cube, [9; 3], 8), Ok([2, 2, 2]));
        assert_eq!(choose_grid(&domain([40.0, 10.0, 10.0], Dimension::Three), [9; 3], 4), Ok([4, 1, 1]));
        assert_eq!(choose_grid(&domain([10.0, 10.0, 1.0], Dimension::Two), [9, 9, 1], 4), Ok([2, 2, 1]));
    }

    #[test]
    fn thin_boxes_are_refused() {
        let cube = domain([10.0; 3], Dimension::Three);
        assert_eq!(choose_grid(&cube, [2, 2, 1], 4), Ok([2, 2, 1]));
        assert!(matches!(choose_grid(&cube, [2; 3], 3), Err(GridError::TooThin(_))));
        assert!(matches!(Rect::new([4, 1, 1], [3; 3], 4), Err(GridError::TooThin(_))));
        assert!(matches!(Rect::new([2, 1, 1], [3; 3], 4), Err(GridError::WrongGrid { .. })));
    }
}
