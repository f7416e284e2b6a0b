//! Positions of the cuts of [`super::Rcb`].

use super::{Cut, ORDERS, lower_half};
use crate::grid::Cell;

/// Cost of the work in the layer along a cut, relative to excess work on the heavier side.
/// Particles in that layer become ghosts, and a cut next to dense regions stays balanced while
/// these move along it.
const EXCESS_FOR_THE_LAYER: f64 = 0.2;

/// Up to this number of ranks, all cuts are tried in combination with all cuts of their sides,
/// because a single cell is a large fraction of a part's work.
const ALL_CUTS: usize = 4;

/// Numbers of ranks, each with a number of cuts. Up to this number of ranks, this number of the
/// best cuts is tried in combination with the cuts that can follow, until the parts are even
/// enough.
const SOME_CUTS: [(usize, usize); 2] = [(8, 6), (16, 3)];

/// Up to this number of ranks, more than one cut is tried.
const LOOK_AHEAD: usize = SOME_CUTS[SOME_CUTS.len() - 1].0;

/// Like [`EXCESS_FOR_THE_LAYER`], in units of the mean part, where several cuts are tried. The
/// smaller value is used if the parts are not even enough with the larger one.
const EXCESS_AT_THE_LAST_CUTS: [f64; 2] = [0.02, 0.005];

/// Ratio of the heaviest part to the mean at which the search ends.
const EVEN_ENOUGH: f64 = 1.03;

/// A cell and its work.
#[derive(Debug, Clone, Copy)]
pub(super) struct Weighted {
    pub cell: Cell,
    pub work: f64,
}

/// Cuts and their quality.
struct Tree {
    /// Ratio of the heaviest part's work to the mean.
    heaviest: f64,
    /// `heaviest` plus the cost of the layers that are cut.
    cost: f64,
    cuts: Vec<Cut>,
}

/// Parameters of the search for a tree.
#[derive(Debug, Clone, Copy)]
struct Search {
    /// Work of the mean part of the whole box.
    mean: f64,
    /// Cost of the layers that are cut: one of [`EXCESS_AT_THE_LAST_CUTS`].
    for_the_layer: f64,
    /// Ratio of the heaviest part to the mean at which the search ends.
    even_enough: f64,
}

/// The tree under construction.
pub(super) struct Bisection<'a> {
    like: Option<&'a [Cut]>,
    pub cuts: Vec<Cut>,
    /// Work of the mean part.
    mean: f64,
    /// As in [`Search`]. It is raised to the heaviest cell, which cannot be divided, and to the
    /// heaviest part so far, because no part has to be lighter than that.
    even_enough: f64,
}

impl<'a> Bisection<'a> {
    /// Prepares a bisection into `ranks` parts, using the orders of the cuts in `like` if given.
    pub(super) fn new(cells: &[Weighted], ranks: usize, like: Option<&'a [Cut]>) -> Self {
        let mean = work_of(cells) / ranks as f64;
        let heaviest_cell = cells.iter().map(|weighted| weighted.work).fold(0.0, f64::max);
        let even_enough = EVEN_ENOUGH.max(heaviest_cell / mean);
        Self { like, cuts: Vec::with_capacity(ranks - 1), mean, even_enough }
    }

    pub(super) fn bisect(&mut self, cells: &mut [Weighted], ranks: usize) {
        if ranks == 1 {
            return;
        }
        let like = self.like.map(|cuts| cuts[self.cuts.len()].order);
        if like.is_none() && ranks <= LOOK_AHEAD {
            return self.look_ahead(cells, ranks);
        }
        let (cut, below) = best_cut(cells, ranks, like);
        self.cuts.push(cut);
        partition_in_place(cells, |weighted| cut.is_before(weighted.cell));
        let (lower, upper) = cells.split_at_mut(below);
        self.bisect(lower, lower_half(ranks));
        self.bisect(upper, ranks - lower_half(ranks));
    }

    fn look_ahead(&mut self, cells: &mut [Weighted], ranks: usize) {
        let &mut Self { mean, even_enough, .. } = self;
        let mut best = Tree { heaviest: f64::INFINITY, cost: f64::INFINITY, cuts: Vec::new() };
        for for_the_layer in EXCESS_AT_THE_LAST_CUTS {
            let search = Search { mean, for_the_layer, even_enough };
            let found = search.best_tree(cells, ranks, f64::INFINITY);
            best = found.filter(|tree| tree.heaviest < best.heaviest).unwrap_or(best);
            if best.heaviest <= even_enough {
                break;
            }
        }
        self.even_enough = even_enough.max(best.heaviest);
        self.cuts.extend(best.cuts);
    }
}

/// Returns the best balanced cut among those in all orders (or in one), unless another one cuts a
/// much lighter layer. Also returns the number of cells below the cut.
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

/// A possible cut.
struct Candidate {
    cut: Cut,
    /// Number of cells below the cut.
    count: usize,
    /// Ratio of the mean part on the heavier side to the mean part of the box, a lower limit for
    /// all cuts that follow.
    heaviest: f64,
    /// Cost of the layer along the cut.
    along: f64,
}

impl Candidate {
    fn least_cost(&self) -> f64 {
        self.heaviest + self.along
    }
}

impl Search {
    /// Returns the cuts that leave the heaviest part lightest, among those that are tried together
    /// with all that can follow. Returns `None` if all cost at least `limit`.
    fn best_tree(self, cells: &mut [Weighted], ranks: usize, limit: f64) -> Option<Tree> {
        if ranks == 1 {
            let heaviest = work_of(cells) / self.mean;
            return (heaviest < limit).then(|| Tree { heaviest, cost: heaviest, cuts: Vec::new() });
        }
        let tried = SOME_CUTS.iter().find(|(most, _)| ranks <= *most).map_or(1, |&(_, tried)| tried);
        let tried = if ranks <= ALL_CUTS { usize::MAX } else { tried };
        let mut best: Option<Tree> = None;
        for candidate in self.candidates(cells, ranks).into_iter().take(tried) {
            let least = best.as_ref().map_or(limit, |tree| tree.cost);
            if candidate.least_cost() >= least {
                break;
            }
            best = self.followed(&candidate, cells, ranks, least).or(best);
            let is_enough = best.as_ref().is_some_and(|tree| tree.heaviest <= self.even_enough);
            if ranks > ALL_CUTS && is_enough {
                break;
            }
        }
        best
    }

    /// Returns a tree with the given first cut and the best cuts that can follow.
    fn followed(self, first: &Candidate, cells: &mut [Weighted], ranks: usize, limit: f64) -> Option<Tree> {
        let &Candidate { cut, count, heaviest, along } = first;
        // For two ranks the work of the sides is known, so their cells need not be separated.
        if ranks == 2 {
            return Some(Tree { heaviest, cost: first.least_cost(), cuts: vec![cut] });
        }
        partition_in_place(cells, |weighted| cut.is_before(weighted.cell));
        let (lower, upper) = cells.split_at_mut(count);
        let lower = self.best_tree(lower, lower_half(ranks), limit - along)?;
        let upper = self.best_tree(upper, ranks - lower_half(ranks), limit - along)?;
        Some(Tree {
            heaviest: lower.heaviest.max(upper.heaviest),
            cost: lower.cost.max(upper.cost) + along,
            cuts: [vec![cut], lower.cuts, upper.cuts].concat(),
        })
    }

    /// Returns the cuts nearest to the target in all orders, and those one cell earlier and later,
    /// the most promising first.
    fn candidates(self, cells: &[Weighted], ranks: usize) -> Vec<Candidate> {
        let total = work_of(cells);
        let (lower, upper) = (lower_half(ranks), ranks - lower_half(ranks));
        let possible = lower..=cells.len() - upper;
        let mut candidates = Vec::with_capacity(3 * ORDERS.len());
        for order in ORDERS {
            let nearest = cut_in_order(cells, order, total, ranks);
            let along = self.for_the_layer * nearest.layer / self.mean;
            let sides = beside(cells, order, nearest).filter(|side| possible.contains(&side.count));
            candidates.extend(sides.map(|Side { first, count, work, .. }| Candidate {
                cut: Cut { order, first },
                count,
                heaviest: (work / lower as f64).max((total - work) / upper as f64) / self.mean,
                along,
            }));
        }
        candidates.sort_by(|a, b| a.least_cost().total_cmp(&b.least_cost()));
        candidates
    }
}

fn work_of(cells: &[Weighted]) -> f64 {
    cells.iter().map(|weighted| weighted.work).sum()
}

/// Returns a cut and those one cell earlier and later in the order.
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
    /// First cell above the cut, in the coordinates of the order.
    first: Cell,
    count: usize,
    work: f64,
    /// Work in a layer of cells along the cut: the mean of the layers on both sides.
    layer: f64,
}

/// Returns the cut through the cells in this order for which the work of the two sides is
/// proportional to their numbers of ranks.
fn cut_in_order(cells: &[Weighted], order: [usize; 3], total: f64, ranks: usize) -> Side {
    let target = total * lower_half(ranks) as f64 / ranks as f64;
    let mut side = Side { first: [0; 3], count: 0, work: 0.0, layer: 0.0 };
    // First whole layers, then rows of the layer that contains the target, then cells of the row.
    // `within` holds the cells that are still to be divided.
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
            // The last cell belongs to the side that contains most of it.
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

/// Returns the side with the first `count` cells in an order.
fn nth(cells: &[Weighted], order: [usize; 3], count: usize) -> Side {
    let mut in_order: Vec<(Cell, f64)> =
        cells.iter().map(|weighted| (order.map(|dim| weighted.cell[dim]), weighted.work)).collect();
    let (below, &mut (first, _), _) = in_order.select_nth_unstable_by_key(count, |&(cell, _)| cell);
    Side { first, count, work: below.iter().map(|&(_, work)| work).sum(), layer: 0.0 }
}

/// Moves the cells that fulfil a condition to the front.
fn partition_in_place(cells: &mut [Weighted], mut is_first: impl FnMut(&Weighted) -> bool) {
    let mut next = 0;
    for index in 0..cells.len() {
        if is_first(&cells[index]) {
            cells.swap(index, next);
            next += 1;
        }
    }
}
