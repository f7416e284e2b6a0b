//! One job and its fault.

use std::fs;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use md_cli::commands::inspect::inspect;
use md_comm::Backend;
use md_files::input::extxyz;
use serde_json::Value;

use crate::case::{Application, Case, Row};
use crate::clock::{self, Jump};
use crate::fault::{Fault, Files, Promise};
use crate::support::{MELT, Workdir, as_from_a_terminal, md_cli};

/// Limit from the fault to the end of all processes, on a busy machine too, where the watchdog does
/// not count the time in which ranks have no core.
const WITHIN: Duration = Duration::from_secs(60);
/// Time limit for the start of a job on a busy machine.
const START: Duration = Duration::from_secs(60);
/// Limit of the watchdog of ranks that wait for a stopped rank. A short stop must stay below it.
const WATCHDOG_S: u64 = 3;
const SHORT_STOP: Duration = Duration::from_millis(1000);
/// Time between SIGTERM and SIGKILL, in seconds. Open MPI's default of one second is too short on a
/// busy machine.
const GRACE: &str = "3";
const STOP_OF_ALL: Duration = Duration::from_secs(WATCHDOG_S + 2);
/// Number of times that the slow rank is stopped and continued. It runs for a hundredth of the
/// time.
const PULSES: usize = 20;
const STOPPED: Duration = Duration::from_millis(99);
const RUNNING: Duration = Duration::from_millis(1);
/// Number of rows on disk before the fault, and of additional rows that show that a job continues.
const ROWS: usize = 20;
/// Number of steps between two rows.
const EVERY: usize = 1;
/// Address space, in kB, of the rank with too little memory: enough to start, but not for its share
/// of the particles.
const MEMORY_KB: usize = 450_000;
/// Number of cells per rank along z, for a share of 330 MB.
const CELLS_PER_RANK: usize = 30;

/// Cells of a system so large that a rank with a three-hundredth of a core makes no step within
/// [`STOP_OF_ALL`].
const LONG_STEPS: &str = "[60, 60, 60]";

/// Number of particles of [`MELT`].
const ATOMS: usize = 600;
const STEPS_PER_FRAME: usize = 20;
const TRAJECTORY: &str = "out/melt.extxyz";

/// End of a trajectory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tail {
    Whole,
    Cut,
}

/// A job that would run for hours.
pub(crate) struct Job {
    case: Case,
    workdir: Workdir,
    launcher: Child,
}

impl Drop for Job {
    fn drop(&mut self) {
        for (process, _) in self.processes() {
            signal("KILL", process);
        }
        self.launcher.wait().ok();
    }
}

impl Job {
    pub(crate) fn start(case: Case) -> Result<Self, String> {
        let workdir = Workdir::new(&scenario(case));
        fs::create_dir(workdir.path("shm")).unwrap();
        let mut command = in_surroundings(case.fault, case.command(&workdir), &workdir.path(""));
        let said = fs::File::create(workdir.path("said")).unwrap();
        command.process_group(0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(said);
        if case.fault == Fault::ClockJump {
            clock::control(&mut command, &workdir.path(""))?;
        }
        command.env("OMPI_MCA_odls_base_sigkill_timeout", GRACE);
        let launcher = command.spawn().unwrap();
        Ok(Self { case, workdir, launcher })
    }

    /// Causes the fault. Returns the number of rows that existed at that time.
    pub(crate) fn suffer(&self) -> Result<usize, String> {
        let fault = self.case.fault;
        if fault.surroundings().is_some() || fault == Fault::NoMemory {
            return Ok(0);
        }
        self.wait_for_rows(ROWS, START)?;
        let (launcher, ranks) = (self.launcher.id(), self.ranks());
        let victim = *ranks.last().ok_or("no rank is running")?;
        match fault {
            Fault::KillRank => signal("KILL", victim),
            Fault::AbortRank => signal("ABRT", victim),
            Fault::KillLauncher => signal("KILL", launcher),
            Fault::Terminate => signal("TERM", launcher),
            Fault::Interrupt => signal("INT", launcher),
            Fault::HangUp => signal("HUP", launcher),
            Fault::StopLong => signal("STOP", victim),
            Fault::StopShort => stop_for(&[victim], SHORT_STOP),
            Fault::StopAll => {
                let all: Vec<u32> = self.processes().into_iter().map(|(process, _)| process).collect();
                stop_for(&all, STOP_OF_ALL);
            }
            Fault::Slow => (0..PULSES).for_each(|_| {
                stop_for(&[victim], STOPPED);
                std::thread::sleep(RUNNING);
            }),
            Fault::NoCores => without_core_for(victim, STOP_OF_ALL)?,
            Fault::Removed => {
                fs::remove_dir_all(self.workdir.path("out")).map_err(|error| error.to_string())?;
                signal("TERM", launcher);
            }
            Fault::ClockJump => {
                clock::jump(&self.workdir.path(""), Jump::Ahead)?;
                self.wait_for_rows(self.rows().len() + ROWS, START)?;
                clock::jump(&self.workdir.path(""), Jump::Back)?;
            }
            Fault::FullDisk | Fault::FullShm | Fault::ReadOnly | Fault::NoMemory | Fault::LateMessages => (),
        }
        Ok(self.rows().len())
    }

    pub(crate) fn judge(&mut self, before: usize, row: &mut Row) -> Result<(), String> {
        let mut promise = self.case.fault.promise(self.case.backend);
        if promise == Promise::GoesOn {
            self.wait_for_rows(before + ROWS, START)?;
            signal("TERM", self.launcher.id());
            promise = Fault::Terminate.promise(self.case.backend);
        }
        let limit = if before == 0 { START } else { WITHIN };
        let begun = Instant::now();
        let status = self.wait_for_end(limit)?;
        row.ended_s = begun.elapsed().as_secs_f64();
        row.exit = status.code().map_or_else(
            || format!("signal {}", status.signal().unwrap_or_default()),
            |code| code.to_string(),
        );
        row.files = format!("{} rows", self.rows().len());
        self.judge_status(promise, status)?;
        self.judge_files(before)?;
        self.judge_remains()
    }

    fn judge_status(&self, promise: Promise, status: ExitStatus) -> Result<(), String> {
        let holds = match promise {
            Promise::GoesOn => true,
            Promise::Completes(text) => {
                let summary = fs::read_to_string(self.workdir.path("out/summary.json")).unwrap_or_default();
                status.success() && summary.contains(text)
            }
            Promise::IsKilled(signal) => status.signal() == Some(signal),
            Promise::Fails => !status.success(),
            Promise::Ends(code, text) => status.code() == Some(code) && self.said().contains(text),
        };
        if holds { Ok(()) } else { Err(format!("{promise:?} was promised, not {status}")) }
    }

    fn judge_files(&self, before: usize) -> Result<(), String> {
        let files = self.case.fault.files();
        if files == Files::None {
            return Ok(());
        }
        let rows = self.rows();
        let expected = (0..rows.len()).map(|number| (number * EVERY).to_string());
        let steps = rows.iter().map(|row| row.split(',').next().unwrap_or_default());
        let columns = self.case.command.columns();
        let whole = rows.iter().all(|row| row.split(',').count() == columns);
        let least = if files == Files::Readable { 0 } else { before.max(1) };
        if rows.len() < least || !whole || !steps.eq(expected) {
            return Err(format!("{before} rows have become {}, or not all of them are whole", rows.len()));
        }
        match files {
            Files::Complete if self.case.command != Application::Run => {
                self.judge_checkpoint(rows.len())?;
                self.judge_summary(rows.len())
            }
            Files::Kept if self.case.command != Application::Run => Ok(()),
            Files::Kept => self.judge_trajectory().map(drop),
            Files::Complete => match self.judge_trajectory()? {
                Tail::Whole => self.judge_summary(rows.len()),
                Tail::Cut => Err("the last frame is cut".to_owned()),
            },
            Files::Rows | Files::Readable | Files::None => Ok(()),
        }
    }

    /// Checks that every frame except the last is complete, with all particles and the right step.
    fn judge_trajectory(&self) -> Result<Tail, String> {
        let text = fs::read_to_string(self.workdir.path(TRAJECTORY)).map_err(|error| error.to_string())?;
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let (frames, rest) = lines.as_chunks::<{ ATOMS + 2 }>();
        let (tail, frames) = match frames {
            [frames @ .., last] if rest.is_empty() && !last[ATOMS + 1].ends_with('\n') => (Tail::Cut, frames),
            _ => (if rest.is_empty() { Tail::Whole } else { Tail::Cut }, frames),
        };
        for (number, frame) in frames.iter().enumerate() {
            let read = extxyz::parse("frame", &frame.concat(), &["A".to_owned()]);
            let read = read.map_err(|error| format!("frame {}: {error}", number + 1))?;
            let step = format!("Step={} ", number * STEPS_PER_FRAME);
            if read.ids.len() != ATOMS || !frame[1].replace('\n', " ").contains(&step) {
                return Err(format!("frame {}: {} particles, {}", number + 1, read.ids.len(), frame[1]));
            }
        }
        if frames.is_empty() { Err("no frame".to_owned()) } else { Ok(tail) }
    }

    /// Checks that a job that was stopped by a signal has left a readable checkpoint of its last
    /// step.
    fn judge_checkpoint(&self, rows: usize) -> Result<(), String> {
        let name = format!("out/checkpoint-{}.mdc", (rows - 1) * EVERY);
        inspect(&self.workdir.path(&name)).map(drop).map_err(|error| format!("{name}: {error}"))
    }

    fn judge_summary(&self, rows: usize) -> Result<(), String> {
        let text =
            fs::read_to_string(self.workdir.path("out/summary.json")).map_err(|error| error.to_string())?;
        let summary: Value = serde_json::from_str(&text).map_err(|error| format!("summary: {error}"))?;
        let (steps, ended) = (summary["steps"].as_u64(), &summary["ended"]);
        if steps.is_some_and(|steps| steps as usize / EVERY + 1 == rows)
            && ended.as_str().is_some_and(|name| name.starts_with("SIG"))
        {
            return Ok(());
        }
        Err(format!("the summary of {rows} rows has {steps:?} steps, ended by {ended}"))
    }

    /// Checks that nothing is left behind. Shared memory belongs to the library, and its launcher
    /// removes it, unless the launcher itself was killed.
    fn judge_remains(&self) -> Result<(), String> {
        let shared = self.workdir.files("shm");
        if shared.is_empty() || self.case.fault == Fault::KillLauncher {
            return Ok(());
        }
        Err(format!("left in shared memory: {}", shared.join(" ")))
    }

    /// Waits for the end of all processes.
    fn wait_for_end(&mut self, limit: Duration) -> Result<ExitStatus, String> {
        let begun = Instant::now();
        loop {
            let status = self.launcher.try_wait().map_err(|error| error.to_string())?;
            let left = self.processes();
            if let Some(status) = status.filter(|_| left.is_empty()) {
                return Ok(status);
            }
            if begun.elapsed() > limit {
                return Err(format!("after {limit:?}: launcher {status:?}; still there: {left:?}"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn wait_for_rows(&self, rows: usize, limit: Duration) -> Result<(), String> {
        let begun = Instant::now();
        while self.rows().len() < rows {
            if begun.elapsed() > limit {
                return Err(format!("only {} rows after {limit:?}", self.rows().len()));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Returns the complete rows of thermo.csv, without the header.
    fn rows(&self) -> Vec<String> {
        let text = fs::read_to_string(self.workdir.path("out/thermo.csv")).unwrap_or_default();
        let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        whole.skip(1).map(|line| line.trim_end().to_owned()).collect()
    }

    /// Returns the processes of this job that are alive. They are those that have its folder as
    /// working directory.
    fn processes(&self) -> Vec<(u32, String)> {
        let folder = self.workdir.path("");
        let is_ours = |process: &u32| {
            let cwd = fs::read_link(format!("/proc/{process}/cwd"));
            cwd.is_ok_and(|cwd| cwd.starts_with(&folder))
        };
        let name = |process| {
            let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
            (process, name.trim().to_owned())
        };
        let entries = fs::read_dir("/proc").unwrap();
        let ids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        ids.filter(is_ours).map(name).collect()
    }

    /// Returns the processes that compute, in the order of their start.
    fn ranks(&self) -> Vec<u32> {
        let mut ranks: Vec<u32> = self
            .processes()
            .into_iter()
            .filter(|(_, name)| name == "md-cli")
            .map(|(process, _)| process)
            .collect();
        ranks.sort_unstable();
        ranks
    }

    pub(crate) fn said(&self) -> String {
        let bytes = fs::read(self.workdir.path("said")).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let own = text.lines().filter(|line| ["error", "memory"].iter().any(|word| line.starts_with(word)));
        own.collect::<Vec<_>>().join("\n")
    }
}

impl Case {
    fn command(self, workdir: &Workdir) -> Command {
        let program = md_cli();
        let mut command = match self.backend {
            Backend::Local => as_from_a_terminal(&program),
            _ => workdir.under_mpirun(self.ranks, &program),
        };
        if self.fault == Fault::NoMemory {
            command = short_of_memory(&command);
        }
        if self.fault != Fault::FullShm {
            for component in ["btl_vader", "osc_sm", "osc_rdma"] {
                command.env(format!("OMPI_MCA_{component}_backing_directory"), workdir.path("shm"));
            }
        }
        command.current_dir(workdir.path("")).args([self.command.name(), "melt.toml", "--quiet"]);
        command.args(["--set", &format!("parallel.backend={}", self.backend.name())]);
        if self.backend == Backend::Local {
            command.args(["--set", &format!("parallel.ranks={}", self.ranks)]);
        }
        let watchdog_s = match self.fault {
            Fault::StopShort | Fault::StopLong | Fault::StopAll | Fault::Slow | Fault::FullShm => WATCHDOG_S,
            // Long enough for a large set-up, and short enough that ranks do not wait long in vain.
            Fault::NoMemory => START.as_secs() / 2,
            _ => START.as_secs(),
        };
        command.args(["--set", &format!("parallel.watchdog_s={watchdog_s}")]);
        command
    }
}

/// Returns the command with a limit on the address space of the last rank, or of all threads.
fn short_of_memory(command: &Command) -> Command {
    let script = format!("[ \"${{OMPI_COMM_WORLD_RANK:-1}}\" = 1 ] && ulimit -v {MEMORY_KB}; exec \"$@\"");
    let mut words: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
    let program = words.pop();
    let mut limited = Command::new(if program.is_some() { command.get_program() } else { "env".as_ref() });
    limited.args(words).args(["bash", "-c", &script, "bash"]);
    limited.arg(program.as_deref().unwrap_or(command.get_program()));
    limited.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    limited
}

/// Returns the command in a shell that first prepares the surroundings.
fn in_surroundings(fault: Fault, command: Command, folder: &Path) -> Command {
    let Some(script) = fault.surroundings() else { return command };
    let mut shell = Command::new("unshare");
    shell.args(["-m", "--", "sh", "-c", script, "sh"]).arg(command.get_program()).args(command.get_args());
    shell.current_dir(folder).envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell
}

impl Application {
    /// Returns the number of columns of thermo.csv.
    fn columns(self) -> usize {
        match self {
            Self::Run => 19,
            Self::Stencil => 4,
            Self::Lbm => 8,
        }
    }
}

/// Scenario of fields on a grid.
const STENCIL: &str =
    "[stencil]\nkind = \"swap\"\ngrid = [24, 16, 12]\nfields = 3\ndepth = 2\nsteps = 1000000000\n";
const LBM: &str = "[lbm]\ngrid = [24, 16, 12]\nviscosity = 0.05\nsteps = 1000000000\n\
    boundary = [\"periodic\", \"wall\", \"periodic\"]\nbody_force = [1e-5, 0.0, 0.0]\n";

fn scenario(Case { command, fault, ranks, .. }: Case) -> String {
    let grid = |table: &str| format!("{table}[output]\nthermo = {{ every = {EVERY} }}\n");
    match command {
        Application::Run => (),
        Application::Stencil => return grid(STENCIL),
        Application::Lbm => return grid(LBM),
    }
    let steps = if fault == Fault::FullShm { "steps = 100" } else { "steps = 1000000000" };
    let melt = MELT.replace("steps = 20", steps).replace("every = 7", &format!("every = {EVERY}"));
    if matches!(fault.files(), Files::Kept | Files::Complete) {
        return format!("{melt}trajectory = {{ path = \"melt.extxyz\", every = {STEPS_PER_FRAME} }}\n");
    }
    match fault {
        Fault::NoMemory => melt.replace("[6, 5, 5]", &format!("[90, 90, {}]", CELLS_PER_RANK * ranks)),
        Fault::NoCores => melt.replace("[6, 5, 5]", LONG_STEPS),
        _ => melt,
    }
}

/// Lets a process run only when a program that never rests, on the only core that it may use, does
/// not.
fn without_core_for(process: u32, time: Duration) -> Result<(), String> {
    let process = process.to_string();
    let call = |program: &str, arguments: &[&str]| {
        let called = Command::new(program).args(arguments).stdout(Stdio::null()).status();
        match called {
            Ok(status) if status.success() => Ok(()),
            other => Err(format!("{program} {arguments:?}: {other:?}")),
        }
    };
    call("taskset", &["--all-tasks", "--cpu-list", "--pid", "0", &process])?;
    call("chrt", &["--all-tasks", "--idle", "--pid", "0", &process])?;
    let busy = ["--cpu-list", "0", "sh", "-c", "while :; do :; done"];
    let mut busy = Command::new("taskset").args(busy).spawn().map_err(|error| error.to_string())?;
    std::thread::sleep(time);
    busy.kill().and_then(|()| busy.wait()).map_err(|error| error.to_string())?;
    call("chrt", &["--all-tasks", "--other", "--pid", "0", &process])
}

fn stop_for(processes: &[u32], duration: Duration) {
    processes.iter().for_each(|&process| signal("STOP", process));
    std::thread::sleep(duration);
    processes.iter().for_each(|&process| signal("CONT", process));
}

/// Sends a signal. A process that has already ended is ignored.
fn signal(name: &str, process: u32) {
    let kill = format!("kill -s {name} {process}");
    Command::new("sh").args(["-c", &kill]).stderr(Stdio::null()).status().unwrap();
}
