//! Analyses, which sample a run and write one table at its end: what they have in common, and how
//! they are opened, continued, stored in checkpoints and completed.
//!
//! A new analysis is a file beside this one and a line in `KINDS`; its keys are a file in
//! `md_scenario::output::analysis`.

mod hash;
mod msd;
mod profile;
mod rdf;
mod vacf;
mod viscosity;

use md_comm::{CommError, World};
use md_core::Domain;
use md_engine::analysis::Tracks;
use md_engine::{EngineError, Needs, Observer, ObserverError, RunsOn, Snapshot};
use md_scenario::failure::RunError;
use md_scenario::{AnalysisKeys, AnalysisKind};
use serde::Serialize;
use serde_json::Value;

pub use rdf::longest_distance;

use super::run_output::{Closing, Opened, Opening, OutputKind, RunOutput, Scope, Spacing, StageBegin};
use super::schedule::SampleSchedule;
use super::tables::named_table;
use crate::checkpoint::{OutputMemory, OutputState, ParticleMemory, ParticleRows};
use crate::store::OutputError;

/// All analyses, in the order in which they sample.
pub(super) static KINDS: &[OutputKind] = &[
    kind::<rdf::Rdf>(),
    kind::<msd::Msd>(),
    kind::<vacf::Vacf>(),
    kind::<viscosity::Viscosity>(),
    kind::<hash::Hash>(),
    kind::<profile::Profile>(),
];

/// An analysis, on one rank.
trait Analysis: Sized + 'static {
    /// Its kind in scenarios.
    const KIND: AnalysisKind;
    /// Data that a sample needs.
    const NEEDS: Needs;
    /// Ranks that sample.
    const RUNS_ON: RunsOn = RunsOn::AllRanks;
    /// Whether it stores values of every particle.
    const HAS_TRACKS: bool = false;

    /// Creates an analysis with these keys and the samples of a checkpoint, or none without a
    /// checkpoint. Returns `None` if the words of the samples do not fit the keys.
    fn new(keys: &AnalysisKeys, opening: &Opening, words: Option<&[u64]>) -> Option<Self>;

    /// Adds a sample. *Collective*, unless only rank 0 samples.
    fn sample(&mut self, now: &Snapshot, world: &dyn World) -> Result<(), ObserverError>;

    /// Combines the samples of all ranks, before [`Self::words`] and [`Self::rows`]. *Collective.*
    fn combine(&mut self, _world: &dyn World) -> Result<(), CommError> {
        Ok(())
    }

    /// Returns the words for a checkpoint.
    fn words(&self) -> Vec<u64>;

    /// Returns the stored values of every particle, and the number of times that the samples need.
    fn tracks(&mut self) -> Option<(&mut Tracks, usize)> {
        None
    }

    /// Returns the reason why no sample can be taken in this box, if so.
    fn box_problem(&self, _domain: &Domain) -> Option<String> {
        None
    }

    /// Returns the columns of the table, for species of these names.
    fn columns(&self, keys: &AnalysisKeys, species: &[String]) -> Vec<String> {
        (keys.kind.columns)(species)
    }

    /// Returns the rows of the table; without samples there are none.
    fn rows(&self) -> impl Iterator<Item = impl Serialize>;

    /// Returns the entry of summary.json, with its name.
    fn summary(&self, _species: &[String]) -> Option<(&'static str, Value)> {
        None
    }
}

/// Returns the kind of an analysis.
const fn kind<A: Analysis>() -> OutputKind {
    OutputKind {
        scope: Scope::Stage,
        files: A::KIND.files,
        needs: A::NEEDS,
        has_tracks: A::HAS_TRACKS,
        open: open::<A>,
    }
}

/// An analysis as an output of a run.
struct AnalysisOutput<'a, A: Analysis> {
    world: &'a dyn World,
    keys: AnalysisKeys,
    species: Vec<String>,
    looks: SampleSchedule,
    /// Rows of a checkpoint that have not been sent to their ranks yet.
    restored: Option<&'a ParticleRows>,
    analysis: A,
}

fn open<'a, A: Analysis>(opening: &Opening<'a>) -> Result<Opened<'a>, OutputError> {
    let sampled = |mut keys: AnalysisKeys| {
        let spacing = opening.subject.frames.iter().find(|spacing| spacing.file == keys.file);
        if let Some(&Spacing { first, steps, .. }) = spacing {
            (keys.every, keys.start) = (steps, Some(first));
        }
        let name = name_of(&keys);
        let read = |words: &[u64]| {
            let mut analysis = A::new(&keys, opening, Some(words))?;
            let Some((_, times)) = analysis.tracks() else { return Some((analysis, None)) };
            let rows = opening.particle_rows(name)?;
            (rows.width == 1 + 3 * times).then_some((analysis, Some(rows)))
        };
        let recalled = opening.recalled(name, read);
        let (analysis, restored) = recalled.or_else(|| Some((A::new(&keys, opening, None)?, None)))?;
        let offset = spacing.map_or(0, |spacing| spacing.first % spacing.steps);
        let looks = SampleSchedule::new(keys.every, keys.start).with_offset(offset);
        let (world, species) = (opening.world, opening.species());
        Some(Box::new(AnalysisOutput { world, keys, species, looks, restored, analysis }) as Box<_>)
    };
    let all = opening.scenario.output.analyses.keys().into_iter();
    Ok(all.filter(|keys| A::KIND.files.contains(&keys.file)).filter_map(sampled).collect())
}

/// Returns the name of an analysis in checkpoints and notes, which is that of its file.
fn name_of(keys: &AnalysisKeys) -> &'static str {
    keys.file.name().trim_end_matches(".csv")
}

impl<A: Analysis> AnalysisOutput<'_, A> {
    /// Sends the earlier values of a checkpoint to their ranks, in the first call. *Collective.*
    fn recall(&mut self) -> Result<(), ObserverError> {
        match (self.restored.take(), self.analysis.tracks()) {
            (Some(rows), Some((tracks, _))) => tracks.recall(rows, self.world),
            _ => Ok(()),
        }
    }
}

impl<A: Analysis> Observer for AnalysisOutput<'_, A> {
    fn due(&self, step: u64) -> Option<Needs> {
        self.looks.are_due(step).then_some(A::NEEDS)
    }

    fn observe(&mut self, now: &Snapshot) -> Result<(), ObserverError> {
        self.recall()?;
        self.analysis.sample(now, self.world)
    }

    fn runs_on(&self) -> RunsOn {
        A::RUNS_ON
    }

    fn box_problem(&self, domain: &Domain) -> Option<String> {
        self.analysis.box_problem(domain)
    }
}

impl<A: Analysis> RunOutput for AnalysisOutput<'_, A> {
    fn begin_stage(&mut self, stage: &StageBegin) {
        self.looks.begin_stage(stage);
    }

    fn kept(&mut self) -> Result<OutputState, ObserverError> {
        self.analysis.combine(self.world)?;
        let memory = OutputMemory { name: name_of(&self.keys).to_owned(), words: self.analysis.words() };
        Ok(OutputState { memory: Some(memory), ..OutputState::default() })
    }

    fn particle_memory(&mut self, now: &Snapshot) -> Result<Option<ParticleMemory>, ObserverError> {
        self.recall()?;
        let Some((tracks, _)) = self.analysis.tracks() else { return Ok(None) };
        let (width, words) = (3 * tracks.then.len(), tracks.rows(now.particles, self.world)?);
        Ok(Some(ParticleMemory { name: name_of(&self.keys).to_owned(), width, words }))
    }

    fn finish(self: Box<Self>, closing: &mut Closing) -> Result<(), RunError> {
        let Self { world, keys, species, mut analysis, .. } = *self;
        analysis.combine(world).map_err(EngineError::from)?;
        if let Some((name, entry)) = analysis.summary(&species) {
            closing.summary.insert(name.to_owned(), entry);
        }
        let table = || named_table(keys.file, &analysis.columns(&keys, &species), analysis.rows());
        Ok(closing.write_whole(keys.file, table)?)
    }
}
