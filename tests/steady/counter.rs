//! The library that counts collectives and messages: built by the MPI compiler, loaded before MPI,
//! and read through a file.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::launch;

/// Environment variable with the path of the count file, to which the process number is appended.
const COUNT_FILE: &str = "MD_COUNT_FILE";
/// Time limit. On cores that other programs use, every wait takes as long as their time slice.
const LIMIT: Duration = Duration::from_secs(300);

/// Counts of the calls of this process so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Number of collectives.
    pub(crate) calls: u64,
    /// Number of bytes that collectives have sent and received.
    pub(crate) bytes: u64,
    /// Number of messages sent, received, put and got.
    pub(crate) messages: u64,
    /// Number of bytes in the buffers of these messages.
    pub(crate) message_bytes: u64,
}

/// Reads the counts. Returns `None` if no counter is loaded.
pub(crate) fn read() -> Option<Counts> {
    let file = format!("{}.{}", std::env::var(COUNT_FILE).ok()?, std::process::id());
    let bytes = std::fs::read(file).ok()?;
    let (words, _) = bytes.as_chunks::<{ size_of::<u64>() }>();
    let [calls, bytes, messages, message_bytes] = words.first_chunk()?.map(u64::from_ne_bytes);
    Some(Counts { calls, bytes, messages, message_bytes })
}

/// Runs this program on `ranks` ranks over MPI and returns its output, which is empty where it
/// cannot run.
pub(crate) fn run_job(ranks: usize) -> Result<String, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let library = build(folder)?;
    let Some(mut command) = launch::mpirun(ranks) else {
        return launch::may_skip("no mpirun").map(|()| String::new());
    };
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let counts = tempfile::tempdir_in(folder).map_err(|error| error.to_string())?;
    if let Some(library) = library {
        // Only the ranks must load the library, not the launcher.
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

/// Builds the library. Returns `None` if that is not possible here and not required.
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
