//! Where the cuts of [`super::Rcb`] lie.

use super::{Cut, ORDERS, lower_half};
use crate::grid::Cell;

/// Work that the heavier side may have too much to save as much in the layer that is cut: particles there become ghosts, and a cut
/// beside dense parts stays good while they travel along it.
const EXCESS_FOR_THE_LAYER: f64 = 0.2;

/// For so many ranks all cuts are tried with all cuts of their sides: there a cell more or less is a good part of a part's work.
const ALL_CUTS: usize = 4;

/// For up to so many ranks, so many of the best cuts are tried with those that can follow, until one leaves parts that are even enough.
const SOME_CUTS: [(usize, usize); 2] = [(8, 6), (16, 3)];

/// For so many ranks more than one cut is tried.
const LOOK_AHEAD: usize = SOME_CUTS[SOME_CUTS.len() - 1].0;

/// As [`EXCESS_FOR_THE_LAYER`], of the mean part, where several cuts are tried; the smaller where the parts are not even enough with the larger.
const EXCESS_AT_THE_LAST_CUTS: [f64; 2] = [0.02, 0.005];

/// The heaviest part over the mean that is even enough for one not to look further.
const EVEN_ENOUGH: f64 = 1.03;

/// A cell and its work.
#[derive(Debug, Clone, Copy)]
pub(super) struct Weighted {
    pub cell: Cell,
    pub work: f64,
}

/// Cuts, and what they come to.
struct Tree {
    /// The work of the heaviest part over the mean.
    heaviest: f64,
    /// The same, and a little for the layers that are cut.
    cost: f64,
    cuts: Vec<Cut>,
}

/// What a tree is looked for with.
#[derive(Debug, Clone, Copy)]
struct Search {
    /// Work of the mean part of the whole box.
    mean: f64,
    /// What the layers that are cut cost: one of [`EXCESS_AT_THE_LAST_CUTS`].
    for_the_layer: f64,
    /// Nothing better is looked for than a heaviest part of so much over the mean.
    even_enough: f64,
}

/// The tree in the making.
pub(super) struct Bisection<'a> {
    like: Option<&'a [Cut]>,
    pub cuts: Vec<Cut>,
    /// Work of the mean part.
    mean: f64,
    /// As in [`Search`]: a cell is not divided, and no part has to be lighter than another that could not be made so.
    even_enough: f64,
}

impl<'a> Bisection<'a> {
    /// To cut so many parts: with the orders of other cuts, where given.
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

/// A cut that may be made.
struct Candidate {
    cut: Cut,
    /// Cells below it.
    count: usize,
    /// The mean part of the heavier side over that of the box: no cuts that follow can do better.
    heaviest: f64,
    /// What the layer that is cut costs.
    along: f64,
}

impl Candidate {
    fn least_cost(&self) -> f64 {
        self.heaviest + self.along
    }
}

impl Search {
    /// Of the cuts that are tried, and of all that can follow, those that leave the heaviest part lightest; nothing where all cost `limit` or more.
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

    /// A cut, and the best that can follow.
    fn followed(self, first: &Candidate, cells: &mut [Weighted], ranks: usize, limit: f64) -> Option<Tree> {
        let &Candidate { cut, count, heaviest, along } = first;
        // Of two ranks the work of the sides is known: their cells need not be parted.
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

    /// The cuts nearest to the target in all orders, a cell earlier and later too, the most promising first.
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
