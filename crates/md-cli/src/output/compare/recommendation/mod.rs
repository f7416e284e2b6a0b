//! Which strategy to use, in words that say how sure that is.
//!
//! A difference is called sure if the 95 % intervals of the medians do not touch; anything else is called noise, and
//! nobody is asked to change a setting for noise. In this order: what makes all numbers worth less; which strategies are
//! compared with which, and what follows; the sentences.

#[cfg(test)]
mod tests;

use md_comm::Blocking;

use super::table::name;
use crate::comparison::{
    Comparison, Control, Interval, Measured, RankedBy, SAMPLES_FOR_CONFIDENCE, StrategyReport,
};
use crate::output::screen::significant;
use crate::report::RunContext;

/// Two-sided messages as everybody uses them.
const BASELINE: &str = "p2p";
const DIGITS: usize = 3;
const MICROSECONDS: f64 = 1e6;
const MILLISECONDS: f64 = 1e3;
const PERCENT: f64 = 100.0;

/// A strategy with valid numbers.
type Measurement<'r> = (&'r StrategyReport, &'r Measured);

/// The whole text.
pub fn recommendation(comparison: &Comparison) -> String {
    let mut paragraphs = warnings(comparison);
    paragraphs.extend(recommend(comparison));
    paragraphs.iter().map(|paragraph| format!("{paragraph}\n")).collect()
}

/// The baseline may differ by so much between its two measurements.
const LARGEST_DRIFT: f64 = 0.1;

/// What the exchange alone says nothing about.
const ALWAYS_REBUILDS: &str = "Every step rebuilds its neighbourhood: positions travel with the border (border_s in compare.csv), and the \
     exchange alone is no part of such a step. So strategies are ranked by the step.";

/// What makes all numbers less worth.
fn warnings(comparison: &Comparison) -> Vec<String> {
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
fn is_sure(comparison: &Comparison, best: Measurement, other: Measurement) -> bool {
    comparison.is_surely_below(comparison.ranked_by(), best, other)
}

/// What is compared with what, and what follows from it.
fn recommend(comparison: &Comparison) -> Vec<String> {
    let ranking = comparison.ranking();
    let Some(&best) = ranking.first() else {
        return vec!["Nothing could be measured, so nothing is recommended.".to_owned()];
    };
    if best.0.context.ranks == 1 {
        let text = "One rank sends no messages: its exchange is empty, whatever the strategy, and there is nothing to choose. \
                    Compare with the number of ranks that the scenario will run on.";
        return vec![text.to_owned()];
    }
    let Some(&next) = ranking.get(1) else {
        return vec![format!(
            "Only {} could be measured: there is nothing to compare it with.",
            name(best.0)
        )];
    };
    let by = comparison.ranked_by();
    let present = present(comparison, &ranking).unwrap_or(best);
    if comparison.ranks_per_core > 1.0 || comparison.repeat < SAMPLES_FOR_CONFIDENCE {
        return vec![no_recommendation(by, best, present)];
    }
    if let Some(text) = too_small(by, present, best) {
        return vec![text];
    }
    if best.0 == present.0 {
        return vec![stays_best(comparison, best, next)];
    }
    if !is_sure(comparison, best, present) {
        return vec![noise(by, best, present)];
    }
    if comparison.is_surely_below(RankedBy::Step, present, best) {
        return vec![slower_step(best, present)];
    }
    let mut text = vec![format!("Use {}. {}", name(best.0), surety(comparison, best, next))];
    let baseline = baseline(comparison, &ranking);
    let others = [(baseline, BASELINE), (own(comparison), "the scenario's setting")];
    let mut named: Vec<&StrategyReport> = vec![best.0];
    for (other, label) in others.into_iter().filter_map(|(other, label)| Some((other?, label))) {
        if !named.contains(&other.0) {
            named.push(other.0);
            text.push(gain(comparison, best, other, label));
        }
    }
    text.push(toml(&best.0.context));
    text
}

/// The scenario's own setting, if it was measured.
fn own(comparison: &Comparison) -> Option<Measurement<'_>> {
    let row = comparison.rows.get(comparison.own?)?;
    Some((row, row.valid()?))
}

/// Two-sided messages with everything else as in the scenario, or the best of them.
fn baseline<'c>(comparison: &'c Comparison, ranking: &[Measurement<'c>]) -> Option<Measurement<'c>> {
    let own = comparison.own.and_then(|own| comparison.rows.get(own));
    let mut two_sided = ranking.iter().copied().filter(|(row, _)| row.context.backend == BASELINE);
    let alike = two_sided.clone().find(|(row, _)| own.is_some_and(|own| row.same_work(own)));
    alike.or_else(|| two_sided.next())
}

/// What stays in use if nothing is recommended.
fn present<'c>(comparison: &'c Comparison, ranking: &[Measurement<'c>]) -> Option<Measurement<'c>> {
    own(comparison).or_else(|| baseline(comparison, ranking))
}

/// Below this share of a step the halo does not matter.
const SMALL_SHARE: f64 = 0.05;

/// The numbers do not carry one.
fn no_recommendation(by: RankedBy, best: Measurement, present: Measurement) -> String {
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
fn too_small(by: RankedBy, present: Measurement, best: Measurement) -> Option<String> {
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
fn stays_best(comparison: &Comparison, best: Measurement, next: Measurement) -> String {
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

fn noise(by: RankedBy, best: Measurement, present: Measurement) -> String {
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
fn slower_step(best: Measurement, present: Measurement) -> String {
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

fn surety(comparison: &Comparison, best: Measurement, next: Measurement) -> String {
    let by = comparison.ranked_by();
    let how = if is_sure(comparison, best, next) {
        "It is surely the fastest"
    } else {
        "It is surely faster than what is in use, but not surely than the next"
    };
    format!("{how}: {}; next is {}, {}.", decisive(by, best.1), name(next.0), decisive(by, next.1))
}

/// What a change brings, in the step and in the exchange, if that is a part of it.
fn gain(comparison: &Comparison, best: Measurement, other: Measurement, label: &str) -> String {
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
fn toml(context: &RunContext) -> String {
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
fn median(by: RankedBy, interval: &Interval) -> String {
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
