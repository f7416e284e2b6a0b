//! The library that counts collectives and messages: built by the MPI compiler, loaded before MPI, read through a file.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::launch;

/// Variable that tells the library where to count; the process's number is appended.
const COUNT_FILE: &str = "MD_COUNT_FILE";
/// On cores that others use as well every wait takes as long as their turn.
const LIMIT: Duration = Duration::from_secs(300);

/// What this process has called so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Collectives.
    pub(crate) calls: u64,
    /// That they have given and delivered.
    pub(crate) bytes: u64,
    /// Sent, received, put and taken.
    pub(crate) messages: u64,
    /// That the buffers of these messages hold.
    pub(crate) message_bytes: u64,
}

/// `None` if nobody counts.
pub(crate) fn read() -> Option<Counts> {
    let file = format!("{}.{}", std::env::var(COUNT_FILE).ok()?, std::process::id());
    let bytes = std::fs::read(file).ok()?;
    let (words, _) = bytes.as_chunks::<{ size_of::<u64>() }>();
    let [calls, bytes, messages, message_bytes] = words.first_chunk()?.map(u64::from_ne_bytes);
    Some(Counts { calls, bytes, messages, message_bytes })
}

/// This program on so many ranks over MPI; returns what it prints, nothing where it cannot be run.
pub(crate) fn run_job(ranks: usize) -> Result<String, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let library = build(folder)?;
    let Some(mut command) = launch::mpirun(ranks) else {
        return launch::may_skip("no mpirun").map(|()| String::new());
    };
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let counts = tempfile::tempdir_in(folder).map_err(|error| error.to_string())?;
    if let Some(library) = library {
        // Only the ranks are to load it, not the launcher.
        command.arg("env").arg(format!("LD_PRELOAD={}", library.display()));
        command.env(COUNT_FILE, counts.path().join("collectives"));
    }
    command.arg(program);
    let finished = launch::run_with_timeout(command, LIMIT).map_err(|error| error.to_string())?;
    let succeeded = finished.succeeded();
    if succeeded {
        Ok(finished.stdout)
    } else {
        Err(format!("{:?}\n{}\n{}", finished.status, finished.stdout, finished.stderr))
    }
}

/// `None` if that is not possible here and need not be.
fn build(folder: &Path) -> Result<Option<PathBuf>, String> {
    let library = folder.join("count_collectives.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/steady/count_collectives.c");
    let compiler = std::env::var("MPICC").unwrap_or_else(|_| "mpicc".to_owned());
    let mut command = Command::new(compiler);
    command.args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"]).arg(&library).arg(source);
    match command.output() {
        Ok(output) if output.status.success() => Ok(Some(library)),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        Err(error) => {
            launch::may_skip(&format!("collectives are not counted: mpicc: {error}")).map(|()| None)
        }
    }
}
