//! Weighted recursive coordinate bisection: the box is cut in two parts of equal work, each of these again, until every rank
//! has one (Berger & Bokhari 1987; `fix balance rcb` of LAMMPS).
//!
//! ```text
//! +-----------+-----+      a cut runs through the cells in the order of one coordinate, then of another, then of
//! |           |  2  |      the third, so it may have steps: one within a layer, one within a row.
//! |    0      +--+  |      Without them parts would differ by whole layers of cells.
//! |        +--+  +--+
//! +--------+  1     |
//! +--------+--------+
//! ```
//!
//! Advantage: balanced to a cell or two on any number of ranks, parts are compact, and a rank remembers the cuts alone. (Where a part has a handful
//! of heavy cells, no cuts can do better than half of one: the last cuts are tried in all combinations.) Disadvantage: cuts do
//! not meet, so a part has more neighbours than a block; a small change of the weights can turn a cut.

use super::saved::Form;
use super::weights::{CellLoads, check_enough};
use super::{DivisionRequest, Ownership, Partition};
use crate::grid::{Cell, CellGrid, GridError};
use crate::memory;
use std::sync::Arc;

/// The orders in which cells can be gone through: the coordinates, first the one that counts most.
const ORDERS: [[usize; 3]; 6] = [[2, 1, 0], [2, 0, 1], [1, 2, 0], [1, 0, 2], [0, 2, 1], [0, 1, 2]];

/// Work that the heavier side may have too much to save as much in the layer that is cut: particles there become ghosts, and a cut
/// beside dense parts stays good while they travel along it.
const EXCESS_FOR_THE_LAYER: f64 = 0.2;

/// For so many ranks all cuts are tried with all cuts of their sides: there a cell more or less is a good part of a part's work.
const LOOK_AHEAD: usize = 4;

/// The same where all cuts are tried.
const EXCESS_AT_THE_LAST_CUTS: f64 = 0.02;

/// Other cuts are not looked for where the old ones, moved, leave no more imbalance than this.
const GOOD_ENOUGH: f64 = 1.02;

/// Of the mean work of a cell: makes even empty cells count, so that they are shared out too.
const LEAST_WORK: f64 = 1e-6;

/// A cut: cells before `first` in the order belong to the lower ranks.
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
    /// A cut of so many ranks, those of its lower half, those of its upper half.
    cuts: Arc<[Cut]>,
}

/// Ranks below the cut of so many.
fn lower_half(ranks: usize) -> usize {
    ranks / 2
}

/// Parts of equal volume.
pub(super) fn divide(request: &DivisionRequest) -> Result<(CellGrid, Partition), GridError> {
    let grid = CellGrid::new(request.domain, request.most_cells);
    let rcb = Rcb::new(&grid, request.ranks, &CellLoads::uniform(&grid))?;
    Ok((grid, Arc::new(rcb)))
}

impl Rcb {
    /// Parts of equal work.
    ///
    /// # Errors
    /// [`GridError::TooThin`] for more ranks than cells, [`GridError::NoWeight`].
    pub fn new(grid: &CellGrid, ranks: usize, loads: &CellLoads) -> Result<Self, GridError> {
        Self::cut(grid, ranks, loads, None)
    }

    /// Of [`Ownership::words`] but the form.
    pub(super) fn from_words(words: &[u64], ranks: usize) -> Option<Self> {
        let (cuts, rest) = words.as_chunks();
        let is_whole = rest.is_empty() && cuts.len() + 1 == ranks;
        let cuts = cuts.iter().map(Cut::from_words).collect::<Option<_>>()?;
        is_whole.then_some(Self { ranks, cuts })
    }

    /// With the orders of other cuts, where given.
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
        let mut bisection = Bisection { like, cuts: Vec::with_capacity(ranks - 1) };
        bisection.bisect(&mut weighted, ranks);
        Ok(Self { ranks, cuts: bisection.cuts.into() })
    }

    /// Goes down the tree to a rank: calls `visit` with every cut, and whether the rank lies below it.
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

    /// The same cuts moved, and other cuts.
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

/// A cell and its work.
#[derive(Debug, Clone, Copy)]
struct Weighted {
    cell: Cell,
    work: f64,
}

/// Cuts, and what they come to: the work of the heaviest part over the mean, and a little for the layers that they cut.
struct Tree {
    cost: f64,
    cuts: Vec<Cut>,
}

/// The tree in the making.
struct Bisection<'a> {
    like: Option<&'a [Cut]>,
    cuts: Vec<Cut>,
}

impl Bisection<'_> {
    fn bisect(&mut self, cells: &mut [Weighted], ranks: usize) {
        if ranks == 1 {
            return;
        }
        let like = self.like.map(|cuts| cuts[self.cuts.len()].order);
        if like.is_none() && ranks <= LOOK_AHEAD {
            let mean = cells.iter().map(|weighted| weighted.work).sum::<f64>() / ranks as f64;
            return self.cuts.extend(best_tree(cells, ranks, mean).cuts);
        }
        let (cut, below) = best_cut(cells, ranks, like);
        self.cuts.push(cut);
        partition_in_place(cells, |weighted| cut.is_before(weighted.cell));
        let (lower, upper) = cells.split_at_mut(below);
        self.bisect(lower, lower_half(ranks));
        self.bisect(upper, ranks - lower_half(ranks));
    }
}

/// Of the cuts in all orders (or in one) the one that balances best, unless another cuts much less; with the number of cells below it.
fn best_cut(cells: &[Weighted], ranks: usize, like: Option<[usize; 3]>) -> (Cut, usize) {
    let total = work_of(cells);
    let mut best = (f64::INFINITY, Cut { order: ORDERS[0], first: [0; 3] }, 0);
    for order in ORDERS.into_iter().filter(|&order| like.is_none_or(|like| like == order)) {
        let Side { first, count, work, layer } = cut_in_order(cells, order, total, ranks);
        let (lower, upper) = (lower_half(ranks) as f64, (ranks - lower_half(ranks)) as f64);
        let excess = (work / lower).max((total - work) / upper) * ranks as f64 / total - 1.0;
        let cost = excess + EXCESS_FOR_THE_LAYER * layer / total;
        if cost < best.0 {
            best = (cost, Cut { order, first }, count);
        }
    }
    (best.1, best.2)
}

/// Of all cuts in all orders, a cell earlier or later too, and of all that can follow, those that leave the heaviest part lightest.
fn best_tree(cells: &[Weighted], ranks: usize, mean: f64) -> Tree {
    let total = work_of(cells);
    if ranks == 1 {
        return Tree { cost: total / mean, cuts: Vec::new() };
    }
    let mut best = Tree { cost: f64::INFINITY, cuts: Vec::new() };
    let (fewest, most) = (lower_half(ranks), cells.len() - (ranks - lower_half(ranks)));
    for order in ORDERS {
        let nearest = cut_in_order(cells, order, total, ranks);
        let along = EXCESS_AT_THE_LAST_CUTS * nearest.layer / mean;
        for side in beside(cells, order, nearest).filter(|side| (fewest..=most).contains(&side.count)) {
            let cut = Cut { order, first: side.first };
            // Of two ranks the work of the sides is known: their cells need not be parted.
            let (cost, cuts) = if ranks == 2 {
                (side.work.max(total - side.work) / mean, vec![cut])
            } else {
                let (lower, upper): (Vec<Weighted>, Vec<Weighted>) =
                    cells.iter().partition(|weighted| cut.is_before(weighted.cell));
                let lower = best_tree(&lower, lower_half(ranks), mean);
                let upper = best_tree(&upper, ranks - lower_half(ranks), mean);
                (lower.cost.max(upper.cost), [vec![cut], lower.cuts, upper.cuts].concat())
            };
            if cost + along < best.cost {
                best = Tree { cost: cost + along, cuts };
            }
        }
    }
    best
}

fn work_of(cells: &[Weighted]) -> f64 {
    cells.iter().map(|weighted| weighted.work).sum()
}

/// A cut, and those a cell earlier and a cell later in the order.
fn beside(cells: &[Weighted], order: [usize; 3], side: Side) -> impl Iterator<Item = Side> {
    let place = |weighted: &Weighted| order.map(|dim| weighted.cell[dim]);
    let at = cells.iter().find(|weighted| place(weighted) == side.first);
    let before = cells.iter().filter(|weighted| place(weighted) < side.first).max_by_key(|it| place(it));
    let after = cells.iter().filter(|weighted| place(weighted) > side.first).min_by_key(|it| place(it));
    let earlier =
        before.map(|it| Side { first: place(it), count: side.count - 1, work: side.work - it.work, ..side });
    let later = at.zip(after).map(|(at, it)| Side {
        first: place(it),
        count: side.count + 1,
        work: side.work + at.work,
        ..side
    });
    [earlier, Some(side), later].into_iter().flatten()
}

/// The cells below a cut.
#[derive(Debug, Clone, Copy)]
struct Side {
    /// The first one above it, in the order's coordinates.
    first: Cell,
    count: usize,
    work: f64,
    /// Work in a layer of cells along the cut: the mean of those on its two sides.
    layer: f64,
}

/// Where the cells in this order are to be cut so that the work of the two sides is as their ranks.
fn cut_in_order(cells: &[Weighted], order: [usize; 3], total: f64, ranks: usize) -> Side {
    let target = total * lower_half(ranks) as f64 / ranks as f64;
    let mut side = Side { first: [0; 3], count: 0, work: 0.0, layer: 0.0 };
    // Whole layers, then rows of the layer in which the target lies, then cells of the row: `within` are those still in question.
    let mut within: Vec<&Weighted> = cells.iter().collect();
    for (depth, &dim) in order.iter().enumerate() {
        let at = |weighted: &&Weighted| weighted.cell[dim];
        let low = within.iter().map(at).min().unwrap_or(0);
        let layers = within.iter().map(at).max().unwrap_or(0) - low + 1;
        let mut sums = vec![(0, 0.0); layers as usize];
        for weighted in &within {
            let (count, work) = &mut sums[(weighted.cell[dim] - low) as usize];
            (*count, *work) = (*count + 1, *work + weighted.work);
        }
        let is_last_depth = depth + 1 == order.len();
        let mut layer = 0;
        while layer + 1 < sums.len() {
            let (count, work) = sums[layer];
            // Of the last cell that half which lies nearer.
            let counted = if is_last_depth { 0.5 * work } else { work };
            if side.work + counted > target {
                break;
            }
            (side.count, side.work) = (side.count + count, side.work + work);
            layer += 1;
        }
        side.first[depth] = low + layer as i32;
        if depth == 0 {
            side.layer = 0.5 * (sums[layer.saturating_sub(1)].1 + sums[layer].1);
        }
        within.retain(|weighted| weighted.cell[dim] == side.first[depth]);
    }
    let fewest = lower_half(ranks);
    let most = cells.len() - (ranks - lower_half(ranks));
    if (fewest..=most).contains(&side.count) {
        side
    } else {
        Side { layer: side.layer, ..nth(cells, order, side.count.clamp(fewest, most)) }
    }
}

/// The first so many cells in an order.
fn nth(cells: &[Weighted], order: [usize; 3], count: usize) -> Side {
    let mut in_order: Vec<(Cell, f64)> =
        cells.iter().map(|weighted| (order.map(|dim| weighted.cell[dim]), weighted.work)).collect();
    let (below, &mut (first, _), _) = in_order.select_nth_unstable_by_key(count, |&(cell, _)| cell);
    Side { first, count, work: below.iter().map(|&(_, work)| work).sum(), layer: 0.0 }
}

/// Those that fulfil a condition come first.
fn partition_in_place(cells: &mut [Weighted], mut is_first: impl FnMut(&Weighted) -> bool) {
    let mut next = 0;
    for index in 0..cells.len() {
        if is_first(&cells[index]) {
            cells.swap(index, next);
            next += 1;
        }
    }
}
