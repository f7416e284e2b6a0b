//! The conformance suite on every transport: `local` in this process, MPI by re-executing this
//! program under a launcher. The last line is `N passed, N failed`.
#![expect(clippy::print_stdout, reason = "a test program without the standard harness")]

#[cfg(feature = "mpi")]
mod adverse;
#[cfg(feature = "mpi")]
mod ahead;
#[cfg(feature = "mpi")]
mod batch;
#[cfg(feature = "mpi")]
mod cases;
#[cfg(feature = "mpi")]
mod child;
#[cfg(feature = "mpi")]
mod jobs;
#[cfg(feature = "mpi")]
mod launch;
#[cfg(feature = "mpi")]
mod options;
#[path = "../../../../tests/support/tally.rs"]
mod tally;

use std::process::ExitCode;
use std::time::Duration;

use md_comm::conformance::{self, Report};
use md_comm::{World, local};
use tally::Tally;

/// Numbers of ranks on which the suite is run: one and two ranks per dimension are the special
/// cases.
const RANKS: [usize; 5] = [1, 2, 3, 4, 8];
const WATCHDOG: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    #[cfg(feature = "mpi")]
    if let Some(code) = child::run_if_child() {
        return code;
    }
    let mut tally = Tally::default();
    for ranks in RANKS.into_iter().filter(|_| !is_wanted("nodes")) {
        tally.show(&format!("local, {ranks} ranks"), on_threads(ranks));
    }
    #[cfg(feature = "mpi")]
    jobs::run_all(&mut tally);
    tally.end()
}

/// Returns whether this form of the test was requested.
fn is_wanted(form: &str) -> bool {
    std::env::var("MD_CONFORMANCE").is_ok_and(|mode| mode == form)
}

/// Runs the suite; a rank that cannot go on ends the others.
fn run_suite(world: &dyn World) -> Report {
    let report = conformance::run(world);
    if report.broken.is_some() {
        println!("broken: {:?}", report.failed);
        world.abort(1);
    }
    report
}

fn on_threads(ranks: usize) -> Result<(), String> {
    for outcome in local::run(ranks, WATCHDOG, run_suite) {
        describe(&outcome.map_err(|panicked| panicked.to_string())?)?;
    }
    Ok(())
}

/// Describes the failures in words. Missing checks are also an error.
fn describe(report: &Report) -> Result<(), String> {
    let failed: Vec<_> =
        report.failed.iter().map(|failure| format!("{}: {}", failure.check, failure.what)).collect();
    if !failed.is_empty() {
        return Err(failed.join("\n        "));
    }
    let (passed, expected) = (report.passed.len(), conformance::checks().count());
    if passed == expected { Ok(()) } else { Err(format!("only {passed} of {expected} checks ran")) }
}
