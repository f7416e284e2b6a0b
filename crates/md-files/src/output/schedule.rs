//! Steps at which an output samples a run.

use super::run_output::StageBegin;

/// Schedule of the samples of an analysis.
pub(super) struct SampleSchedule {
    /// Steps between two samples.
    pub(super) every: u64,
    /// First step as the scenario gives it.
    start: Option<u64>,
    from: u64,
    /// Offset of the steps from multiples of the interval.
    offset: u64,
}

impl SampleSchedule {
    /// Creates a schedule with a sample every `every` steps, from the step `start` or else from the
    /// beginning of the last stage.
    pub(super) fn new(every: u64, start: Option<u64>) -> Self {
        Self { every, start, from: start.unwrap_or(u64::MAX), offset: 0 }
    }

    /// Shifts the samples by `offset` steps from multiples of the interval.
    pub(super) fn with_offset(self, offset: u64) -> Self {
        Self { offset, ..self }
    }

    pub(super) fn begin_stage(&mut self, stage: &StageBegin) {
        if self.start.is_none() && stage.is_last {
            self.from = stage.first_step;
        }
    }

    pub(super) fn are_due(&self, step: u64) -> bool {
        step >= self.from && (step - self.offset).is_multiple_of(self.every)
    }
}
