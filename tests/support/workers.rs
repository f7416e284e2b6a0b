//! Processes that make one call after another: a job of MPI, or a process with an environment of its own, takes longer
//! to start than most calls take.
//!
//! A worker is this test program, started again (under `mpirun` where it has ranks) to run [`serve`]. It takes numbered
//! requests from a folder and answers there. It sleeps in between, so that idle workers leave the cores to others. When
//! this process ends, the worker's standard input does too, and it leaves.
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

/// Variable with the folder of a worker.
const FOLDER: &str = "MD_TEST_WORKER";
/// The test that calls [`serve_if_asked`].
const TEST: &str = "serve_as_a_worker";

/// What a worker is for: processes under `mpirun`, or none and threads; with these variables.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) processes: Option<usize>,
    /// A rank has the same number of threads for as long as it lives.
    pub(super) threads: Option<String>,
    pub(super) environment: Vec<(String, String)>,
}

#[derive(Debug)]
struct Worker {
    child: Child,
    folder: PathBuf,
    /// What it prints. It has no name, as the worker removes the folder when its standard input ends: a launcher closes
    /// that before it kills the ranks of a job that has aborted, and the reason of the abort must not go with it.
    said: File,
    requests: usize,
}

static WORKERS: Mutex<BTreeMap<Place, Arc<Mutex<Option<Worker>>>>> = Mutex::new(BTreeMap::new());

/// Has a call made by the worker of a place, which is started if there is none. One that dies or takes longer than
/// `limit` is the end of the worker; the next call gets another.
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
    // Else it is removed by the worker itself.
    let _ = fs::remove_dir_all(&worker.folder);
    *shared = None;
    // A worker that leaves before it has answered has failed, whatever it says itself.
    let status = status.map(|status| if status.success() { exit_status(1) } else { status });
    Finished { status, stdout: String::new(), stderr, duration: begun.elapsed() }
}

impl Worker {
    fn start(place: &Place) -> Self {
        // `current_exe` would follow a program that has been replaced by another build (program.rs) to nowhere.
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

    /// All that it has printed, now that it has ended.
    fn has_said(&mut self) -> String {
        let mut bytes = Vec::new();
        let read = self.said.rewind().and_then(|()| self.said.read_to_end(&mut bytes));
        read.expect("the output of a worker can be read");
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The polite signal reaches ranks in process groups of their own through the launcher.
    fn end(&mut self) {
        let group = self.child.id();
        let script = format!("kill -s TERM -- -{group}; sleep 1; kill -s KILL -- -{group}");
        Command::new("sh").args(["-c", &script]).stderr(Stdio::null()).status().expect("there is a shell");
        self.child.wait().expect("a worker can be waited for");
    }
}

/// A line with the exit code, and the error output.
fn answered(text: &str, duration: Duration) -> Finished {
    let (head, rest) = text.split_once('\n').expect("a reply has a first line");
    let code = head.parse().expect("a reply begins with an exit code");
    Finished { status: Some(exit_status(code)), stdout: String::new(), stderr: rest.to_owned(), duration }
}

/// As of a program that has ended with this code.
pub(super) fn exit_status(code: u8) -> ExitStatus {
    const BITS_OF_SIGNAL: u32 = 8;
    ExitStatus::from_raw(i32::from(code) << BITS_OF_SIGNAL)
}

/// Makes calls until the process that asked for them is gone, if this process has been started as a worker.
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
    /// Until the first scenario's own limit is known.
    const WATCHDOG: Duration = Duration::from_secs(60);
    let world = md_comm::mpi::start(WATCHDOG).expect("MPI starts");
    let is_first = md_comm::World::rank(&world) == 0;
    serve(folder, is_first, |words| super::play::play_over_mpi(&world, words));
}

fn serve(folder: &Path, is_first: bool, play: impl Fn(&[String]) -> Played) {
    if is_first {
        let folder = folder.to_owned();
        std::thread::spawn(move || {
            // The launcher passes its own standard input on to the first rank.
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

/// Waits for a request; `None` when there will be none.
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

/// Whoever sees the file sees all of it.
fn write_at_once(folder: &Path, name: &str, text: &str) {
    let unfinished = folder.join(format!("{name}.unfinished"));
    let written = fs::write(&unfinished, text).and_then(|()| fs::rename(&unfinished, folder.join(name)));
    // Nobody waits for an answer where the folder has been removed.
    assert!(written.is_ok() || !folder.exists(), "{name} cannot be written: {written:?}");
}

/// Sleeps for longer and longer.
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
