//! How much the numbers are worth.

use super::{BASELINE, DIGITS, MICROSECONDS, Measurement, PERCENT};
use crate::comparison::{Comparison, RankedBy, SAMPLES_FOR_CONFIDENCE};
use crate::output::number::significant;

/// The baseline may differ by so much between its two measurements.
const LARGEST_DRIFT: f64 = 0.1;

/// What the exchange alone says nothing about.
const ALWAYS_REBUILDS: &str = "Every step rebuilds its neighbourhood: positions travel with the border (border_s in compare.csv), and the \
     exchange alone is no part of such a step. Judge by the step.";

/// What makes all numbers less worth.
pub(super) fn warnings(comparison: &Comparison) -> Vec<String> {
    let mut warnings = Vec::new();
    if comparison.ranks_per_core > 1.0 {
        warnings.push(format!(
            "WARNING: OVERSUBSCRIBED. There are {} ranks per core: ranks take turns, and these numbers measure the \
             operating system's scheduler, not the transports. Do not act on them; run at most one rank per core.",
            significant(comparison.ranks_per_core, DIGITS)
        ));
    }
    if comparison.repeat < SAMPLES_FOR_CONFIDENCE {
        warnings.push(format!(
            "With fewer than {SAMPLES_FOR_CONFIDENCE} repetitions there is no 95 % interval: the bounds are the smallest \
             and the largest of {} samples, and nothing is sure. Use --repeat 10 or more.",
            comparison.repeat
        ));
    }
    if comparison.always_rebuilds() {
        warnings.push(ALWAYS_REBUILDS.to_owned());
    }
    warnings.extend(drift(comparison));
    warnings
}

/// How the baseline has changed until it was measured again.
fn drift(comparison: &Comparison) -> Option<String> {
    let (number, again) = comparison.control.as_ref()?;
    let first = comparison.rows.get(*number)?.measured.as_ref()?.exchange;
    let drift = again.median_s / first.median_s - 1.0;
    let judgement = if drift.abs() <= LARGEST_DRIFT {
        "the two groups can be compared"
    } else if again.is_below(&first) || first.is_below(again) {
        "the machine was not the same: compare the two groups with care"
    } else {
        "that is within the noise, which is large: compare the two groups with care"
    };
    Some(format!(
        "Backends that can block inside the MPI library were measured last, beside {BASELINE} once more: {} us then, {} us \
         before ({:+.0} %); {judgement}.",
        significant(again.median_s * MICROSECONDS, DIGITS),
        significant(first.median_s * MICROSECONDS, DIGITS),
        drift * PERCENT
    ))
}

pub(super) fn is_sure(by: RankedBy, best: Measurement, other: Measurement) -> bool {
    by.interval(best.1).is_below(&by.interval(other.1))
}
