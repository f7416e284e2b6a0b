//! `md-cli sweep`: runs of many sizes, ranks and strategies, one after another, into one table.
//!
//! Every run is a job of its own, started by the launcher, in a folder of its own in the output directory. After every row the table is
//! written again as a whole, so it is complete whenever the sweep ends; what is in it is not run again.

use std::fs;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use md_comm::{Backend, launch};
use md_lab::plot::Picture;
use md_lab::sweep::{Row, Sample, Scaling, read_sweep, scaled_cells, scaling_picture, sweep_csv};
use md_lab::{Strategy, significant};

use super::compare::{Choices, adapt};
use super::{found_from_anywhere, output_directory, refused};
use crate::args::SweepArgs;
use crate::early_end::{EarlyEnd, Signal};
use crate::error::{COMMUNICATION_FAILED, Remains, RunError};
use crate::inputs::Inputs;
use crate::output::{KnownFile, OutputDirectory, OutputError, ResultFiles, Screen, Verbosity};
use crate::scenario::{Scenario, effective_toml};
use crate::setup;
use crate::text_file::read_text;

/// Folder of the job that runs; it is removed with all that is in it, so nobody else's may have that name.
const JOB: &str = ".md-cli.job";
const DIGITS: usize = 4;
/// Between two looks at a job.
const PAUSE: Duration = Duration::from_millis(20);

/// One row to come.
struct Job {
    scenario: Scenario,
    ranks: usize,
    atoms: u64,
}

/// Why there is no row.
enum Failure {
    /// The job went wrong; others may go well.
    Job(String),
    /// The sweep is to end.
    Signal(Signal),
    /// The sweep cannot go on.
    Sweep(RunError),
}

impl<E: Into<RunError>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Sweep(error.into())
    }
}

/// Runs what is missing in the table.
///
/// # Errors
/// [`RunError::Compared`] if not all jobs ended well; see [`RunError`] for the others.
pub fn sweep(args: &SweepArgs, early_end: &EarlyEnd) -> Result<(), RunError> {
    if launch::started_by_launcher().is_some_and(|ranks| ranks > 1) {
        return Err(refused("sweep starts the launcher itself: start it once, without mpirun".to_owned()));
    }
    let inputs = Inputs::read(&args.scenario())?;
    let choices = Choices::of(&args.backends, &args.divisions).map_err(refused)?;
    let mut table = Table::open(&inputs, args)?;
    early_end.listen();
    let jobs = jobs(&inputs, args, &choices, &mut table.screen)?;
    let (mut failed, mut signal) = (0, None);
    for (number, job) in jobs.iter().enumerate() {
        let title = format!("[{}/{}] {}", number + 1, jobs.len(), job.title());
        if table.rows.iter().any(|row| job.is_in(row)) {
            table.screen.print(&format!("{title}: is there\n"));
            continue;
        }
        match job.repeat(args, &table, early_end) {
            Ok(row) => table.add(&title, row)?,
            Err(Failure::Job(reason)) => {
                failed += 1;
                table.screen.print(&format!("{title}: failed: {reason}\n"));
            }
            Err(Failure::Signal(which)) => {
                signal = Some(which);
                break;
            }
            Err(Failure::Sweep(error)) => return Err(error),
        }
    }
    table.finish(args.scaling())?;
    let (done, jobs) = (table.rows.len() as u64, jobs.len() as u64);
    match signal {
        Some(signal) => Err(RunError::Swept { signal, done, jobs }),
        None if failed > 0 => Err(RunError::Compared {
            summary: format!("{failed} of {jobs} jobs failed; the same command tries them again"),
            exit_code: COMMUNICATION_FAILED,
            remains: Remains::Nothing,
        }),
        None => Ok(()),
    }
}

/// All combinations that are possible.
fn jobs(
    inputs: &Inputs,
    args: &SweepArgs,
    choices: &Choices,
    screen: &mut Screen,
) -> Result<Vec<Job>, RunError> {
    let base = found_from_anywhere(inputs)?;
    let mut alone = base.clone();
    (alone.parallel.ranks, alone.parallel.grid) = (1, None);
    let own = setup::of_scenario(inputs, &alone, 1)?.atoms();
    let sizes = if args.atoms.is_empty() { vec![own] } else { args.atoms.clone() };
    let can_run = |backend: &Backend| {
        !matches!(backend, Backend::Local | Backend::Auto) && backend.availability().is_ok()
    };
    let here: Vec<Backend> = Backend::ALL.iter().copied().filter(can_run).collect();
    let strategies = choices.strategies(&base, &here);
    let counts =
        args.ranks.iter().flat_map(|&ranks| args.threads.iter().map(move |&threads| (ranks, threads)));
    let mut jobs = Vec::new();
    for ((ranks, threads), &size) in counts.flat_map(|counts| sizes.iter().map(move |size| (counts, size))) {
        let wanted = if args.scaling() == Scaling::Weak { size * ranks as u64 } else { size };
        for &strategy in &strategies {
            match job(inputs, &base, (own, wanted), [ranks, threads], strategy) {
                Ok(job) => jobs.push(job),
                Err(reason) => screen.print(&format!(
                    "left out: {ranks} ranks, {wanted} atoms, {strategy}: {}\n",
                    reason.lines().next().unwrap_or_default()
                )),
            }
        }
    }
    if jobs.is_empty() { Err(refused("no job is possible".to_owned())) } else { Ok(jobs) }
}

fn job(
    inputs: &Inputs,
    base: &Scenario,
    (own, wanted): (u64, u64),
    [ranks, threads]: [usize; 2],
    strategy: Strategy,
) -> Result<Job, String> {
    let mut scenario = adapt(strategy, base)?.scenario;
    let parallel = &mut scenario.parallel;
    (parallel.threads, parallel.grid) = (threads, None);
    parallel.ranks = if strategy.backend == Backend::Local { ranks } else { 1 };
    scenario.output.trajectory = None;
    match &mut scenario.system.lattice {
        Some(lattice) => lattice.cells = scaled_cells(lattice.kind, lattice.cells, own, wanted),
        None if wanted != own => {
            return Err("only the particles of a lattice can be made more or fewer".to_owned());
        }
        None => (),
    }
    let atoms = setup::of_scenario(inputs, &scenario, ranks).map_err(|error| error.to_string())?.atoms();
    Ok(Job { scenario, ranks, atoms })
}

impl Job {
    fn title(&self) -> String {
        let Self { scenario, ranks, atoms } = self;
        let (parallel, strategy) = (&scenario.parallel, scenario.parallel.strategy());
        format!("{ranks} ranks x {} threads, {atoms} atoms, {strategy}", parallel.threads)
    }

    /// Whether this is what a row is about.
    fn is_in(&self, row: &Row) -> bool {
        self.columns().iter().all(|(name, value)| row.column(name) == value)
    }

    /// What a row about it says.
    fn columns(&self) -> [(&'static str, String); 7] {
        let [backend, shell, exchange, partition] = self.scenario.parallel.strategy().names();
        let (ranks, threads) = (self.ranks.to_string(), self.scenario.parallel.threads.to_string());
        [
            ("backend", backend),
            ("shell", shell),
            ("exchange", exchange),
            ("partition", partition),
            ("ranks", ranks),
            ("threads", threads),
            ("atoms", self.atoms.to_string()),
        ]
    }

    /// A launcher may have started something else.
    fn expect_itself(&self, row: &Row) -> Result<(), Failure> {
        let columns = self.columns();
        match columns.iter().find(|(name, value)| row.column(name) != value) {
            None => Ok(()),
            Some((name, wanted)) => {
                let found = row.column(name);
                let what = format!("it was to have {name} {wanted}, but ran with {found}: see --launcher");
                Err(Failure::Job(what))
            }
        }
    }

    /// Runs it as often as is wanted.
    fn repeat(&self, args: &SweepArgs, table: &Table, early_end: &EarlyEnd) -> Result<Row, Failure> {
        let folder = table.directory.path().join(JOB);
        let samples: Result<Vec<Sample>, Failure> =
            (0..args.repeat).map(|_| self.run(args, &folder, early_end)).collect();
        let row = Row::of(&samples?).ok_or_else(|| Failure::Job("nothing was run".to_owned()))?;
        self.expect_itself(&row)?;
        // What is left is of no use; if it cannot be removed, the next job replaces it.
        let _ = fs::remove_dir_all(&folder);
        Ok(row)
    }

    fn run(&self, args: &SweepArgs, folder: &Path, early_end: &EarlyEnd) -> Result<Sample, Failure> {
        let create = |reason| OutputError::Create { action: "create", path: folder.to_owned(), reason };
        fs::create_dir_all(folder).map_err(create)?;
        let (scenario, said) = (folder.join("job.toml"), folder.join("said.txt"));
        fs::write(&scenario, effective_toml(&self.scenario)).map_err(create)?;
        let mut command = self.command(&args.launcher).map_err(refused)?;
        command.arg("run").arg(&scenario).arg("--output").arg(folder).args([
            "--quiet",
            "--progress",
            "never",
        ]);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(fs::File::create(&said).map_err(create)?);
        let program = command.get_program().to_string_lossy().into_owned();
        let child =
            command.spawn().map_err(|reason| refused(format!("cannot start `{program}`: {reason}")))?;
        let code = wait(child, early_end);
        if let Some(signal) = early_end.signal() {
            return Err(Failure::Signal(signal));
        }
        if code != Some(0) {
            let said = fs::read_to_string(&said).unwrap_or_default();
            let line = said.lines().find(|line| line.starts_with("error")).unwrap_or_default();
            let code = code.map_or_else(|| "a signal".to_owned(), |code| format!("exit code {code}"));
            return Err(Failure::Job(format!("{code}: {line}")));
        }
        let timing = fs::read(folder.join(KnownFile::TIMING.name())).map_err(|reason| {
            Failure::Job(format!("it has left no {}: {reason}", KnownFile::TIMING.name()))
        })?;
        Sample::of_timing(&timing).map_err(|reason| Failure::Job(reason.to_string()))
    }

    /// The program, started by the launcher unless its ranks are threads.
    fn command(&self, launcher: &str) -> Result<Command, String> {
        let program =
            std::env::current_exe().map_err(|reason| format!("cannot find this program: {reason}"))?;
        if self.scenario.parallel.backend == Backend::Local {
            return Ok(Command::new(program));
        }
        let launcher = launcher.replace("{ranks}", &self.ranks.to_string());
        let mut words = launcher.split_whitespace();
        let mut command = Command::new(words.next().ok_or("`--launcher` is empty")?);
        command.args(words).arg(program);
        Ok(command)
    }
}

/// Waits for a job; where the sweep is to end, it asks the job to end too.
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
            // Ctrl-C has reached it already; SIGTERM to this process alone has not.
            let id = child.id().to_string();
            let _ = Command::new("kill").args(["-TERM", &id]).stderr(Stdio::null()).status();
        }
    }
}

/// The text of a file of an earlier sweep, if there is one.
fn old_text(path: &Path) -> Result<Option<String>, RunError> {
    let is_missing = |error: Error| matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory);
    if fs::symlink_metadata(path).is_err_and(is_missing) {
        return Ok(None);
    }
    let unreadable = |reason| RunError::Unreadable { path: path.display().to_string(), reason };
    read_text(path, "table of a sweep").map(Some).map_err(unreadable)
}

/// The table as it grows.
struct Table {
    directory: OutputDirectory,
    screen: Screen,
    rows: Vec<Row>,
}

impl Table {
    fn open(inputs: &Inputs, args: &SweepArgs) -> Result<Self, RunError> {
        let path = PathBuf::from(&inputs.scenario.output.directory);
        let old = |file: KnownFile| old_text(&path.join(file.name()));
        let rows = match old(KnownFile::SWEEP)? {
            None => Vec::new(),
            Some(_) if old(KnownFile::SCENARIO)? != Some(effective_toml(&found_from_anywhere(inputs)?)) => {
                return Err(refused(format!(
                    "`{}` holds a sweep of another scenario (scenario.toml)\nchoose another directory with --output DIR",
                    path.display()
                )));
            }
            Some(text) => read_sweep(&text).map_err(|error| {
                refused(format!("{}: {error}", path.join(KnownFile::SWEEP.name()).display()))
            })?,
        };
        let verbosity = Verbosity::unless(args.quiet);
        let directory = output_directory(inputs, &ResultFiles::default(), verbosity)?;
        Ok(Self { directory, screen: Screen::stdout(verbosity), rows })
    }

    fn add(&mut self, title: &str, row: Row) -> Result<(), RunError> {
        let (step, rate) =
            (significant(row.step.median_s, DIGITS), significant(row.atom_steps_per_s, DIGITS));
        self.rows.push(row);
        self.directory.write_encoded(KnownFile::SWEEP, sweep_csv(&self.rows))?;
        self.screen.print(&format!("{title}: {step} s per step, {rate} atom steps/s\n"));
        Ok(())
    }

    fn finish(&mut self, scaling: Scaling) -> Result<(), RunError> {
        let picture = scaling_picture(&self.rows, scaling).svg().map(String::into_bytes);
        self.directory.write_encoded(KnownFile::SWEEP_SVG, picture)?;
        Ok(self.screen.finish()?)
    }
}
