//! The sentences of a recommendation.

use super::confidence::is_sure;
use super::{BASELINE, DIGITS, MICROSECONDS, MILLISECONDS, Measurement, PERCENT};
use crate::comparison::{Comparison, Interval, Measured, RankedBy};
use crate::output::compare::table::name;
use crate::output::number::significant;
use crate::report::RunContext;

/// Below this share of a step the halo does not matter.
const SMALL_SHARE: f64 = 0.05;

/// The numbers do not carry one.
pub(super) fn no_recommendation(by: RankedBy, best: Measurement, present: Measurement) -> String {
    let smallest = format!("Smallest median: {}, {}", name(best.0), decisive(by, best.1));
    if best.0 == present.0 {
        return format!("So nothing is recommended. {smallest}, which is in use.");
    }
    format!(
        "So nothing is recommended. {smallest}; in use: {}, {}.",
        name(present.0),
        decisive(by, present.1)
    )
}

/// The halo is too small a part of the step, where nothing but the halo differs.
pub(super) fn too_small(by: RankedBy, present: Measurement, best: Measurement) -> Option<String> {
    let share = present.1.phases.halo_share();
    let fastest = match by {
        RankedBy::Exchange => "The fastest exchange alone",
        RankedBy::RebuildingStep => "The fastest",
        RankedBy::Step => return None,
    };
    (share < SMALL_SHARE).then(|| {
        format!(
            "The halo is {:.1} % of a step with {}: no strategy can gain more than that, so there is no reason to change \
             anything. ({fastest}: {}, {}.)",
            share * PERCENT,
            name(present.0),
            name(best.0),
            decisive(by, best.1)
        )
    })
}

/// The best one is what is in use already.
pub(super) fn stays_best(comparison: &Comparison, best: Measurement, next: Measurement) -> String {
    let by = comparison.ranked_by();
    let who =
        if best.0.context.backend == BASELINE { "Two-sided messages win: stay with" } else { "Stay with" };
    let is_sure = is_sure(comparison, best, next);
    let judgement = if is_sure { "that is sure" } else { "but the next is as good within the noise" };
    format!(
        "{who} {}, {}; next is {}, {}; {judgement}.",
        name(best.0),
        decisive(by, best.1),
        name(next.0),
        decisive(by, next.1)
    )
}

pub(super) fn noise(by: RankedBy, best: Measurement, present: Measurement) -> String {
    format!(
        "Within the noise: {}, {}, is not surely faster than {}, {}. Stay with {}; more repetitions (--repeat) or a \
         quieter machine may tell them apart.",
        name(best.0),
        decisive(by, best.1),
        name(present.0),
        decisive(by, present.1),
        name(present.0)
    )
}

/// The exchange alone is faster, but not what it is for.
pub(super) fn slower_step(best: Measurement, present: Measurement) -> String {
    format!(
        "Stay with {}. The exchange alone is faster over {}, {} instead of {}, but a step takes longer with it, {} \
         instead of {}.",
        name(present.0),
        name(best.0),
        microseconds(&best.1.exchange),
        microseconds(&present.1.exchange),
        milliseconds(&best.1.step),
        milliseconds(&present.1.step)
    )
}

pub(super) fn surety(comparison: &Comparison, best: Measurement, next: Measurement) -> String {
    let by = comparison.ranked_by();
    let how = if is_sure(comparison, best, next) {
        "It is surely the fastest"
    } else {
        "It is surely faster than what is in use, but not surely than the next"
    };
    format!("{how}: {}; next is {}, {}.", decisive(by, best.1), name(next.0), decisive(by, next.1))
}

/// What a change brings, in the step and in the exchange, if that is a part of it.
pub(super) fn gain(comparison: &Comparison, best: Measurement, other: Measurement, label: &str) -> String {
    let (exchange, step) = (best.1.exchange, best.1.step);
    let ratio = other.1.exchange.median_s / exchange.median_s;
    let (factor, direction) = if ratio < 1.0 { (1.0 / ratio, "slower") } else { (ratio, "faster") };
    let factor = significant(factor, 2);
    let share = (1.0 - step.median_s / other.1.step.median_s) * PERCENT;
    let in_the_step = if comparison.is_surely_below(RankedBy::Step, best, other) {
        format!(
            "a step takes {} instead of {}: {share:.1} % less, surely",
            milliseconds(&step),
            milliseconds(&other.1.step)
        )
    } else {
        format!(
            "but the step is not measurably faster ({} and {}): the gain is hidden by the computation or lost in the noise",
            milliseconds(&step),
            milliseconds(&other.1.step)
        )
    };
    let against = format!("Against {label} ({})", name(other.0));
    if comparison.ranked_by() == RankedBy::RebuildingStep {
        return format!("{against}: {in_the_step}.");
    }
    let exchange = format!("{} instead of {}", microseconds(&exchange), microseconds(&other.1.exchange));
    format!("{against}: the exchange alone takes {exchange} ({factor} times {direction}); {in_the_step}.")
}

/// The lines to put into the scenario.
pub(super) fn toml(context: &RunContext) -> String {
    let RunContext { backend, shell, exchange, partition, .. } = context;
    format!(
        "\n[parallel]\nbackend = \"{backend}\"\nshell = \"{shell}\"\nexchange = \"{exchange}\"\npartition = \"{partition}\""
    )
}

fn decisive(by: RankedBy, measured: &Measured) -> String {
    match by {
        RankedBy::Exchange => microseconds(&measured.exchange),
        RankedBy::Step | RankedBy::RebuildingStep => format!("{} per step", milliseconds(&measured.step)),
    }
}

/// A median, without its bounds.
pub(super) fn median(by: RankedBy, interval: &Interval) -> String {
    let (unit, symbol) = match by {
        RankedBy::Exchange => (MICROSECONDS, "us"),
        RankedBy::Step | RankedBy::RebuildingStep => (MILLISECONDS, "ms per step"),
    };
    format!("{} {symbol}", significant(interval.median_s * unit, DIGITS))
}

fn microseconds(interval: &Interval) -> String {
    in_unit(interval, MICROSECONDS, "us")
}

fn milliseconds(interval: &Interval) -> String {
    in_unit(interval, MILLISECONDS, "ms")
}

fn in_unit(interval: &Interval, unit: f64, symbol: &str) -> String {
    let [median, low, high] =
        [interval.median_s, interval.low_s, interval.high_s].map(|time_s| significant(time_s * unit, DIGITS));
    format!("{median} {symbol} [{low}, {high}]")
}
