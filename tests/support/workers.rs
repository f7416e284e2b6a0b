//! Processes that make several calls in turn. An MPI job, or a process with its own environment,
//! takes longer to start than most calls take.
//!
//! A worker is this test program, started again to run [`serve`] (under `mpirun` if it has ranks).
//! It reads numbered requests from a folder and writes its replies there. It sleeps in between, so
//! that idle workers leave the cores to other processes. When this process ends, the worker's
//! standard input is closed, and the worker ends.
#![expect(clippy::expect_used, clippy::panic, reason = "this is a part of tests")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::launch::{self, Finished};

use super::play::{Played, play};

/// Environment variable with the folder of a worker.
const FOLDER: &str = "MD_TEST_WORKER";
/// Name of the test that calls [`serve_if_asked`].
const TEST: &str = "serve_as_a_worker";

/// Setting in which a worker runs: processes under `mpirun` or threads, with these environment
/// variables.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) processes: Option<usize>,
    /// Number of threads. A rank keeps its number of threads until it ends.
    pub(super) threads: Option<String>,
    pub(super) environment: Vec<(String, String)>,
}

#[derive(Debug)]
struct Worker {
    child: Child,
    folder: PathBuf,
    /// File with the worker's output. It has no name, because the worker removes the folder when
    /// its standard input is closed. A launcher closes that before it kills the ranks of an aborted
    /// job, and the reason of the abort must not be lost.
    said: File,
    requests: usize,
}

static WORKERS: Mutex<BTreeMap<Place, Arc<Mutex<Option<Worker>>>>> = Mutex::new(BTreeMap::new());

/// Makes a call through the worker of a place, which is started if there is none. A worker that
/// dies or takes longer than `limit` is ended, and the next call starts another.
pub(super) fn call(place: &Place, words: &[String], limit: Duration) -> Finished {
    let shared =
        WORKERS.lock().unwrap_or_else(PoisonError::into_inner).entry(place.clone()).or_default().clone();
    let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
    let worker = shared.get_or_insert_with(|| Worker::start(place));
    let begun = Instant::now();
    let number = worker.requests;
    worker.requests += 1;
    write_at_once(&worker.folder, &format!("{number}.request"), &words.join("\n"));
    let reply = worker.folder.join(format!("{number}.reply"));
    let mut backoff = Backoff::default();
    let status = loop {
        if let Ok(text) = fs::read_to_string(&reply) {
            return answered(&text, begun.elapsed());
        }
        let ended = worker.child.try_wait().expect("a worker can be waited for");
        if ended.is_some() || begun.elapsed() > limit {
            break ended;
        }
        backoff.sleep();
    };
    if status.is_none() {
        worker.end();
    }
    let stderr = worker.has_said();
    // Otherwise the worker removes it.
    let _ = fs::remove_dir_all(&worker.folder);
    *shared = None;
    // A worker that ends without a reply has failed, even if its exit status is success.
    let status = status.map(|status| if status.success() { exit_status(1) } else { status });
    Finished { status, stdout: String::new(), stderr, duration: begun.elapsed() }
}

impl Worker {
    fn start(place: &Place) -> Self {
        // `current_exe` would resolve to nothing if another build has replaced the program
        // (program.rs).
        let program = std::env::args_os().next().expect("a program is called by its path");
        let mut command = match place.processes {
            Some(ranks) => {
                let mut launcher = launch::mpirun(ranks).unwrap_or_else(|| panic!("no mpirun"));
                launcher.arg(program);
                launcher
            }
            None => Command::new(program),
        };
        let folder = tempfile::tempdir().expect("a temporary folder").keep();
        let said = tempfile::tempfile().expect("space on disk");
        command.args(["--exact", TEST, "--nocapture", "--test-threads=1"]).env(FOLDER, &folder);
        command.envs(place.environment.iter().map(|(name, value)| (name, value)));
        command.process_group(0).stdin(Stdio::piped());
        let handle = || said.try_clone().expect("another handle");
        command.stdout(handle()).stderr(handle());
        let child = command.spawn().expect("a worker starts");
        Self { child, folder, said, requests: 0 }
    }

    /// Returns all output of the worker, which has ended.
    fn has_said(&mut self) -> String {
        let mut bytes = Vec::new();
        let read = self.said.rewind().and_then(|()| self.said.read_to_end(&mut bytes));
        read.expect("the output of a worker can be read");
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// SIGTERM reaches ranks in separate process groups through the launcher.
    fn end(&mut self) {
        let group = self.child.id();
        let script = format!("kill -s TERM -- -{group}; sleep 1; kill -s KILL -- -{group}");
        Command::new("sh").args(["-c", &script]).stderr(Stdio::null()).status().expect("there is a shell");
        self.child.wait().expect("a worker can be waited for");
    }
}

/// Splits a reply into exit code and error output.
fn answered(text: &str, duration: Duration) -> Finished {
    let (head, rest) = text.split_once('\n').expect("a reply has a first line");
    let code = head.parse().expect("a reply begins with an exit code");
    Finished { status: Some(exit_status(code)), stdout: String::new(), stderr: rest.to_owned(), duration }
}

/// Returns the status of a program that has ended with this exit code.
pub(super) fn exit_status(code: u8) -> ExitStatus {
    const BITS_OF_SIGNAL: u32 = 8;
    ExitStatus::from_raw(i32::from(code) << BITS_OF_SIGNAL)
}

/// Serves calls until the process that requests them ends, if this process was started as a worker.
pub(crate) fn serve_if_asked() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    #[cfg(feature = "mpi")]
    if md_comm::launch::started_by_launcher().is_some() {
        return serve_over_mpi(&folder);
    }
    serve(&folder, true, play);
}

#[cfg(feature = "mpi")]
fn serve_over_mpi(folder: &Path) {
    /// Limit that holds until the first scenario sets its own.
    const WATCHDOG: Duration = Duration::from_secs(60);
    let world = md_comm::mpi::start(WATCHDOG).expect("MPI starts");
    let is_first = md_comm::World::rank(&world) == 0;
    serve(folder, is_first, |words| super::play::play_over_mpi(&world, words));
}

fn serve(folder: &Path, is_first: bool, play: impl Fn(&[String]) -> Played) {
    if is_first {
        let folder = folder.to_owned();
        std::thread::spawn(move || {
            // The launcher passes its own standard input to the first rank.
            let _ = io::copy(&mut io::stdin(), &mut io::sink());
            let _ = fs::remove_dir_all(folder);
        });
    }
    for number in 0.. {
        let Some(words) = request(folder, number) else { return };
        let Played { code, stderr, .. } = play(&words);
        if is_first {
            write_at_once(folder, &format!("{number}.reply"), &format!("{code}\n{stderr}"));
        }
    }
}

/// Waits for a request. Returns `None` if no more will come.
fn request(folder: &Path, number: usize) -> Option<Vec<String>> {
    let path = folder.join(format!("{number}.request"));
    let mut backoff = Backoff::default();
    while folder.exists() {
        if let Ok(text) = fs::read_to_string(&path) {
            return Some(text.lines().map(str::to_owned).collect());
        }
        backoff.sleep();
    }
    None
}

/// Writes a file atomically: a reader never sees only a part of it.
fn write_at_once(folder: &Path, name: &str, text: &str) {
    let unfinished = folder.join(format!("{name}.unfinished"));
    let written = fs::write(&unfinished, text).and_then(|()| fs::rename(&unfinished, folder.join(name)));
    // If the folder has been removed, no process waits for the reply.
    assert!(written.is_ok() || !folder.exists(), "{name} cannot be written: {written:?}");
}

/// A wait that sleeps longer each time.
#[derive(Debug, Default)]
struct Backoff {
    slept: Duration,
}

impl Backoff {
    fn sleep(&mut self) {
        const SHORTEST: Duration = Duration::from_micros(200);
        const LONGEST: Duration = Duration::from_millis(10);
        let time = (self.slept / 8).clamp(SHORTEST, LONGEST);
        std::thread::sleep(time);
        self.slept += time;
    }
}
