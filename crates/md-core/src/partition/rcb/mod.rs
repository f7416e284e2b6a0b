//! Weighted recursive coordinate bisection: the box is cut into two parts of equal work, and each
//! of these again, until there is a part for every rank (Berger & Bokhari 1987; `fix balance rcb`
//! of LAMMPS).
//!
//! ```text
//! +-----------+-----+      a cut divides the cells in the order of one coordinate, then of another,
//! |           |  2  |      then of the third, so it may have steps: one within a layer and one
//! |    0      +--+  |      within a row. Without steps, parts would differ by whole layers of
//! |        +--+  +--+      cells.
//! +--------+  1     |
//! +--------+--------+
//! ```
//!
//! Advantage: balanced to one or two cells on any number of ranks, parts are compact, and a rank
//! stores only the cuts. (If a part consists of a few heavy cells, a cut is exact only to half a
//! cell. Then several cuts are tried with those that can follow, and near the end all of them.)
//! Disadvantage: cuts do not meet, so a part has more neighbours than a block, and a small change
//! of the weights can change the direction of a cut.

mod bisection;

use super::form::Form;
use super::weights::{CellLoads, check_enough};
use super::{DivisionRequest, Ownership, Partition};
use crate::grid::{Cell, CellGrid, GridError};
use crate::memory;
use bisection::{Bisection, Weighted};
use std::sync::Arc;

/// The orders in which cells can be sorted, each with the most significant coordinate first.
const ORDERS: [[usize; 3]; 6] = [[2, 1, 0], [2, 0, 1], [1, 2, 0], [1, 0, 2], [0, 2, 1], [0, 1, 2]];

/// Imbalance of the moved old cuts up to which no other cuts are tried.
const GOOD_ENOUGH: f64 = 1.02;

/// Minimum work of a cell, in units of the mean. It is added to every cell, so that empty cells are
/// distributed too.
const LEAST_WORK: f64 = 1e-6;

/// A cut: the cells before `first` in the order belong to the lower ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cut {
    order: [usize; 3],
    /// Coordinates in that order.
    first: Cell,
}

impl Cut {
    fn is_before(&self, cell: Cell) -> bool {
        self.order.map(|dim| cell[dim]) < self.first
    }

    fn words(&self) -> impl Iterator<Item = u64> {
        let order = ORDERS.iter().position(|&order| order == self.order).unwrap_or_default();
        [order as u64].into_iter().chain(self.first.map(|at| at as u64))
    }

    fn from_words(&[order, first @ ..]: &[u64; 4]) -> Option<Self> {
        let order = *ORDERS.get(usize::try_from(order).ok()?)?;
        // Coordinates of cells are not negative.
        let first = first.iter().map(|&at| i32::try_from(at).ok()).collect::<Option<Vec<i32>>>()?;
        Some(Self { order, first: first.try_into().ok()? })
    }
}

/// The partition: a tree of cuts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rcb {
    ranks: usize,
    /// Cuts in preorder: the first cut, those of its lower half, those of its upper half.
    cuts: Arc<[Cut]>,
}

/// Returns how many of `ranks` ranks lie below their cut.
fn lower_half(ranks: usize) -> usize {
    ranks / 2
}

/// Divides the box into parts of equal volume.
pub(super) fn divide(request: &DivisionRequest) -> Result<(CellGrid, Partition), GridError> {
    let grid = CellGrid::new(request.domain, request.most_cells);
    let rcb = Rcb::new(&grid, request.ranks, &CellLoads::uniform(&grid))?;
    Ok((grid, Arc::new(rcb)))
}

impl Rcb {
    /// Creates parts of equal work.
    ///
    /// # Errors
    /// [`GridError::TooThin`] for more ranks than cells, [`GridError::NoWeight`].
    pub fn new(grid: &CellGrid, ranks: usize, loads: &CellLoads) -> Result<Self, GridError> {
        Self::cut(grid, ranks, loads, None)
    }

    /// Creates the partition from the [`Ownership::words`] that follow the form.
    pub(super) fn from_words(words: &[u64], ranks: usize) -> Option<Self> {
        let (cuts, rest) = words.as_chunks();
        let is_whole = rest.is_empty() && cuts.len() + 1 == ranks;
        let cuts = cuts.iter().map(Cut::from_words).collect::<Option<_>>()?;
        is_whole.then_some(Self { ranks, cuts })
    }

    /// Creates the partition, using the orders of the cuts in `like` if given.
    fn cut(
        grid: &CellGrid,
        ranks: usize,
        loads: &CellLoads,
        like: Option<&[Cut]>,
    ) -> Result<Self, GridError> {
        check_enough(grid, ranks)?;
        loads.check()?;
        let least = LEAST_WORK * loads.total() / grid.len() as f64;
        let mut weighted = memory::with_capacity(grid.len());
        let weigh = |number| Weighted { cell: grid.at(number), work: loads.work[number] + least };
        weighted.extend((0..grid.len()).map(weigh));
        let mut bisection = Bisection::new(&weighted, ranks, like);
        bisection.bisect(&mut weighted, ranks);
        Ok(Self { ranks, cuts: bisection.cuts.into() })
    }

    /// Descends the tree to a rank. Calls `is_below` with every cut on the way and the first rank
    /// above it; the result selects the lower or the upper side.
    fn descend(&self, mut is_below: impl FnMut(&Cut, usize) -> bool) -> usize {
        let (mut rank, mut ranks, mut cut) = (0, self.ranks, 0);
        while ranks > 1 {
            let lower = lower_half(ranks);
            if is_below(&self.cuts[cut], rank + lower) {
                (ranks, cut) = (lower, cut + 1);
            } else {
                (rank, ranks, cut) = (rank + lower, ranks - lower, cut + lower);
            }
        }
        rank
    }
}

impl Ownership for Rcb {
    fn owner(&self, _: &CellGrid, cell: Cell) -> usize {
        self.descend(|cut, _| cut.is_before(cell))
    }

    fn cells_of(&self, grid: &CellGrid, rank: usize) -> Vec<Cell> {
        let (mut low, mut high) = ([0; 3], grid.counts().map(|count| count - 1));
        self.descend(|cut, first_above| {
            let (dim, at) = (cut.order[0], cut.first[0]);
            if rank < first_above {
                high[dim] = high[dim].min(at);
            } else {
                low[dim] = low[dim].max(at);
            }
            rank < first_above
        });
        let rows = (low[2]..=high[2]).flat_map(|z| (low[1]..=high[1]).map(move |y| (y, z)));
        let cells = rows.flat_map(|(y, z)| (low[0]..=high[0]).map(move |x| [x, y, z]));
        cells.filter(|&cell| self.owner(grid, cell) == rank).collect()
    }

    /// Returns the same cuts moved and, if these are not balanced well enough, other cuts.
    fn rebalanced(&self, grid: &CellGrid, loads: &CellLoads) -> Result<Vec<Partition>, GridError> {
        let moved = Self::cut(grid, self.ranks, loads, Some(&self.cuts))?;
        let is_enough = loads.imbalance(grid, &moved, self.ranks) <= GOOD_ENOUGH;
        let mut proposals: Vec<Partition> = vec![Arc::new(moved)];
        if !is_enough {
            proposals.push(Arc::new(Self::new(grid, self.ranks, loads)?));
        }
        Ok(proposals)
    }

    fn words(&self, _: &CellGrid) -> Vec<u64> {
        Form::Cuts.with(self.cuts.iter().flat_map(Cut::words))
    }
}
