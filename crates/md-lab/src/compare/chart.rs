//! `compare.svg` and `compare.png`: a bar per strategy for the time of its exchange, with the 95 %
//! interval (the range if there are too few samples); next to it, the parts of the halo in a step.

use md_core::words::counted;
use md_engine::Phase;

use super::comparison::{Comparison, HALO_PHASES, MeasurementContext, Ranked, RankedBy, RowContext};
use super::{MICROSECONDS, unit_of};
use crate::plot::{Bars, Stacks};

/// Length at which a bar is cut, in typical lengths.
const LONGEST: f64 = 5.0;

/// Returns the chart, with the best strategy at the top.
pub fn chart<C: RowContext>(comparison: &Comparison<C>) -> Bars {
    let by = comparison.ranked_by();
    let description = match by {
        RankedBy::Exchange => "exchange alone, microseconds",
        RankedBy::Step | RankedBy::WholeStep => "step, milliseconds",
    };
    let unit = unit_of(by).per_second;
    let ranking = comparison.ranking();
    let baseline = comparison.baseline();
    let bars = ranking.iter().map(|ranked| (ranked.to_string(), by.interval(ranked.measured).times(unit)));
    Bars {
        title: title(comparison),
        description: format!("{description} (median and {})", comparison.bounds()),
        bars: bars.collect(),
        baseline: ranking.iter().position(|ranked| Some(*ranked) == baseline),
        longest: Some(LONGEST),
        stacks: Some(parts(&ranking)),
    }
}

/// Returns the phases of the halo that take any time with any strategy.
fn parts(ranking: &[Ranked]) -> Stacks {
    let time_us =
        |ranked: &Ranked, phase: Phase| ranked.measured.phases[phase as usize] * MICROSECONDS.per_second;
    let is_there = |phase: &Phase| ranking.iter().any(|ranked| time_us(ranked, *phase) > 0.0);
    let phases: Vec<Phase> = HALO_PHASES.into_iter().filter(is_there).collect();
    let lengths = |ranked: &Ranked| phases.iter().map(|&phase| time_us(ranked, phase)).collect();
    Stacks {
        description: "the halo in a step, microseconds (mean of the ranks)".to_owned(),
        parts: phases
            .iter()
            .map(|phase| phase.name().trim_start_matches("halo_").replace('_', " "))
            .collect(),
        lengths: ranking.iter().map(lengths).collect(),
    }
}

fn title<C: RowContext>(comparison: &Comparison<C>) -> String {
    let context = comparison.rows.first().map(|row| &row.context);
    context.map_or_else(String::new, |context| {
        let MeasurementContext { ranks, host, .. } = context.job();
        format!("Halo exchange, {}, {}, {host}", context.extent(), counted(ranks, "rank"))
    })
}

#[cfg(test)]
mod tests {
    use md_comm::Backend;
    use md_core::Shell;

    use crate::plot::Picture;

    use super::*;
    use crate::compare::fixtures::comparison;

    #[test]
    fn the_svg_names_every_strategy() {
        let text = chart(&comparison(&[(Backend::P2p, 10.0, 1.0), (Backend::Shm, 2.0, 0.9)])).svg().unwrap();
        for label in ["p2p half direct rect", "shm half direct rect", "16000 atoms, 2 ranks", "microseconds"]
        {
            assert!(text.contains(label), "{label}: {text}");
        }
    }

    #[test]
    fn the_parts_of_the_halo_and_the_baseline_are_drawn() {
        let text = chart(&comparison(&[(Backend::P2p, 10.0, 1.0), (Backend::Shm, 2.0, 0.9)])).svg().unwrap();
        for label in ["p2p half direct rect, baseline", "pack", "wait", "force return"] {
            assert!(text.lines().any(|line| line.trim() == label), "{label}: {text}");
        }
        assert!(!text.contains("migrate"), "it takes no time");
    }

    #[test]
    fn the_bounds_are_called_what_they_are() {
        let comparison = comparison(&[(Backend::P2p, 10.0, 1.0)]);
        assert!(chart(&comparison).svg().unwrap().contains("microseconds (median and 95 % interval)"));
        let few = Comparison { repeat: 5, ..comparison };
        assert!(chart(&few).svg().unwrap().contains("microseconds (median and range)"));
    }

    #[test]
    fn different_work_is_drawn_by_the_step() {
        let mut comparison = comparison(&[(Backend::P2p, 10.0, 1.0), (Backend::Shm, 2.0, 0.9)]);
        comparison.rows[1].variant.strategy.shell = Shell::Full;
        assert!(chart(&comparison).svg().unwrap().contains("step, milliseconds"));
    }
}
