//! Intervals of analyses that correlate frames in time.
//!
//! A run observes steps at a fixed interval, whatever it writes. An analysis of a trajectory can
//! only use the frames that exist. If these are equally spaced, their spacing is its interval.

use md_engine::{Needs, Observer, ObserverError, Snapshot};
use md_files::output::run_output::{Closing, OutputKind, RunOutput, StageBegin};
use md_scenario::failure::RunError;
use md_scenario::known_file::KnownFile;
use md_scenario::messages::note;
use md_scenario::{Sampling, Scenario};

use super::frames::Frames;
use crate::commands::refused;

/// Interval of an analysis that correlates frames in time.
pub(super) struct Rhythm {
    pub(super) file: KnownFile,
    key: &'static str,
    /// Interval in the scenario.
    every: u64,
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
        let own = [KnownFile::MSD, KnownFile::VACF, KnownFile::VISCOSITY];
        let samplings = scenario.output.analyses.samplings().filter(|it| own.contains(&it.file));
        let rhythm = |Sampling { key, file, every, start }| {
            let (from, [first, last, interval]) = (start.unwrap_or(begin), [None; 3]);
            Self { file, key, every, from, first, last, interval }
        };
        samplings.map(rhythm).collect()
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
        step >= self.from && step.is_multiple_of(self.every)
    }

    /// Returns the interval, if it is not the scenario's, and the offset of the steps from its
    /// multiples.
    fn other(&self) -> Option<(u64, u64)> {
        let interval = self.interval.filter(|&interval| interval != self.every)?;
        Some((interval, self.first? % interval))
    }

    /// Sets the interval of the frames in the scenario, and prints a note.
    pub(super) fn adapt(&self, scenario: &mut Scenario) {
        let (Some((interval, shift)), Some(first)) = (self.other(), self.first) else { return };
        let Self { key, every, .. } = self;
        note(&format!(
            "`output.{key}.every` is {every}, but the frames that it can take are {interval} steps apart: it takes these"
        ));
        let (start, output) = (Some(first - shift), &mut scenario.output);
        let mut length = None;
        match self.file {
            KnownFile::MSD => {
                output.analyses.msd.iter_mut().for_each(|keys| (keys.every, keys.start) = (interval, start));
            }
            KnownFile::VACF => output.analyses.vacf.iter_mut().for_each(|keys| {
                (keys.every, keys.start, length) = (interval, start, Some(keys.length));
            }),
            _ => output.analyses.viscosity.iter_mut().for_each(|keys| {
                (keys.every, keys.start, length) = (interval, start, Some(keys.length));
            }),
        }
        let time = interval as f64 * scenario.simulation.timestep;
        if let Some(length) = length.filter(|length| *length < time) {
            note(&format!(
                "`output.{key}.length` is {length:?}, less than the time {time:?} between two such frames: this time is taken"
            ));
        }
    }

    /// Returns the offset of the steps of an output from multiples of its interval.
    pub(super) fn shift(all: &[Self], kind: &OutputKind) -> u64 {
        let own = all.iter().find(|rhythm| kind.files.contains(&rhythm.file));
        own.and_then(Self::other).map_or(0, |(_, shift)| shift)
    }

    /// Checks that the distance of a frame from the one before is the interval.
    ///
    /// # Errors
    /// Returns an error if it is not.
    pub(super) fn check(&mut self, name: &str, step: u64) -> Result<(), RunError> {
        if !self.takes(step) {
            return Ok(());
        }
        let (before, expected) = (self.last.replace(step), self.interval.unwrap_or(self.every));
        match before.map(|before| (before, step - before)) {
            Some((before, apart)) if apart != expected => Err(refused(format!(
                "{name}: the frames of `output.{key}` are {expected} steps apart, but before step {step} the last one is that of \
                 step {before}: try --set output.{key}.every={apart}, or another `start`",
                key = self.key
            ))),
            _ => Ok(()),
        }
    }
}

/// An output whose steps have an offset from multiples of its interval. It receives steps without
/// this offset.
pub(super) struct Shifted<'o> {
    pub(super) output: Box<dyn RunOutput + 'o>,
    pub(super) by: u64,
}

impl Observer for Shifted<'_> {
    fn due(&self, step: u64) -> Option<Needs> {
        self.output.due(step.checked_sub(self.by)?)
    }

    fn observe(&mut self, now: &Snapshot) -> Result<(), ObserverError> {
        let step = now.step.saturating_sub(self.by);
        self.output.observe(&Snapshot { step, ..*now })
    }
}

impl RunOutput for Shifted<'_> {
    fn begin_stage(&mut self, stage: &StageBegin) {
        self.output.begin_stage(stage);
    }

    fn finish(self: Box<Self>, closing: &mut Closing) -> Result<(), RunError> {
        self.output.finish(closing)
    }
}
