//! Times of the phases, reduced over ranks, and the speed of a run.

use md_engine::{Phase, PhaseSpread, Spread, Timings};
use md_lab::RunContext;
use serde::Serialize;

use super::RunFacts;

/// Statistics of one phase over all ranks, serialised as in summary.json.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PhaseStatistics {
    /// The phase.
    #[serde(skip)]
    pub phase: Phase,
    /// Number of times it was entered (the maximum over ranks; nearly always equal on all).
    pub calls: u64,
    /// Shortest time of a rank in seconds.
    pub min_s: f64,
    /// Average over ranks in seconds.
    pub avg_s: f64,
    /// Longest time of a rank in seconds.
    pub max_s: f64,
    /// Largest deviation of a rank from the average, in percent of the average.
    #[serde(skip)]
    pub varavg_percent: f64,
    /// Average in percent of the average total.
    #[serde(skip)]
    pub share_percent: f64,
}

/// Returns the statistics of all phases in the order of [`Phase::ALL`].
pub fn phase_statistics(timings: &Timings) -> [PhaseStatistics; Phase::ALL.len()] {
    let total_s = timings.phase(Phase::Total).seconds.avg;
    Phase::ALL.map(|phase| {
        let PhaseSpread { calls, seconds: Spread { min, avg, max } } = timings.phase(phase);
        PhaseStatistics {
            phase,
            calls,
            min_s: min,
            avg_s: avg,
            max_s: max,
            varavg_percent: percent((max - avg).max(avg - min), avg),
            share_percent: percent(avg, total_s),
        }
    })
}

/// Returns `part` in percent of `whole`, or 0 if `whole` is 0.
pub(super) fn percent(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole * 100.0 } else { 0.0 }
}

/// Returns the wall time per atom and step in nanoseconds, or 0 if there were no steps.
pub(super) fn ns_per_atom_step(context: &RunContext, facts: &RunFacts) -> f64 {
    ratio(facts.wall_s, atom_steps(context)) * 1e9
}

/// Returns atoms times steps per second, or 0 if there were no steps.
pub(super) fn atom_steps_per_s(context: &RunContext, facts: &RunFacts) -> f64 {
    ratio(atom_steps(context), facts.wall_s)
}

/// Returns steps per second, or 0 if there were no steps.
pub(super) fn steps_per_s(context: &RunContext, facts: &RunFacts) -> f64 {
    ratio(context.steps as f64, facts.wall_s)
}

fn atom_steps(context: &RunContext) -> f64 {
    context.atoms as f64 * context.steps as f64
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use md_engine::RankTiming;

    use super::*;
    use crate::report::fixtures::{reduced, two_ranks};

    #[test]
    fn deviation_and_share_are_percentages_of_averages() {
        let statistics = phase_statistics(&reduced(&two_ranks()));
        let force = statistics[Phase::Force as usize];
        assert_eq!((force.calls, force.min_s, force.avg_s, force.max_s), (101, 0.6, 0.75, 0.9));
        assert!((force.varavg_percent - 20.0).abs() < 1e-12);
        assert!((force.share_percent - 75.0).abs() < 1e-12);
        assert_eq!(statistics[Phase::Total as usize].share_percent, 100.0);
    }

    #[test]
    fn nothing_measured_gives_zeros() {
        for timings in [Timings::default(), reduced(&[RankTiming::default()])] {
            for row in phase_statistics(&timings) {
                assert_eq!((row.avg_s, row.varavg_percent, row.share_percent), (0.0, 0.0, 0.0));
            }
        }
    }

    #[test]
    fn the_average_of_equal_values_is_that_value() {
        let mut rank = RankTiming::default();
        rank.phases[Phase::Force as usize].seconds = 0.1;
        let seconds = reduced(&[rank; 3]).phase(Phase::Force).seconds;
        assert_eq!(seconds, Spread { min: 0.1, avg: 0.1, max: 0.1 });
    }
}
