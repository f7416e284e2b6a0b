//! Calls of the program, or of its library.
#![expect(clippy::expect_used, clippy::panic, clippy::print_stderr, reason = "this is a part of tests")]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::launch::{self, Finished};

use super::play::{Played, play};
use super::workers::{self, Place};
use super::{Outcome, md_cli};

/// Time limit, long enough for every test, also on a loaded machine.
const LIMIT: Duration = Duration::from_secs(120);

/// Transport of the halo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Backend {
    /// Ranks are threads of one process.
    Local,
    /// Ranks are processes under `mpirun`.
    P2p,
}

/// Returns whether tests can run backend `p2p`: MPI is built in and there is a launcher. In CI
/// there must be one.
pub(crate) fn p2p_available() -> bool {
    static AVAILABLE: OnceLock<bool> = OnceLock::new();
    *AVAILABLE.get_or_init(|| {
        let found = cfg!(feature = "mpi") && launch::mpirun(1).is_some();
        if cfg!(feature = "mpi") && !found {
            let is_ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
            assert!(!is_ci, "CI must not skip the tests of MPI: there is no mpirun");
            eprintln!("skipped: no mpirun");
        }
        found
    })
}

/// A call of `md-cli COMMAND scenario.toml --output out` in a folder of its own. If
/// `STARTS_PROGRAM` is set, it starts the program, otherwise it calls the library with the same
/// arguments and files.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    command: String,
    scenario: String,
    files: Vec<(String, String)>,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    ranks: usize,
    backend: Option<Backend>,
    limit: Duration,
}

impl Run {
    /// Creates a call of a command on a scenario, given as text. Backend and ranks are not set, see
    /// [`Run::on`].
    pub(crate) fn new(command: &str, scenario: impl Into<String>) -> Self {
        Self {
            command: command.to_owned(),
            scenario: scenario.into(),
            files: Vec::new(),
            arguments: Vec::new(),
            environment: Vec::new(),
            ranks: 1,
            backend: None,
            limit: LIMIT,
        }
    }

    /// Sets the backend and the number of ranks.
    pub(crate) fn on(mut self, backend: Backend, ranks: usize) -> Self {
        (self.backend, self.ranks) = (Some(backend), ranks);
        self
    }

    /// Adds a `--set`.
    pub(crate) fn set(self, assignment: impl Into<String>) -> Self {
        self.argument("--set").argument(assignment)
    }

    /// Adds several `--set`.
    pub(crate) fn set_all<'a>(self, assignments: impl IntoIterator<Item = &'a str>) -> Self {
        assignments.into_iter().fold(self, Self::set)
    }

    /// Adds an argument.
    pub(crate) fn argument(mut self, argument: impl Into<String>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Adds a file next to the scenario.
    pub(crate) fn file(mut self, name: &str, text: impl Into<String>) -> Self {
        self.files.push((name.to_owned(), text.into()));
        self
    }

    /// Adds an environment variable, also on the ranks under `mpirun` (which run on this host).
    pub(crate) fn environment(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets another time limit.
    pub(crate) fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Runs the call until it ends, successfully or not. The outcome has its output and files.
    pub(crate) fn finish(&self) -> Outcome {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let write =
            |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("space on disk");
        write("scenario.toml", &self.scenario);
        for (name, text) in &self.files {
            write(name, text);
        }
        let finished = if crate::STARTS_PROGRAM || self.backend.is_none() {
            launch::run_with_timeout(self.program(folder.path()), self.limit).expect("the program starts")
        } else {
            self.through_library(folder.path())
        };
        Outcome::new(self.case(), folder, finished)
    }

    /// Runs the call. The test fails if the call does.
    pub(crate) fn succeed(&self) -> Outcome {
        let outcome = self.finish();
        assert!(outcome.finished().succeeded(), "{}", outcome.report());
        outcome
    }

    /// Returns one line that describes the call, for messages.
    pub(crate) fn case(&self) -> String {
        let backend = self.backend.map_or_else(String::new, |backend| format!("{backend:?} "));
        let environment: String =
            self.environment.iter().map(|(name, value)| format!("{name}={value} ")).collect();
        let settings = self.arguments.join(" ");
        format!("{environment}{} on {backend}{} ranks {settings}", self.command, self.ranks)
    }

    /// Makes the call in this process where possible. MPI and environment variables need separate
    /// processes.
    fn through_library(&self, folder: &Path) -> Finished {
        let mut words = vec!["md-cli".to_owned()];
        words.extend(self.words(folder));
        if self.command != "check" {
            words.push("--quiet".to_owned());
        }
        let processes = (self.backend == Some(Backend::P2p)).then_some(self.ranks);
        if processes.is_some() || !self.environment.is_empty() {
            let threads = words.iter().position(|word| word == "--threads").map(|at| words[at + 1].clone());
            let place = Place { processes, threads, environment: self.environment.clone() };
            return workers::call(&place, &words, self.limit);
        }
        let begun = Instant::now();
        let Played { code, stdout, stderr } = play(&words);
        let status = Some(workers::exit_status(code));
        Finished { status, stdout, stderr, duration: begun.elapsed() }
    }

    fn program(&self, folder: &Path) -> Command {
        let mut command = match self.backend {
            Some(Backend::P2p) => {
                let mut launcher = launch::mpirun(self.ranks).unwrap_or_else(|| panic!("no mpirun"));
                launcher.arg(md_cli());
                launcher
            }
            _ => Command::new(md_cli()),
        };
        command.current_dir(folder).args(self.words(Path::new("")));
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Returns the arguments, with files in this folder.
    fn words(&self, folder: &Path) -> Vec<String> {
        let path = |name: &str| folder.join(name).display().to_string();
        let mut words = vec![self.command.clone(), path("scenario.toml")];
        match self.command.as_str() {
            "run" | "forces" => words.extend(["--output".to_owned(), path("out")]),
            // This command writes nothing, but prints the path.
            "check" => words.extend(["--output", "out"].map(str::to_owned)),
            _ => (),
        }
        let backend = match self.backend {
            Some(Backend::Local) => {
                vec!["parallel.backend=\"local\"".to_owned(), format!("parallel.ranks={}", self.ranks)]
            }
            Some(Backend::P2p) => vec!["parallel.backend=\"p2p\"".to_owned()],
            None => Vec::new(),
        };
        words.extend(backend.into_iter().flat_map(|assignment| ["--set".to_owned(), assignment]));
        words.extend(self.arguments.iter().cloned());
        words
    }
}
