//! Round trip of a message.

use md_comm::Buffering;

use super::line::{Handling, Line, exchanged, one_way, spec};
use super::series::{Series, parts};
use super::walk::through;
use super::{Benchmark, Case, Ground, Stage, powers_of_two};
use crate::{Problem, agree};

/// Rank 0 to its partner and back, with messages in place, with copies, and with copies from and to
/// memory that no cache holds.
pub(super) struct Roundtrip;

impl Benchmark for Roundtrip {
    fn name(&self) -> &'static str {
        "roundtrip"
    }

    fn cases(&self, ground: &Ground) -> Vec<Case> {
        ground.pairs_and_calls(&powers_of_two())
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
        let samples_s = exchanged(world, [there, back], effort, &handling)?;
        let mut series = parts(&["", "copied", "walked"], samples_s, 2.0 * case.bytes as f64);
        series[2].note = through(walk_bytes);
        Ok(series)
    }
}
