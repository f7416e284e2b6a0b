//! Recommendation of a strategy, in words that state how certain it is.
//!
//! A difference is called sure if the 95 % intervals of the medians do not touch; anything else is
//! called noise, and noise is no reason to change a setting. Order of this file: warnings that
//! concern all numbers; strategies that are compared and the conclusions; the sentences.

#[cfg(test)]
mod tests;

use md_comm::Blocking;

use super::comparison::{
    BASELINE, Comparison, Control, Measured, Ranked, RankedBy, RowContext, SMALL_SHARE, StrategyReport,
};
use super::{MICROSECONDS, MILLISECONDS, Unit, unit_of};
use crate::statistics::{Interval, SAMPLES_FOR_CONFIDENCE};
use crate::{Setting, significant};

const DIGITS: usize = 3;
const PERCENT: f64 = 100.0;

/// Returns the whole text.
pub fn recommendation<C: RowContext>(comparison: &Comparison<C>) -> String {
    let mut paragraphs = warnings(comparison);
    paragraphs.extend(recommend(comparison));
    paragraphs.iter().map(|paragraph| format!("{paragraph}\n")).collect()
}

/// Largest relative change of the baseline between its two measurements that still allows
/// comparison.
const LARGEST_DRIFT: f64 = 0.1;

/// Text for steps that all rebuild, where the exchange alone is not meaningful.
const ALWAYS_REBUILDS: &str = "Every step rebuilds its neighbourhood: positions travel with the border (border_s in compare.csv), and the \
     exchange alone is no part of such a step. So strategies are ranked by the step.";

/// Text for exchanges that hide behind computation.
const HIDES: &str = "Messages travel while ranks compute (halo_hidden_s in compare.csv), and the exchange alone is not what a step pays for \
     them. So strategies are ranked by the step; with `overlap = false` they are ranked by the exchange.";

/// Returns the warnings that concern all numbers.
fn warnings<C: RowContext>(comparison: &Comparison<C>) -> Vec<String> {
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
    } else if comparison.ranked_by() == RankedBy::WholeStep {
        warnings.push(HIDES.to_owned());
    }
    warnings.extend(comparison.controls.iter().filter_map(|control| drift(comparison, control)));
    warnings
}

/// Returns a sentence on the change of the baseline between its first measurement and that next to
/// a later group.
fn drift<C: RowContext>(comparison: &Comparison<C>, control: &Control) -> Option<String> {
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
        row.name()
    ))
}

/// Returns whether one is surely better than another in the time by which they are ranked.
fn is_sure<C: RowContext>(comparison: &Comparison<C>, best: Ranked, other: Ranked) -> bool {
    comparison.is_surely_below(comparison.ranked_by(), best, other)
}

const ONE_RANK: &str = "One rank sends no messages: its exchange is empty, whatever the strategy, and there is nothing to choose. \
    Compare with the number of ranks that the scenario will run on.";

/// Selects the strategies to compare and returns the conclusions.
fn recommend<C: RowContext>(comparison: &Comparison<C>) -> Vec<String> {
    let ranking = comparison.ranking();
    match ranking[..] {
        [] => vec!["Nothing could be measured, so nothing is recommended.".to_owned()],
        [..] if comparison.rows.iter().all(|row| row.context.job().ranks == 1) => vec![ONE_RANK.to_owned()],
        [only] => {
            vec![format!("Only {only} could be measured: there is nothing to compare it with.")]
        }
        [best, next, ..] => choose(comparison, best, next),
    }
}

/// Chooses among at least two strategies.
fn choose<C: RowContext>(comparison: &Comparison<C>, best: Ranked, next: Ranked) -> Vec<String> {
    let by = comparison.ranked_by();
    let own = comparison.own.and_then(|own| comparison.rows.get(own));
    let own = own.and_then(StrategyReport::valid);
    let marked = comparison.baseline();
    let baseline = marked.filter(|ranked| ranked.variant.strategy.backend == BASELINE);
    // Strategy that stays in use if nothing is recommended.
    let present = own.or(marked).unwrap_or(best);
    let label = if own.or(baseline).is_some() { "in use" } else { "the baseline" };
    if comparison.ranks_per_core > 1.0 || comparison.repeat < SAMPLES_FOR_CONFIDENCE {
        return vec![no_recommendation(by, best, present, label)];
    }
    if let Some(text) = too_small(by, present, best) {
        return vec![text];
    }
    if best == present {
        return vec![stays_best(comparison, best, next)];
    }
    if !is_sure(comparison, best, present) {
        return vec![noise(by, best, present)];
    }
    if comparison.is_surely_below(RankedBy::Step, present, best) {
        return vec![slower_step(best, present)];
    }
    let mut text = vec![format!("Use {best}. {}", surety(comparison, best, next))];
    if let Some(baseline) = baseline.filter(|baseline| *baseline != best) {
        text.push(gain(comparison, best, baseline, BASELINE.name()));
    }
    let label = if own.is_some() { "the scenario's setting" } else { "the baseline" };
    if let Some(other) = own.or(marked).filter(|other| *other != best && Some(*other) != baseline) {
        text.push(gain(comparison, best, other, label));
    }
    text.push(toml(best));
    text
}

/// Returns the text for numbers that do not support a recommendation.
fn no_recommendation(by: RankedBy, best: Ranked, present: Ranked, label: &str) -> String {
    let smallest = format!("Smallest median: {}", described(by, best));
    if best == present {
        return format!("So nothing is recommended. {smallest}, which is {label}.");
    }
    format!("So nothing is recommended. {smallest}; {label}: {}.", described(by, present))
}

/// Returns the text for a halo that is too small a part of the step, where strategies differ only
/// in the halo.
fn too_small(by: RankedBy, present: Ranked, best: Ranked) -> Option<String> {
    let share = present.measured.halo_share();
    let fastest = match by {
        RankedBy::Exchange => "The fastest exchange alone",
        RankedBy::WholeStep => "The fastest",
        RankedBy::Step => return None,
    };
    (share < SMALL_SHARE).then(|| {
        format!(
            "The halo is {:.1} % of a step with {}: no strategy can gain more than that, so there is no reason to change \
             anything. ({fastest}: {}.)",
            share * PERCENT,
            present,
            described(by, best)
        )
    })
}

/// Returns the text for a best strategy that is already in use.
fn stays_best<C: RowContext>(comparison: &Comparison<C>, best: Ranked, next: Ranked) -> String {
    let by = comparison.ranked_by();
    let two_sided = best.variant.strategy.backend == BASELINE;
    let who = if two_sided { "Two-sided messages win: stay with" } else { "Stay with" };
    let is_sure = is_sure(comparison, best, next);
    let judgement = if is_sure { "that is sure" } else { "but the next is as good within the noise" };
    format!("{who} {}; next is {}; {judgement}.", described(by, best), described(by, next))
}

fn noise(by: RankedBy, best: Ranked, present: Ranked) -> String {
    format!(
        "Within the noise: {}, is not surely faster than {}. Stay with {}; more repetitions (--repeat) or a \
         quieter machine may tell them apart.",
        described(by, best),
        described(by, present),
        present
    )
}

/// Returns the text for a faster exchange but slower step.
fn slower_step(best: Ranked, present: Ranked) -> String {
    format!(
        "Stay with {}. The exchange alone is faster over {}, {} instead of {}, but a step takes longer with it, {} \
         instead of {}.",
        present,
        best,
        in_unit(MICROSECONDS, &best.measured.exchange),
        in_unit(MICROSECONDS, &present.measured.exchange),
        in_unit(MILLISECONDS, &best.measured.step),
        in_unit(MILLISECONDS, &present.measured.step)
    )
}

fn surety<C: RowContext>(comparison: &Comparison<C>, best: Ranked, next: Ranked) -> String {
    let by = comparison.ranked_by();
    let how = if is_sure(comparison, best, next) {
        "It is surely the fastest"
    } else {
        "It is surely faster than what is in use, but not surely than the next"
    };
    format!("{how}: {}; next is {}.", decisive(by, best.measured), described(by, next))
}

/// Returns the gain of a change, in the step and, if steps contain it, in the exchange alone.
fn gain<C: RowContext>(comparison: &Comparison<C>, best: Ranked, other: Ranked, label: &str) -> String {
    let [exchange, other_exchange] = [best, other].map(|ranked| ranked.measured.exchange);
    let [step, other_step] = [best, other].map(|ranked| ranked.measured.step);
    let steps = [step, other_step].map(|step| in_unit(MILLISECONDS, &step));
    let in_the_step = if comparison.is_surely_below(RankedBy::Step, best, other) {
        let share = (1.0 - step.median_s / other_step.median_s) * PERCENT;
        format!("a step takes {} instead of {}: {share:.1} % less, surely", steps[0], steps[1])
    } else {
        format!(
            "but the step is not measurably faster ({}): the gain is hidden by the computation or lost in the noise",
            steps.join(" and ")
        )
    };
    let against = format!("Against {label} ({other})");
    if comparison.always_rebuilds() {
        return format!("{against}: {in_the_step}.");
    }
    let ratio = other_exchange.median_s / exchange.median_s;
    let (factor, direction) = if ratio < 1.0 { (1.0 / ratio, "slower") } else { (ratio, "faster") };
    let factor = significant(factor, 2);
    let exchange =
        format!("{} instead of {}", in_unit(MICROSECONDS, &exchange), in_unit(MICROSECONDS, &other_exchange));
    format!("{against}: the exchange alone takes {exchange} ({factor} times {direction}); {in_the_step}.")
}

/// Returns the lines for the scenario.
fn toml(best: Ranked) -> String {
    let chosen = best.variant.strategy.values(best.keys).map(|(key, name)| format!("\n{key} = {name:?}"));
    let set = best.variant.settings.iter().filter_map(|Setting { key, value }| {
        let (key, value) = (key.strip_prefix("parallel.").unwrap_or(key), value.as_ref()?);
        let is_bare = value.parse::<u64>().is_ok() || value.parse::<bool>().is_ok();
        Some(if is_bare { format!("\n{key} = {value}") } else { format!("\n{key} = {value:?}") })
    });
    let lines: String = chosen.chain(set).collect();
    format!("\n[parallel]{lines}")
}

/// Returns a strategy with the time by which it is ranked.
fn described(by: RankedBy, ranked: Ranked) -> String {
    format!("{ranked}, {}", decisive(by, ranked.measured))
}

fn decisive(by: RankedBy, measured: &Measured) -> String {
    in_unit(unit_of(by), &by.interval(measured)) + per(by)
}

/// Returns a median without its bounds.
fn median(by: RankedBy, interval: &Interval) -> String {
    let unit = unit_of(by);
    format!("{} {}{}", significant(interval.median_s * unit.per_second, DIGITS), unit.symbol, per(by))
}

fn per(by: RankedBy) -> &'static str {
    match by {
        RankedBy::Exchange => "",
        RankedBy::Step | RankedBy::WholeStep => " per step",
    }
}

fn in_unit(unit: Unit, interval: &Interval) -> String {
    let [median, low, high] = unit.bounds(interval, DIGITS);
    format!("{median} {} [{low}, {high}]", unit.symbol)
}
