//! The halo plan: which cells a rank imports, exports and computes, derived from partition + shell by this one piece
//! of code.
//!
//! A rank walks the shell's rules around each of its cells. Every cell named that it does not own is a *ghost cell*,
//! named by extended coordinates: an image of an own cell (copied locally) or a cell of a peer (imported along the
//! *edge* to that peer; one edge per peer, however many cells and directions). What it exports follows from the same
//! rules backwards: its cell p is seen from the anchor p - offset, so that cell's owner imports p. Both sides sort by
//! the importer's extended coordinates; that makes the lists match without a word exchanged.
//!
//! ```text
//! slots:  0 .. owned | images of own cells | ghost cells of edge 0 | of edge 1 | ...
//! ```
//!
//! Advantage: works for any partition and shell, and costs memory for local cells only. Disadvantage: cells are
//! exported whole, although only particles near the face are needed.

use crate::grid::{Cell, CellGrid, add, storage_order, subtract};
use crate::partition::{Ownership, Partition};
use crate::shell::{ForceReturn, Shell, neighbours};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// A cell to be sent, and by how many box lengths its image is displaced on arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Export {
    /// Slot of the owned cell.
    pub slot: u32,
    /// Displacement in box lengths per dimension.
    pub shift: [i8; 3],
}

/// Everything exchanged with one peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HaloEdge {
    /// The other rank.
    pub peer: usize,
    /// Cells sent to it, in the order in which it stores them.
    pub exports: Vec<Export>,
    /// Ghost slots filled from it.
    pub imports: Range<usize>,
}

/// Whether the partner's force is computed too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// Both particles get their force (Newton's third law); the pair is counted once.
    Both,
    /// Only the first; the partner's owner computes the pair again, so energies count half.
    First,
}

/// Whether the work needs the halo of other ranks; inner work sorts before boundary work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Region {
    /// Own cells and their images only: can be computed while the halo is in flight.
    Inner,
    /// Touches imported cells.
    Boundary,
}

/// The cells that one cell meets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellPairs {
    /// Slot of the first cell.
    pub a: u32,
    /// Slots of its partners, in storage order within the group; `a` itself stands for the pairs inside the cell.
    pub partners: Vec<u32>,
    /// Who gets forces.
    pub reach: Reach,
    /// Inner or boundary work.
    pub region: Region,
}

/// The plan of one rank.
#[derive(Debug, Clone)]
pub struct HaloPlan {
    /// Owned cells in storage order: slots 0, 1, ...
    pub owned: Vec<Cell>,
    /// Extended coordinates of the ghost cells: slots `owned.len()`, ...
    pub ghosts: Vec<Cell>,
    /// Images of own cells: the first ghost slots.
    pub images: Vec<Export>,
    /// Edges by ascending peer; a peer that only sends or only receives has an edge too.
    pub edges: Vec<HaloEdge>,
    /// Ranks that own a cell adjacent to one of ours: where particles may migrate to, ascending, without this rank.
    pub neighbours: Vec<usize>,
    /// The work, inner groups first.
    pub pairs: Vec<CellPairs>,
    /// The import shell.
    pub shell: Shell,
    index: SlotIndex,
}

impl HaloPlan {
    /// The plan of `rank`.
    pub fn new(grid: &CellGrid, partition: &Partition, shell: Shell, rank: usize) -> Self {
        let owned = partition.cells_of(grid, rank);
        let mut sources = import_sources(grid, partition, shell, rank, &owned);
        let images = sources.remove(&rank).unwrap_or_default();
        let owned_index = SlotIndex::new(&owned);
        let export = |cell: Cell, shift| Export { slot: owned_index.get(cell).unwrap_or(u32::MAX), shift };
        let image_exports =
            images.iter().filter_map(|&ghost| grid.wrap(ghost.0)).map(|(p, s)| export(p, s)).collect();
        let exports = exports(grid, partition, shell, rank, &owned);

        let mut ghosts: Vec<Cell> = images.into_iter().map(|ghost| ghost.0).collect();
        let peers: BTreeSet<usize> = sources.keys().chain(exports.keys()).copied().collect();
        let mut edges = Vec::new();
        for peer in peers {
            let start = owned.len() + ghosts.len();
            ghosts.extend(sources.remove(&peer).into_iter().flatten().map(|ghost| ghost.0));
            let exports = exports.get(&peer).into_iter().flatten();
            edges.push(HaloEdge {
                peer,
                exports: exports.map(|(_, &(cell, shift))| export(cell, shift)).collect(),
                imports: start..owned.len() + ghosts.len(),
            });
        }
        let slots: Vec<Cell> = owned.iter().chain(&ghosts).copied().collect();
        let index = SlotIndex::new(&slots);
        let mut plan = Self {
            neighbours: adjacent_ranks(grid, partition, rank, &owned),
            owned,
            ghosts,
            images: image_exports,
            edges,
            pairs: Vec::new(),
            shell,
            index,
        };
        plan.pairs = plan.work(grid);
        plan
    }

    /// Number of owned and ghost cells.
    pub fn slots(&self) -> usize {
        self.owned.len() + self.ghosts.len()
    }

    /// First slot that is filled from another rank.
    pub fn first_imported_slot(&self) -> usize {
        self.owned.len() + self.images.len()
    }

    /// Slot of a cell in extended coordinates.
    #[inline]
    pub fn slot_of(&self, cell: Cell) -> Option<u32> {
        self.index.get(cell)
    }

    /// Extended coordinates of a slot.
    pub fn cell_at(&self, slot: usize) -> Cell {
        if slot < self.owned.len() { self.owned[slot] } else { self.ghosts[slot - self.owned.len()] }
    }

    fn work(&self, grid: &CellGrid) -> Vec<CellPairs> {
        let rules = self.shell.rules(grid.is_flat());
        let mut groups: BTreeMap<(Region, u32, Reach), Vec<u32>> = BTreeMap::new();
        for &anchor in &self.owned {
            for rule in &rules {
                let slots = (self.slot_of(add(anchor, rule.a)), self.slot_of(add(anchor, rule.b)));
                let (Some(a), Some(b)) = slots else { continue };
                if let Some(reach) = self.reach(a, b) {
                    let outermost = a.max(b) as usize;
                    let region =
                        if outermost < self.first_imported_slot() { Region::Inner } else { Region::Boundary };
                    groups.entry((region, a, reach)).or_default().push(b);
                }
            }
        }
        let group = |((region, a, reach), mut partners): ((_, _, _), Vec<u32>)| {
            partners.sort_unstable();
            CellPairs { a, partners, reach, region }
        };
        groups.into_iter().map(group).collect()
    }

    /// Who gets forces from the pairs of slots a and b; `None` where another rule has them already.
    fn reach(&self, a: u32, b: u32) -> Option<Reach> {
        let b_is_owned = (b as usize) < self.owned.len();
        match self.shell.force_return() {
            ForceReturn::Needed => Some(Reach::Both),
            ForceReturn::None if !b_is_owned => Some(Reach::First),
            // Owned cells are sorted, so the later slot is the forward one.
            ForceReturn::None => (b >= a).then_some(Reach::Both),
        }
    }
}

/// A ghost cell in storage order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ghost(Cell);

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

/// Ghost cells by the rank that owns their primary cell.
fn import_sources(
    grid: &CellGrid,
    partition: &Partition,
    shell: Shell,
    rank: usize,
    owned: &[Cell],
) -> BTreeMap<usize, BTreeSet<Ghost>> {
    let mut sources: BTreeMap<usize, BTreeSet<Ghost>> = BTreeMap::new();
    for offset in import_offsets(grid, shell) {
        for &anchor in owned {
            let ghost = add(anchor, offset);
            let Some((primary, shift)) = grid.wrap(ghost) else { continue };
            let owner = partition.owner(grid, primary);
            if owner != rank || shift != [0; 3] {
                sources.entry(owner).or_default().insert(Ghost(ghost));
            }
        }
    }
    sources
}

type Exports = BTreeMap<usize, BTreeMap<Ghost, (Cell, [i8; 3])>>;

/// Own cells that others import, by importing rank and in the order of its ghost cells.
fn exports(grid: &CellGrid, partition: &Partition, shell: Shell, rank: usize, owned: &[Cell]) -> Exports {
    let mut exports = Exports::new();
    for offset in import_offsets(grid, shell) {
        for &cell in owned {
            let Some((anchor, shift)) = grid.wrap(subtract(cell, offset)) else { continue };
            let importer = partition.owner(grid, anchor);
            if importer != rank {
                let ghost = Ghost(add(anchor, offset));
                exports.entry(importer).or_default().insert(ghost, (cell, shift.map(|s| -s)));
            }
        }
    }
    exports
}

fn import_offsets(grid: &CellGrid, shell: Shell) -> Vec<Cell> {
    let rules = shell.rules(grid.is_flat());
    let mut offsets: Vec<Cell> =
        rules.iter().flat_map(|rule| [rule.a, rule.b]).filter(|o| *o != [0; 3]).collect();
    offsets.sort_unstable();
    offsets.dedup();
    offsets
}

fn adjacent_ranks(grid: &CellGrid, partition: &Partition, rank: usize, owned: &[Cell]) -> Vec<usize> {
    let offsets = neighbours(grid.is_flat());
    let around = owned.iter().flat_map(|&cell| offsets.iter().map(move |&offset| add(cell, offset)));
    let ranks: BTreeSet<usize> =
        around.filter_map(|cell| grid.wrap(cell)).map(|(cell, _)| partition.owner(grid, cell)).collect();
    ranks.into_iter().filter(|&other| other != rank).collect()
}

/// Cell -> slot by a table over the bounding box of the local cells.
#[derive(Debug, Clone)]
struct SlotIndex {
    low: Cell,
    size: [usize; 3],
    table: Vec<u32>,
}

impl SlotIndex {
    const NONE: u32 = u32::MAX;

    fn new(cells: &[Cell]) -> Self {
        let bound = |pick: fn(i32, i32) -> i32, start: i32| {
            cells.iter().fold([start; 3], |b, c| [0, 1, 2].map(|dim| pick(b[dim], c[dim])))
        };
        let (low, high) = (bound(i32::min, i32::MAX), bound(i32::max, i32::MIN));
        let size = [0, 1, 2].map(|dim| (i64::from(high[dim]) - i64::from(low[dim]) + 1).max(0) as usize);
        let mut index = Self { low, size, table: vec![Self::NONE; size.iter().product()] };
        for (slot, &cell) in cells.iter().enumerate() {
            if let Some(place) = index.place(cell) {
                index.table[place] = slot as u32;
            }
        }
        index
    }

    #[inline]
    fn place(&self, cell: Cell) -> Option<usize> {
        let offset = subtract(cell, self.low);
        let inside = (0..3).all(|dim| offset[dim] >= 0 && (offset[dim] as usize) < self.size[dim]);
        let [x, y, z] = offset.map(|o| o as usize);
        inside.then(|| (z * self.size[1] + y) * self.size[0] + x)
    }

    #[inline]
    fn get(&self, cell: Cell) -> Option<u32> {
        self.place(cell).map(|place| self.table[place]).filter(|&slot| slot != Self::NONE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Boundary, Dimension, Domain};
    use crate::partition::{Rect, Stripe};

    fn grid(counts: Cell, boundary: Boundary) -> CellGrid {
        let dimension =
            if counts[2] == 1 && boundary == Boundary::Periodic { Dimension::Two } else { Dimension::Three };
        let domain =
            Domain { dimension, origin: [0.0; 3], lengths: counts.map(f64::from), boundary: [boundary; 3] };
        CellGrid::new(domain, counts)
    }

    fn partitions(ranks: usize) -> Vec<Partition> {
        let rect = match ranks {
            8 => [2, 2, 2],
            n => [1, n, 1],
        };
        vec![Partition::Rect(Rect { grid: rect }), Partition::Stripe(Stripe { ranks })]
    }

    /// What a sends to b is what b expects from a, cell by cell and with the right shift.
    #[test]
    fn imports_and_exports_match_on_every_edge() {
        for (counts, boundary) in [([4, 4, 4], Boundary::Periodic), ([5, 4, 3], Boundary::Reflecting)] {
            let grid = grid(counts, boundary);
            for (ranks, shell) in [1, 2, 3, 4, 8]
                .into_iter()
                .flat_map(|n| [(n, Shell::Full), (n, Shell::Half), (n, Shell::Eighth)])
            {
                for partition in partitions(ranks)
                    .into_iter()
                    .filter(|p| ranks != 8 || p.rank_grid().is_none() || counts[2] == 4)
                {
                    let plans: Vec<_> =
                        (0..ranks).map(|r| HaloPlan::new(&grid, &partition, shell, r)).collect();
                    for (rank, plan) in plans.iter().enumerate() {
                        for edge in &plan.edges {
                            let back = plans[edge.peer].edges.iter().find(|e| e.peer == rank).unwrap();
                            let sent: Vec<Cell> = back
                                .exports
                                .iter()
                                .map(|export| {
                                    let cell = plans[edge.peer].owned[export.slot as usize];
                                    [0, 1, 2].map(|d| cell[d] + i32::from(export.shift[d]) * counts[d])
                                })
                                .collect();
                            let expected: Vec<Cell> = edge.imports.clone().map(|s| plan.cell_at(s)).collect();
                            assert_eq!(sent, expected);
                        }
                    }
                }
            }
        }
    }

    /// Over all ranks, every pair of adjacent cells (with its images) is computed exactly once where forces return; by
    /// full shell once when both cells are on one rank without a shift, else once from each side.
    #[test]
    fn every_cell_pair_is_computed_once() {
        for counts in [[4, 4, 4], [1, 2, 3], [2, 2, 2], [4, 3, 1]] {
            let grid = grid(counts, Boundary::Periodic);
            let expected_links = grid.len() * neighbours(grid.is_flat()).len() / 2;
            for (ranks, shell) in
                [1, 2, 4].into_iter().flat_map(|n| [(n, Shell::Full), (n, Shell::Half), (n, Shell::Eighth)])
            {
                if ranks > grid.len() {
                    continue;
                }
                let partition = Partition::Stripe(Stripe { ranks });
                let (mut own, mut links) = (0, 0.0);
                for rank in 0..ranks {
                    for group in HaloPlan::new(&grid, &partition, shell, rank).pairs {
                        own += usize::from(group.partners.contains(&group.a));
                        let others = group.partners.iter().filter(|&&b| b != group.a).count() as f64;
                        links += if group.reach == Reach::Both { others } else { 0.5 * others };
                    }
                }
                assert_eq!((own, links), (grid.len(), expected_links as f64), "{counts:?} {ranks} {shell:?}");
            }
        }
    }

    #[test]
    fn work_without_halo_comes_first() {
        let plan = HaloPlan::new(&grid([4, 4, 4], Boundary::Periodic), &partitions(2)[0], Shell::Half, 0);
        let first_boundary = plan.pairs.iter().position(|g| g.region == Region::Boundary).unwrap();
        assert!(first_boundary > 0);
        assert!(plan.pairs[first_boundary..].iter().all(|g| g.region == Region::Boundary));
    }
}
