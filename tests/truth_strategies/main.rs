//! Checks that every way to move a halo gives the same trajectory, bit for bit. One MPI job for
//! each number of ranks and implementation of windows runs all strategies in turn through the
//! engine. The last line is `N passed, N failed`.
//!
//! By default a part of the strategies runs. `MD_STRATEGIES=full` runs all of them, `each` runs
//! each option alone, and `nodes` runs no options (for a launcher over several nodes).
//! `MD_STRATEGIES_RANKS=2,3`, `MD_STRATEGIES_PATHS=sm,pt2pt` and `MD_STRATEGIES_ONLY=words` (which
//! a strategy's name must contain) select parts of these.
#![expect(clippy::print_stdout, reason = "a test program without the standard harness")]

#[cfg(feature = "mpi")]
mod jobs;
#[cfg(feature = "mpi")]
#[path = "../../crates/md-comm/tests/conformance/launch.rs"]
mod launch;
#[cfg(feature = "mpi")]
mod paths;
#[cfg(feature = "mpi")]
mod play;
#[cfg(feature = "mpi")]
mod scenario;
#[cfg(feature = "mpi")]
mod strategy;
#[cfg(feature = "mpi")]
#[path = "../support/tally.rs"]
mod tally;

use std::process::ExitCode;

#[cfg(feature = "mpi")]
fn main() -> ExitCode {
    if md_comm::launch::started_by_launcher().is_some() { play::play_all() } else { jobs::run_all() }
}

#[cfg(not(feature = "mpi"))]
fn main() -> ExitCode {
    println!("skipped: built without MPI\n0 passed, 0 failed");
    ExitCode::SUCCESS
}
