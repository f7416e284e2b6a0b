//! Starting launchers, and other commands with a time limit: output collected, nothing left behind.
#![allow(dead_code, clippy::print_stdout, reason = "every test program uses a part of it")]

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// How long a launcher may take to end its ranks before it is killed.
const TERMINATION_GRACE: Duration = Duration::from_secs(3);
/// How long to wait for the rest of the output; a survivor may hold the pipe open.
const OUTPUT_GRACE: Duration = Duration::from_secs(2);
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Lets Open MPI 4 and 5 run as root (containers) and with more ranks than cores. Open MPI spins
/// unless ranks outnumber cores; with the option to yield, tests leave the cores to other work.
const TEST_ENVIRONMENT: [(&str, &str); 5] = [
    ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
    ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
    ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
    ("OMPI_MCA_mpi_yield_when_idle", "1"),
    ("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"),
];

/// Result of a command.
#[derive(Debug)]
pub(crate) struct Finished {
    /// Its exit status; `None` if it did not end in time and was killed.
    pub(crate) status: Option<ExitStatus>,
    /// What it printed.
    pub(crate) stdout: String,
    /// What it printed to the error stream.
    pub(crate) stderr: String,
    /// Time until it had ended.
    pub(crate) duration: Duration,
}

impl Finished {
    /// Returns whether it ended in time with success.
    pub(crate) fn succeeded(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }
}

/// Returns a command that runs a program, to be appended as argument, with `ranks` ranks:
/// `${MPIEXEC:-mpirun}` with the environment for root and for shared cores. Returns `None` if there
/// is no launcher.
pub(crate) fn mpirun(ranks: usize) -> Option<Command> {
    let words = std::env::var("MPIEXEC").unwrap_or_else(|_| "mpirun".to_owned());
    let mut words = words.split_whitespace().map(OsString::from);
    let program = words.next()?;
    let version = Command::new(&program).arg("--version").stdin(Stdio::null()).output().ok()?;
    let mut command = Command::new(&program);
    command.args(words).envs(TEST_ENVIRONMENT);
    if String::from_utf8_lossy(&version.stdout).contains("Open MPI") {
        command.arg("--oversubscribe");
    }
    command.args(["-n", &ranks.to_string()]);
    Some(command)
}

/// Prints why something is not tested.
///
/// # Errors
/// Fails in CI, where nothing may be skipped.
pub(crate) fn may_skip(why: &str) -> Result<(), String> {
    println!("skipped: {why}");
    if std::env::var("CI").is_ok_and(|ci| ci == "true") {
        Err(format!("CI must not skip: {why}"))
    } else {
        Ok(())
    }
}

/// Runs a command in its own process group. If it has not ended after `limit`, the group is
/// terminated, then killed.
///
/// # Errors
/// Fails if the command cannot be started or waited for.
pub(crate) fn run_with_timeout(mut command: Command, limit: Duration) -> io::Result<Finished> {
    command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let begun = Instant::now();
    let mut child = command.spawn()?;
    let stdout = child.stdout.take().map(collect);
    let stderr = child.stderr.take().map(collect);
    let status = wait(&mut child, limit)?;
    let duration = begun.elapsed();
    if status.is_none() {
        end_group(&mut child)?;
    }
    Ok(Finished { status, stdout: text(stdout.as_ref()), stderr: text(stderr.as_ref()), duration })
}

fn wait(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let begun = Instant::now();
    loop {
        let status = child.try_wait()?;
        if status.is_some() || begun.elapsed() > limit {
            return Ok(status);
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Ends a process group. Both signals are always sent, the second one for members that outlived the
/// first. A launcher passes the terminate signal on to ranks that are in process groups of their
/// own; the kill signal is for a launcher that does not react.
fn end_group(child: &mut Child) -> io::Result<()> {
    for signal in ["TERM", "KILL"] {
        // The POSIX spelling; a shell's builtin exists even where no `kill` program is installed.
        let group = format!("kill -s {signal} -- -{}", child.id());
        Command::new("sh").args(["-c", &group]).stderr(Stdio::null()).status()?;
        wait(child, TERMINATION_GRACE)?;
    }
    Ok(())
}

/// Reads a stream to its end on a thread, piece by piece.
fn collect(mut stream: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut piece = vec![0; 4096];
        while let Ok(length @ 1..) = stream.read(&mut piece) {
            if sender.send(piece[..length].to_vec()).is_err() {
                break;
            }
        }
    });
    receiver
}

fn text(pieces: Option<&Receiver<Vec<u8>>>) -> String {
    let mut bytes = Vec::new();
    while let Some(Ok(piece)) = pieces.map(|pieces| pieces.recv_timeout(OUTPUT_GRACE)) {
        bytes.extend(piece);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn output_and_status_are_reported() {
        let finished =
            run_with_timeout(shell("echo out; echo err >&2; exit 3"), Duration::from_secs(10)).unwrap();
        assert_eq!(finished.status.unwrap().code(), Some(3));
        assert_eq!((finished.stdout.as_str(), finished.stderr.as_str()), ("out\n", "err\n"));
    }

    #[test]
    fn a_hanging_command_is_killed_with_its_children() {
        let begun = Instant::now();
        let finished =
            run_with_timeout(shell("echo begun; sleep 60 & wait"), Duration::from_millis(200)).unwrap();
        assert!(finished.status.is_none());
        assert_eq!(finished.stdout, "begun\n");
        assert!(begun.elapsed() < TERMINATION_GRACE, "{:?}", begun.elapsed());
    }
}
