//! Who owns which cell. A partition is a function cell -> rank, computed where it can be; it is one file beside this
//! one and one line in [`Partition`].

mod rect;
mod stripe;

pub use rect::{Rect, choose_grid};
pub use stripe::Stripe;

use crate::grid::{Cell, CellGrid};

/// A rule that gives every cell to a rank.
pub trait Ownership {
    /// The rank that owns a primary cell.
    fn owner(&self, grid: &CellGrid, cell: Cell) -> usize;

    /// The cells of a rank in storage order (z slowest, x fastest).
    fn cells_of(&self, grid: &CellGrid, rank: usize) -> Vec<Cell>;

    /// Ranks per dimension, where the partition has such a grid.
    fn rank_grid(&self) -> Option<[usize; 3]>;
}

/// Which partition a configuration asks for.
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
}

impl PartitionKind {
    /// All of them, in the order of their declaration.
    pub const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;
}

/// All partitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Partition {
    /// Blocks on a grid of ranks.
    Rect(Rect),
    /// Consecutive cells in storage order.
    Stripe(Stripe),
}

macro_rules! each {
    ($partition:expr, $inner:ident => $call:expr) => {
        match $partition {
            Partition::Rect($inner) => $call,
            Partition::Stripe($inner) => $call,
        }
    };
}

impl Ownership for Partition {
    fn owner(&self, grid: &CellGrid, cell: Cell) -> usize {
        each!(self, inner => inner.owner(grid, cell))
    }

    fn cells_of(&self, grid: &CellGrid, rank: usize) -> Vec<Cell> {
        each!(self, inner => inner.cells_of(grid, rank))
    }

    fn rank_grid(&self) -> Option<[usize; 3]> {
        each!(self, inner => inner.rank_grid())
    }
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
