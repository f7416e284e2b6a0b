//! Who owns which cell. A partition is a function cell -> rank, computed where it can be: an [`Ownership`]. One of this crate
//! is one file beside this one and one line in [`PartitionKind`].

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
use std::sync::Arc;

/// A rule that gives every cell to a rank.
pub trait Ownership: std::fmt::Debug + Send + Sync {
    /// The rank that owns a primary cell.
    fn owner(&self, grid: &CellGrid, cell: Cell) -> usize;

    /// The cells of a rank in storage order (z slowest, x fastest).
    fn cells_of(&self, grid: &CellGrid, rank: usize) -> Vec<Cell> {
        (0..grid.len()).map(|number| grid.at(number)).filter(|&cell| self.owner(grid, cell) == rank).collect()
    }

    /// The rank that owns each cell, by [`CellGrid::linear`].
    fn owners(&self, grid: &CellGrid) -> Vec<usize> {
        let mut owners = memory::with_capacity(grid.len());
        owners.extend((0..grid.len()).map(|number| self.owner(grid, grid.at(number))));
        owners
    }

    /// Ranks per dimension, where the partition has such a grid.
    fn rank_grid(&self) -> Option<[usize; 3]> {
        None
    }

    /// The same kind of partition for these loads, in one way or several: first the one that changes least. None where nothing can be
    /// weighed.
    ///
    /// # Errors
    /// [`GridError`]: the loads cannot be divided by.
    fn rebalanced(&self, _grid: &CellGrid, _loads: &CellLoads) -> Result<Vec<Partition>, GridError> {
        Ok(Vec::new())
    }

    /// What [`saved::from_words`] makes the same partition of these cells from; where nothing shorter is known, the owner of every one.
    fn words(&self, grid: &CellGrid) -> Vec<u64> {
        saved::Form::Table.with(saved::runs(self, grid))
    }
}

/// What a box is divided by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DivisionRequest {
    /// The box.
    pub domain: Domain,
    /// The most cells per dimension: their lengths are still cutoff + skin.
    pub most_cells: Cell,
    /// Ranks to divide it among.
    pub ranks: usize,
    /// Ranks per dimension, where the user has chosen them.
    pub rank_grid: Option<[usize; 3]>,
}

/// Who owns which cell.
pub type Partition = Arc<dyn Ownership>;

/// The partitions one can choose.
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

impl PartitionKind {
    /// All of them, in the order of their declaration.
    pub const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;

    /// Chooses the cells of a box and divides them among ranks, as if all cells cost the same.
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

    /// Divides cells by what they cost, where that is what makes the partition.
    ///
    /// # Errors
    /// [`GridError`]: too few cells for the ranks, or loads that cannot be divided by.
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

    /// Whether it follows from what cells cost.
    pub fn is_weighted(self) -> bool {
        matches!(self, Self::Rcb | Self::Hilbert | Self::Metis)
    }
}

/// First of the consecutive items of part `part` when `items` are cut into `parts` nearly equal pieces: of a block's cells along a
/// dimension.
pub fn piece_start(items: usize, parts: usize, part: usize) -> usize {
    part * items / parts
}

/// The part that holds `item`: the inverse of [`piece_start`].
fn piece_of(items: usize, parts: usize, item: usize) -> usize {
    ((item + 1) * parts - 1) / items
}
