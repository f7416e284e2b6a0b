//! Common parts of analyses: when they sample, and the note if they cannot be continued.

use md_core::Domain;
use md_scenario::messages::note;

use super::run_output::{Opening, StageBegin};

/// Schedule of the samples of an analysis.
pub(super) struct SampleSchedule {
    /// Steps between two samples.
    pub(super) every: u64,
    /// First step as the scenario gives it.
    start: Option<u64>,
    from: u64,
}

impl SampleSchedule {
    /// Creates a schedule with a sample every `every` steps, from the step `start` or else from the
    /// beginning of the last stage.
    pub(super) fn new(every: u64, start: Option<u64>) -> Self {
        Self { every, start, from: start.unwrap_or(u64::MAX) }
    }

    pub(super) fn begin_stage(&mut self, stage: &StageBegin) {
        if self.start.is_none() && stage.is_last {
            self.from = stage.first_step;
        }
    }

    pub(super) fn are_due(&self, step: u64) -> bool {
        step >= self.from && step.is_multiple_of(self.every)
    }
}

/// Returns the data that an analysis had gathered at the checkpoint, if its keys have not changed.
/// Otherwise prints a note that the analysis begins anew.
pub(super) fn recalled<T>(opening: &Opening, key: &str, read: impl FnOnce(&[u64]) -> Option<T>) -> Option<T> {
    let memory = opening.memory(key)?;
    let found = read(&memory.words);
    if found.is_none() && opening.root.is_some() {
        note(&format!("`{}output.{key}` is not as it was at the checkpoint: it begins anew", opening.within));
    }
    found
}

/// Returns half the shortest periodic side of the box, the largest distance at which a pair is
/// counted once.
pub fn longest_distance(domain: &Domain) -> f64 {
    let periodic = (0..3).filter(|&dim| domain.is_periodic(dim));
    periodic.map(|dim| domain.lengths[dim] / 2.0).fold(f64::INFINITY, f64::min)
}

/// Returns an error message if the box is too small for the distance `max`.
pub(super) fn distance_problem(max: f64, domain: &Domain) -> Option<String> {
    let longest = longest_distance(domain);
    (max > longest).then(|| {
        format!("`output.rdf.max` is {max:?}, but half the shortest periodic side of the box is {longest:?}")
    })
}
