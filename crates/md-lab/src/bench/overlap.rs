//! Share of an exchange that hides behind computation.

use std::hint::black_box;

use md_comm::{Buffering, CommError, Edge, Exchange, Flow, World};

use super::line::{Handling, Line, spec, verified};
use super::series::{Series, parts};
use super::{Benchmark, Case, Ground, Stage};
use crate::Problem;
use crate::sampling::{Effort, sample_in_turn};
use crate::statistics::Interval;

/// 10^5 numbers, and 4 MB.
const SIZES: [usize; 2] = [800_000, 4_000_000];
/// Blocks of computation, each followed by a call that drives progress.
pub(crate) const BLOCKS: usize = 16;
/// Share of the budget spent on finding the length of the computation.
const TRIAL: f64 = 0.1;
/// Units of computation in the trial that measures the time of one unit.
const TRIAL_UNITS: usize = 10_000;
const PARTS: [&str; 5] = ["communication", "computation", "both", "progress", CALL];
const CALL: &str = "call";

/// Exchange with both neighbours of a ring: the exchange alone, a computation of equal length
/// alone, both together, and both with calls that drive progress; also such a call where nothing is
/// under way.
pub(super) struct Overlap;

impl Benchmark for Overlap {
    fn name(&self) -> &'static str {
        "overlap"
    }

    fn cases(&self, ground: &Ground) -> Vec<Case> {
        ground.each(&SIZES, ground.distance(), 0)
    }

    fn run(&self, case: &Case, stage: &Stage) -> Result<Vec<Series>, Problem> {
        let Stage { world, effort, .. } = *stage;
        let line = Line::open(world, spec(ring(world, case.bytes), Buffering::Double))?;
        let samples_s = verified(world, [line], |[line]| {
            let units = units_as_long_as(line, world, effort)?;
            sample_in_turn(world, PARTS.len(), effort, |kind, iterations| {
                (0..iterations).try_for_each(|_| iterate(line, PARTS[kind], units))?;
                Ok(())
            })
        })?;
        let mut series = parts(&PARTS, samples_s, 2.0 * case.bytes as f64);
        series.iter_mut().filter(|part| part.part == CALL).for_each(|part| part.bytes_moved = 0.0);
        let intervals: Vec<Interval> =
            series.iter().filter_map(|part| Some(part.summary?.interval)).collect();
        if let [communication, computation, ..] = intervals[..] {
            for (part, both) in series.iter_mut().zip(&intervals).skip(2).take(2) {
                part.note = hidden([communication, computation], *both);
            }
        }
        Ok(series)
    }
}

/// Returns the range of the share of the shorter part that was hidden when both ran together, given
/// that each median lies anywhere in its interval. Ranges that are too wide or impossible are
/// marked `not resolved`.
fn hidden(alone: [Interval; 2], both: Interval) -> String {
    /// Percentage points; a wider range does not show whether anything is hidden.
    const WIDEST: f64 = 50.0;
    let shorter_s = alone[0].median_s.min(alone[1].median_s);
    let percent = |alone_s: [f64; 2], both_s: f64| 100.0 * (alone_s[0] + alone_s[1] - both_s) / shorter_s;
    let low = percent(alone.map(|it| it.low_s), both.high_s);
    let high = percent(alone.map(|it| it.high_s), both.low_s);
    let share = format!("{low:.0} to {high:.0} % hidden");
    if high - low > WIDEST || high < 0.0 || low > 100.0 { format!("not resolved: {share}") } else { share }
}

pub(super) fn ring(world: &dyn World, bytes: usize) -> Vec<Edge> {
    let (rank, ranks) = (world.rank(), world.ranks());
    let edge = |peer, send_channel| Edge {
        peer,
        send_channel,
        receive_channel: 1 - send_channel,
        flow: Flow::Both,
        send_capacity: bytes,
    };
    vec![edge((rank + 1) % ranks, 0), edge((rank + ranks - 1) % ranks, 1)]
}

fn iterate(line: &mut Line, part: &str, units: usize) -> Result<(), CommError> {
    let blocks = |context: &mut Exchange| {
        (0..BLOCKS).try_for_each(|_| {
            compute(units / BLOCKS);
            context.progress()
        })
    };
    let whole = |_: &mut Exchange| {
        compute(units);
        Ok(())
    };
    match part {
        "communication" => line.exchange(Handling::InPlace, |_| Ok(())),
        "computation" => {
            compute(units);
            Ok(())
        }
        CALL => line.drive_progress(),
        "both" => line.exchange(Handling::InPlace, whole),
        _ => line.exchange(Handling::InPlace, blocks),
    }
}

/// Returns the units of computation that take as long as an exchange, from the shortest of some
/// samples of the first two parts. All ranks get the same number. *Collective.*
fn units_as_long_as(line: &mut Line, world: &dyn World, effort: Effort) -> Result<usize, CommError> {
    let effort = Effort { budget_s: TRIAL * effort.budget_s, ..effort };
    let samples_s = sample_in_turn(world, 2, effort, |kind, iterations| {
        (0..iterations).try_for_each(|_| iterate(line, PARTS[kind], TRIAL_UNITS))
    })?;
    let shortest_s = |kind: usize| samples_s[kind].iter().copied().fold(f64::INFINITY, f64::min);
    let [exchange_s, trial_s] = [0, 1].map(shortest_s);
    Ok((TRIAL_UNITS as f64 * exchange_s / trial_s).ceil() as usize)
}

/// Does arithmetic in registers, on numbers that the compiler does not recognise as constant. Not
/// inlined, so that trial and measurement run one code. No fused operation, which is a library call
/// where the CPU is not known at compile time.
#[inline(never)]
fn compute(units: usize) {
    let mut numbers = black_box([1.0_f64; 8]);
    for _ in 0..units {
        numbers.iter_mut().for_each(|number| *number = *number * 0.999_999 + 1e-6);
    }
    black_box(numbers);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_that_noise_exceeds_are_not_resolved() {
        let about = |median_s: f64, half_s: f64| Interval {
            median_s,
            low_s: median_s - half_s,
            high_s: median_s + half_s,
        };
        let share = |both: f64, half_s| hidden([about(1.0, half_s), about(2.0, half_s)], about(both, half_s));
        assert_eq!(share(2.5, 0.01), "47 to 53 % hidden");
        assert_eq!(share(3.02, 0.01), "-5 to 1 % hidden");
        assert_eq!(share(2.5, 0.2), "not resolved: -10 to 110 % hidden");
        assert_eq!(share(3.5, 0.01), "not resolved: -53 to -47 % hidden");
        assert_eq!(share(1.5, 0.01), "not resolved: 147 to 153 % hidden");
    }
}
