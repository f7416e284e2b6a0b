//! Starts this program again under the MPI launcher and judges how the jobs end.

use std::process::Command;
use std::time::Duration;

use md_comm::launch::{self, Finished};

use crate::child::{ABORT_CODE, EXPECTED_RANKS, ROLE};
use crate::{RANKS, Tally};

/// The suite's limit; it takes seconds, but cores are shared.
const SUITE_LIMIT: Duration = Duration::from_secs(180);
/// Limit of a job that is to end at once because one rank fails.
const FAILURE_LIMIT: Duration = Duration::from_secs(10);
/// Limit of a job that ends by itself.
const SHORT_LIMIT: Duration = Duration::from_secs(30);

pub(crate) fn run_all(tally: &mut Tally) {
    tally.judge("p2p as a plain process", this_program().and_then(|program| suite(program, 1)));
    if launch::mpirun(1).is_none() {
        println!("skipped: no mpirun");
        if std::env::var("CI").is_ok_and(|ci| ci == "true") {
            tally.judge("mpirun is installed", Err("CI must not skip the MPI tests".to_owned()));
        }
        return;
    }
    for ranks in RANKS {
        let outcome = under_launcher(ranks).and_then(|command| suite(command, ranks));
        tally.judge(&format!("p2p, {ranks} ranks"), outcome);
    }
    tally.judge("a panic ends the job", panic_ends_job());
    tally.judge("an abort ends the job with its code", abort_ends_job());
    tally.judge("the watchdog names the awaited edge", watchdog_names("silent", "for rank 1 (channel 0)"));
    tally.judge("the watchdog names an absent rank", watchdog_names("absent", "capacities of rank 1"));
    tally.judge("contexts dropped in flight do no harm", dropped_in_flight());
}

fn this_program() -> Result<Command, String> {
    std::env::current_exe().map(Command::new).map_err(|error| format!("own path: {error}"))
}

fn under_launcher(ranks: usize) -> Result<Command, String> {
    let mut command = launch::mpirun(ranks).ok_or("no mpirun")?;
    command.arg(this_program()?.get_program());
    Ok(command)
}

fn play(mut command: Command, role: &str, limit: Duration) -> Result<Finished, String> {
    command.env(ROLE, role);
    let finished = launch::run_with_timeout(command, limit).map_err(|error| error.to_string())?;
    match finished.status {
        Some(_) => Ok(finished),
        None => Err(format!("killed after {limit:?}: {}", output(&finished))),
    }
}

fn output(finished: &Finished) -> String {
    format!("{:?}\n{}\n{}", finished.status, finished.stdout, finished.stderr)
}

fn expect(holds: bool, finished: &Finished) -> Result<(), String> {
    if holds { Ok(()) } else { Err(output(finished)) }
}

fn suite(mut command: Command, ranks: usize) -> Result<(), String> {
    command.env(EXPECTED_RANKS, ranks.to_string());
    let finished = play(command, "suite", SUITE_LIMIT)?;
    println!("        {:.1} s, {}", finished.duration.as_secs_f64(), finished.stdout.trim());
    expect(finished.succeeded() && finished.stdout.contains("Ok(())"), &finished)
}

fn panic_ends_job() -> Result<(), String> {
    let finished = play(under_launcher(3)?, "panic", FAILURE_LIMIT)?;
    expect(!finished.succeeded() && finished.stderr.contains("deliberate panic"), &finished)
}

fn abort_ends_job() -> Result<(), String> {
    let finished = play(under_launcher(3)?, "abort", FAILURE_LIMIT)?;
    expect(finished.status.and_then(|status| status.code()) == Some(ABORT_CODE), &finished)
}

fn watchdog_names(role: &str, edge: &str) -> Result<(), String> {
    let finished = play(under_launcher(2)?, role, FAILURE_LIMIT)?;
    expect(!finished.succeeded() && finished.stdout.contains(edge), &finished)
}

fn dropped_in_flight() -> Result<(), String> {
    let finished = play(under_launcher(3)?, "drop", SHORT_LIMIT)?;
    expect(finished.succeeded(), &finished)
}
