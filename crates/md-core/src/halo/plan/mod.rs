//! The halo plan: the cells that a rank imports and exports. This code derives every plan from the
//! partition and a list of cell offsets ([`super::routes`] finds the cells and their routes).
//!
//! A rank needs the cells at these offsets from each of its own. Each one that it does not own is a
//! *ghost cell*, identified by extended coordinates. It is either an image of a cell on this rank
//! (copied locally) or a cell of a peer (imported along the *edge* to that peer; there is one edge
//! per peer, regardless of the number of cells and directions).
//!
//! The exchange is divided into *stages*. Direct: one stage, every ghost comes from its owner.
//! Staged: x, then y, then z; messages of a later stage include ghosts that the sender received in
//! an earlier one, so corners are forwarded.
//!
//! ```text
//! local cells:  0 .. owned | stage 0: images | edge 0 | edge 1 | ... | stage 1: images | edge 0 | ...
//! ```
//!
//! Advantage: works for any partition and shell, and needs memory only for local cells.
//! Disadvantage: whole cells are exported, although only particles near the face are needed.

mod cell_index;
#[cfg(test)]
mod tests;

use super::pattern::ExchangePattern;
use super::routes::{Exports, Imports, Routes};
use crate::grid::{Cell, CellGrid, add};
use crate::memory;
use crate::partition::Partition;
use crate::shell::neighbours;
use cell_index::CellIndex;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// A cell to be sent, and the displacement of its image on the receiving rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Export {
    /// Index of the cell: an owned cell or a ghost of an earlier stage.
    pub cell: u32,
    /// Displacement in box lengths per dimension.
    pub shift: [i8; 3],
}

/// The exchange with one peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HaloEdge {
    /// The other rank.
    pub peer: usize,
    /// Cells sent to the peer, in the order in which it stores them.
    pub exports: Vec<Export>,
    /// Ghost cells that the peer sends.
    pub imports: Range<usize>,
}

/// One round of messages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stage {
    /// Cells of this rank that are copied to ghost cells of this rank, displaced by box lengths.
    pub images: Vec<Export>,
    /// The ghost cells of the images.
    pub image_cells: Range<usize>,
    /// Edges by ascending peer; a peer that only sends or only receives has an edge too.
    pub edges: Vec<HaloEdge>,
}

/// The plan of one rank.
///
/// ```
/// use md_core::partition::Rect;
/// use md_core::{Boundary, CellGrid, Dimension, Domain, ExchangePattern, HaloPlan};
/// use md_core::{Partition, Shell};
/// use std::sync::Arc;
///
/// let (origin, lengths, boundary) = ([0.0; 3], [9.0; 3], [Boundary::Periodic; 3]);
/// let domain = Domain { dimension: Dimension::Three, origin, lengths, boundary };
/// let grid = CellGrid::new(domain, [3; 3]);
/// let partition: Partition = Arc::new(Rect { grid: [1; 3] });
/// let offsets = Shell::Full.offsets(domain.dimension);
/// let plan = HaloPlan::new(&grid, &partition, &offsets, ExchangePattern::Direct, 0);
/// // A layer of images around all cells, which no message has to bring.
/// assert_eq!((plan.owned.len(), plan.ghosts.len()), (27, 5 * 5 * 5 - 27));
/// assert!(!plan.awaits_messages());
/// ```
#[derive(Debug, Clone)]
pub struct HaloPlan {
    /// Owned cells in storage order: local cells 0, 1, ...
    pub owned: Vec<Cell>,
    /// Extended coordinates of the ghost cells: local cells `owned.len()`, ...
    pub ghosts: Vec<Cell>,
    /// Rounds of messages, in order.
    pub stages: Vec<Stage>,
    /// Other ranks' cells adjacent to owned ones.
    pub around: Vec<Cell>,
    /// The ranks that own these cells, to which particles may migrate, in ascending order.
    pub neighbours: Vec<usize>,
    index: CellIndex,
}

impl HaloPlan {
    /// Creates the plan of `rank`, which needs the cells at `offsets` from each of its own, such as
    /// [`crate::Shell::offsets`].
    pub fn new(
        grid: &CellGrid,
        partition: &Partition,
        offsets: &[Cell],
        pattern: ExchangePattern,
        rank: usize,
    ) -> Self {
        let owned = partition.cells_of(grid, rank);
        let routes = Routes { grid, partition, pattern, rank, offsets: pattern.with_forwarded(offsets) };
        let (surface, around) = surface(grid, &owned);
        let neighbours: BTreeSet<usize> = around.iter().map(|&cell| partition.owner(grid, cell)).collect();
        let imports = routes.imports(&surface);
        let ghosts = imports.values().flatten().flat_map(|(_, ghosts)| ghosts.iter().map(|ghost| ghost.0));
        let ghosts: Vec<Cell> = ghosts.collect();
        let cells: Vec<Cell> = owned.iter().chain(&ghosts).copied().collect();
        let mut plan = Self {
            neighbours: neighbours.into_iter().collect(),
            around,
            index: CellIndex::new(&cells),
            stages: Vec::new(),
            owned,
            ghosts,
        };
        plan.stages = plan.lay_out(&imports, routes.exports(&surface), rank);
        plan
    }

    /// Assigns edges to every stage and an index to every ghost cell, in the order in which
    /// `imports` lists them.
    fn lay_out(&self, imports: &Imports, mut exports: Exports, rank: usize) -> Vec<Stage> {
        let mut next = self.owned.len();
        let mut take = |count: usize| {
            next += count;
            next - count..next
        };
        let export = |(cell, shift): (Cell, [i8; 3])| Export {
            cell: self.local_cell(cell).unwrap_or(u32::MAX),
            shift,
        };
        let mut stages = Vec::new();
        for (stage, sources) in imports {
            let mut exported = exports.remove(stage).unwrap_or_default();
            let images = exported.remove(&rank).unwrap_or_default();
            let mut sources: BTreeMap<usize, usize> =
                sources.iter().map(|(peer, ghosts)| (*peer, ghosts.len())).collect();
            let image_cells = take(sources.remove(&rank).unwrap_or(0));
            let peers: BTreeSet<usize> = sources.keys().chain(exported.keys()).copied().collect();
            let edge = |peer| HaloEdge {
                peer,
                exports: exported
                    .remove(&peer)
                    .into_iter()
                    .flat_map(BTreeMap::into_values)
                    .map(export)
                    .collect(),
                imports: take(sources.remove(&peer).unwrap_or(0)),
            };
            let edges = peers.into_iter().map(edge).collect();
            stages.push(Stage { images: images.into_values().map(export).collect(), image_cells, edges });
        }
        stages
    }

    /// Returns the number of owned and ghost cells.
    pub fn cell_count(&self) -> usize {
        self.owned.len() + self.ghosts.len()
    }

    /// Returns the first local cell that depends on a message. The owned cells and their images in
    /// the first stage come before it.
    pub(crate) fn first_awaited_cell(&self) -> usize {
        self.stages.first().map_or(self.owned.len(), |stage| stage.image_cells.end)
    }

    /// Returns whether some ghost cells come from other ranks.
    pub fn awaits_messages(&self) -> bool {
        self.stages.iter().any(|stage| stage.edges.iter().any(|edge| !edge.imports.is_empty()))
    }

    /// Returns the index of a cell in extended coordinates if it is owned or a ghost.
    #[inline]
    pub fn local_cell(&self, cell: Cell) -> Option<u32> {
        self.index.get(cell)
    }

    /// Returns the extended coordinates of a local cell.
    pub fn cell_at(&self, index: usize) -> Cell {
        if index < self.owned.len() { self.owned[index] } else { self.ghosts[index - self.owned.len()] }
    }
}

/// Returns the owned cells with a neighbour that is not owned or is an image, which suffice to find
/// the ghosts, and the cells of other ranks around them.
fn surface(grid: &CellGrid, owned: &[Cell]) -> (Vec<Cell>, Vec<Cell>) {
    let (index, offsets) = (CellIndex::new(owned), neighbours(grid.domain().dimension));
    let (mut surface, mut around) = (Vec::new(), Vec::new());
    for &cell in owned {
        let near = offsets.iter().map(|&offset| add(cell, offset));
        let mut outside = near.filter(|&near| index.get(near).is_none()).peekable();
        if outside.peek().is_some() {
            memory::push(&mut surface, cell);
        }
        for (near, _) in outside.filter_map(|near| grid.wrap(near)) {
            if index.get(near).is_none() {
                memory::push(&mut around, grid.linear(near));
            }
        }
    }
    around.sort_unstable();
    around.dedup();
    (surface, around.into_iter().map(|number| grid.at(number)).collect())
}
