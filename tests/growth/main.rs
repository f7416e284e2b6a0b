//! The cost of a step of `md-cli run` beside its forces must not grow with the number of ranks.
//! Collectives and messages are counted per rank and step in jobs of 2 to 16 ranks in a row along
//! x, each with the same number of particles per rank. The last line is `N passed, N failed`.
#![expect(clippy::print_stdout, reason = "a test program without the standard harness")]

#[cfg(feature = "mpi")]
mod child;
#[cfg(feature = "mpi")]
#[path = "../steady/counter.rs"]
mod counter;
#[cfg(feature = "mpi")]
mod jobs;
#[cfg(feature = "mpi")]
#[path = "../../crates/md-comm/tests/conformance/launch.rs"]
mod launch;
#[cfg(feature = "mpi")]
#[path = "../support/tally.rs"]
mod tally;

use std::process::ExitCode;

#[cfg(feature = "mpi")]
fn main() -> ExitCode {
    if md_comm::launch::started_by_launcher().is_some() { child::run() } else { jobs::run_all() }
}

#[cfg(not(feature = "mpi"))]
fn main() -> ExitCode {
    println!("skipped: built without MPI\n0 passed, 0 failed");
    ExitCode::SUCCESS
}
