//! Progress of passive-target communication with a rank that computes.

use std::time::{Duration, Instant};

use md_comm::mpi::{At, PlainWindow};
use md_comm::{CommError, Rank};

use super::plain::{allocated, content, fill, verified};
use super::series::{Series, parts};
use super::{Benchmark, Case, Ground, Stage, compute_for};
use crate::Problem;
use crate::sampling::sample_timed;

/// Duration of the computation on the other ranks.
const COMPUTATION: Duration = Duration::from_millis(240);
/// Time for the other ranks to begin computing.
const START: Duration = Duration::from_millis(5);
const BYTES: usize = 8;
/// Puts into the rank's own window before the timed one.
const WARM_UP: usize = 4;

/// Time that rank 0 takes to lock its partner's window, put and unlock while the other ranks
/// compute without any call. Just before, it does this with its own window, which needs no other
/// rank: after a computation the code is in no cache, and fetching it would dominate the time if
/// nothing has to wait.
pub(super) struct Passive;

impl Benchmark for Passive {
    fn name(&self) -> &'static str {
        "passive"
    }

    fn cases(&self, ground: &Ground) -> Vec<Case> {
        ground.plain(&["lock"], &[BYTES])
    }

    fn least_s(&self, _: &Case) -> f64 {
        8.0 * COMPUTATION.as_secs_f64()
    }

    fn run(&self, case: &Case, stage: &Stage) -> Result<Vec<Series>, Problem> {
        let (world, bytes, peer) = (stage.world, case.bytes, case.peer);
        let is_target = world.rank() == peer;
        let work = |window: &mut PlainWindow| {
            fill(window, world, bytes)?;
            sample_timed(world, 1, stage.effort, |_, iterations| {
                let mut waited_s = 0.0;
                for _ in 0..iterations {
                    world.barrier()?;
                    if world.rank() > 0 {
                        compute_for(COMPUTATION);
                        continue;
                    }
                    compute_for(START);
                    (0..WARM_UP).try_for_each(|_| put_alone(window, bytes, world.rank()))?;
                    let begun = Instant::now();
                    put_alone(window, bytes, peer)?;
                    waited_s += begun.elapsed().as_secs_f64();
                }
                Ok::<_, Problem>(Some(waited_s))
            })
        };
        let right = |_: &_, own: &[u8]| Ok(!is_target || content(0).first_wrong(own).is_none());
        let samples_s = verified(stage, allocated(bytes), work, right)?;
        let mut series = parts(&[""], samples_s, bytes as f64);
        series[0].note = format!("the others compute {} ms", COMPUTATION.as_millis());
        Ok(series)
    }
}

/// Puts in a separate epoch.
fn put_alone(window: &mut PlainWindow, bytes: usize, to: Rank) -> Result<(), CommError> {
    window.lock(to)?;
    window.put(0..bytes, At::start_of(to))?;
    window.unlock(to)
}
