//! Results of a comparison so far, on rank 0, at any time ready to be published.

use md_comm::Blocking;
use md_engine::Phase;

use super::comparison::{Comparison, Control, Measured, RowContext, Status, StrategyReport};
use super::measure::Sample;
use super::outcome::Exclusion;
use crate::Variant;
use crate::statistics::Interval;

/// Said of strategies that were not reached.
const NOT_REACHED: &str =
    "not measured: the job had to be ended before; compare again without what timed out";

/// One strategy so far.
#[derive(Debug, Clone)]
pub(super) struct Entry<C> {
    variant: Variant,
    /// What makes its row stand alone.
    context: C,
    /// Whether it has computed what is right.
    pub(super) correct: Option<bool>,
    /// `None` as long as nothing has gone wrong.
    exclusion: Option<Status>,
    /// In words.
    note: String,
    /// One per repetition.
    pub(super) samples: Vec<Sample>,
}

/// All strategies so far, with what makes a row stand alone.
#[derive(Debug)]
pub struct Results<C> {
    /// In the order they were asked for.
    pub(super) entries: Vec<Entry<C>>,
    /// The strategy that is at work.
    pub(super) current: Option<usize>,
    /// The baseline measured again beside later groups: the group, the baseline's number, one sample per repetition.
    controls: Vec<(Blocking, usize, Vec<Sample>)>,
}

impl<C> Default for Results<C> {
    fn default() -> Self {
        Self { entries: Vec::new(), current: None, controls: Vec::new() }
    }
}

impl<C: Clone> Results<C> {
    /// The job ends for what has happened to the current strategy. Only the first reason is told.
    pub fn give_up_current(&mut self, why: &Exclusion) {
        if let Some(entry) = self.current.take().and_then(|current| self.entries.get_mut(current)) {
            entry.fail(why.status, &why.note);
        }
    }

    /// Keeps a sample of the baseline, measured beside a group.
    pub(super) fn add_control(&mut self, beside: Blocking, number: usize, sample: Sample) {
        match self.controls.iter_mut().find(|(group, ..)| *group == beside) {
            Some((_, _, samples)) => samples.push(sample),
            None => self.controls.push((beside, number, vec![sample])),
        }
    }

    /// All that is known of every strategy.
    pub fn rows(&self) -> Vec<StrategyReport<C>> {
        self.entries.iter().map(Entry::report).collect()
    }
}

impl<C: RowContext> Results<C> {
    /// Everything known now; `frame` is what is known beside the measurements.
    pub fn comparison(&self, frame: &Comparison<C>) -> Comparison<C> {
        let controls = self.controls.iter().filter_map(|&(beside, row, ref samples)| {
            Some(Control { beside, row, again: measured(samples)? })
        });
        Comparison { rows: self.rows(), controls: controls.collect(), ..frame.clone() }
    }
}

impl<C: Clone> Entry<C> {
    /// Nothing known yet but what is to be noted in any case.
    pub(super) fn new(variant: Variant, context: C, note: String) -> Self {
        Self { variant, context, correct: None, exclusion: None, note, samples: Vec::new() }
    }

    /// Something has gone wrong; that is said first.
    pub(super) fn fail(&mut self, status: Status, note: &str) {
        self.exclusion = Some(status);
        let notes = [note, &self.note].into_iter().filter(|note| !note.is_empty());
        self.note = notes.collect::<Vec<_>>().join("; ");
    }

    fn report(&self) -> StrategyReport<C> {
        let measured = measured(&self.samples);
        let (status, note) = match (self.exclusion, &measured) {
            (Some(status), _) => (status, self.note.clone()),
            (None, Some(_)) => (Status::Ok, self.note.clone()),
            (None, None) => (Status::Unavailable, NOT_REACHED.to_owned()),
        };
        let Self { variant, context, correct, .. } = self.clone();
        StrategyReport { variant, context, measured, correct, status, note }
    }
}

/// `None` without samples.
fn measured(samples: &[Sample]) -> Option<Measured> {
    let interval =
        |value: &dyn Fn(&Sample) -> f64| Interval::of(&samples.iter().map(value).collect::<Vec<_>>());
    let median = |value: &dyn Fn(&Sample) -> f64| interval(value).map_or(0.0, |interval| interval.median_s);
    let first = samples.first()?;
    Some(Measured {
        messages: first.messages,
        bytes: first.bytes,
        exchange: interval(&|sample| sample.exchange_s)?,
        step: interval(&|sample| sample.step_s)?,
        phases: Phase::ALL.map(|phase| median(&|sample| sample.phases[phase as usize])),
        rebuilt_share: samples.iter().map(|sample| sample.rebuilt_share).sum::<f64>() / samples.len() as f64,
    })
}
