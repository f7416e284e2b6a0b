//! Starts this program under the MPI launcher, once for each number of ranks and implementation of
//! windows.

use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use crate::launch::{self, Finished};

use crate::paths::{Path, Windows, plan};
use crate::strategy::{Extent, Transport};
use crate::tally::Tally;

const SLICE_LIMIT: Duration = Duration::from_secs(600);
const LONG_LIMIT: Duration = Duration::from_secs(3600);

pub(crate) fn run_all() -> ExitCode {
    let mut tally = Tally::default();
    if launch::mpirun(1).is_none() {
        tally.count("mpirun is installed", launch::may_skip("no mpirun"));
        return tally.end();
    }
    let planned = match plan(Extent::wanted()) {
        Ok(planned) => planned,
        Err(what) => {
            println!("{what}");
            return ExitCode::FAILURE;
        }
    };
    for (path, ranks) in planned {
        let begun = Instant::now();
        let outcome = job(path, ranks);
        let (ok, wrong) = outcome.as_ref().copied().unwrap_or((0, 1));
        let seconds = begun.elapsed().as_secs_f64();
        println!("{ranks} ranks, {}: {ok} passed, {wrong} failed after {seconds:.0} s", path.name);
        if let Err(what) = outcome {
            println!("FAILED  {what}");
        }
        tally.add(ok, wrong);
    }
    tally.end()
}

/// Returns the numbers of strategies that agreed and differed.
fn job(path: &Path, ranks: usize) -> Result<(usize, usize), String> {
    let program = std::env::current_exe().map_err(|error| format!("own path: {error}"))?;
    let mut command: Command = launch::mpirun(ranks).ok_or("no mpirun")?;
    command.arg(program).envs(path.variables.iter().copied()).env(Transport::WITHOUT, path.without);
    // A job of a single rank uses osc/sm.
    if path.windows == Windows::Allocated || ranks == 1 {
        command.env(Transport::ALLOCATED_ONLY, "1");
    }
    let limit = if Extent::wanted() == Extent::Slice { SLICE_LIMIT } else { LONG_LIMIT };
    let finished = launch::run_with_timeout(command, limit).map_err(|error| error.to_string())?;
    let differing = finished.stdout.lines().filter(|line| line.starts_with("FAILED"));
    differing.for_each(|line| println!("{ranks} ranks, {}: {line}", path.name));
    counts(&finished).ok_or_else(|| {
        let Finished { status, stdout, stderr, duration } = &finished;
        format!("{status:?} after {:.0} s\n{stdout}\n{stderr}", duration.as_secs_f64())
    })
}

fn counts(finished: &Finished) -> Option<(usize, usize)> {
    let last = finished.stdout.lines().rfind(|line| line.ends_with(" failed"))?;
    let mut words = last.split_whitespace();
    let (passed, failed) = (words.next()?.parse().ok()?, words.nth(1)?.parse().ok()?);
    // If a rank died afterwards, the whole job has failed.
    (finished.succeeded() == (failed == 0)).then_some((passed, failed))
}
