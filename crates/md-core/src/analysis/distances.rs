//! Numbers of pairs by distance.
//!
//! The points are sorted into cells of the largest distance or half of it. For each point, a row of
//! neighbouring cells is one block of memory. A first loop computes squared distances, and a second
//! selects those below the largest distance, without a branch. When enough have been collected, a
//! third computes their square roots and adds them to the histogram. The first and the roots are
//! vectorised by the compiler. Advantage: works for any distance, also beyond the cutoff, and for
//! any particles. Disadvantage: neighbours that the force computation has already found are
//! searched for again.

use std::ops::Range;

use crate::analysis::sorted::{Around, Points, Raster, Run, Sorted};
use crate::simd::SimdLevel;
use crate::threads::Threads;

/// Distance classes of equal width, starting at 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DistanceBins {
    /// End of the last class, \[length\].
    pub max: f64,
    /// Number of classes.
    pub bins: usize,
}

impl DistanceBins {
    /// Returns the width of a class, \[length\].
    pub fn width(&self) -> f64 {
        self.max / self.bins as f64
    }

    /// Returns the class of a squared distance, or `None` beyond the last class.
    #[inline]
    pub(crate) fn class(&self, square: f64) -> Option<usize> {
        let class = (square.sqrt() * self.width().recip()) as usize;
        (square < self.max * self.max && class < self.bins).then_some(class)
    }
}

/// Numbers of pairs by species and distance. Each pair counts once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairCounts {
    species: usize,
    bins: usize,
    /// Counts of all classes for the first pair of species, then for the next, and so on.
    pub counts: Vec<u64>,
}

impl PairCounts {
    /// Creates counts of zero.
    pub fn none(species: usize, bins: usize) -> Self {
        Self { species, bins, counts: vec![0; species * (species + 1) / 2 * bins] }
    }

    /// Returns the pairs of species in their order, where the first of each is not after the
    /// second.
    pub fn pairs(species: usize) -> impl Iterator<Item = [usize; 2]> {
        (0..species).flat_map(move |first| (first..species).map(move |second| [first, second]))
    }

    /// Returns the indices of the classes of a pair of species.
    fn range(&self, a: usize, b: usize) -> Range<usize> {
        let start = Self::number(self.species, a, b) * self.bins;
        start..start + self.bins
    }

    /// Returns the number of a pair of species in [`Self::pairs`].
    #[inline]
    pub(crate) fn number(species: usize, a: usize, b: usize) -> usize {
        let (first, second) = (a.min(b), a.max(b));
        let before = first * species - first * first.saturating_sub(1) / 2;
        before + second - first
    }

    /// Returns the sum of both counts.
    #[must_use]
    pub fn plus(mut self, other: Self) -> Self {
        self.counts.iter_mut().zip(other.counts).for_each(|(sum, count)| *sum += count);
        self
    }

    /// Returns the numbers of pairs of two species by distance.
    pub fn of(&self, a: usize, b: usize) -> &[u64] {
        &self.counts[self.range(a, b)]
    }

    fn add(&mut self, a: usize, b: usize, found: &[u64]) {
        let range = self.range(a, b);
        self.counts[range].iter_mut().zip(found).for_each(|(sum, count)| *sum += count);
    }
}

/// Counts the pairs among points. The raster must have been made for these points.
pub fn count_within(
    points: &Points,
    raster: &Raster,
    bins: DistanceBins,
    simd: SimdLevel,
    threads: &Threads,
) -> PairCounts {
    let species = points.by_species.len();
    let sorted: Vec<Sorted> = points.by_species.iter().map(|columns| Sorted::new(raster, columns)).collect();
    let mut all = PairCounts::none(species, bins.bins);
    for [a, b] in PairCounts::pairs(species) {
        let around = if a == b { Around::After } else { Around::All };
        let search = Search { raster, points: &sorted[a], partners: &sorted[b], around, bins };
        all.add(a, b, &search.count(simd, threads));
    }
    all
}

/// Counts the pairs of one point in `points` and one in `others`, for example the points of two
/// ranks. The raster must have been made for `points`, and no point in `others` may be farther from
/// them than the largest distance.
pub fn count_across(
    points: &Points,
    others: &Points,
    raster: &Raster,
    bins: DistanceBins,
    simd: SimdLevel,
    threads: &Threads,
) -> PairCounts {
    let species = points.by_species.len();
    let sort = |points: &Points| -> Vec<Sorted> {
        points.by_species.iter().map(|columns| Sorted::new(raster, columns)).collect()
    };
    let (sorted, others) = (sort(points), sort(others));
    let mut all = PairCounts::none(species, bins.bins);
    for (a, points) in sorted.iter().enumerate() {
        for (b, partners) in others.iter().enumerate() {
            let search = Search { raster, points, partners, around: Around::All, bins };
            all.add(a, b, &search.count(simd, threads));
        }
    }
    all
}

struct Search<'a> {
    raster: &'a Raster,
    points: &'a Sorted,
    partners: &'a Sorted,
    around: Around,
    bins: DistanceBins,
}

impl Search<'_> {
    fn count(&self, simd: SimdLevel, threads: &Threads) -> Vec<u64> {
        if self.points.position[0].is_empty() || self.partners.position[0].is_empty() {
            return vec![0; self.bins.bins];
        }
        let (cells, parts) = (self.raster.cells(), threads.count());
        let part = |(), part: usize| {
            let cells = cells * part / parts..cells * (part + 1) / parts;
            simd.vectorise(
                #[inline(always)]
                || self.count_cells(cells),
            )
        };
        let add = |mut a: Vec<u64>, b: Vec<u64>| {
            a.iter_mut().zip(b).for_each(|(sum, count)| *sum += count);
            a
        };
        threads.divide((), |(), _, _| ((), ()), part, add)
    }

    #[inline(always)]
    fn count_cells(&self, cells: Range<usize>) -> Vec<u64> {
        let mut histogram = Histogram::new(self.bins);
        let mut runs: Vec<Run> = Vec::new();
        for cell in cells {
            let own = self.points.range(cell..cell + 1);
            if own.is_empty() {
                continue;
            }
            runs.clear();
            self.raster.around(cell, self.around, |run| runs.push(run));
            for (number, run) in runs.iter().enumerate() {
                let partners = self.partners.range(run.cells.clone());
                // In the run that starts with the cell itself, only later points count.
                let begins_within = self.around == Around::After && number == 0;
                for index in own.clone() {
                    let first = if begins_within { index + 1 } else { partners.start };
                    let at = [0, 1, 2].map(|dim: usize| self.points.position[dim][index] - run.shift[dim]);
                    histogram.add(
                        at,
                        self.partners.position.each_ref().map(|column| &column[first..partners.end]),
                    );
                }
            }
        }
        histogram.finish()
    }
}

/// Squared distances that are collected before their roots are computed, enough for long loops.
const WAITING: usize = 1024;
/// Partners processed in one loop.
const CHUNK: usize = 256;
/// Histograms that are used in turn, so that increments do not depend on each other.
const TURNS: usize = 4;

struct Histogram {
    bins: DistanceBins,
    /// Classes per unit of length.
    per_length: f64,
    /// Limit of the squared distances that are kept, \[length^2\].
    most: f64,
    waiting: Vec<f64>,
    count: usize,
    /// Histograms with one additional class for distances beyond the last.
    turns: [Vec<u64>; TURNS],
}

impl Histogram {
    fn new(bins: DistanceBins) -> Self {
        Self {
            bins,
            per_length: bins.width().recip(),
            most: bins.max * bins.max,
            waiting: vec![0.0; WAITING + CHUNK],
            count: 0,
            turns: [(); TURNS].map(|()| vec![0; bins.bins + 1]),
        }
    }

    #[inline(always)]
    fn add(&mut self, at: [f64; 3], [x, y, z]: [&[f64]; 3]) {
        let mut squared = [0.0; CHUNK];
        for ((x, y), z) in x.chunks(CHUNK).zip(y.chunks(CHUNK)).zip(z.chunks(CHUNK)) {
            let found = &mut squared[..x.len()];
            for (found, ((x, y), z)) in found.iter_mut().zip(x.iter().zip(y).zip(z)) {
                let [dx, dy, dz] = [at[0] - x, at[1] - y, at[2] - z];
                *found = dx * dx + dy * dy + dz * dz;
            }
            let mut count = self.count;
            let waiting = &mut self.waiting[..WAITING + CHUNK];
            for &distance2 in &*found {
                waiting[count.min(WAITING + CHUNK - 1)] = distance2;
                count += usize::from(distance2 < self.most);
            }
            self.count = count;
            if count >= WAITING {
                self.settle();
            }
        }
    }

    #[inline(always)]
    fn settle(&mut self) {
        let Self { waiting, count, per_length, turns, bins, .. } = self;
        let last = bins.bins;
        let mut classes = [0_u32; WAITING + CHUNK];
        for (class, distance2) in classes.iter_mut().zip(&waiting[..*count]) {
            *class = (distance2.sqrt() * *per_length) as i32 as u32;
        }
        for (turn, &class) in classes[..*count].iter().enumerate() {
            turns[turn % TURNS][(class as usize).min(last)] += 1;
        }
        *count = 0;
    }

    fn finish(mut self) -> Vec<u64> {
        self.settle();
        let class = |class: usize| self.turns.iter().map(|turn| turn[class]).sum();
        (0..self.bins.bins).map(class).collect()
    }
}

#[cfg(test)]
mod tests;
