//! Pairs by distance, from the lists that forces are computed with.
//!
//! ```text
//! for each batch of particles i
//!   measure     squared distances of all entries, in f64, kept as f32; lanes whose pairs do not count are far away
//!   classify    root and class in f32, and doubt: whether that may be the wrong class
//!   count       one addition per lane, without a branch: lanes beyond the last class have classes that nobody asks for
//!   doubtful    some in ten thousand: once more in f64
//! ```
//!
//! Advantage: nothing is searched or sorted, and an addition costs less than finding out whether it is needed. Disadvantage: up to the cutoff
//! only.

use std::ops::Range;

use super::ClusterWork;
use super::words::{Entry, IClusterList};
use crate::aligned::{Column, LINE};
use crate::analysis::{DistanceBins, PairCounts};
use crate::force::System;
use crate::force::shares::Share;
use crate::particles::Particles;

/// Counters of a class in turn, so that no addition waits for the one before it. They stand beside each other, and have 32 bits: a histogram
/// that fits into a few kilobytes, and has one address to count from, takes half the time of four of 64 bits. Two take eight bytes, a factor that x86
/// multiplies an index with while it counts.
const TURNS: usize = 2;
/// Error of a class as a share of its number, with room: three roundings to 24 bits.
const ROUNDING: f32 = 4e-7;
/// Adding it leaves an integer in the low bits of an f32, of numbers up to 2^22.
const TO_INTEGER: f32 = 1.5 * (1 << 23) as f32;
/// The most classes for which [`ROUNDING`] leaves few doubtful.
const MOST_BINS: usize = 100_000;
/// Pairs that are classified and counted together, about: few enough to stay in the nearest cache, and many enough that the ends of loops, which no
/// CPU foresees, do not matter.
const BATCH: usize = 1024;

impl ClusterWork {
    /// Counts the pairs of this rank by species and distance, of lists with Newton's third law; `None` beyond the cutoff, and for clusters that are
    /// wider than what columns are padded to: the same on all ranks, because the others wait for a search.
    pub(in crate::force) fn count_distances(
        &self,
        system: System,
        particles: &Particles,
        species: usize,
        bins: DistanceBins,
    ) -> Option<PairCounts> {
        let width = self.shares.iter().flat_map(Share::works).map(|work| work.local.shape.width).max()?;
        if bins.max > system.potential.cutoff() || bins.bins > MOST_BINS || width > LINE {
            return None;
        }
        let count = |share: usize| {
            system.simd.vectorise(
                #[inline(always)]
                || self.tally_of_width(width, share, particles, Tally::new(species, bins)),
            )
        };
        Some(system.threads.divide((), |(), _, _| ((), ()), |(), share| count(share), PairCounts::plus))
    }

    #[inline(always)]
    fn tally_of_width(&self, width: usize, share: usize, particles: &Particles, tally: Tally) -> PairCounts {
        match width {
            1 => self.tally::<1>(share, particles, tally),
            2 => self.tally::<2>(share, particles, tally),
            4 => self.tally::<4>(share, particles, tally),
            _ => self.tally::<LINE>(share, particles, tally),
        }
    }

    /// The pairs of a thread.
    #[inline(always)]
    fn tally<'a, const WIDTH: usize>(
        &'a self,
        share: usize,
        particles: &Particles,
        mut tally: Tally<'a>,
    ) -> PairCounts {
        for work in self.shares.get(share).into_iter().flat_map(Share::works) {
            let all = 0..particles.species.padded().len();
            let home = work.home.start.min(all.end)..work.home.end.min(all.end);
            for (lists, range) in [(&work.local, home), (&work.cross, all)] {
                let columns = Clusters::<WIDTH>::new(particles, range);
                for view in lists.views() {
                    for i_cluster in view.i_clusters {
                        tally.i_cluster(&columns, i_cluster, lists.shape.pairs / WIDTH);
                    }
                }
                tally.count_batch(&columns);
            }
        }
        tally.finish()
    }
}

/// The particles, cluster by cluster.
struct Clusters<'a, const WIDTH: usize> {
    position: [&'a [[f64; WIDTH]]; 3],
    species: &'a [[u64; WIDTH]],
}

impl<'a, const WIDTH: usize> Clusters<'a, WIDTH> {
    fn new(particles: &'a Particles, range: Range<usize>) -> Self {
        let position = particles.position.each_ref().map(Column::padded);
        Self {
            position: position.map(|column| column[range.clone()].as_chunks().0),
            species: particles.species.padded()[range].as_chunks().0,
        }
    }

    #[inline(always)]
    fn position_of(&self, index: usize) -> [f64; 3] {
        let [x, y, z] = self.position;
        let (cluster, lane) = (index / WIDTH, index % WIDTH);
        [x[cluster][lane], y[cluster][lane], z[cluster][lane]]
    }

    #[inline(always)]
    fn species_of(&self, index: usize, species: usize) -> usize {
        (self.species[index / WIDTH][index % WIDTH] as usize).min(species - 1)
    }

    /// Squared distances of a point from the particles of a cluster. (A loop: closures would not be compiled for the instruction set.)
    #[inline(always)]
    fn squares(&self, [x, y, z]: [f64; 3], cluster: usize) -> [f64; WIDTH] {
        let [xs, ys, zs] = self.position;
        let (xs, ys, zs) = (&xs[cluster], &ys[cluster], &zs[cluster]);
        let mut squares = [0.0; WIDTH];
        for lane in 0..WIDTH {
            let (dx, dy, dz) = (x - xs[lane], y - ys[lane], z - zs[lane]);
            squares[lane] = dx * dx + dy * dy + dz * dz;
        }
        squares
    }

    /// Squared distances of a point from the particles of the entries' clusters; anything large for pairs that do not count.
    #[inline(always)]
    fn measure(&self, at: [f64; 3], entries: &[Entry], first_lane: usize, squares: &mut [f32]) {
        let [xs, ys, zs] = self.position;
        let number = xs.len().min(ys.len()).min(zs.len());
        let clusters = Self { position: [&xs[..number], &ys[..number], &zs[..number]], ..*self };
        for (entry, squares) in entries.iter().zip(squares.as_chunks_mut::<WIDTH>().0) {
            let exact = clusters.squares(at, entry.cluster());
            let least = &WITHOUT_BIT[entry.lanes_from(first_lane) & ((1 << WIDTH) - 1) & ((1 << LINE) - 1)];
            // Stored as a whole: what is stored lane by lane might be what the next lane reads, for all the compiler knows.
            let mut near = [0.0; WIDTH];
            for lane in 0..WIDTH {
                let square = exact[lane] as f32;
                near[lane] = if square > least[lane] { square } else { least[lane] };
            }
            *squares = near;
        }
    }
}

/// By the bits of lanes, what makes the squares of lanes without their bit larger than any.
static WITHOUT_BIT: [[f32; LINE]; 1 << LINE] = {
    let mut table = [[0.0; LINE]; 1 << LINE];
    let mut place = 0;
    while place < LINE << LINE {
        let (bits, lane) = (place / LINE, place % LINE);
        if bits >> lane & 1 == 0 {
            table[bits][lane] = f32::MAX;
        }
        place += 1;
    }
    table
};

/// From squared distances to classes.
#[derive(Clone, Copy)]
struct Scale {
    per_length: f32,
    /// Farthest from the middle of a class that is without doubt, in classes.
    surest: f32,
    /// Classes from here on are not asked for, right or wrong.
    beyond: f32,
    /// The largest square that gets a class, of pairs that count or not.
    largest: f32,
    /// Where those are counted that will be counted again; a histogram ends after it.
    doubtful: u32,
}

impl Scale {
    /// Classes of these squares, in the bits below a power of two, and whether all are without doubt. One loop over as many as there are: the compiler
    /// makes whole vectors of it, which it does not of one over the lanes of an entry.
    #[inline(always)]
    fn classify(self, squares: &[f32], classes: &mut [u32]) -> bool {
        // The bits of positive floats are ordered as the floats are. The compiler makes one vector instruction of a maximum of integers; of a
        // float's maximum, or of a conjunction of comparisons, it makes several.
        let mut farthest = 0;
        for (&square, class) in squares.iter().zip(classes) {
            let nearest = if square < self.largest { square } else { self.largest };
            let root = nearest.sqrt() * self.per_length - 0.5;
            let shifted = root + TO_INTEGER;
            let from_middle = (root - (shifted - TO_INTEGER)).abs();
            let from_middle = if root < self.beyond { from_middle } else { 0.0 };
            *class = if from_middle <= self.surest { shifted.to_bits() } else { self.doubtful };
            farthest = farthest.max(from_middle.to_bits());
        }
        farthest <= self.surest.to_bits()
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

/// From classes to places in the histograms of the pairs of species, each of that length.
#[inline(always)]
fn add_species<const WIDTH: usize>(
    clusters: &Clusters<WIDTH>,
    segment: &Segment,
    classes: &mut [u32],
    species: usize,
    scale: Scale,
) {
    let (kind, length) = (clusters.species_of(segment.i, species), scale.doubtful as usize + 1);
    for (entry, classes) in segment.entries.iter().zip(classes.as_chunks_mut::<WIDTH>().0) {
        for (class, &other) in classes.iter_mut().zip(&clusters.species[entry.cluster()]) {
            // Beyond the last particle there may be any number.
            let other = (other as usize).min(species - 1);
            *class = (*class & scale.doubtful) + (PairCounts::number(species, kind, other) * length) as u32;
        }
    }
}

/// A particle, and where its pairs are in a batch.
struct Segment<'a> {
    i: usize,
    entries: &'a [Entry],
    first_lane: usize,
    start: usize,
}

/// What has been counted so far, and a batch.
struct Tally<'a> {
    bins: DistanceBins,
    species: usize,
    scale: Scale,
    segments: Vec<Segment<'a>>,
    squares: Vec<f32>,
    classes: Vec<u32>,
    /// How many of them are in use.
    lanes: usize,
    /// By pair of species as many places as there are up to the doubtful; a power of two in all.
    histogram: Vec<[u32; TURNS]>,
    /// How many additions it has had.
    added: usize,
    found: PairCounts,
}

impl<'a> Tally<'a> {
    fn new(species: usize, bins: DistanceBins) -> Self {
        // Half as far again as the last class, to spread what does not count over many places.
        let classes = bins.bins + bins.bins / 2 + 2;
        let length = (classes + 2).next_power_of_two();
        let places = (length * PairCounts::pairs(species).count()).next_power_of_two();
        let scale = Scale {
            per_length: bins.width().recip() as f32,
            surest: 0.5 - ROUNDING * (bins.bins + 1) as f32,
            beyond: bins.bins as f32 + 0.5,
            largest: ((classes as f64 + 0.5) * bins.width()).powi(2) as f32,
            doubtful: length as u32 - 1,
        };
        let histogram = vec![[0; TURNS]; places];
        let found = PairCounts::none(species, bins.bins);
        let (segments, squares, classes) = (Vec::new(), Vec::new(), Vec::new());
        Self { bins, species, scale, segments, squares, classes, lanes: 0, histogram, added: 0, found }
    }

    #[inline(always)]
    fn i_cluster<const WIDTH: usize>(
        &mut self,
        clusters: &Clusters<WIDTH>,
        IClusterList { particle, entries, .. }: IClusterList<'a>,
        i_particles: usize,
    ) {
        for number in 0..i_particles {
            let (i, first_lane) = (particle + number, number * WIDTH);
            if entries.is_empty() || i / WIDTH >= clusters.species.len() {
                continue;
            }
            let (start, end) = (self.lanes, self.lanes + entries.len() * WIDTH);
            if self.squares.len() < end {
                self.squares.resize(end, 0.0);
                self.classes.resize(end, 0);
            }
            clusters.measure(clusters.position_of(i), entries, first_lane, &mut self.squares[start..end]);
            self.segments.push(Segment { i, entries, first_lane, start });
            self.lanes = end;
            if self.lanes >= BATCH {
                self.count_batch(clusters);
            }
        }
    }

    /// Counts the pairs of the batch; the next begins.
    #[inline(always)]
    fn count_batch<const WIDTH: usize>(&mut self, clusters: &Clusters<WIDTH>) {
        let classes = &mut self.classes[..self.lanes];
        let all_are_sure = self.scale.classify(&self.squares[..self.lanes], classes);
        if self.species > 1 {
            for segment in &self.segments {
                add_species(clusters, segment, &mut classes[segment.start..], self.species, self.scale);
            }
        }
        if self.added + self.lanes > u32::MAX as usize {
            self.collect();
        }
        count(&mut self.histogram, &self.classes[..self.lanes]);
        self.added += self.lanes;
        if !all_are_sure {
            self.count_doubtful(clusters);
        }
        self.segments.clear();
        self.lanes = 0;
    }

    /// Counts the doubtful ones by their exact squares.
    #[cold]
    fn count_doubtful<const WIDTH: usize>(&mut self, clusters: &Clusters<WIDTH>) {
        let doubtful = self.scale.doubtful;
        let is_doubtful = |class: u32| class & doubtful == doubtful;
        for &Segment { i, entries, first_lane, start } in &self.segments {
            let classes = &self.classes[start..start + entries.len() * WIDTH];
            // Not `any`, which would stop at the first and look at one after the other.
            if !classes.iter().fold(false, |any, &class| any | is_doubtful(class)) {
                continue;
            }
            let (at, kind) = (clusters.position_of(i), clusters.species_of(i, self.species));
            for (entry, classes) in entries.iter().zip(classes.as_chunks::<WIDTH>().0) {
                let squares = clusters.squares(at, entry.cluster());
                for (lane, square) in squares.into_iter().enumerate() {
                    let counts = is_doubtful(classes[lane]) && entry.lanes() >> (first_lane + lane) & 1 != 0;
                    if counts && let Some(class) = self.bins.class(square) {
                        let other = clusters.species[entry.cluster()][lane] as usize;
                        let pair = PairCounts::number(self.species, kind, other);
                        self.found.counts[pair * self.bins.bins + class] += 1;
                    }
                }
            }
        }
    }

    /// Takes what the histogram has, and clears it.
    #[cold]
    fn collect(&mut self) {
        let length = self.scale.doubtful as usize + 1;
        for (number, counts) in self.found.counts.chunks_exact_mut(self.bins.bins).enumerate() {
            for (count, turns) in counts.iter_mut().zip(&self.histogram[number * length..]) {
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
