//! What a step of `md-cli run` costs beside its forces does not grow with the number of ranks: collectives and messages are
//! counted per rank and step in jobs of 2 to 16 ranks, each with as many particles per rank, in a row along x. The
//! last line is `N passed, N failed`.
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
