//! What is compared with what, and what follows from it.

use super::confidence::is_sure;
use super::words::{gain, no_recommendation, noise, slower_step, stays_best, surety, toml, too_small};
use super::{BASELINE, Measurement};
use crate::comparison::{Comparison, RankedBy, SAMPLES_FOR_CONFIDENCE, StrategyReport};
use crate::output::compare::table::name;

pub(super) fn verdict(comparison: &Comparison) -> Vec<String> {
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
    let mut told: Vec<&StrategyReport> = vec![best.0];
    for (other, label) in others.into_iter().filter_map(|(other, label)| Some((other?, label))) {
        if !told.contains(&other.0) {
            told.push(other.0);
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
