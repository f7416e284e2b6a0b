//! Partitions: the assignment of cells to ranks. A partition is a function cell -> rank, which is
//! computed if possible: an [`Ownership`]. Each partition of this crate consists of a file in this
//! directory and a variant of [`PartitionKind`].

mod form;
mod metis;
mod pieces;
mod rcb;
mod rect;
pub mod saved;
mod scattered;
mod stripe;
mod table;
#[cfg(test)]
mod tests;
mod uneven;
pub mod weights;

pub use pieces::{Path, Pieces};
pub use rcb::Rcb;
pub use rect::{Rect, choose_grid};
pub use scattered::Scattered;
pub use stripe::Stripe;
pub use table::Table;
pub use uneven::Uneven;
pub use weights::CellLoads;

use crate::domain::Domain;
use crate::grid::{Cell, CellGrid, GridError};
use crate::memory;
use form::Form;
use std::sync::Arc;

/// A rule that assigns every cell to a rank.
pub trait Ownership: std::fmt::Debug + Send + Sync {
    /// Returns the rank that owns a primary cell.
    fn owner(&self, grid: &CellGrid, cell: Cell) -> usize;

    /// Returns the cells of a rank in storage order (z slowest, x fastest).
    fn cells_of(&self, grid: &CellGrid, rank: usize) -> Vec<Cell> {
        (0..grid.len()).map(|number| grid.at(number)).filter(|&cell| self.owner(grid, cell) == rank).collect()
    }

    /// Returns the owner of each cell, indexed by [`CellGrid::linear`].
    fn owners(&self, grid: &CellGrid) -> Vec<usize> {
        let mut owners = memory::with_capacity(grid.len());
        owners.extend((0..grid.len()).map(|number| self.owner(grid, grid.at(number))));
        owners
    }

    /// Returns the number of ranks per dimension if the partition is a grid of ranks.
    fn rank_grid(&self) -> Option<[usize; 3]> {
        None
    }

    /// Returns partitions of the same kind for these loads, starting with the one that changes
    /// least. The list is empty if this kind does not depend on loads.
    ///
    /// # Errors
    /// [`GridError`]: the loads cannot be used for a division.
    fn rebalanced(&self, _grid: &CellGrid, _loads: &CellLoads) -> Result<Vec<Partition>, GridError> {
        Ok(Vec::new())
    }

    /// Returns the words from which [`saved::from_words`] restores the partition. By default they
    /// contain the owner of every cell.
    fn words(&self, grid: &CellGrid) -> Vec<u64> {
        Form::Table.with(saved::runs(self, grid))
    }
}

/// Parameters of a division.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DivisionRequest {
    /// The box.
    pub domain: Domain,
    /// Largest number of cells per dimension for which the cells are at least cutoff + skin long.
    pub most_cells: Cell,
    /// Number of ranks.
    pub ranks: usize,
    /// Ranks per dimension, if the user has chosen them.
    pub rank_grid: Option<[usize; 3]>,
}

/// Assignment of cells to ranks.
///
/// ```
/// use md_core::partition::Rect;
/// use md_core::{Boundary, CellGrid, Dimension, Domain, Partition};
/// use std::sync::Arc;
///
/// let (origin, lengths, boundary) = ([0.0; 3], [12.0; 3], [Boundary::Periodic; 3]);
/// let domain = Domain { dimension: Dimension::Three, origin, lengths, boundary };
/// let grid = CellGrid::new(domain, [4; 3]);
/// // Two halves along x.
/// let partition: Partition = Arc::new(Rect { grid: [2, 1, 1] });
/// assert_eq!([0, 1, 2, 3].map(|x| partition.owner(&grid, [x, 0, 0])), [0, 0, 1, 1]);
/// assert_eq!(partition.cells_of(&grid, 1).len(), 32);
/// ```
pub type Partition = Arc<dyn Ownership>;

/// Kind of partition.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, strum::VariantArray)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "kebab-case")
)]
pub enum PartitionKind {
    /// Blocks on a grid of ranks.
    #[default]
    Rect,
    /// Consecutive cells in storage order.
    Stripe,
    /// Recursive bisection into parts of equal work.
    Rcb,
    /// Pieces of equal work along a Hilbert curve.
    Hilbert,
    /// Parts of a graph of cells, by METIS.
    Metis,
    /// Cells dealt out one by one: (x + 3 y + 9 z) modulo the number of ranks.
    Scattered,
}

/// ```
/// use md_core::grid::GridError;
/// use md_core::partition::DivisionRequest;
/// use md_core::{Boundary, Dimension, Domain, PartitionKind};
///
/// let (origin, lengths, boundary) = ([0.0; 3], [12.0; 3], [Boundary::Periodic; 3]);
/// let domain = Domain { dimension: Dimension::Three, origin, lengths, boundary };
/// let request = DivisionRequest { domain, most_cells: [4; 3], ranks: 8, rank_grid: None };
/// let (grid, partition) = PartitionKind::Rect.divide(&request)?;
/// // Cubes have the least surface.
/// assert_eq!(partition.rank_grid(), Some([2; 3]));
/// assert!((0..8).all(|rank| partition.cells_of(&grid, rank).len() == 8));
///
/// let too_many = DivisionRequest { ranks: 65, ..request };
/// assert!(matches!(PartitionKind::Rect.divide(&too_many), Err(GridError::TooThin(_))));
/// # Ok::<(), GridError>(())
/// ```
impl PartitionKind {
    /// All kinds, in the order of their declaration.
    pub const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;

    /// Chooses the cells of a box and divides them among ranks, assuming that all cells cost the
    /// same.
    ///
    /// # Errors
    /// [`GridError`]: the box has too few cells for the ranks.
    pub fn divide(self, request: &DivisionRequest) -> Result<(CellGrid, Partition), GridError> {
        match self {
            Self::Rect => rect::divide(request),
            Self::Stripe => stripe::divide(request),
            Self::Rcb => rcb::divide(request),
            Self::Hilbert => pieces::divide(request),
            Self::Metis => metis::divide(request),
            Self::Scattered => scattered::divide(request),
        }
    }

    /// Divides cells according to their loads, for the kinds that are based on them.
    ///
    /// # Errors
    /// [`GridError`]: too few cells for the ranks, or loads that cannot be used for a division.
    pub fn weighted(
        self,
        grid: &CellGrid,
        ranks: usize,
        loads: &CellLoads,
    ) -> Result<Option<Partition>, GridError> {
        Ok(match self {
            Self::Rect | Self::Stripe | Self::Scattered => None,
            Self::Rcb => Some(Arc::new(Rcb::new(grid, ranks, loads)?)),
            Self::Hilbert => Some(Arc::new(Pieces::new(Path::Hilbert, grid, ranks, loads)?)),
            Self::Metis => Some(metis::of_loads(grid, ranks, loads)?),
        })
    }

    /// Returns whether this kind is based on the loads of the cells.
    pub fn is_weighted(self) -> bool {
        matches!(self, Self::Rcb | Self::Hilbert | Self::Metis)
    }
}

/// Returns the first item of part `part` when `items` consecutive items are cut into `parts` nearly
/// equal pieces. Used for the cells of a block along a dimension.
pub fn piece_start(items: usize, parts: usize, part: usize) -> usize {
    part * items / parts
}

/// Returns the part that contains `item`: the inverse of [`piece_start`].
fn piece_of(items: usize, parts: usize, item: usize) -> usize {
    ((item + 1) * parts - 1) / items
}
