//! The library that counts collectives: built by the MPI compiler, loaded before MPI, read through a file.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::launch;

/// Variable that tells the library where to count; the process's number is appended.
const COUNT_FILE: &str = "MD_COUNT_FILE";
const RANKS: usize = 2;
/// On cores that others use as well every wait takes as long as their turn.
const LIMIT: Duration = Duration::from_secs(300);

/// Collectives that this process has called so far; `None` if nobody counts.
pub(crate) fn read() -> Option<u64> {
    let file = format!("{}.{}", std::env::var(COUNT_FILE).ok()?, std::process::id());
    let bytes = std::fs::read(file).ok()?;
    Some(u64::from_ne_bytes(bytes.get(..size_of::<u64>())?.try_into().ok()?))
}

/// All backends over MPI in one job.
pub(crate) fn run_job() -> Result<(), String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let library = build(folder)?;
    let Some(mut command) = launch::mpirun(RANKS) else { return may_skip("no mpirun") };
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let counts = tempfile::tempdir_in(folder).map_err(|error| error.to_string())?;
    if let Some(library) = library {
        // Only the ranks are to load it, not the launcher.
        command.arg("env").arg(format!("LD_PRELOAD={}", library.display()));
        command.env(COUNT_FILE, counts.path().join("collectives"));
    }
    command.arg(program);
    let finished = launch::run_with_timeout(command, LIMIT).map_err(|error| error.to_string())?;
    println!("{}", finished.stdout.trim());
    if finished.succeeded() { Ok(()) } else { Err(format!("{:?}\n{}", finished.status, finished.stderr)) }
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
        Err(error) => may_skip(&format!("collectives are not counted: mpicc: {error}")).map(|()| None),
    }
}

fn may_skip(why: &str) -> Result<(), String> {
    println!("skipped: {why}");
    if std::env::var("CI").is_ok_and(|ci| ci == "true") {
        Err(format!("CI must not skip: {why}"))
    } else {
        Ok(())
    }
}
