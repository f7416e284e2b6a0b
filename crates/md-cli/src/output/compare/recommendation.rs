//! Which strategy to use, in words that say how sure that is.
//!
//! A difference is called sure if the 95 % intervals of the medians do not touch; anything else is called noise, and
//! nobody is asked to change a setting for noise.

use super::table::name;
use crate::comparison::{Comparison, Interval, Measured, RankedBy, SAMPLES_FOR_CONFIDENCE, StrategyReport};
use crate::output::number::significant;
use crate::report::RunContext;

/// Below this share of a step the halo does not matter.
const SMALL_SHARE: f64 = 0.05;
/// The baseline may differ by so much between its two measurements.
const LARGEST_DRIFT: f64 = 0.1;
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
    paragraphs.extend(verdict(comparison));
    paragraphs.iter().map(|paragraph| format!("{paragraph}\n")).collect()
}

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

fn verdict(comparison: &Comparison) -> Vec<String> {
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
        return vec![stays_best(by, best, next)];
    }
    if !is_sure(by, best, present) {
        return vec![noise(by, best, present)];
    }
    if present.1.step.is_below(&best.1.step) {
        return vec![slower_step(best, present)];
    }
    let mut text = vec![format!("Use {}. {}", name(best.0), surety(by, best, next))];
    let baseline = baseline(comparison, &ranking);
    let others = [(baseline, BASELINE), (own(comparison), "the scenario's setting")];
    let mut told: Vec<&StrategyReport> = vec![best.0];
    for (other, label) in others.into_iter().filter_map(|(other, label)| Some((other?, label))) {
        if !told.contains(&other.0) {
            told.push(other.0);
            text.push(gain(best, other, label));
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

fn is_sure(by: RankedBy, best: Measurement, other: Measurement) -> bool {
    by.interval(best.1).is_below(&by.interval(other.1))
}

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
    (by == RankedBy::Exchange && share < SMALL_SHARE).then(|| {
        format!(
            "The halo is {:.1} % of a step with {}: no strategy can gain more than that, so there is no reason to change \
             anything. (The fastest exchange alone: {}, {}.)",
            share * PERCENT,
            name(present.0),
            name(best.0),
            decisive(RankedBy::Exchange, best.1)
        )
    })
}

/// The best one is what is in use already.
fn stays_best(by: RankedBy, best: Measurement, next: Measurement) -> String {
    let who =
        if best.0.context.backend == BASELINE { "Two-sided messages win: stay with" } else { "Stay with" };
    let is_sure = is_sure(by, best, next);
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

fn surety(by: RankedBy, best: Measurement, next: Measurement) -> String {
    let how = if is_sure(by, best, next) {
        "It is surely the fastest"
    } else {
        "It is surely faster than what is in use, but not surely than the next"
    };
    format!("{how}: {}; next is {}, {}.", decisive(by, best.1), name(next.0), decisive(by, next.1))
}

/// What a change brings, in the exchange and in the step.
fn gain(best: Measurement, other: Measurement, label: &str) -> String {
    let (exchange, step) = (best.1.exchange, best.1.step);
    let ratio = other.1.exchange.median_s / exchange.median_s;
    let (factor, direction) = if ratio < 1.0 { (1.0 / ratio, "slower") } else { (ratio, "faster") };
    let factor = significant(factor, 2);
    let share = (1.0 - step.median_s / other.1.step.median_s) * PERCENT;
    let in_the_step = if step.is_below(&other.1.step) {
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
    let exchange = format!("{} instead of {}", microseconds(&exchange), microseconds(&other.1.exchange));
    format!(
        "Against {label} ({}): the exchange alone takes {exchange} ({factor} times {direction}); {in_the_step}.",
        name(other.0)
    )
}

fn decisive(by: RankedBy, measured: &Measured) -> String {
    match by {
        RankedBy::Exchange => microseconds(&measured.exchange),
        RankedBy::Step => format!("{} per step", milliseconds(&measured.step)),
    }
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

/// The lines to put into the scenario.
fn toml(context: &RunContext) -> String {
    let RunContext { backend, shell, exchange, partition, .. } = context;
    format!(
        "\n[parallel]\nbackend = \"{backend}\"\nshell = \"{shell}\"\nexchange = \"{exchange}\"\npartition = \"{partition}\""
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::StepPhases;
    use crate::output::compare::fixtures::{around, comparison, strategy, unavailable};

    #[test]
    fn a_clear_winner() {
        let comparison = comparison(&[("p2p", 12.0, 1.3), ("rma-lock", 6.0, 1.2), ("shm", 3.0, 1.0)]);
        insta::assert_snapshot!(recommendation(&comparison), @r#"
        Use shm half direct rect. It is surely the fastest: 3 us [2.85, 3.15]; next is rma-lock half direct rect, 6 us [5.7, 6.3].
        Against p2p (p2p half direct rect): the exchange alone takes 3 us [2.85, 3.15] instead of 12 us [11.4, 12.6] (4 times faster); a step takes 1 ms [0.95, 1.05] instead of 1.3 ms [1.23, 1.37]: 23.1 % less, surely.

        [parallel]
        backend = "shm"
        shell = "half"
        exchange = "direct"
        partition = "rect"
        "#);
    }

    #[test]
    fn a_winner_that_the_next_one_may_beat() {
        let comparison = comparison(&[("p2p", 12.0, 1.3), ("rma-lock", 3.1, 1.0), ("shm", 3.0, 1.0)]);
        insta::assert_snapshot!(recommendation(&comparison), @r#"
        Use shm half direct rect. It is surely faster than what is in use, but not surely than the next: 3 us [2.85, 3.15]; next is rma-lock half direct rect, 3.1 us [2.94, 3.26].
        Against p2p (p2p half direct rect): the exchange alone takes 3 us [2.85, 3.15] instead of 12 us [11.4, 12.6] (4 times faster); a step takes 1 ms [0.95, 1.05] instead of 1.3 ms [1.23, 1.37]: 23.1 % less, surely.

        [parallel]
        backend = "shm"
        shell = "half"
        exchange = "direct"
        partition = "rect"
        "#);
    }

    #[test]
    fn against_the_scenarios_own_setting_too() {
        let mut comparison = comparison(&[("rma-fence", 20.0, 1.5), ("p2p", 12.0, 1.3), ("shm", 3.0, 1.0)]);
        comparison.control = Some((1, around(14.0e-6)));
        insta::assert_snapshot!(recommendation(&comparison), @r#"
        Backends that can block inside the MPI library were measured last, beside p2p once more: 14 us then, 12 us before (+17 %); the machine was not the same: compare the two groups with care.
        Use shm half direct rect. It is surely the fastest: 3 us [2.85, 3.15]; next is p2p half direct rect, 12 us [11.4, 12.6].
        Against p2p (p2p half direct rect): the exchange alone takes 3 us [2.85, 3.15] instead of 12 us [11.4, 12.6] (4 times faster); a step takes 1 ms [0.95, 1.05] instead of 1.3 ms [1.23, 1.37]: 23.1 % less, surely.
        Against the scenario's setting (rma-fence half direct rect): the exchange alone takes 3 us [2.85, 3.15] instead of 20 us [19, 21] (6.7 times faster); a step takes 1 ms [0.95, 1.05] instead of 1.5 ms [1.43, 1.57]: 33.3 % less, surely.

        [parallel]
        backend = "shm"
        shell = "half"
        exchange = "direct"
        partition = "rect"
        "#);
    }

    #[test]
    fn two_sided_wins() {
        let comparison = comparison(&[("p2p", 3.0, 1.0), ("shm", 12.0, 1.3)]);
        insta::assert_snapshot!(recommendation(&comparison), @r"
        Two-sided messages win: stay with p2p half direct rect, 3 us [2.85, 3.15]; next is shm half direct rect, 12 us [11.4, 12.6]; that is sure.
        ");
    }

    #[test]
    fn two_sided_wins_within_the_noise() {
        let comparison = comparison(&[("p2p", 3.0, 1.0), ("shm", 3.1, 1.0)]);
        insta::assert_snapshot!(recommendation(&comparison), @r"
        Two-sided messages win: stay with p2p half direct rect, 3 us [2.85, 3.15]; next is shm half direct rect, 3.1 us [2.94, 3.26]; but the next is as good within the noise.
        ");
    }

    #[test]
    fn all_within_the_noise() {
        let comparison = comparison(&[("p2p", 3.1, 1.0), ("shm", 3.0, 1.0)]);
        insta::assert_snapshot!(recommendation(&comparison), @r"
        Within the noise: shm half direct rect, 3 us [2.85, 3.15], is not surely faster than p2p half direct rect, 3.1 us [2.94, 3.26]. Stay with p2p half direct rect; more repetitions (--repeat) or a quieter machine may tell them apart.
        ");
    }

    #[test]
    fn a_halo_that_does_not_matter() {
        let mut comparison = comparison(&[("p2p", 12.0, 100.0), ("shm", 3.0, 99.0)]);
        for row in &mut comparison.rows {
            let measured = row.measured.as_mut().unwrap();
            measured.phases = StepPhases { halo_wait_s: 1e-3, total_s: 0.1, ..StepPhases::default() };
        }
        insta::assert_snapshot!(recommendation(&comparison), @r"
        The halo is 1.0 % of a step with p2p half direct rect: no strategy can gain more than that, so there is no reason to change anything. (The fastest exchange alone: shm half direct rect, 3 us [2.85, 3.15].)
        ");
    }

    #[test]
    fn an_exchange_that_is_faster_and_a_step_that_is_not() {
        let comparison = comparison(&[("p2p", 12.0, 1.0), ("shm", 3.0, 0.99)]);
        insta::assert_snapshot!(recommendation(&comparison), @r#"
        Use shm half direct rect. It is surely the fastest: 3 us [2.85, 3.15]; next is p2p half direct rect, 12 us [11.4, 12.6].
        Against p2p (p2p half direct rect): the exchange alone takes 3 us [2.85, 3.15] instead of 12 us [11.4, 12.6] (4 times faster); but the step is not measurably faster (0.99 ms [0.94, 1.04] and 1 ms [0.95, 1.05]): the gain is hidden by the computation or lost in the noise.

        [parallel]
        backend = "shm"
        shell = "half"
        exchange = "direct"
        partition = "rect"
        "#);
    }

    #[test]
    fn an_exchange_that_is_faster_and_a_step_that_is_slower() {
        let comparison = comparison(&[("p2p", 12.0, 1.0), ("shm", 3.0, 1.2)]);
        insta::assert_snapshot!(recommendation(&comparison), @r"
        Stay with p2p half direct rect. The exchange alone is faster over shm half direct rect, 3 us [2.85, 3.15] instead of 12 us [11.4, 12.6], but a step takes longer with it, 1.2 ms [1.14, 1.26] instead of 1 ms [0.95, 1.05].
        ");
    }

    #[test]
    fn different_shells_are_ranked_by_the_step() {
        let mut comparison = comparison(&[("p2p", 12.0, 1.0), ("shm", 3.0, 1.2)]);
        let mut full = strategy("shm", 9.0, 0.8);
        full.context.shell = "full".to_owned();
        comparison.rows.push(full);
        insta::assert_snapshot!(recommendation(&comparison), @r#"
        Use shm full direct rect. It is surely the fastest: 0.8 ms [0.76, 0.84] per step; next is p2p half direct rect, 1 ms [0.95, 1.05] per step.
        Against p2p (p2p half direct rect): the exchange alone takes 9 us [8.55, 9.45] instead of 12 us [11.4, 12.6] (1.3 times faster); a step takes 0.8 ms [0.76, 0.84] instead of 1 ms [0.95, 1.05]: 20.0 % less, surely.

        [parallel]
        backend = "shm"
        shell = "full"
        exchange = "direct"
        partition = "rect"
        "#);
    }

    #[test]
    fn one_rank_has_no_choice() {
        let mut comparison = comparison(&[("p2p", 0.1, 1.0), ("shm", 0.1, 1.0)]);
        for row in &mut comparison.rows {
            row.context.ranks = 1;
        }
        insta::assert_snapshot!(recommendation(&comparison), @r"
        One rank sends no messages: its exchange is empty, whatever the strategy, and there is nothing to choose. Compare with the number of ranks that the scenario will run on.
        ");
    }

    #[test]
    fn more_ranks_than_cores() {
        let mut comparison = comparison(&[("p2p", 3.1, 1.0), ("shm", 3.0, 1.0)]);
        (comparison.ranks_per_core, comparison.repeat) = (2.0, 3);
        insta::assert_snapshot!(recommendation(&comparison), @r"
        WARNING: OVERSUBSCRIBED. There are 2 ranks per core: ranks take turns, and these numbers measure the operating system's scheduler, not the transports. Do not act on them; run at most one rank per core.
        With fewer than 6 repetitions there is no 95 % interval: the bounds are the smallest and the largest of 3 samples, and nothing is sure. Use --repeat 10 or more.
        So nothing is recommended. Smallest median: shm half direct rect, 3 us [2.85, 3.15]; in use: p2p half direct rect, 3.1 us [2.94, 3.26].
        ");
    }

    #[test]
    fn nothing_or_one_measured() {
        let mut nothing = comparison(&[]);
        nothing.rows.push(unavailable("shm"));
        insta::assert_snapshot!(recommendation(&nothing), @r"
        Nothing could be measured, so nothing is recommended.
        ");
        let mut one = comparison(&[("p2p", 3.0, 1.0)]);
        one.rows.push(unavailable("shm"));
        insta::assert_snapshot!(recommendation(&one), @r"
        Only p2p half direct rect could be measured: there is nothing to compare it with.
        ");
    }
}
