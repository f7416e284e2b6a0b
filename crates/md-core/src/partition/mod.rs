//! Who owns which cell. A partition is a function cell -> rank, computed where it can be; it is one file beside this
//! one and one line in `partitions!`. One that is made elsewhere is a [`Partition::Custom`].

mod rect;
mod stripe;

pub use rect::{Rect, choose_grid};
pub use stripe::Stripe;

use crate::domain::Domain;
use crate::grid::{Cell, CellGrid, GridError};
use std::sync::Arc;

/// A rule that gives every cell to a rank.
pub trait Ownership: std::fmt::Debug + Send + Sync {
    /// The rank that owns a primary cell.
    fn owner(&self, grid: &CellGrid, cell: Cell) -> usize;

    /// The cells of a rank in storage order (z slowest, x fastest).
    fn cells_of(&self, grid: &CellGrid, rank: usize) -> Vec<Cell> {
        (0..grid.len()).map(|number| grid.at(number)).filter(|&cell| self.owner(grid, cell) == rank).collect()
    }

    /// Ranks per dimension, where the partition has such a grid.
    fn rank_grid(&self) -> Option<[usize; 3]> {
        None
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

/// A partition that can be made for any box.
pub(crate) trait Divide: Ownership + Sized {
    /// Chooses the cells and divides them.
    fn divide(request: &DivisionRequest) -> Result<(CellGrid, Self), GridError>;
}

macro_rules! partitions {
    ($($(#[doc = $doc:expr])+ $(#[$default:ident])? $name:ident,)+) => {
        /// The partitions one can choose.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
        #[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
        pub enum PartitionKind {
            $($(#[doc = $doc])+ $(#[$default])? $name,)+
        }

        impl PartitionKind {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// Chooses the cells of a box and divides them among ranks.
            ///
            /// # Errors
            /// [`GridError`]: the box has too few cells for the ranks.
            pub fn divide(self, request: &DivisionRequest) -> Result<(CellGrid, Partition), GridError> {
                match self {
                    $(Self::$name => {
                        let (grid, partition) = $name::divide(request)?;
                        Ok((grid, Partition::$name(partition)))
                    })+
                }
            }
        }

        /// Who owns which cell.
        #[derive(Debug, Clone)]
        pub enum Partition {
            $($(#[doc = $doc])+ $name($name),)+
            /// Any other rule.
            Custom(Arc<dyn Ownership>),
        }

        impl Ownership for Partition {
            fn owner(&self, grid: &CellGrid, cell: Cell) -> usize {
                match self {
                    $(Self::$name(inner) => inner.owner(grid, cell),)+
                    Self::Custom(inner) => inner.owner(grid, cell),
                }
            }

            fn cells_of(&self, grid: &CellGrid, rank: usize) -> Vec<Cell> {
                match self {
                    $(Self::$name(inner) => inner.cells_of(grid, rank),)+
                    Self::Custom(inner) => inner.cells_of(grid, rank),
                }
            }

            fn rank_grid(&self) -> Option<[usize; 3]> {
                match self {
                    $(Self::$name(inner) => inner.rank_grid(),)+
                    Self::Custom(inner) => inner.rank_grid(),
                }
            }
        }
    };
}

partitions! {
    /// Blocks on a grid of ranks.
    #[default]
    Rect,
    /// Consecutive cells in storage order.
    Stripe,
}

/// First of the consecutive items of part `part` when `items` are cut into `parts` nearly equal pieces.
fn piece_start(items: usize, parts: usize, part: usize) -> usize {
    part * items / parts
}

/// The part that holds `item`: the inverse of [`piece_start`].
fn piece_of(items: usize, parts: usize, item: usize) -> usize {
    ((item + 1) * parts - 1) / items
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Boundary, Dimension, Domain};

    #[test]
    fn pieces_and_items_agree() {
        for items in 1..60 {
            for parts in 1..=items {
                for part in 0..parts {
                    let range = piece_start(items, parts, part)..piece_start(items, parts, part + 1);
                    assert!(!range.is_empty());
                    assert!(range.into_iter().all(|item| piece_of(items, parts, item) == part));
                }
            }
        }
    }

    #[test]
    fn every_cell_has_one_owner_and_the_owner_lists_it() {
        let domain = Domain {
            dimension: Dimension::Three,
            origin: [0.0; 3],
            lengths: [7.0, 5.0, 6.0],
            boundary: [Boundary::Periodic; 3],
        };
        let grid = CellGrid::new(domain, [7, 5, 6]);
        for partition in [Partition::Rect(Rect { grid: [2, 1, 4] }), Partition::Stripe(Stripe { ranks: 8 })] {
            let mut seen = vec![0; grid.len()];
            for rank in 0..8 {
                for cell in partition.cells_of(&grid, rank) {
                    assert_eq!(partition.owner(&grid, cell), rank);
                    seen[grid.linear(cell)] += 1;
                }
            }
            assert!(seen.iter().all(|&n| n == 1), "{partition:?}");
        }
    }
}
