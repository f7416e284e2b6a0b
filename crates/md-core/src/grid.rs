//! The global grid of cells. A cell is the smallest unit that a rank can own.
//!
//! Cells are boxes with sides of at least cutoff + skin. All partners of a particle are therefore
//! in its own and the 26 adjacent cells until a particle has moved by more than half the skin. A
//! cell is identified by three integers. Within the box they run from 0 to count - 1 (*primary*
//! cells). One more layer on each periodic side denotes periodic images (*extended* coordinates, -1
//! and count). An image is not stored as a separate kind of cell: it is its primary cell plus a
//! shift.

use crate::domain::Domain;
use crate::words::counted;
use std::ops::Range;

/// Integer coordinates of a cell, x first.
pub type Cell = [i32; 3];

/// The global grid.
///
/// ```
/// use md_core::grid::{GridError, most_cells};
/// use md_core::{Boundary, CellGrid, Dimension, Domain};
///
/// let (origin, lengths, boundary) = ([0.0; 3], [10.0; 3], [Boundary::Periodic; 3]);
/// let domain = Domain { dimension: Dimension::Three, origin, lengths, boundary };
/// // Three cells of at least cutoff + skin = 2.8 fit along each side.
/// let grid = CellGrid::new(domain, most_cells(&domain, 2.5 + 0.3, 1000)?);
/// assert_eq!(grid.counts(), [3; 3]);
/// assert_eq!(grid.cell_of([9.9, 0.1, 5.0]), [2, 0, 1]);
/// // The cell after the last one along x is an image of the first one.
/// assert_eq!(grid.wrap([3, 0, 1]), Some(([0, 0, 1], [1, 0, 0])));
/// # Ok::<(), GridError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct CellGrid {
    counts: [i32; 3],
    domain: Domain,
    inverse_length: [f64; 3],
}

/// Reason why no grid fits the box.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum GridError {
    /// A periodic box is shorter than cutoff + skin: a particle would need images of images.
    #[error(
        "the box is {length} long in {}, shorter than cutoff + skin = {list_radius}; \
         one layer of periodic images cannot hold all neighbours", axis(*.dim)
    )]
    BoxTooSmall {
        /// 0, 1, 2 for x, y, z.
        dim: usize,
        /// Length of the box.
        length: f64,
        /// cutoff + skin.
        list_radius: f64,
    },
    /// There are fewer cells than ranks along a dimension or in total.
    #[error("the box is too thin for the ranks: {0}")]
    TooThin(String),
    /// The number of places in the user's grid of ranks differs from the number of ranks.
    #[error("the grid {}x{}x{} has {}, not one for each of {}", grid[0], grid[1], grid[2], counted(places(*grid), "place"), counted(*ranks, "rank"))]
    WrongGrid {
        /// Ranks per dimension.
        grid: [usize; 3],
        /// Number of ranks.
        ranks: usize,
    },
    /// The weights of the cells cannot be used for a division.
    #[error(
        "the weights of the cells are all zero, or some are no numbers from 0: nothing says how to divide the work"
    )]
    NoWeight,
    /// The program was built without this partition.
    #[error("this program was built without partition `{partition}`; build it with the feature `{feature}`")]
    NotBuilt {
        /// Name of the partition in a scenario.
        partition: &'static str,
        /// Feature that includes the partition.
        feature: &'static str,
    },
    /// The graph partitioner has failed.
    #[error("METIS could not divide the cells: {0}")]
    Metis(String),
}

/// Returns the number of places in a grid of ranks. Saturates, because a user's grid may be
/// absurdly large.
pub(crate) fn places(grid: [usize; 3]) -> usize {
    grid.iter().fold(1, |places, &ranks| places.saturating_mul(ranks))
}

/// Returns `x`, `y` or `z`.
pub fn axis(dim: usize) -> char {
    ['x', 'y', 'z'][dim]
}

/// Returns the largest number of cells per dimension for which cells are at least `list_radius` =
/// cutoff + skin long and their total does not exceed `limit` by much. In a huge, nearly empty box,
/// large cells cost less than many empty ones.
///
/// # Errors
/// [`GridError::BoxTooSmall`] for a periodic box shorter than `list_radius`.
pub fn most_cells(domain: &Domain, list_radius: f64, limit: u64) -> Result<Cell, GridError> {
    /// Limit that keeps products of counts in range.
    const MOST: u64 = 1 << 40;
    let limit = limit.min(MOST);
    let dimensions = domain.dimension.count();
    if let Some(dim) = (0..3).find(|&dim| domain.is_periodic(dim) && domain.lengths[dim] < list_radius) {
        return Err(GridError::BoxTooSmall { dim, length: domain.lengths[dim], list_radius });
    }
    let fitting = domain.lengths.map(|length| (length / list_radius).floor().max(1.0));
    // If a dimension cannot be reduced below one cell, the next round reduces the others further.
    let mut counts = fitting;
    for _ in 0..dimensions {
        let total: f64 = counts[..dimensions].iter().product();
        let divisible = counts[..dimensions].iter().filter(|&&count| count > 1.0).count().max(1);
        let excess = (total / limit as f64).powf(1.0 / divisible as f64).max(1.0);
        counts = counts.map(|count| (count / excess).floor().max(1.0));
    }
    let count = |dim: usize| if dim < dimensions { counts[dim] as i32 } else { 1 };
    Ok([count(0), count(1), count(2)])
}

/// Returns the number of cells along one dimension, at most `most`, that costs least on `ranks`
/// ranks.
///
/// The slowest rank has ceil(n / ranks) layers. The number of computed pairs per particle is
/// proportional to the cell length, 1/n, and so is the number of particles per layer. The cost is
/// therefore ceil(n / ranks) / n^2. An even split is used if it costs at most a few percent more,
/// because regular systems should stay balanced when they are divided along cells.
pub fn balanced_count(most: i32, ranks: i32) -> i32 {
    const EVEN_SPLIT_MAY_COST: f64 = 1.03;
    let cost = |n: i32| (f64::from(n) / f64::from(ranks)).ceil() / f64::from(n).powi(2);
    // Among the numbers with the same number of layers on the slowest rank, the largest costs
    // least. The same holds for multiples of `ranks`.
    let even = most - most % ranks;
    if even > 0 && cost(even) <= EVEN_SPLIT_MAY_COST * cost(most) { even } else { most }
}

impl CellGrid {
    /// Creates a grid with `counts` cells over the domain.
    pub fn new(domain: Domain, counts: Cell) -> Self {
        let inverse_length = [0, 1, 2].map(|dim| f64::from(counts[dim]) / domain.lengths[dim]);
        Self { counts, domain, inverse_length }
    }

    /// Returns a grid of the same number of cells over a stretched box.
    pub fn over(&self, domain: Domain) -> Self {
        Self::new(domain, self.counts)
    }

    /// Returns the number of cells per dimension.
    pub fn counts(&self) -> Cell {
        self.counts
    }

    /// Returns the number of cells.
    pub fn len(&self) -> usize {
        self.counts.iter().map(|&n| n as usize).product()
    }

    /// Returns `false`: a grid has at least one cell.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Returns the box that this grid divides.
    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    /// Returns the longest cell length among the dimensions with motion, \[length\].
    pub fn longest_cell_length(&self) -> f64 {
        self.cell_lengths().fold(0.0, f64::max)
    }

    /// Returns the largest displacement along a dimension, \[length\], after which a particle that
    /// goes on by `ahead` at most is still in its cell or an adjacent one: a cell length minus
    /// `ahead`, or the whole length of the box where it is one cell.
    pub fn longest_move(&self, ahead: f64) -> f64 {
        let moves = self.cell_lengths().zip(self.counts);
        moves
            .map(|(length, cells)| if cells > 1 { length - ahead } else { length })
            .fold(f64::INFINITY, f64::min)
    }

    fn cell_lengths(&self) -> impl Iterator<Item = f64> + '_ {
        (0..self.domain.dimension.count()).map(|dim| self.domain.lengths[dim] / f64::from(self.counts[dim]))
    }

    /// Returns the primary cell of a position inside the box. Positions outside are clamped to the
    /// border cells.
    #[inline]
    pub fn cell_of(&self, position: [f64; 3]) -> Cell {
        [0, 1, 2].map(|dim| {
            let scaled = (position[dim] - self.domain.origin[dim]) * self.inverse_length[dim];
            (scaled as i32).clamp(0, self.counts[dim] - 1)
        })
    }

    /// Returns the region from the lower corner of cell `first` to the upper corner of cell `last`,
    /// \[length\].
    pub fn region(&self, first: Cell, last: Cell) -> [Range<f64>; 3] {
        let Domain { origin, lengths, .. } = &self.domain;
        let face =
            |dim: usize, at: i32| origin[dim] + f64::from(at) * lengths[dim] / f64::from(self.counts[dim]);
        [0, 1, 2].map(|dim| face(dim, first[dim])..face(dim, last[dim] + 1))
    }

    /// Returns the position relative to its cell, given by [`Self::cell_of`], from 0 to 1 along
    /// each side.
    #[inline]
    pub fn depth_in_cell(&self, position: [f64; 3], cell: Cell) -> [f64; 3] {
        [0, 1, 2].map(|dim| {
            (position[dim] - self.domain.origin[dim]) * self.inverse_length[dim] - f64::from(cell[dim])
        })
    }

    /// Returns the primary cell of an extended one and the number of box lengths between them, or
    /// `None` outside a non-periodic face.
    pub fn wrap(&self, cell: Cell) -> Option<(Cell, [i8; 3])> {
        let mut primary = cell;
        let mut shift = [0; 3];
        for dim in 0..3 {
            let count = self.counts[dim];
            if (0..count).contains(&cell[dim]) {
                continue;
            }
            if !self.domain.is_periodic(dim) {
                return None;
            }
            primary[dim] = cell[dim].rem_euclid(count);
            shift[dim] = cell[dim].div_euclid(count) as i8;
        }
        Some((primary, shift))
    }

    /// Returns the number of a primary cell, counting x fastest and z slowest.
    pub fn linear(&self, cell: Cell) -> usize {
        let [nx, ny, _] = self.counts.map(|n| n as usize);
        let [x, y, z] = cell.map(|c| c as usize);
        (z * ny + y) * nx + x
    }

    /// Returns the primary cell with the number `linear`.
    pub fn at(&self, linear: usize) -> Cell {
        let [nx, ny, _] = self.counts.map(|n| n as usize);
        [linear % nx, linear / nx % ny, linear / (nx * ny)].map(|c| c as i32)
    }
}

/// Returns the sort key of a cell in memory: z slowest, x fastest, so that rows along x are
/// contiguous.
pub fn storage_order(cell: &Cell) -> [i32; 3] {
    [cell[2], cell[1], cell[0]]
}

/// Returns the component-wise sum.
pub fn add(a: Cell, b: Cell) -> Cell {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

/// Returns the component-wise difference.
pub fn subtract(a: Cell, b: Cell) -> Cell {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Boundary, Dimension};

    fn grid() -> CellGrid {
        let boundary = [Boundary::Periodic, Boundary::Reflecting, Boundary::Periodic];
        let domain = Domain {
            dimension: Dimension::Three,
            origin: [-1.0, 0.0, 0.0],
            lengths: [4.0, 6.0, 3.0],
            boundary,
        };
        CellGrid::new(domain, [4, 3, 1])
    }

    #[test]
    fn positions_find_their_cells_and_strays_are_clamped() {
        assert_eq!(grid().cell_of([-0.5, 5.9, 0.1]), [0, 2, 0]);
        assert_eq!(grid().cell_of([-1.5, 6.0, 3.0]), [0, 2, 0]);
    }

    #[test]
    fn wrapping_gives_shift_and_stops_at_walls() {
        assert_eq!(grid().wrap([-1, 0, 0]), Some(([3, 0, 0], [-1, 0, 0])));
        assert_eq!(grid().wrap([4, 1, 1]), Some(([0, 1, 0], [1, 0, 1])));
        assert_eq!(grid().wrap([0, 3, 0]), None);
    }

    #[test]
    fn cells_fit_the_box_and_stay_few_where_it_is_empty() {
        let most = |lengths, limit| {
            let boundary = [Boundary::Periodic; 3];
            let domain = Domain { dimension: Dimension::Three, origin: [0.0; 3], lengths, boundary };
            most_cells(&domain, 2.8, limit)
        };
        assert_eq!(most([33.6, 8.5, 2.8], 1000), Ok([12, 3, 1]));
        assert!(matches!(most([33.6, 8.5, 2.7], 1000), Err(GridError::BoxTooSmall { dim: 2, .. })));
        for (lengths, limit) in [[1e100; 3], [1e90, 3.0, 3.0], [1e9, 1e4, 3.0]]
            .into_iter()
            .flat_map(|all| [(all, 1000), (all, u64::MAX)])
        {
            let counts = most(lengths, limit).unwrap();
            let total: f64 = counts.into_iter().map(f64::from).product();
            assert!((1.0..=limit.min(1 << 41) as f64).contains(&total), "{lengths:?}: {counts:?}");
        }
    }

    #[test]
    fn numbering_round_trips() {
        let grid = grid();
        assert!((0..grid.len()).all(|i| grid.linear(grid.at(i)) == i));
    }

    #[test]
    fn cell_counts_divide_evenly_where_that_is_cheap() {
        assert_eq!(balanced_count(19, 2), 18);
        assert_eq!(balanced_count(5, 3), 5);
        assert_eq!(balanced_count(7, 1), 7);
        assert_eq!(balanced_count(3, 2), 3);
        assert_eq!(balanced_count(i32::MAX, 2), i32::MAX - 1);
    }
}
