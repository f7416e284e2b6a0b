//! How much the numbers are worth.

use md_comm::Blocking;

use super::words::median;
use super::{DIGITS, Measurement, PERCENT};
use crate::comparison::{Comparison, Control, SAMPLES_FOR_CONFIDENCE};
use crate::output::compare::table::name;
use crate::output::number::significant;

/// The baseline may differ by so much between its two measurements.
const LARGEST_DRIFT: f64 = 0.1;

/// What the exchange alone says nothing about.
const ALWAYS_REBUILDS: &str = "Every step rebuilds its neighbourhood: positions travel with the border (border_s in compare.csv), and the \
     exchange alone is no part of such a step. So strategies are ranked by the step.";

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
    warnings.extend(comparison.controls.iter().filter_map(|control| drift(comparison, control)));
    warnings
}

/// How the baseline has changed until it was measured again beside a later group.
fn drift(comparison: &Comparison, control: &Control) -> Option<String> {
    let Control { beside, row, again } = control;
    let (by, row) = (comparison.ranked_by(), comparison.rows.get(*row)?);
    let (then, before) = (by.interval(again), by.interval(row.measured.as_ref()?));
    let who = match beside {
        Blocking::Never => return None,
        Blocking::InFlush => "Backends that flush inside the MPI library were measured after the others",
        Blocking::InSynchronisation => {
            "Backends that wait for other ranks inside the MPI library were measured last"
        }
    };
    let drift = then.median_s / before.median_s - 1.0;
    let judgement = if drift.abs() <= LARGEST_DRIFT {
        "they can be compared with the others"
    } else if comparison.sure_change(by, control).is_some() {
        "the machine was not the same: differences of less than that are not called sure"
    } else {
        "that is within the noise, which is large: compare them with the others with care"
    };
    let (then, before, drift) = (median(by, &then), median(by, &before), drift * PERCENT);
    Some(format!(
        "{who}, beside {} once more: {then} then, {before} before ({drift:+.0} %); {judgement}.",
        name(row)
    ))
}

/// Whether one is surely better than another in what they are ranked by.
pub(super) fn is_sure(comparison: &Comparison, best: Measurement, other: Measurement) -> bool {
    comparison.is_surely_below(comparison.ranked_by(), best, other)
}
