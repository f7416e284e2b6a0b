//! Numbers of pairs by distance, from the lists that are used to compute forces.
//!
//! ```text
//! for each batch of particles i
//!   measure     squared distances of all entries, in f64; pack those that count, in f32
//!   classify    root and class in f32, and doubt: whether that may be the wrong class
//!   count       one addition per pair
//!   doubtful    some in ten thousand: once more in f64
//! ```
//!
//! Less than a third of an entry's lanes count. Packing them costs less than the roots and
//! additions for the others would. Advantage: nothing is searched or sorted, and no step has a
//! branch per pair. Disadvantage: works only up to the cutoff.

mod clusters;

use std::ops::Range;

use pulp::{Simd, WithSimd};

use self::clusters::Clusters;
use super::ClusterWork;
use super::entry::Word;
use super::shape::ClusterShape;
use super::words::IClusterList;
use crate::aligned::LINE;
use crate::analysis::{DistanceBins, PairCounts};
use crate::force::System;
use crate::force::shares::Share;
use crate::particles::Particles;
use crate::simd::{less_in, pack};

/// Counters per class, used in turn so that additions do not depend on each other. They are
/// adjacent and have 32 bits. A histogram that fits into a few kilobytes and has a single base
/// address takes half the time of four histograms of 64 bits. Two counters take eight bytes, a
/// factor that x86 addressing can apply to an index.
const TURNS: usize = 2;
/// Upper limit of the relative error of a class number: three roundings to 24 bits.
const ROUNDING: f32 = 4e-7;
/// Number whose addition leaves an integer in the low bits of an f32, for numbers up to 2^22.
const TO_INTEGER: f32 = 1.5 * (1 << 23) as f32;
/// Largest number of classes for which [`ROUNDING`] leaves few doubtful.
const MOST_BINS: usize = 100_000;
/// Approximate number of pairs that are classified and counted together: few enough to fit in the
/// first-level cache, and many enough that the mispredicted ends of loops do not matter.
const BATCH: usize = 1024;

impl ClusterWork {
    /// Counts the pairs of this rank by species and distance, for lists that use Newton's third
    /// law. Returns `None` beyond the cutoff and for clusters wider than the padding of columns.
    /// The result is `None` on all ranks or on none, because the other ranks would otherwise wait
    /// for a search.
    pub(in crate::force) fn count_distances(
        &self,
        system: System,
        particles: &Particles,
        species: usize,
        bins: DistanceBins,
    ) -> Option<PairCounts> {
        let works = self.shares.iter().flat_map(Share::works);
        let shape = works.map(|work| work.local.shape).max_by_key(|shape| shape.width)?;
        if bins.max > system.potential.cutoff() || bins.bins > MOST_BINS || shape.width > LINE {
            return None;
        }
        let count =
            |share| system.simd.dispatch(OneShare { work: self, share, shape, particles, species, bins });
        Some(system.threads.divide((), |(), _, _| ((), ()), |(), share| count(share), PairCounts::plus))
    }
}

/// The pairs of one thread.
struct OneShare<'a> {
    work: &'a ClusterWork,
    share: usize,
    shape: ClusterShape,
    particles: &'a Particles,
    species: usize,
    bins: DistanceBins,
}

impl WithSimd for OneShare<'_> {
    type Output = PairCounts;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> PairCounts {
        match (self.shape.width, self.shape.lanes()) {
            (1, _) => self.count::<S, 1, 1>(simd),
            (2, _) => self.count::<S, 2, 2>(simd),
            (4, 4) => self.count::<S, 4, 4>(simd),
            (4, _) => self.count::<S, 4, LINE>(simd),
            _ => self.count::<S, LINE, LINE>(simd),
        }
    }
}

impl OneShare<'_> {
    /// Counts the pairs of clusters of `WIDTH` particles. `LANES` pairs, of one or two particles i,
    /// are measured together.
    #[inline(always)]
    fn count<S: Simd, const WIDTH: usize, const LANES: usize>(self, simd: S) -> PairCounts {
        let mut tally = Tally::<S, LANES>::new(simd, self.species, self.bins);
        for work in self.work.shares.get(self.share).into_iter().flat_map(Share::works) {
            let all = 0..self.particles.species.padded().len();
            let home = work.home.start.min(all.end)..work.home.end.min(all.end);
            for (lists, range) in [(&work.local, home), (&work.cross, all)] {
                let columns = Clusters::<WIDTH>::new(self.particles, range, lists.stream.lanes());
                for view in lists.views() {
                    for i_cluster in view.i_clusters {
                        tally.i_cluster(&columns, i_cluster, lists.shape.i_particles);
                    }
                }
                tally.count_batch(&columns);
            }
        }
        tally.finish()
    }
}

/// Conversion of squared distances to classes.
#[derive(Clone, Copy)]
struct Scale {
    per_length: f32,
    /// Largest distance from the middle of a class that is not doubtful, in classes.
    surest: f32,
    /// Squared distances from here on are ignored: half a class beyond the last.
    beyond: f32,
    /// Class for pairs that will be counted again; it is the last one of a histogram.
    doubtful: u32,
}

impl Scale {
    fn new(bins: DistanceBins) -> Self {
        let length = (bins.bins + 2).next_power_of_two();
        Self {
            per_length: bins.width().recip() as f32,
            surest: 0.5 - ROUNDING * (bins.bins + 1) as f32,
            beyond: ((bins.bins as f64 + 0.5) * bins.width()).powi(2) as f32,
            doubtful: length as u32 - 1,
        }
    }

    /// Computes the classes of `squares`, in the low bits below a power of two. Returns whether
    /// none is doubtful. One loop over all squares, because the compiler uses whole vectors for it,
    /// but not for a loop over the lanes of an entry.
    #[inline(always)]
    fn classify(self, squares: &[f32], classes: &mut [u32]) -> bool {
        // The bits of positive floats have the same order as the floats. The compiler uses one
        // vector instruction for a maximum of integers, but several for a maximum of floats or a
        // conjunction of comparisons.
        let mut farthest = 0;
        for (square, class) in squares.iter().zip(classes) {
            let root = square.sqrt() * self.per_length - 0.5;
            let shifted = root + TO_INTEGER;
            let from_middle = (root - (shifted - TO_INTEGER)).abs();
            *class = if from_middle <= self.surest { shifted.to_bits() } else { self.doubtful };
            farthest = farthest.max(from_middle.to_bits());
        }
        farthest <= self.surest.to_bits()
    }

    fn is_doubtful(self, class: u32) -> bool {
        class & self.doubtful == self.doubtful
    }

    /// Returns the number of elements in the histogram of a pair of species.
    #[inline(always)]
    fn length(self) -> usize {
        self.doubtful as usize + 1
    }
}

/// Adds to a histogram whose length is a power of two.
#[inline(always)]
fn count(histogram: &mut [[u32; TURNS]], classes: &[u32]) {
    let Some(last) = histogram.len().checked_sub(1) else { return };
    let (whole, rest) = classes.as_chunks::<TURNS>();
    for classes in whole {
        for turn in 0..TURNS {
            histogram[classes[turn] as usize & last][turn] += 1;
        }
    }
    for (turn, &class) in rest.iter().enumerate() {
        histogram[class as usize & last][turn] += 1;
    }
}

/// One or two particles i, and the range of their pairs in a batch.
struct Segment<'a> {
    i: usize,
    entries: &'a [Word],
    first_lane: usize,
    pairs: Range<usize>,
}

/// The counts so far and the current batch.
struct Tally<'a, S, const LANES: usize> {
    simd: S,
    bins: DistanceBins,
    species: usize,
    scale: Scale,
    segments: Vec<Segment<'a>>,
    squares: Vec<f32>,
    /// Start of the histogram of each pair's species, used if there are several.
    starts: Vec<u32>,
    classes: Vec<u32>,
    /// Number of elements in use.
    pairs: usize,
    /// Histograms by pair of species, each including the doubtful class; the total length is a
    /// power of two.
    histogram: Vec<[u32; TURNS]>,
    /// Number of additions to the histogram.
    added: usize,
    found: PairCounts,
}

impl<'a, S: Simd, const LANES: usize> Tally<'a, S, LANES> {
    fn new(simd: S, species: usize, bins: DistanceBins) -> Self {
        let scale = Scale::new(bins);
        let places = (scale.length() * PairCounts::pairs(species).count()).next_power_of_two();
        Self {
            simd,
            bins,
            species,
            scale,
            segments: Vec::new(),
            squares: Vec::new(),
            starts: Vec::new(),
            classes: Vec::new(),
            pairs: 0,
            histogram: vec![[0; TURNS]; places],
            added: 0,
            found: PairCounts::none(species, bins.bins),
        }
    }

    #[inline(always)]
    fn i_cluster<const WIDTH: usize>(
        &mut self,
        clusters: &Clusters<WIDTH>,
        IClusterList { particle, entries, .. }: IClusterList<'a>,
        i_particles: usize,
    ) {
        for number in (0..i_particles).step_by(LANES / WIDTH) {
            let (i, first_lane, start) = (particle + number, number * WIDTH, self.pairs);
            if entries.is_empty() || i >= clusters.particles() {
                continue;
            }
            let most = start + entries.len() * LANES;
            if self.squares.len() < most {
                self.squares.resize(most, 0.0);
                self.starts.resize(most, 0);
                self.classes.resize(most, 0);
            }
            // Two separate loops, because there are not enough registers for both in one.
            self.pairs = if self.species > 1 {
                self.measure::<WIDTH, true>(clusters, i, entries, first_lane)
            } else {
                self.measure::<WIDTH, false>(clusters, i, entries, first_lane)
            };
            self.segments.push(Segment { i, entries, first_lane, pairs: start..self.pairs });
            if self.pairs >= BATCH {
                self.count_batch(clusters);
            }
        }
    }

    /// Adds the pairs of one or two particles i that count to the batch, and returns the new end.
    #[inline(always)]
    fn measure<const WIDTH: usize, const SEVERAL_SPECIES: bool>(
        &mut self,
        clusters: &Clusters<WIDTH>,
        i: usize,
        entries: &[Word],
        first_lane: usize,
    ) -> usize {
        let (simd, centres) = (self.simd, clusters.centres::<LANES>(i));
        let (clusters, beyond) = (clusters.of_equal_lengths(), self.scale.beyond);
        let (squares, starts, mut end) = (&mut *self.squares, &mut *self.starts, self.pairs);
        for entry in entries {
            let exact = clusters.squares(&centres, entry.cluster());
            let mut near = [0.0; LANES];
            for lane in 0..LANES {
                near[lane] = exact[lane] as f32;
            }
            let counting = less_in(simd, near, beyond, clusters.lanes_from(*entry, first_lane));
            pack(simd, near, counting, &mut squares[end..]);
            if SEVERAL_SPECIES {
                let species = clusters.species(&centres, entry.cluster());
                let mut first = [0; LANES];
                for lane in 0..LANES {
                    // Beyond the last particle, the number may be arbitrary.
                    let [kind, other] = [0, 1].map(|side: usize| species[lane][side].min(self.species - 1));
                    first[lane] =
                        (PairCounts::number(self.species, kind, other) * self.scale.length()) as u32;
                }
                pack(simd, first, counting, &mut starts[end..]);
            }
            end += counting.count_ones() as usize;
        }
        end
    }

    /// Counts the pairs of the batch and begins the next.
    #[inline(always)]
    fn count_batch<const WIDTH: usize>(&mut self, clusters: &Clusters<WIDTH>) {
        let classes = &mut self.classes[..self.pairs];
        let all_are_sure = self.scale.classify(&self.squares[..self.pairs], classes);
        if self.species > 1 {
            for (class, start) in classes.iter_mut().zip(&self.starts) {
                *class = (*class & self.scale.doubtful) + start;
            }
        }
        if self.added + self.pairs > u32::MAX as usize {
            self.collect();
        }
        count(&mut self.histogram, &self.classes[..self.pairs]);
        self.added += self.pairs;
        if !all_are_sure {
            self.count_doubtful(clusters);
        }
        self.segments.clear();
        self.pairs = 0;
    }

    /// Counts the doubtful pairs by their exact squared distances.
    #[cold]
    fn count_doubtful<const WIDTH: usize>(&mut self, clusters: &Clusters<WIDTH>) {
        let (scale, mut exact) = (self.scale, Vec::new());
        for Segment { i, entries, first_lane, pairs } in &self.segments {
            let classes = &self.classes[pairs.clone()];
            // Not `any`, which would test one class after the other and stop at the first match.
            if !classes.iter().fold(false, |any, &class| any | scale.is_doubtful(class)) {
                continue;
            }
            exact.resize(entries.len() * LANES, 0.0);
            let (centres, mut packed) = (clusters.centres::<LANES>(*i), 0);
            for entry in *entries {
                let bits = clusters.lanes_from(*entry, *first_lane);
                for (lane, square) in clusters.squares(&centres, entry.cluster()).into_iter().enumerate() {
                    // The same pairs as in the measurement, in the same order, because their
                    // squares have the same bits.
                    exact[packed] = square;
                    packed += usize::from((square as f32) < scale.beyond) & bits >> lane;
                }
            }
            for (&class, &square) in classes.iter().zip(&exact) {
                if scale.is_doubtful(class)
                    && let Some(bin) = self.bins.class(square)
                {
                    let pair = class as usize / scale.length();
                    self.found.counts[pair * self.bins.bins + bin] += 1;
                }
            }
        }
    }

    /// Adds the histogram to the counts and clears it.
    #[cold]
    fn collect(&mut self) {
        let histograms = self.histogram.chunks_exact(self.scale.length());
        for (counts, histogram) in self.found.counts.chunks_exact_mut(self.bins.bins).zip(histograms) {
            for (count, turns) in counts.iter_mut().zip(histogram) {
                *count += turns.iter().copied().map(u64::from).sum::<u64>();
            }
        }
        self.histogram.fill([0; TURNS]);
        self.added = 0;
    }

    fn finish(mut self) -> PairCounts {
        self.collect();
        self.found
    }
}
