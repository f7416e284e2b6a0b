//! The global grid of cells: the unit of ownership.
//!
//! Cells are boxes whose sides are at least cutoff + skin long, so that all partners of a particle are in its own and the 26
//! adjacent cells until somebody has moved by half the skin. A cell is named by three integers. Within the box they
//! run from 0 to count - 1 (*primary* cells); one layer more on each periodic side names periodic images (*extended*
//! coordinates, -1 and count). An image is never stored as a cell of its own kind: it is its primary cell plus a shift.

use crate::domain::Domain;
use crate::words::counted;
use std::ops::Range;

/// Integer coordinates of a cell, x first.
pub type Cell = [i32; 3];

/// The global grid.
#[derive(Debug, Clone, PartialEq)]
pub struct CellGrid {
    counts: [i32; 3],
    domain: Domain,
    inverse_length: [f64; 3],
}

/// Why no grid fits the box.
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
    /// Fewer cells than ranks along a dimension, or in total.
    #[error("the box is too thin for the ranks: {0}")]
    TooThin(String),
    /// The grid given by the user does not have one cell of ranks per rank.
    #[error("the grid {}x{}x{} has {}, not one for each of {}", grid[0], grid[1], grid[2], counted(places(*grid), "place"), counted(*ranks, "rank"))]
    WrongGrid {
        /// Ranks per dimension.
        grid: [usize; 3],
        /// Ranks there are.
        ranks: usize,
    },
    /// There is nothing to divide by.
    #[error(
        "the weights of the cells are all zero, or some are no numbers from 0: nothing says how to divide the work"
    )]
    NoWeight,
    /// A partition that this program was built without.
    #[error("this program was built without partition `{partition}`; build it with the feature `{feature}`")]
    NotBuilt {
        /// Its name in a scenario.
        partition: &'static str,
        /// What to build it with.
        feature: &'static str,
    },
    /// The graph partitioner has failed.
    #[error("METIS could not divide the cells: {0}")]
    Metis(String),
}

/// Ranks that a grid of ranks has room for; grids of users may be absurdly large.
pub(crate) fn places(grid: [usize; 3]) -> usize {
    grid.iter().fold(1, |places, &ranks| places.saturating_mul(ranks))
}

/// `x`, `y` or `z`.
pub fn axis(dim: usize) -> char {
    ['x', 'y', 'z'][dim]
}

/// The largest number of cells per dimension that are at least `list_radius` = cutoff + skin long, but not many more than
/// `limit` in total: in a huge, nearly empty box larger cells are cheaper than empty ones.
///
/// # Errors
/// [`GridError::BoxTooSmall`] for a periodic box shorter than `list_radius`.
pub fn most_cells(domain: &Domain, list_radius: f64, limit: u64) -> Result<Cell, GridError> {
    /// So that products of counts can be counted.
    const MOST: u64 = 1 << 40;
    let limit = limit.min(MOST);
    let dimensions = domain.dimension.count();
    if let Some(dim) = (0..3).find(|&dim| domain.is_periodic(dim) && domain.lengths[dim] < list_radius) {
        return Err(GridError::BoxTooSmall { dim, length: domain.lengths[dim], list_radius });
    }
    let fitting = domain.lengths.map(|length| (length / list_radius).floor().max(1.0));
    // What a dimension of one cell cannot give is asked of the others in the next round.
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

/// The number of cells, at most `most`, that is cheapest for `ranks` ranks along one dimension.
///
/// The slowest rank has ceil(n / ranks) layers, and the pairs computed per particle grow with the cell length, 1/n, as does
/// the number of particles per layer: the cost is ceil(n / ranks) / n^2. An even split wins where it costs at most
/// a few percent, because a cell-granular cut must not unbalance a regular system.
pub fn balanced_count(most: i32, ranks: i32) -> i32 {
    const EVEN_SPLIT_MAY_COST: f64 = 1.03;
    let cost = |n: i32| (f64::from(n) / f64::from(ranks)).ceil() / f64::from(n).powi(2);
    // Among numbers with as many layers on the slowest rank the largest is cheapest, and among multiples of `ranks` too.
    let even = most - most % ranks;
    if even > 0 && cost(even) <= EVEN_SPLIT_MAY_COST * cost(most) { even } else { most }
}

impl CellGrid {
    /// A grid with `counts` cells over the domain.
    pub fn new(domain: Domain, counts: Cell) -> Self {
        let inverse_length = [0, 1, 2].map(|dim| f64::from(counts[dim]) / domain.lengths[dim]);
        Self { counts, domain, inverse_length }
    }

    /// The same cells over a stretched box.
    pub fn over(&self, domain: Domain) -> Self {
        Self::new(domain, self.counts)
    }

    /// Cells per dimension.
    pub fn counts(&self) -> Cell {
        self.counts
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        self.counts.iter().map(|&n| n as usize).product()
    }

    /// A grid has at least one cell.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The box this grid divides.
    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    /// Longest cell length in a dimension with motion, \[length\].
    pub fn longest_cell_length(&self) -> f64 {
        self.cell_lengths().fold(0.0, f64::max)
    }

    /// Shortest cell length in a dimension with motion, \[length\]: nobody may move further between two rebuilds.
    pub fn shortest_cell_length(&self) -> f64 {
        self.cell_lengths().fold(f64::INFINITY, f64::min)
    }

    fn cell_lengths(&self) -> impl Iterator<Item = f64> + '_ {
        (0..self.domain.dimension.count()).map(|dim| self.domain.lengths[dim] / f64::from(self.counts[dim]))
    }

    /// The primary cell of a position inside the box; positions outside are clamped to the border cells.
    #[inline]
    pub fn cell_of(&self, position: [f64; 3]) -> Cell {
        [0, 1, 2].map(|dim| {
            let scaled = (position[dim] - self.domain.origin[dim]) * self.inverse_length[dim];
            (scaled as i32).clamp(0, self.counts[dim] - 1)
        })
    }

    /// From the lower corner of a cell to the upper one of another, \[length\].
    pub fn region(&self, first: Cell, last: Cell) -> [Range<f64>; 3] {
        let Domain { origin, lengths, .. } = &self.domain;
        let face =
            |dim: usize, at: i32| origin[dim] + f64::from(at) * lengths[dim] / f64::from(self.counts[dim]);
        [0, 1, 2].map(|dim| face(dim, first[dim])..face(dim, last[dim] + 1))
    }

    /// How deep in its cell, given by [`Self::cell_of`], a position lies: from 0 to 1 along each side.
    #[inline]
    pub fn depth_in_cell(&self, position: [f64; 3], cell: Cell) -> [f64; 3] {
        [0, 1, 2].map(|dim| {
            (position[dim] - self.domain.origin[dim]) * self.inverse_length[dim] - f64::from(cell[dim])
        })
    }

    /// The primary cell of an extended one and how many box lengths lie between; `None` outside a non-periodic face.
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

    /// Number of a primary cell when counted x first, z last.
    pub fn linear(&self, cell: Cell) -> usize {
        let [nx, ny, _] = self.counts.map(|n| n as usize);
        let [x, y, z] = cell.map(|c| c as usize);
        (z * ny + y) * nx + x
    }

    /// The primary cell with that number.
    pub fn at(&self, linear: usize) -> Cell {
        let [nx, ny, _] = self.counts.map(|n| n as usize);
        [linear % nx, linear / nx % ny, linear / (nx * ny)].map(|c| c as i32)
    }
}

/// Order of cells in memory: z slowest, x fastest, so that rows along x are contiguous.
pub fn storage_order(cell: &Cell) -> [i32; 3] {
    [cell[2], cell[1], cell[0]]
}

/// Component-wise sum.
pub fn add(a: Cell, b: Cell) -> Cell {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

/// Component-wise difference.
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
