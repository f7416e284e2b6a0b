//! `rdf.csv`: radial distribution functions of all pairs of species, as defined by LAMMPS's
//! `compute rdf`.

use md_comm::{CommError, World};
use md_core::analysis::{Batches, DistanceBins, PairCounts, neighbours, radial_distribution};
use md_core::{Domain, SimdLevel, Threads};
use md_engine::analysis::{DistanceCount, PairsByDistance};
use md_engine::{Needs, ObserverError, Snapshot};
use md_scenario::{AnalysisKeys, AnalysisKind};
use serde::Serialize;

use super::super::run_output::Opening;
use super::Analysis;

/// Largest number of values of the samples that are waiting to be summed over ranks, unless one
/// sample has more.
const MOST_WAITING: usize = 1 << 14;

/// Radial distribution functions over the samples so far.
pub(super) struct Rdf {
    bins: DistanceBins,
    simd: SimdLevel,
    threads: Threads,
    /// Samples with the pairs of this rank alone.
    waiting: Vec<PairsByDistance>,
    /// The box at each of these samples.
    domains: Vec<Domain>,
    /// Number of particles by species.
    counts: Vec<u64>,
    /// Averages, which are equal on all ranks: g of all pairs of species, then numbers of pairs.
    batches: Batches,
}

impl Analysis for Rdf {
    const KIND: AnalysisKind = md_scenario::Rdf::KIND;
    const NEEDS: Needs = Needs::NOTHING;

    fn new(_: &AnalysisKeys, opening: &Opening, words: Option<&[u64]>) -> Option<Self> {
        let keys = opening.scenario.output.analyses.rdf?;
        let max = keys.max.unwrap_or(opening.scenario.interaction.cutoff);
        let bins = DistanceBins { max, bins: keys.bins as usize };
        let species = opening.scenario.species.len();
        let width = 2 * PairCounts::pairs(species).count() * bins.bins;
        let (counts, batches) = match words {
            None => (vec![0; species], Batches::new(width)),
            Some(words) => {
                let (shape, words) = words.split_first_chunk::<3>()?;
                let (counts, words) = words.split_at_checked(species)?;
                let is_same = *shape == [bins.bins as u64, bins.max.to_bits(), species as u64];
                (counts.to_vec(), Batches::from_words(words, width).filter(|_| is_same)?)
            }
        };
        Some(Self {
            bins,
            simd: opening.subject.simd,
            // The simulation reports threads that cannot be started.
            threads: Threads::new(opening.scenario.parallel.threads).unwrap_or_default(),
            waiting: Vec::new(),
            domains: Vec::new(),
            counts,
            batches,
        })
    }

    fn sample(&mut self, now: &Snapshot, world: &dyn World) -> Result<(), ObserverError> {
        let Self { bins, simd, threads, waiting, domains, counts, .. } = self;
        if let Some(problem) = distance_problem(bins.max, now.domain) {
            return Err(format!("step {}: {problem}\na smaller `output.rdf.max`", now.step).into());
        }
        let count = DistanceCount { bins: *bins, species: counts.len(), simd: *simd, threads };
        waiting.push(count.count(now, world)?);
        domains.push(*now.domain);
        let numbers: usize = waiting.iter().map(|look| look.pairs.counts.len()).sum();
        if numbers < MOST_WAITING { Ok(()) } else { Ok(self.combine(world)?) }
    }

    /// Sums the waiting samples over ranks, and adds them to the averages.
    fn combine(&mut self, world: &dyn World) -> Result<(), CommError> {
        let Self { bins, waiting, domains, counts, batches, .. } = self;
        if !waiting.is_empty() {
            PairsByDistance::sum(waiting, world)?;
        }
        for (found, domain) in waiting.drain(..).zip(domains.drain(..)) {
            let g = radial_distribution(&found.pairs, &found.counts, &domain, *bins);
            batches.add(g.into_iter().chain(found.pairs.counts.iter().map(|&count| count as f64)));
            *counts = found.counts;
        }
        Ok(())
    }

    fn words(&self) -> Vec<u64> {
        let bins = [self.bins.bins as u64, self.bins.max.to_bits(), self.counts.len() as u64];
        bins.into_iter().chain(self.counts.iter().copied()).chain(self.batches.words()).collect()
    }

    fn box_problem(&self, domain: &Domain) -> Option<String> {
        distance_problem(self.bins.max, domain)
    }

    /// Returns a row per bin: the middle of the bin, then for each pair of species g, the number of
    /// neighbours up to the end of the bin, and the error of g.
    fn rows(&self) -> impl Iterator<Item = impl Serialize> {
        let (means, errors) = (self.batches.means(), self.batches.errors());
        let classes = self.bins.bins;
        let pairs: Vec<[usize; 2]> = PairCounts::pairs(self.counts.len()).collect();
        let (g, numbers) = means.split_at(pairs.len() * classes);
        let mut values: Vec<Vec<f64>> = g.chunks_exact(classes).map(<[f64]>::to_vec).collect();
        for (&[a, b], numbers) in pairs.iter().zip(numbers.chunks_exact(classes)) {
            values.push(neighbours(numbers, [a, b], &self.counts));
            if a != b {
                values.push(neighbours(numbers, [b, a], &self.counts));
            }
        }
        values.extend(errors.chunks_exact(classes).take(pairs.len()).map(<[f64]>::to_vec));
        let known = if self.batches.samples() > 0 { classes } else { 0 };
        (0..known).map(move |class| {
            let middle = (class as f64 + 0.5) * self.bins.width();
            (middle, values.iter().map(|column| column[class]).collect::<Vec<_>>())
        })
    }
}

/// Returns half the shortest periodic side of the box, the largest distance at which a pair is
/// counted once.
pub fn longest_distance(domain: &Domain) -> f64 {
    let periodic = (0..3).filter(|&dim| domain.is_periodic(dim));
    periodic.map(|dim| domain.lengths[dim] / 2.0).fold(f64::INFINITY, f64::min)
}

/// Returns an error message if the box is too small for the distance `max`.
fn distance_problem(max: f64, domain: &Domain) -> Option<String> {
    let longest = longest_distance(domain);
    (max > longest).then(|| {
        format!("`output.rdf.max` is {max:?}, but half the shortest periodic side of the box is {longest:?}")
    })
}
