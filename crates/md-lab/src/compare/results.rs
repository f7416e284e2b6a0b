//! Results of a comparison so far, ready to be published at any time. They are identical on all
//! ranks, except for notes, which only rank 0 has.

use md_comm::Blocking;
use md_engine::Phase;

use super::comparison::{Comparison, Control, Measured, RowContext, StrategyReport};
use super::conduct::Conditions;
use super::measure::Sample;
use crate::statistics::Interval;
use crate::{Problem, Status, Variant};

/// Note of strategies that were not reached.
const NOT_REACHED: &str =
    "not measured: the job had to be ended before; compare again without what timed out";

/// Results of one strategy so far.
#[derive(Debug, Clone)]
pub(super) struct Entry<C> {
    /// Row of the report; its status is that of the trials, identical on all ranks.
    pub(super) row: StrategyReport<C>,
    /// One sample per repetition.
    pub(super) samples: Vec<Sample>,
}

/// Results of all strategies so far.
#[derive(Debug)]
pub(super) struct Results<C> {
    /// Comparison without its measurements.
    frame: Comparison<C>,
    /// Entries in the order of the request.
    pub(super) entries: Vec<Entry<C>>,
    /// Strategy at work.
    pub(super) current: Option<usize>,
    /// Repeated measurements of the baseline next to later groups: the group, the number of the
    /// baseline, one sample per repetition.
    controls: Vec<(Blocking, usize, Vec<Sample>)>,
}

impl<C: RowContext> Results<C> {
    /// Creates empty results.
    pub(super) fn new(conditions: &Conditions) -> Self {
        let &Conditions { own, between_nodes, ranks_per_core, repeat, .. } = conditions;
        let (rows, controls) = (Vec::new(), Vec::new());
        let frame = Comparison { rows, own, controls, between_nodes, repeat, ranks_per_core };
        Self { frame, entries: Vec::new(), current: None, controls: Vec::new() }
    }

    /// Records why the job ends during the current strategy. Only the first reason is kept.
    pub(super) fn give_up_current(&mut self, why: Problem) {
        if let Some(entry) = self.current.take().and_then(|current| self.entries.get_mut(current)) {
            entry.fail(why);
        }
    }

    /// Keeps a sample of the baseline, measured next to a group.
    pub(super) fn add_control(&mut self, beside: Blocking, number: usize, sample: Sample) {
        match self.controls.iter_mut().find(|(group, ..)| *group == beside) {
            Some((_, _, samples)) => samples.push(sample),
            None => self.controls.push((beside, number, vec![sample])),
        }
    }

    /// Returns a row for every strategy.
    pub(super) fn rows(&self) -> Vec<StrategyReport<C>> {
        self.entries.iter().map(Entry::report).collect()
    }

    /// Returns the comparison with all results so far.
    pub(super) fn comparison(&self) -> Comparison<C> {
        let controls = self.controls.iter().filter_map(|&(beside, row, ref samples)| {
            Some(Control { beside, row, again: measured(samples)? })
        });
        Comparison { rows: self.rows(), controls: controls.collect(), ..self.frame.clone() }
    }
}

impl<C: Clone> Entry<C> {
    /// Creates an entry without samples; `note` is reported in any case.
    pub(super) fn new(variant: Variant, context: C, note: String) -> Self {
        let (measured, correct, status) = (None, None, Status::Ok);
        Self {
            row: StrategyReport { variant, context, measured, correct, status, note },
            samples: Vec::new(),
        }
    }

    /// Records a failure; its note comes first.
    pub(super) fn fail(&mut self, Problem { status, note }: Problem) {
        let said = std::mem::take(&mut self.row.note);
        self.row.note = [note, said].into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>().join("; ");
        self.row.status = status;
        if status == Status::Wrong {
            self.row.correct = Some(false);
        }
    }

    fn report(&self) -> StrategyReport<C> {
        let row = StrategyReport { measured: measured(&self.samples), ..self.row.clone() };
        if row.status == Status::Ok && row.measured.is_none() {
            return StrategyReport { status: Status::Unavailable, note: NOT_REACHED.to_owned(), ..row };
        }
        row
    }
}

/// Returns the statistics of the samples; `None` without any.
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
