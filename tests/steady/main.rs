//! Checks that a steady exchange, and a step without rebuild, allocates nothing and calls no
//! collective except those that define its backend. Threads are checked in this process, MPI by
//! starting this program again under the launcher. The last line is `N passed, N failed`.
//!
//! Allocations are counted per thread, on the Rust side. Collectives are counted by a library that
//! is loaded before MPI and forwards every call (the profiling interface, MPI-3.1 section 14.2). It
//! keeps its count in a file.
#![cfg_attr(
    feature = "mpi",
    expect(clippy::print_stdout, reason = "a test program without the standard harness")
)]

#[cfg(feature = "mpi")]
mod child;
#[cfg(feature = "mpi")]
mod counter;
#[cfg(feature = "mpi")]
#[path = "../../crates/md-comm/tests/conformance/launch.rs"]
mod launch;
#[path = "../support/tally.rs"]
mod tally;
mod work;

use std::process::ExitCode;
use std::time::Duration;

use md_comm::{World, local};
use tally::Tally;

const WATCHDOG: Duration = Duration::from_secs(60);
/// Number of ranks over MPI.
#[cfg(feature = "mpi")]
const RANKS: usize = 2;

fn main() -> ExitCode {
    #[cfg(feature = "mpi")]
    if md_comm::launch::started_by_launcher().is_some() {
        return child::run();
    }
    let mut tally = Tally::default();
    tally.count("the counter sees an allocation", work::sees_an_allocation());
    for (name, play) in work::ALL.into_iter().chain(work::THREADED) {
        let on_thread = |world: &dyn World| play(world).and_then(work::Played::expect_no_allocation);
        for outcome in local::run(2, WATCHDOG, on_thread) {
            let outcome = outcome.map_err(|panicked| panicked.to_string()).and_then(|outcome| outcome);
            tally.count(&format!("local, {name}"), outcome);
        }
    }
    #[cfg(feature = "mpi")]
    tally.count("over MPI", counter::run_job(RANKS).map(|printed| println!("{}", printed.trim())));
    tally.end()
}
