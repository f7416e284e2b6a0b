//! `md-cli sweep`: runs of many sizes, ranks and strategies, one after another, collected in one
//! table.
//!
//! Every run is a separate job that the launcher starts, in a folder in the output directory. After
//! every row the whole table is rewritten, so it is complete whenever the sweep ends. Jobs that
//! have a row in it are not run again.

mod jobs;

use std::fs;
use std::io::{Error, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use md_comm::{Backend, launch};
use md_lab::plot::Picture;
use md_lab::significant;
use md_lab::sweep::{Kind, Row, Sample, Scaling, read_sweep, scaling_picture, sweep_csv};

use super::ending::{Ending, summarised};
use super::{grid_run, output_directory, refused};
use crate::args::{DEFAULT_LAUNCHER, SweepArgs};
use crate::cores;
use crate::early_end::{EarlyEnd, Signal};
use crate::grid_inputs::{AnyInputs, GridModel};
use crate::strategies::Choices;
use jobs::{grid_jobs, particle_jobs};
use md_files::output::{KnownFile, OutputDirectory, OutputError, ResultFiles, Screen, Verbosity};
use md_files::text_file::read_text;
use md_scenario::failure::{BAD_INPUT, COMMUNICATION_FAILED, RunError};
use md_scenario::same_elsewhere;

/// Folder of the running job. It is removed with its contents, so no other folder may have this
/// name.
const JOB: &str = ".md-cli.job";
const DIGITS: usize = 4;
/// Time between two checks of a job.
const PAUSE: Duration = Duration::from_millis(20);

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

impl SweepJob {
    /// Returns whether a row belongs to this job.
    fn is_in(&self, row: &Row) -> bool {
        self.columns.iter().all(|(name, value)| row.column(name) == value)
    }

    /// Checks that the row belongs to this job, since a launcher may have started something else.
    fn expect_itself(&self, row: &Row) -> Result<(), Failure> {
        match self.columns.iter().find(|(name, value)| row.column(name) != value) {
            None => Ok(()),
            Some((name, wanted)) => {
                let found = row.column(name);
                let what = format!("it was to have {name} {wanted}, but ran with {found}: see --launcher");
                Err(went_wrong(what, String::new()))
            }
        }
    }

    /// Runs the job as many times as requested.
    fn repeat(&self, args: &SweepArgs, table: &Table, early_end: &EarlyEnd) -> Result<Row, Failure> {
        let folder = table.directory.path().join(JOB);
        let samples: Result<Vec<Sample>, Failure> =
            (0..args.repeat).map(|_| self.run(args, &folder, table.kind, early_end)).collect();
        let row =
            Row::of(&samples?).ok_or_else(|| went_wrong("nothing was run".to_owned(), String::new()))?;
        self.expect_itself(&row)?;
        // The remaining files are of no use. If they cannot be removed, the next job replaces them.
        let _ = fs::remove_dir_all(&folder);
        Ok(row)
    }

    fn run(
        &self,
        args: &SweepArgs,
        folder: &Path,
        kind: Kind,
        early_end: &EarlyEnd,
    ) -> Result<Sample, Failure> {
        let create = |reason| OutputError::Create { action: "create", path: folder.to_owned(), reason };
        fs::create_dir_all(folder).map_err(create)?;
        let (scenario, said) = (folder.join("job.toml"), folder.join("said.txt"));
        fs::write(&scenario, &self.scenario).map_err(create)?;
        let mut command = self.start(&args.launcher).map_err(refused)?;
        command.arg(self.command).arg(&scenario).arg("--output").arg(folder).args([
            "--quiet",
            "--progress",
            "never",
        ]);
        let file = fs::File::create(&said).map_err(create)?;
        command.stdin(Stdio::null()).stdout(file.try_clone().map_err(create)?).stderr(file);
        let program = command.get_program().to_string_lossy().into_owned();
        let child =
            command.spawn().map_err(|reason| refused(format!("cannot start `{program}`: {reason}")))?;
        let code = wait(child, early_end);
        if let Some(signal) = early_end.signal() {
            return Err(Failure::Signal(signal));
        }
        let said = String::from_utf8_lossy(&fs::read(&said).unwrap_or_default()).into_owned();
        if code != Some(0) {
            return Err(ended_with(code, said));
        }
        let sample = match fs::read(folder.join(KnownFile::TIMING.name())) {
            Ok(timing) => Sample::of_timing(&timing, kind).map_err(|reason| reason.to_string()),
            Err(reason) => Err(format!("it has left no {}: {reason}", KnownFile::TIMING.name())),
        };
        sample.map_err(|reason| went_wrong(reason, said))
    }

    /// Returns the command of the program, started by the launcher unless its ranks are threads.
    fn start(&self, launcher: &str) -> Result<Command, String> {
        let program =
            std::env::current_exe().map_err(|reason| format!("cannot find this program: {reason}"))?;
        if self.backend == Backend::Local {
            return Ok(Command::new(program));
        }
        let is_default = launcher == DEFAULT_LAUNCHER;
        let launcher = launcher.replace("{ranks}", &self.ranks.to_string());
        let mut words = launcher.split_whitespace();
        let mut command = Command::new(words.next().ok_or("`--launcher` is empty")?);
        command.args(words).arg(program);
        if is_default {
            command.envs(leave_of_open_mpi(is_root(), self.ranks > cores::of_machine()));
        }
        Ok(command)
    }
}

/// Returns the environment variables by which Open MPI permits runs as root and runs of more ranks
/// than cores. Other libraries ignore them.
fn leave_of_open_mpi(as_root: bool, crowded: bool) -> impl Iterator<Item = (&'static str, &'static str)> {
    let root = ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"].map(|name| (name, "1"));
    let many = [
        ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
        ("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"),
    ];
    let wanted = [root.map(|it| (as_root, it)), many.map(|it| (crowded, it))];
    wanted.into_iter().flatten().filter_map(|(is_wanted, it)| is_wanted.then_some(it))
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

/// Returns the failure of a job that may succeed another time.
fn went_wrong(reason: String, said: String) -> Failure {
    Failure::SweepJob(Fault { reason, blame: Blame::Circumstances, said })
}

/// Returns the failure of a job that ended with this exit code and output.
fn ended_with(code: Option<i32>, said: String) -> Failure {
    let ended = code.map_or_else(|| "a signal".to_owned(), |code| format!("exit code {code}"));
    let error = said.lines().find(|line| line.starts_with("error: "));
    // Launchers have their own exit codes.
    let is_input = code == Some(i32::from(BAD_INPUT)) && error.is_some();
    let blame = if is_input { Blame::Input } else { Blame::Circumstances };
    // A launcher begins with the error, inside a frame, and ends with advice.
    let tells = |line: &&str| {
        let is_aside = ["warning: ", "note: "].iter().any(|aside| line.starts_with(aside));
        !is_aside && line.contains(char::is_alphanumeric)
    };
    let line = error.or_else(|| said.lines().find(tells));
    let reason = line.map_or_else(|| ended.clone(), |line| format!("{ended}: {}", line.trim()));
    Failure::SweepJob(Fault { reason, blame, said })
}

/// Waits for a job. If a signal is to end the sweep, it ends the job too.
fn wait(mut child: Child, early_end: &EarlyEnd) -> Option<i32> {
    let mut asked = false;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return status.code(),
            Ok(None) => std::thread::sleep(PAUSE),
            Err(_) => return None,
        }
        if !asked && early_end.signal().is_some() {
            asked = true;
            // Ctrl-C has already reached the job, but a SIGTERM to this process alone has not.
            let id = child.id().to_string();
            let _ = Command::new("kill").args(["-TERM", &id]).stderr(Stdio::null()).status();
        }
    }
}

/// Returns the text of a file of an earlier sweep, if there is one.
fn old_text(path: &Path) -> Result<Option<String>, RunError> {
    let is_missing = |error: Error| matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory);
    if fs::symlink_metadata(path).is_err_and(is_missing) {
        return Ok(None);
    }
    let unreadable = |reason| RunError::unreadable(path.display().to_string(), reason);
    read_text(path, "table of a sweep").map(Some).map_err(unreadable)
}

/// Table of a sweep.
struct Table {
    kind: Kind,
    directory: OutputDirectory,
    screen: Screen,
    rows: Vec<Row>,
    /// Output of failed jobs.
    failures: String,
}

impl Table {
    fn open(inputs: &AnyInputs, args: &SweepArgs, wanted: &SweepSettings) -> Result<Self, RunError> {
        let path = match inputs {
            AnyInputs::Particles(inputs) => &inputs.scenario.output.directory,
            AnyInputs::Stencil(inputs) => &inputs.scenario.output().directory,
            AnyInputs::Lbm(inputs) => &inputs.scenario.output().directory,
        };
        let path = PathBuf::from(path);
        let old = |file: KnownFile| old_text(&path.join(file.name()));
        let rows = match old(KnownFile::SWEEP)? {
            None => Vec::new(),
            Some(_)
                if !old(KnownFile::SCENARIO)?.is_some_and(|old| same_elsewhere(&old, &wanted.effective)) =>
            {
                return Err(refused(format!(
                    "`{}` holds a sweep of another scenario (scenario.toml)\nchoose another directory with --output DIR",
                    path.display()
                )));
            }
            Some(text) => read_sweep(&text, wanted.kind).map_err(|error| {
                refused(format!("{}: {error}", path.join(KnownFile::SWEEP.name()).display()))
            })?,
        };
        let verbosity = Verbosity::unless(args.quiet);
        let directory = match inputs {
            AnyInputs::Particles(inputs) => output_directory(inputs, &ResultFiles::default(), verbosity)?,
            AnyInputs::Stencil(inputs) => {
                grid_run::output_directory(inputs, &ResultFiles::default(), verbosity)?
            }
            AnyInputs::Lbm(inputs) => grid_run::output_directory(inputs, &ResultFiles::default(), verbosity)?,
        };
        Ok(Self {
            kind: wanted.kind,
            directory,
            screen: Screen::stdout(verbosity),
            rows,
            failures: String::new(),
        })
    }

    fn add(&mut self, title: &str, row: Row) -> Result<(), RunError> {
        let (step, rate) = (significant(row.step.median_s, DIGITS), significant(row.rate_per_s, DIGITS));
        self.rows.push(row);
        self.directory.write_encoded(KnownFile::SWEEP, sweep_csv(&self.rows, self.kind))?;
        let unit = self.kind.rate.trim_end_matches("_per_s").replace('_', " ");
        self.screen.print(&format!("{title}: {step} s per step, {rate} {unit}/s\n"));
        Ok(())
    }

    /// Prints why a job failed and keeps its output. Returns the reason with the title of the job.
    fn add_failure(&mut self, title: &str, fault: Fault) -> Result<(String, Blame), RunError> {
        let Fault { reason, blame, said } = fault;
        self.screen.print(&format!("{title}: failed: {reason}\n"));
        let reason = format!("{title}: {reason}");
        if !said.is_empty() {
            self.failures += &format!("{reason}\n\n{}\n\n", said.trim_end());
            self.directory.write_whole(KnownFile::SWEEP_FAILURES, self.failures.as_bytes())?;
        }
        Ok((reason, blame))
    }

    fn failures_file(&self) -> Option<PathBuf> {
        let path = self.directory.path().join(KnownFile::SWEEP_FAILURES.name());
        (!self.failures.is_empty()).then_some(path)
    }

    fn finish(&mut self, scaling: Scaling) -> Result<(), RunError> {
        let picture = scaling_picture(&self.rows, scaling).svg().map(String::into_bytes);
        self.directory.write_encoded(KnownFile::SWEEP_SVG, picture)?;
        Ok(self.screen.finish()?)
    }
}
