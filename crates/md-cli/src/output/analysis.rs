//! What analyses have in common: when they look, and what they say where they cannot go on.

use md_core::Domain;

use super::run_output::{Opening, StageBegin};
use crate::messages::note;

/// When an analysis looks.
pub(super) struct Looks {
    /// Steps between two looks.
    pub(super) every: u64,
    /// As the scenario gives it.
    start: Option<u64>,
    from: u64,
}

impl Looks {
    /// Every so many steps, from a step or from the beginning of the last stage.
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

/// What an analysis had gathered at the checkpoint, if it was asked for the same then; else it begins anew, and says so.
pub(super) fn recalled<T>(opening: &Opening, key: &str, read: impl FnOnce(&[u64]) -> Option<T>) -> Option<T> {
    let memory = opening.memory(key)?;
    let found = read(&memory.words);
    if found.is_none() && opening.root.is_some() {
        note(&format!("`{}output.{key}` is not as it was at the checkpoint: it begins anew", opening.within));
    }
    found
}

/// Half the shortest periodic side of the box: the largest distance at which a pair is counted once.
pub fn longest_distance(domain: &Domain) -> f64 {
    let periodic = (0..3).filter(|&dim| domain.is_periodic(dim));
    periodic.map(|dim| domain.lengths[dim] / 2.0).fold(f64::INFINITY, f64::min)
}

/// Whether the box is large enough.
pub(super) fn distance_problem(max: f64, domain: &Domain) -> Option<String> {
    let longest = longest_distance(domain);
    (max > longest).then(|| {
        format!("`output.rdf.max` is {max:?}, but half the shortest periodic side of the box is {longest:?}")
    })
}
