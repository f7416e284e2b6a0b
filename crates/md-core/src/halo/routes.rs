//! Finding ghost cells and the way they come.
//!
//! A ghost cell g of rank R is named from an *anchor*: a cell c of R with g = c + o for one of the offsets that the
//! plan is given. It comes from the owner of the *provider cell* h: g itself in the direct pattern; in the staged one the cell
//! next to c along the last dimension in which o is not zero, whose owner has got g in an earlier stage.
//!
//! Importer and provider find the same cells without a word exchanged: the importer walks from its anchors, the provider
//! from its provider cells back to anchors, both choose among several ways to the same ghost by the same order, and both
//! sort by the importer's extended coordinates.

use super::plan::ExchangePattern;
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

/// Ghost cells by stage and by the rank they come from; this rank itself (images) first.
pub(super) type Imports = BTreeMap<usize, Vec<(usize, BTreeSet<Ghost>)>>;

/// Cells to send by stage and importing rank, in the order of the importer's ghosts: the cell in this rank's extended
/// coordinates, and the displacement in box lengths.
pub(super) type Exports = BTreeMap<usize, BTreeMap<usize, BTreeMap<Ghost, (Cell, [i8; 3])>>>;

impl ExchangePattern {
    /// These offsets and, staged, those of the cells that others want forwarded.
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

    /// Stage in which a ghost at this offset comes.
    fn stage(self, offset: Cell) -> usize {
        match self {
            Self::Direct => 0,
            Self::Staged => last_dimension(offset).unwrap_or(0),
        }
    }

    /// Offset from the anchor to the provider cell.
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

/// Where one rank's ghosts come from.
pub(super) struct Routes<'a> {
    pub grid: &'a CellGrid,
    pub partition: &'a Partition,
    pub pattern: ExchangePattern,
    pub rank: usize,
    pub offsets: Vec<Cell>,
}

impl Routes<'_> {
    /// The ghost cells this rank needs for its cells, of which those are given that have not all neighbours here.
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
        // All ranks have the same stages, so that they open the same contexts.
        let stages = self.offsets.iter().map(|&offset| self.pattern.stage(offset));
        let stages: BTreeSet<usize> = stages.chain([0]).collect();
        stages.into_iter().map(|stage| (stage, own_first(found.remove(&stage).unwrap_or_default()))).collect()
    }

    /// What this rank provides to others and to itself, found from the same cells.
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
                    // The wrap moved the anchor by -shift boxes: seen from here the cell is as far off.
                    let here =
                        [0, 1, 2].map(|dim| ghost[dim] + i32::from(shift[dim]) * self.grid.counts()[dim]);
                    let stage = exports.entry(self.pattern.stage(offset)).or_default();
                    stage.entry(importer).or_default().insert(Ghost(ghost), (here, shift.map(|s| -s)));
                }
            }
        }
        exports
    }

    /// Whether the rank lacks the cell: it exists, and is not one of the rank's own without displacement.
    fn is_ghost_of(&self, cell: Cell, rank: usize) -> bool {
        let owned = |(primary, shift)| shift == [0; 3] && self.partition.owner(self.grid, primary) == rank;
        self.grid.wrap(cell).is_some_and(|place| !owned(place))
    }

    /// Whether `offset` is the first, by stage and then in order, of the offsets by which the rank names the ghost.
    fn is_chosen(&self, ghost: Cell, offset: Cell, rank: usize) -> bool {
        if self.pattern == ExchangePattern::Direct {
            // All ways lead to the owner.
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
