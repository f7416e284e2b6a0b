//! `md-cli sweep`: runs of many sizes, ranks and strategies, one after another, collected in one
//! table.
//!
//! Every run is a separate job that the launcher starts, in a folder in the output directory. After
//! every row the whole table is rewritten, so it is complete whenever the sweep ends. Jobs that
//! have a row in it are not run again.

mod jobs;
mod running;
mod table;

use std::path::Path;

use md_comm::{Backend, launch};
use md_lab::sweep::{Kind, Scaling};
use md_scenario::failure::{COMMUNICATION_FAILED, RunError};

use super::ending::{Ending, summarised};
use super::refused;
use crate::args::SweepArgs;
use crate::early_end::{EarlyEnd, Signal};
use crate::grid_inputs::AnyInputs;
use crate::strategies::Choices;
use jobs::{grid_jobs, particle_jobs};
use table::Table;

/// A job that results in one row.
struct SweepJob {
    /// Command that runs the job, and its scenario.
    command: &'static str,
    scenario: String,
    backend: Backend,
    ranks: usize,
    title: String,
    /// Columns that identify the row of this job.
    columns: Vec<(&'static str, String)>,
}

/// All jobs of a sweep and their common parameters.
struct SweepSettings {
    kind: Kind,
    scaling: Scaling,
    jobs: Vec<SweepJob>,
    left_out: Vec<String>,
    /// Effective scenario, by which a later sweep recognises its folder.
    effective: String,
}

impl SweepSettings {
    fn of(inputs: &AnyInputs, args: &SweepArgs, choices: &Choices) -> Result<Self, RunError> {
        match inputs {
            AnyInputs::Particles(inputs) => particle_jobs(inputs, args, choices),
            AnyInputs::Stencil(inputs) => grid_jobs(inputs, args, choices),
            AnyInputs::Lbm(inputs) => grid_jobs(inputs, args, choices),
        }
    }
}

/// Cause of a failed job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Blame {
    /// The request itself, so the job would fail again.
    Input,
    /// Any other cause.
    Circumstances,
}

/// Failure of a job.
struct Fault {
    reason: String,
    blame: Blame,
    /// Complete output of the job and its launcher.
    said: String,
}

/// Reason why there is no row.
enum Failure {
    /// The job failed. Others may succeed.
    SweepJob(Fault),
    /// A signal ends the sweep.
    Signal(Signal),
    /// The sweep cannot continue.
    Sweep(RunError),
}

impl<E: Into<RunError>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Sweep(error.into())
    }
}

/// Runs the jobs that have no row in the table.
///
/// # Errors
/// Returns [`Summarised`](super::ending::Summarised) if jobs failed. See [`RunError`] for other
/// errors.
pub fn sweep(args: &SweepArgs, early_end: &EarlyEnd) -> Result<(), RunError> {
    if launch::processes_of_job().is_some() {
        return Err(refused("sweep starts the launcher itself: start it once, without mpirun".to_owned()));
    }
    let inputs = AnyInputs::read_file(&args.scenario())?;
    let choices = Choices::of(&args.backends, &args.divisions).map_err(refused)?;
    let wanted = SweepSettings::of(&inputs, args, &choices)?;
    let mut table = Table::open(&inputs, args, &wanted)?;
    early_end.listen();
    wanted.left_out.iter().for_each(|reason| table.screen.print(&format!("left out: {reason}\n")));
    let jobs = &wanted.jobs;
    let (mut failed, mut signal) = (Vec::new(), None);
    for (number, job) in jobs.iter().enumerate() {
        let title = format!("[{}/{}] {}", number + 1, jobs.len(), job.title);
        if table.rows.iter().any(|row| job.is_in(row)) {
            table.screen.print(&format!("{title}: is there\n"));
            continue;
        }
        match job.repeat(args, &table, early_end) {
            Ok(row) => table.add(&title, row)?,
            Err(Failure::SweepJob(fault)) => failed.push(table.add_failure(&title, fault)?),
            Err(Failure::Signal(which)) => {
                signal = Some(which);
                break;
            }
            Err(Failure::Sweep(error)) => return Err(error),
        }
    }
    table.finish(wanted.scaling)?;
    let (done, jobs) = (table.rows.len() as u64, jobs.len() as u64);
    match signal {
        Some(signal) => Err(Ending::Swept { signal, done, jobs }.into()),
        None if failed.is_empty() => Ok(()),
        None => Err(failure(&failed, jobs, table.failures_file().as_deref())),
    }
}

/// Returns the error that summarises the failed jobs among `jobs` jobs. `file` contains their
/// output.
fn failure(failed: &[(String, Blame)], jobs: u64, file: Option<&Path>) -> RunError {
    let count = failed.len();
    let mut reasons = first_of(failed.iter().map(|(reason, _)| reason.as_str()));
    if let Some(file) = file {
        reasons += &format!("\nall that was said: {}", file.display());
    }
    if failed.iter().all(|(_, blame)| *blame == Blame::Input) {
        return refused(format!("{count} of {jobs} jobs cannot run as they are asked for\n{reasons}"));
    }
    let summary = format!("{count} of {jobs} jobs failed; the same command tries them again\n{reasons}");
    summarised(summary, COMMUNICATION_FAILED)
}

/// Returns the first reasons, one per line.
fn first_of<'r>(reasons: impl ExactSizeIterator<Item = &'r str>) -> String {
    const NAMED: usize = 5;
    let more = reasons.len().saturating_sub(NAMED);
    let mut lines: Vec<String> = reasons.take(NAMED).map(str::to_owned).collect();
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    lines.join("\n")
}
