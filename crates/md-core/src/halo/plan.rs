//! The halo plan: which cells a rank imports, exports and computes, derived from partition + shell by this one piece
//! of code ([`super::routes`] finds the cells and their ways).
//!
//! A rank walks the shell's rules around each of its cells. Every cell named that it does not own is a *ghost cell*,
//! named by extended coordinates: an image of a cell it has (copied locally) or a cell that a peer has (imported along
//! the *edge* to that peer; one edge per peer, however many cells and directions).
//!
//! The exchange is made in *stages*. Direct: one stage, every ghost comes from its owner. Staged: x, then y, then z, and
//! what a peer sends in a later stage includes ghosts that it got in an earlier one, so corners are forwarded.
//!
//! ```text
//! slots:  0 .. owned | stage 0: images | edge 0 | edge 1 | ... | stage 1: images | edge 0 | ...
//! ```
//!
//! Advantage: works for any partition and shell, and costs memory for local cells only. Disadvantage: cells are
//! exported whole, although only particles near the face are needed.

use super::routes::Routes;
use crate::grid::{Cell, CellGrid, add, subtract};
use crate::partition::{Ownership, Partition};
use crate::shell::{ForceReturn, Shell, neighbours};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// How ghosts travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// From their owner, all at once: up to 26 partners, one latency.
    Direct,
    /// Along x, then y, then z: up to two partners and one latency per dimension.
    Staged,
}

/// A cell to be sent, and by how many box lengths its image is displaced on arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Export {
    /// Slot of the cell: owned, or a ghost of an earlier stage.
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

impl Region {
    /// In the order of computation.
    pub const ALL: [Self; 2] = [Self::Inner, Self::Boundary];
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

/// One round of messages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stage {
    /// Cells of this rank that are copied to ghost cells of this rank, displaced by box lengths.
    pub images: Vec<Export>,
    /// The ghost slots of the images.
    pub image_slots: Range<usize>,
    /// Edges by ascending peer; a peer that only sends or only receives has an edge too.
    pub edges: Vec<HaloEdge>,
}

/// The plan of one rank.
#[derive(Debug, Clone)]
pub struct HaloPlan {
    /// Owned cells in storage order: slots 0, 1, ...
    pub owned: Vec<Cell>,
    /// Extended coordinates of the ghost cells: slots `owned.len()`, ...
    pub ghosts: Vec<Cell>,
    /// Rounds of messages, in order.
    pub stages: Vec<Stage>,
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
    pub fn new(grid: &CellGrid, partition: &Partition, shell: Shell, route: Route, rank: usize) -> Self {
        let owned = partition.cells_of(grid, rank);
        let routes = Routes { grid, partition, route, rank, offsets: route.offsets(shell, grid.is_flat()) };
        let imports = routes.imports(&owned);
        let ghosts = imports.values().flatten().flat_map(|(_, ghosts)| ghosts.iter().map(|ghost| ghost.0));
        let ghosts: Vec<Cell> = ghosts.collect();
        let slots: Vec<Cell> = owned.iter().chain(&ghosts).copied().collect();
        let mut plan = Self {
            neighbours: adjacent_ranks(grid, partition, rank, &owned),
            index: SlotIndex::new(&slots),
            stages: Vec::new(),
            pairs: Vec::new(),
            owned,
            ghosts,
            shell,
        };
        plan.stages = plan.lay_out(&routes, &imports);
        plan.pairs = plan.work(grid);
        plan
    }

    /// Gives every stage its edges and every ghost its slot, in the order in which `imports` lists them.
    fn lay_out(&self, routes: &Routes, imports: &super::routes::Imports) -> Vec<Stage> {
        let mut exports = routes.exports(&self.owned);
        let mut next = self.owned.len();
        let mut take = |count: usize| {
            next += count;
            next - count..next
        };
        let export =
            |(cell, shift): (Cell, [i8; 3])| Export { slot: self.slot_of(cell).unwrap_or(u32::MAX), shift };
        let mut stages = Vec::new();
        for (stage, sources) in imports {
            let mut exported = exports.remove(stage).unwrap_or_default();
            let images = exported.remove(&routes.rank).unwrap_or_default();
            let mut sources: BTreeMap<usize, usize> =
                sources.iter().map(|(peer, ghosts)| (*peer, ghosts.len())).collect();
            let image_slots = take(sources.remove(&routes.rank).unwrap_or(0));
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
            stages.push(Stage { images: images.into_values().map(export).collect(), image_slots, edges });
        }
        stages
    }

    /// Number of owned and ghost cells.
    pub fn slots(&self) -> usize {
        self.owned.len() + self.ghosts.len()
    }

    /// Slots before this one are there before any message: owned cells and their images in the first stage.
    pub(crate) fn first_awaited_slot(&self) -> usize {
        self.stages.first().map_or(self.owned.len(), |stage| stage.image_slots.end)
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
                        if outermost < self.first_awaited_slot() { Region::Inner } else { Region::Boundary };
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

    fn shells_and_routes() -> impl Iterator<Item = (Shell, Route)> {
        let shells = [Shell::Full, Shell::Half, Shell::Eighth];
        shells.into_iter().flat_map(|shell| [(shell, Route::Direct), (shell, Route::Staged)])
    }

    /// Cells as the receiver sees them.
    fn displaced(plan: &HaloPlan, exports: &[Export], counts: Cell) -> Vec<Cell> {
        let seen = |export: &Export| {
            let cell = plan.cell_at(export.slot as usize);
            [0, 1, 2].map(|dim| cell[dim] + i32::from(export.shift[dim]) * counts[dim])
        };
        exports.iter().map(seen).collect()
    }

    /// What a sends to b is what b expects from a, cell by cell and with the right shift, and it is there by then.
    #[test]
    fn imports_and_exports_match_on_every_edge() {
        for (counts, boundary) in [
            ([4, 4, 4], Boundary::Periodic),
            ([5, 8, 2], Boundary::Reflecting),
            ([1, 8, 2], Boundary::Periodic),
        ] {
            let grid = grid(counts, boundary);
            for (ranks, (shell, route)) in
                [1, 2, 3, 4, 8].into_iter().flat_map(|n| shells_and_routes().map(move |way| (n, way)))
            {
                let stripe = Partition::Stripe(Stripe { ranks });
                let rect = Partition::Rect(Rect { grid: [1, ranks.min(4), ranks.div_ceil(4)] });
                for partition in [stripe, rect] {
                    let plans: Vec<_> =
                        (0..ranks).map(|rank| HaloPlan::new(&grid, &partition, shell, route, rank)).collect();
                    for (rank, plan) in plans.iter().enumerate() {
                        for (number, stage) in plan.stages.iter().enumerate() {
                            let images: Vec<Cell> =
                                stage.image_slots.clone().map(|slot| plan.cell_at(slot)).collect();
                            assert_eq!(displaced(plan, &stage.images, counts), images);
                            for edge in &stage.edges {
                                let peer = &plans[edge.peer];
                                let back = peer.stages[number].edges.iter().find(|e| e.peer == rank).unwrap();
                                let expected: Vec<Cell> =
                                    edge.imports.clone().map(|slot| plan.cell_at(slot)).collect();
                                assert_eq!(displaced(peer, &back.exports, counts), expected);
                                let there = peer.stages[number].image_slots.start as u32;
                                assert!(back.exports.iter().all(|export| export.slot < there || number == 0));
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn staged_needs_few_partners_and_direct_one_stage() {
        let grid = grid([8, 8, 8], Boundary::Periodic);
        let partition = Partition::Rect(Rect { grid: [4, 4, 4] });
        let partners = |shell, route| {
            let plan = HaloPlan::new(&grid, &partition, shell, route, 21);
            let count = |stage: &Stage| stage.edges.iter().filter(|edge| !edge.imports.is_empty()).count();
            plan.stages.iter().map(count).collect::<Vec<_>>()
        };
        assert_eq!(partners(Shell::Full, Route::Direct), [26]);
        // Not 13: seen from a block of cells, forward neighbours of its lower faces lie in 4 more regions.
        assert_eq!(partners(Shell::Half, Route::Direct), [17]);
        assert_eq!(partners(Shell::Eighth, Route::Direct), [7]);
        assert_eq!(partners(Shell::Full, Route::Staged), [2, 2, 2]);
        assert_eq!(partners(Shell::Half, Route::Staged), [2, 2, 1]);
        assert_eq!(partners(Shell::Eighth, Route::Staged), [1, 1, 1]);
    }

    /// Over all ranks, every pair of adjacent cells (with its images) is computed exactly once where forces return; by
    /// full shell once when both cells are on one rank without a shift, else once from each side.
    #[test]
    fn every_cell_pair_is_computed_once() {
        for counts in [[4, 4, 4], [1, 2, 3], [2, 2, 2], [4, 3, 1]] {
            let grid = grid(counts, Boundary::Periodic);
            let expected_links = grid.len() * neighbours(grid.is_flat()).len() / 2;
            for (ranks, (shell, route)) in
                [1, 2, 4].into_iter().flat_map(|n| shells_and_routes().map(move |way| (n, way)))
            {
                if ranks > grid.len() {
                    continue;
                }
                let partition = Partition::Stripe(Stripe { ranks });
                let (mut own, mut links) = (0, 0.0);
                for rank in 0..ranks {
                    for group in HaloPlan::new(&grid, &partition, shell, route, rank).pairs {
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
        let partition = Partition::Rect(Rect { grid: [1, 2, 1] });
        let plan =
            HaloPlan::new(&grid([4, 4, 4], Boundary::Periodic), &partition, Shell::Half, Route::Direct, 0);
        let first_boundary = plan.pairs.iter().position(|g| g.region == Region::Boundary).unwrap();
        assert!(first_boundary > 0);
        assert!(plan.pairs[first_boundary..].iter().all(|g| g.region == Region::Boundary));
    }
}
