//! First message after computation, which finds caches and processor in another state.

use std::time::{Duration, Instant};

use md_comm::Buffering;

use super::line::{Handling, Line, one_way, spec, verified};
use super::series::{Series, parts};
use super::{Benchmark, Case, Ground, Stage, compute_for};
use crate::Problem;
use crate::sampling::sample_timed;

/// Durations of the computation before the message.
const COMPUTATIONS_MS: [u64; 4] = [0, 1, 10, 100];
const PARTS: [&str; 4] = ["at-once", "1-ms", "10-ms", "100-ms"];

/// Round trip after computation on all ranks.
pub(super) struct Wakeup;

impl Benchmark for Wakeup {
    fn name(&self) -> &'static str {
        "wakeup"
    }

    fn cases(&self, ground: &Ground) -> Vec<Case> {
        ground.pairs(&[8])
    }

    fn least_s(&self, _: &Case) -> f64 {
        1.0
    }

    fn run(&self, case: &Case, stage: &Stage) -> Result<Vec<Series>, Problem> {
        let Stage { world, effort, .. } = *stage;
        let edges = one_way(world.rank(), [0, case.peer], 1, case.bytes);
        let there = Line::open(world, spec(edges, Buffering::Double))?;
        let back = there.reverse()?;
        let samples_s = verified(world, [there, back], |lines| {
            sample_timed(world, PARTS.len(), effort, |kind, iterations| {
                let mut trip_s = 0.0;
                for _ in 0..iterations {
                    world.barrier()?;
                    compute_for(Duration::from_millis(COMPUTATIONS_MS[kind]));
                    let begun = Instant::now();
                    lines.iter_mut().try_for_each(|line| line.exchange(Handling::InPlace, |_| Ok(())))?;
                    trip_s += if world.rank() == 0 { begun.elapsed().as_secs_f64() } else { 0.0 };
                }
                Ok(Some(trip_s))
            })
        })?;
        Ok(parts(&PARTS, samples_s, 2.0 * case.bytes as f64))
    }
}
