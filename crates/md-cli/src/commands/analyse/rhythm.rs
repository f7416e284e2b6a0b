//! Intervals of analyses that correlate frames in time.
//!
//! A run observes steps at a fixed interval, whatever it writes. An analysis of a trajectory can
//! only use the frames that exist. If these are equally spaced, their spacing is its interval.

use md_files::output::outputs::output_of;
use md_files::output::run_output::Spacing;
use md_scenario::failure::RunError;
use md_scenario::messages::note;
use md_scenario::{AnalysisKeys, Scenario};

use super::frames::Frames;
use crate::commands::refused;

/// Interval of an analysis that correlates frames in time.
pub(super) struct Rhythm {
    pub(super) keys: AnalysisKeys,
    from: u64,
    /// First step that is used, last step so far, and steps between two of them, once known.
    first: Option<u64>,
    last: Option<u64>,
    interval: Option<u64>,
}

impl Rhythm {
    /// Returns the intervals of the analyses that a scenario requests. Analyses without a `start`
    /// begin with step `begin`.
    pub(super) fn all(scenario: &Scenario, begin: u64) -> Vec<Self> {
        let rhythm = |keys: AnalysisKeys| {
            let has_tracks = output_of(keys.file).is_some_and(|kind| kind.has_tracks);
            let from = keys.start.unwrap_or(begin);
            let rhythm = Self { keys, from, first: None, last: None, interval: None };
            (has_tracks || keys.length.is_some()).then_some(rhythm)
        };
        scenario.output.analyses.keys().into_iter().filter_map(rhythm).collect()
    }

    /// Reads frames until all intervals are known.
    ///
    /// # Errors
    /// Returns the errors of [`Frames::next`].
    pub(super) fn find(all: &mut [Self], frames: &mut Frames<'_>) -> Result<(), RunError> {
        while all.iter().any(|rhythm| rhythm.interval.is_none()) {
            let Some(found) = frames.next()? else { break };
            for rhythm in
                all.iter_mut().filter(|rhythm| rhythm.interval.is_none() && rhythm.takes(found.step))
            {
                match rhythm.first {
                    None => rhythm.first = Some(found.step),
                    Some(first) => rhythm.interval = Some(found.step - first),
                }
            }
        }
        Ok(())
    }

    fn takes(&self, step: u64) -> bool {
        step >= self.from && step.is_multiple_of(self.keys.every)
    }

    /// Returns the frames that are used, if their interval is not the scenario's, and prints a
    /// note.
    pub(super) fn other(&self, timestep: f64) -> Option<Spacing> {
        let AnalysisKeys { kind, file, every, length, .. } = self.keys;
        let key = kind.key;
        let (first, steps) = self.first.zip(self.interval).filter(|&(_, steps)| steps != every)?;
        note(&format!(
            "`output.{key}.every` is {every}, but the frames that it can take are {steps} steps apart: it takes these"
        ));
        let time = steps as f64 * timestep;
        if let Some(length) = length.filter(|length| *length < time) {
            note(&format!(
                "`output.{key}.length` is {length:?}, less than the time {time:?} between two such frames: this time is taken"
            ));
        }
        Some(Spacing { file, first, steps })
    }

    /// Checks that the distance of a frame from the one before is the interval.
    ///
    /// # Errors
    /// Returns an error if it is not.
    pub(super) fn check(&mut self, name: &str, step: u64) -> Result<(), RunError> {
        if !self.takes(step) {
            return Ok(());
        }
        let (before, expected) = (self.last.replace(step), self.interval.unwrap_or(self.keys.every));
        match before.map(|before| (before, step - before)) {
            Some((before, apart)) if apart != expected => Err(refused(format!(
                "{name}: the frames of `output.{key}` are {expected} steps apart, but before step {step} the last one is that of \
                 step {before}: try --set output.{key}.every={apart}, or another `start`",
                key = self.keys.kind.key
            ))),
            _ => Ok(()),
        }
    }
}
