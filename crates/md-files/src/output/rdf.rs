//! `rdf.csv`: radial distribution functions of all pairs of species, as defined by LAMMPS's
//! `compute rdf`.

use md_comm::{CommError, World};
use md_core::analysis::{Batches, DistanceBins, PairCounts, neighbours, radial_distribution};
use md_core::{Domain, SimdLevel, Threads};
use md_engine::analysis::{DistanceCount, PairsByDistance};
use md_engine::{EngineError, Needs, Observer, ObserverError, Snapshot};
use md_scenario::failure::RunError;
use md_scenario::known_file::KnownFile;
use md_scenario::species_columns;

use super::analysis::{SampleSchedule, distance_problem, recalled};
use super::run_output::{Closing, Opened, Opening, OutputKind, RunOutput, Scope, StageBegin};
use super::tables::named_table;
use crate::checkpoint::{OutputMemory, OutputState};
use crate::store::OutputError;

/// Output of radial distribution functions.
pub const KIND: OutputKind = OutputKind { scope: Scope::Stage, files: &[KnownFile::RDF], open };

const NAME: &str = "rdf";
/// Largest number of values of the samples that are waiting to be summed over ranks, unless one
/// sample has more.
const MOST_WAITING: usize = 1 << 14;

struct Rdf<'a> {
    world: &'a dyn World,
    looks: SampleSchedule,
    bins: DistanceBins,
    names: Vec<String>,
    simd: SimdLevel,
    threads: Threads,
    /// Samples with the pairs of this rank alone.
    waiting: Vec<PairsByDistance>,
    /// The box at each of these samples.
    domains: Vec<Domain>,
    /// Averages, which are equal on all ranks.
    averages: RdfAverages,
}

fn open<'a>(opening: &Opening<'a>) -> Result<Opened<'a>, OutputError> {
    let Opening { world, scenario, subject, .. } = *opening;
    let Some(keys) = scenario.output.analyses.rdf else { return Ok(Vec::new()) };
    let max = keys.max.unwrap_or(scenario.interaction.cutoff);
    let bins = DistanceBins { max, bins: keys.bins as usize };
    let names: Vec<String> = scenario.species.iter().map(|species| species.name.clone()).collect();
    let read = |words: &[u64]| RdfAverages::from_words(words, names.len(), bins);
    let averages = recalled(opening, NAME, read).unwrap_or_else(|| RdfAverages::new(names.len(), bins));
    Ok(vec![Box::new(Rdf {
        world,
        looks: SampleSchedule::new(keys.every, keys.start),
        bins,
        names,
        simd: subject.simd,
        // The simulation reports threads that cannot be started.
        threads: Threads::new(scenario.parallel.threads).unwrap_or_default(),
        waiting: Vec::new(),
        domains: Vec::new(),
        averages,
    })])
}

impl Observer for Rdf<'_> {
    fn due(&self, step: u64) -> Option<Needs> {
        self.looks.are_due(step).then_some(Needs::NOTHING)
    }

    fn observe(&mut self, now: &Snapshot) -> Result<(), ObserverError> {
        let Self { world, bins, names, simd, threads, waiting, domains, .. } = self;
        if let Some(problem) = distance_problem(bins.max, now.domain) {
            return Err(format!("step {}: {problem}\na smaller `output.rdf.max`", now.step).into());
        }
        let count = DistanceCount { bins: *bins, species: names.len(), simd: *simd, threads };
        waiting.push(count.count(now, *world)?);
        domains.push(*now.domain);
        let numbers: usize = waiting.iter().map(|look| look.pairs.counts.len()).sum();
        if numbers < MOST_WAITING { Ok(()) } else { Ok(self.add_waiting()?) }
    }

    fn box_problem(&self, domain: &Domain) -> Option<String> {
        distance_problem(self.bins.max, domain)
    }
}

impl Rdf<'_> {
    /// Sums the waiting samples over ranks, and adds them to the averages. *Collective.*
    fn add_waiting(&mut self) -> Result<(), CommError> {
        let Self { world, waiting, domains, averages, .. } = self;
        if !waiting.is_empty() {
            PairsByDistance::sum(waiting, *world)?;
        }
        waiting.drain(..).zip(domains.drain(..)).for_each(|(found, domain)| averages.add(&found, &domain));
        Ok(())
    }
}

impl RunOutput for Rdf<'_> {
    fn begin_stage(&mut self, stage: &StageBegin) {
        self.looks.begin_stage(stage);
    }

    fn kept(&mut self) -> Result<OutputState, ObserverError> {
        self.add_waiting()?;
        let memory = OutputMemory { name: NAME.to_owned(), words: self.averages.words() };
        Ok(OutputState { memory: Some(memory), ..OutputState::default() })
    }

    fn finish(mut self: Box<Self>, closing: &mut Closing) -> Result<(), RunError> {
        self.add_waiting().map_err(EngineError::from)?;
        Ok(closing.write_whole(KnownFile::RDF, || self.averages.csv(&self.names))?)
    }
}

/// Averages over samples.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RdfAverages {
    bins: DistanceBins,
    /// Number of particles by species.
    counts: Vec<u64>,
    /// g of all pairs of species, then numbers of pairs.
    batches: Batches,
}

impl RdfAverages {
    pub(super) fn new(species: usize, bins: DistanceBins) -> Self {
        let width = 2 * PairCounts::pairs(species).count() * bins.bins;
        Self { bins, counts: vec![0; species], batches: Batches::new(width) }
    }

    pub(super) fn add(&mut self, found: &PairsByDistance, domain: &Domain) {
        let g = radial_distribution(&found.pairs, &found.counts, domain, self.bins);
        self.batches.add(g.into_iter().chain(found.pairs.counts.iter().map(|&count| count as f64)));
        self.counts.clone_from(&found.counts);
    }

    /// Returns a table with one row per bin, if there are samples: the middle of the bin, then for
    /// each pair of species g, the number of neighbours up to the end of the bin, and the error of
    /// g.
    pub(super) fn csv(&self, names: &[String]) -> Result<Vec<u8>, OutputError> {
        let (means, errors) = (self.batches.means(), self.batches.errors());
        let classes = self.bins.bins;
        let pairs: Vec<[usize; 2]> = PairCounts::pairs(names.len()).collect();
        let (g, numbers) = means.split_at(pairs.len() * classes);
        let mut values: Vec<Vec<f64>> = g.chunks_exact(classes).map(<[f64]>::to_vec).collect();
        for (&[a, b], numbers) in pairs.iter().zip(numbers.chunks_exact(classes)) {
            values.push(neighbours(numbers, [a, b], &self.counts));
            if a != b {
                values.push(neighbours(numbers, [b, a], &self.counts));
            }
        }
        values.extend(errors.chunks_exact(classes).take(pairs.len()).map(<[f64]>::to_vec));
        let row = |class: usize| {
            let middle = (class as f64 + 0.5) * self.bins.width();
            (middle, values.iter().map(|column| column[class]).collect::<Vec<_>>())
        };
        let known = if self.batches.samples() > 0 { classes } else { 0 };
        named_table(KnownFile::RDF, &species_columns::rdf(names), (0..known).map(row))
    }

    fn words(&self) -> Vec<u64> {
        let bins = [self.bins.bins as u64, self.bins.max.to_bits(), self.counts.len() as u64];
        bins.into_iter().chain(self.counts.iter().copied()).chain(self.batches.words()).collect()
    }

    fn from_words(words: &[u64], species: usize, bins: DistanceBins) -> Option<Self> {
        let (shape, words) = words.split_first_chunk::<3>()?;
        let (counts, words) = words.split_at_checked(species)?;
        let is_same = *shape == [bins.bins as u64, bins.max.to_bits(), species as u64];
        let width = 2 * PairCounts::pairs(species).count() * bins.bins;
        let batches = Batches::from_words(words, width)?;
        is_same.then(|| Self { bins, counts: counts.to_vec(), batches })
    }
}
