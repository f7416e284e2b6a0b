//! Round trip of a message.

use md_comm::Buffering;

use super::line::{Handling, Line, one_way, spec, verified};
use super::series::{Series, parts};
use super::walk::through;
use super::{Benchmark, Case, Ground, Stage, powers_of_two};
use crate::sampling::sample_in_turn;
use crate::{Problem, agree};

/// Rank 0 to its partner and back, with messages in place, with copies, and with copies from and to
/// memory that no cache holds.
pub(super) struct Roundtrip;

impl Benchmark for Roundtrip {
    fn name(&self) -> &'static str {
        "roundtrip"
    }

    fn cases(&self, ground: &Ground) -> Vec<Case> {
        let cases = |(peer, distance)| ground.each(&powers_of_two(), distance, peer);
        let cases = ground.partners().into_iter().flat_map(cases);
        #[cfg(feature = "mpi")]
        let cases = {
            let calls: &[_] = if ground.has_calls { &super::onesided::MECHANISMS } else { &[] };
            cases.chain(ground.plain(calls, &powers_of_two()))
        };
        cases.collect()
    }

    fn run(&self, case: &Case, stage: &Stage) -> Result<Vec<Series>, Problem> {
        let Stage { world, effort, walk, walk_bytes, .. } = *stage;
        #[cfg(feature = "mpi")]
        if matches!(case.mechanism, super::Mechanism::Other(_)) {
            return super::onesided::run(case, stage);
        }
        let moves = [0, case.peer].contains(&world.rank());
        let taken = if moves { walk.borrow_mut().begin(walk_bytes, case.bytes) } else { Ok(()) };
        agree(stage.transports.agreement(), taken.map_err(Problem::from))??;
        let edges = one_way(world.rank(), [0, case.peer], 1, case.bytes);
        let there = Line::open(world, spec(edges, Buffering::Double))?;
        let back = there.reverse()?;
        let handling = [Handling::InPlace, Handling::Copied, Handling::Walked(walk)];
        let samples_s = verified(world, [there, back], |lines| {
            sample_in_turn(world, handling.len(), effort, |kind, iterations| {
                for _ in 0..iterations {
                    lines.iter_mut().try_for_each(|line| line.exchange(handling[kind], |_| Ok(())))?;
                }
                Ok(())
            })
        })?;
        let mut series = parts(&["", "copied", "walked"], samples_s, 2.0 * case.bytes as f64);
        series[2].note = through(walk_bytes);
        Ok(series)
    }
}
