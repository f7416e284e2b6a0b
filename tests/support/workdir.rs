//! A working folder, commands called in it as in a shell, and their output.
#![expect(clippy::expect_used, clippy::panic, reason = "this is a part of tests")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::launch::{self, Finished};
use tempfile::TempDir;

use super::{as_from_a_terminal, md_cli, p2p_available};

/// Scenario of a liquid of 600 atoms for 20 steps, with room for three ranks along x.
pub(crate) const MELT: &str = r#"[simulation]
steps = 20
seed = 7

[system]
lattice = { kind = "fcc", density = 0.8442, cells = [6, 5, 5] }
temperature = 1.44

[output]
thermo = { every = 7 }
"#;

/// Returns `MELT` with the particles of an extended XYZ file.
pub(crate) fn from_file(path: &str) -> String {
    MELT.replace(
        "lattice = { kind = \"fcc\", density = 0.8442, cells = [6, 5, 5] }",
        &format!("file = {{ path = \"{path}\", format = \"extxyz\" }}"),
    )
}

/// Time limit, long enough for every call, also on a loaded machine.
const LIMIT: Duration = Duration::from_secs(120);

/// How a command is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// As a plain process without further options.
    Plain,
    /// As a plain process with backend `local` and this number of ranks as threads.
    Threads(usize),
    /// Under `mpirun` with backend `p2p` and this number of ranks as processes.
    Mpirun(usize),
}

/// Returns starts with one rank, with several threads, and with several processes where there is
/// MPI.
pub(crate) fn starts() -> Vec<Start> {
    let mut starts = vec![Start::Threads(1), Start::Threads(3)];
    if p2p_available() {
        starts.push(Start::Mpirun(3));
    }
    starts
}

/// A folder with a scenario `melt.toml` in it. It is removed when it is dropped.
#[derive(Debug)]
pub(crate) struct Workdir {
    folder: TempDir,
}

/// Output of a call, and its exit code; `None` if a signal ended it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    /// Error output without the lines of `mpirun`, and without the warning about other programs,
    /// because tests run at the same time.
    pub(crate) stderr: String,
}

impl Workdir {
    /// Creates a folder with this scenario.
    pub(crate) fn new(scenario: &str) -> Self {
        let workdir = Self { folder: tempfile::tempdir().expect("a temporary folder") };
        workdir.write("melt.toml", scenario);
        workdir
    }

    /// Returns the path of a file.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file.
    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("space on disk");
    }

    /// Reads a file.
    pub(crate) fn read(&self, name: &str) -> String {
        let path = self.path(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Makes a named pipe that is never written to.
    pub(crate) fn make_pipe(&self, name: &str) {
        let made = Command::new("mkfifo").arg(self.path(name)).status().expect("mkfifo");
        assert!(made.success(), "{name}");
    }

    /// Waits until a file of a run that has been started has `count` lines.
    pub(crate) fn wait_for_lines(&self, name: &str, count: usize) {
        let begun = Instant::now();
        let lines =
            || fs::read(self.path(name)).map_or(0, |text| text.iter().filter(|&&b| b == b'\n').count());
        while lines() < count {
            assert!(begun.elapsed() < LIMIT, "the run does not begin");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Returns the names of the files in a folder, sorted.
    pub(crate) fn files(&self, name: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(name)).expect("a folder");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// Returns a call of `md-cli` with these arguments, separated by white space, and those that
    /// `start` adds to them.
    pub(crate) fn command(&self, start: Start, arguments: &str) -> Command {
        let mut command = match start {
            Start::Plain | Start::Threads(_) => as_from_a_terminal(md_cli()),
            Start::Mpirun(ranks) => self.under_mpirun(ranks, &md_cli()),
        };
        command.current_dir(self.folder.path()).args(arguments.split_whitespace());
        match start {
            Start::Plain => (),
            Start::Threads(ranks) => {
                command.args([
                    "--set",
                    "parallel.backend=local",
                    "--set",
                    &format!("parallel.ranks={ranks}"),
                ]);
            }
            Start::Mpirun(_) => {
                command.args(["--set", "parallel.backend=p2p"]);
            }
        }
        command
    }

    /// Returns a call of any program under `mpirun`.
    pub(crate) fn under_mpirun(&self, ranks: usize, program: &Path) -> Command {
        let mut command = launch::mpirun(ranks).unwrap_or_else(|| panic!("no mpirun"));
        command.arg(program).current_dir(self.folder.path());
        command
    }

    /// Calls `md-cli` and waits for its end.
    pub(crate) fn call(&self, start: Start, arguments: &str) -> Said {
        Said::of(self.command(start, arguments))
    }

    /// Calls `md-cli`. The test fails if the call does.
    pub(crate) fn succeed(&self, start: Start, arguments: &str) -> Said {
        let said = self.call(start, arguments);
        assert_eq!(said.code, Some(0), "{start:?} {arguments}: {said:?}");
        said
    }

    /// Returns a `bash` script, in which `$md` is the program.
    pub(crate) fn shell(&self, script: &str) -> Command {
        let mut command = as_from_a_terminal("bash");
        command.current_dir(self.folder.path()).env("md", md_cli()).args(["-c", script]);
        command
    }
}

impl Said {
    /// Runs a command and waits for its end. The test fails if the command does not end.
    pub(crate) fn of(command: Command) -> Self {
        let called = format!("{command:?}");
        let Finished { status, stdout, stderr, .. } =
            launch::run_with_timeout(command, LIMIT).expect("the program starts");
        let status = status.unwrap_or_else(|| panic!("{called}: hangs\n{stdout}\n{stderr}"));
        Self { code: status.code(), stdout, stderr: without_launcher(&stderr) }
    }
}

/// Returns the error of `md-cli COMMAND melt.toml --quiet`, with its exit code in front. It must
/// not depend on how the command is started, which shows that only one rank reports it, once.
/// Standard output must be empty.
pub(crate) fn error_everywhere(workdir: &Workdir, arguments: &str, starts: &[Start]) -> String {
    let errors: Vec<String> = starts.iter().map(|&start| error(workdir, arguments, start)).collect();
    for (start, text) in starts.iter().zip(&errors) {
        assert_eq!(*text, errors[0], "{start:?} and {:?} differ", starts[0]);
    }
    errors.into_iter().next().expect("at least one way to start")
}

/// Returns the error of one call, with its exit code in front.
pub(crate) fn error(workdir: &Workdir, arguments: &str, start: Start) -> String {
    let said = workdir.call(start, &format!("{arguments} --quiet"));
    assert_eq!(said.stdout, "", "{start:?} {arguments}: {said:?}");
    format!("exit code {}\n{}", said.code.expect("it ended by itself"), said.stderr)
}

/// Beginning of the warning that a measuring command prints on a busy machine.
const OTHER_PROGRAMS: &str = "warning: other programs used ";

/// Removes the output of Open MPI itself, and the warning that depends on the load of the machine.
/// Open MPI's output consists of blocks between lines of dashes, and of lines that begin with host
/// and process.
fn without_launcher(text: &str) -> String {
    let is_rule = |line: &str| line.len() > 60 && line.bytes().all(|byte| byte == b'-');
    let mut inside = false;
    let mut own = String::new();
    for line in text.split_inclusive('\n') {
        if is_rule(line.trim_end()) {
            inside = !inside;
        } else if !inside && !is_note_of_launcher(line) && !line.starts_with(OTHER_PROGRAMS) {
            own.push_str(line);
        }
    }
    own
}

/// Returns whether the line begins with `[host:12345]`, as "1 more process has sent help message"
/// does.
fn is_note_of_launcher(line: &str) -> bool {
    let place = line.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let process = place.and_then(|(place, _)| place.split_once(':'));
    process.is_some_and(|(_, number)| number.parse::<u32>().is_ok())
}
