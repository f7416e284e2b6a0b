//! Search for ghost cells and their routes.
//!
//! A ghost cell g of rank R is found from an *anchor*: a cell c of R with g = c + o, where o is one
//! of the plan's offsets. It comes from the owner of the *provider cell* h. In the direct pattern,
//! h is g itself. In the staged pattern, h is the cell next to c along the last dimension in which
//! o is not zero; its owner received g in an earlier stage.
//!
//! Importer and provider find the same cells without communication. The importer starts from its
//! anchors, and the provider goes from its provider cells back to the anchors. If there are several
//! routes to the same ghost, both choose by the same order, and both sort by the importer's
//! extended coordinates.

use super::pattern::ExchangePattern;
use crate::grid::{Cell, CellGrid, add, storage_order, subtract};
use crate::partition::Partition;
use std::collections::{BTreeMap, BTreeSet};

/// A ghost cell in extended coordinates, ordered as in storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ghost(pub Cell);

impl PartialOrd for Ghost {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ghost {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        storage_order(&self.0).cmp(&storage_order(&other.0))
    }
}

/// Ghost cells by stage and by the rank that sends them. This rank itself (images) comes first.
pub(super) type Imports = BTreeMap<usize, Vec<(usize, BTreeSet<Ghost>)>>;

/// Cells to send, by stage and importing rank, in the order of the importer's ghosts. Each has the
/// cell in this rank's extended coordinates and the displacement in box lengths.
pub(super) type Exports = BTreeMap<usize, BTreeMap<usize, BTreeMap<Ghost, (Cell, [i8; 3])>>>;

impl ExchangePattern {
    /// Returns the offsets and, if staged, also those of the cells that must be forwarded to other
    /// ranks.
    pub(super) fn with_forwarded(self, offsets: &[Cell]) -> Vec<Cell> {
        let mut offsets: BTreeSet<Cell> = offsets.iter().copied().collect();
        if self == Self::Staged {
            for dim in [2, 1] {
                let forwarded: Vec<Cell> =
                    offsets.iter().filter(|offset| last_dimension(**offset) == Some(dim)).copied().collect();
                offsets.extend(forwarded.into_iter().map(|offset| without(offset, dim)));
            }
        }
        offsets.remove(&[0; 3]);
        offsets.into_iter().collect()
    }

    /// Returns the stage in which a ghost at this offset is received.
    fn stage(self, offset: Cell) -> usize {
        match self {
            Self::Direct => 0,
            Self::Staged => last_dimension(offset).unwrap_or(0),
        }
    }

    /// Returns the offset from the anchor to the provider cell.
    fn provider_cell(self, offset: Cell) -> Cell {
        match (self, last_dimension(offset)) {
            (Self::Staged, Some(dim)) => subtract(offset, without(offset, dim)),
            (Self::Direct, _) | (Self::Staged, None) => offset,
        }
    }
}

fn last_dimension(offset: Cell) -> Option<usize> {
    (0..3).rev().find(|&dim| offset[dim] != 0)
}

fn without(mut offset: Cell, dim: usize) -> Cell {
    offset[dim] = 0;
    offset
}

/// Search for the routes of one rank's ghosts.
pub(super) struct Routes<'a> {
    pub grid: &'a CellGrid,
    pub partition: &'a Partition,
    pub pattern: ExchangePattern,
    pub rank: usize,
    pub offsets: Vec<Cell>,
}

impl Routes<'_> {
    /// Returns the ghost cells that this rank needs. `surface` contains the owned cells with a
    /// neighbour outside this rank.
    pub(super) fn imports(&self, surface: &[Cell]) -> Imports {
        let mut found: BTreeMap<usize, BTreeMap<usize, BTreeSet<Ghost>>> = BTreeMap::new();
        for &anchor in surface {
            for &offset in &self.offsets {
                let ghost = add(anchor, offset);
                let Some((provider_cell, _)) =
                    self.grid.wrap(add(anchor, self.pattern.provider_cell(offset)))
                else {
                    continue;
                };
                if self.is_ghost_of(ghost, self.rank) && self.is_chosen(ghost, offset, self.rank) {
                    let provider = self.partition.owner(self.grid, provider_cell);
                    let stage = found.entry(self.pattern.stage(offset)).or_default();
                    stage.entry(provider).or_default().insert(Ghost(ghost));
                }
            }
        }
        let own_first = |stage: BTreeMap<usize, BTreeSet<Ghost>>| {
            let mut sources: Vec<_> = stage.into_iter().collect();
            sources.sort_by_key(|(peer, _)| (*peer != self.rank, *peer));
            sources
        };
        // All ranks must have the same stages, because they open the same contexts.
        let stages = self.offsets.iter().map(|&offset| self.pattern.stage(offset));
        let stages: BTreeSet<usize> = stages.chain([0]).collect();
        stages.into_iter().map(|stage| (stage, own_first(found.remove(&stage).unwrap_or_default()))).collect()
    }

    /// Returns the cells that this rank provides to other ranks and to itself, found from the same
    /// cells.
    pub(super) fn exports(&self, surface: &[Cell]) -> Exports {
        let mut exports = Exports::new();
        for &provider_cell in surface {
            for &offset in &self.offsets {
                let Some((anchor, shift)) =
                    self.grid.wrap(subtract(provider_cell, self.pattern.provider_cell(offset)))
                else {
                    continue;
                };
                let importer = self.partition.owner(self.grid, anchor);
                let ghost = add(anchor, offset);
                if self.is_ghost_of(ghost, importer) && self.is_chosen(ghost, offset, importer) {
                    // The wrap moved the anchor by -shift boxes, so in this rank's coordinates the
                    // cell is displaced by the same amount.
                    let here =
                        [0, 1, 2].map(|dim| ghost[dim] + i32::from(shift[dim]) * self.grid.counts()[dim]);
                    let stage = exports.entry(self.pattern.stage(offset)).or_default();
                    stage.entry(importer).or_default().insert(Ghost(ghost), (here, shift.map(|s| -s)));
                }
            }
        }
        exports
    }

    /// Returns whether `cell` is a ghost of the rank: it exists and is not an undisplaced cell of
    /// the rank.
    fn is_ghost_of(&self, cell: Cell, rank: usize) -> bool {
        let owned = |(primary, shift)| shift == [0; 3] && self.partition.owner(self.grid, primary) == rank;
        self.grid.wrap(cell).is_some_and(|place| !owned(place))
    }

    /// Returns whether `offset` is the first of the rank's offsets that lead to the ghost, by stage
    /// and then in storage order.
    fn is_chosen(&self, ghost: Cell, offset: Cell, rank: usize) -> bool {
        if self.pattern == ExchangePattern::Direct {
            // All routes start at the owner.
            return true;
        }
        let names = |other: &&Cell| {
            let anchor = subtract(ghost, **other);
            let primary = self.grid.wrap(anchor).filter(|(_, shift)| *shift == [0; 3]);
            primary.is_some_and(|(cell, _)| self.partition.owner(self.grid, cell) == rank)
        };
        let ways = self.offsets.iter().filter(names);
        ways.min_by_key(|other| (self.pattern.stage(**other), storage_order(other))) == Some(&offset)
    }
}
