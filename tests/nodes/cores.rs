//! Ranks that a launcher has bound to the same core.

use std::fs;
use std::process::Command;

use crate::nodes::{Nodes, finish, output};
use crate::support::{MELT, launch, md_cli};

const ADVICE: &str = "2 ranks of one machine can use only the same core: they take turns, which looks like slow messages; \
    start with `mpirun --bind-to none`";

const ON_ONE: &[&str] = &["taskset", "-c", "0"];

/// Tests the ranks of one job, bound to one core and not bound.
pub(crate) fn on_one_core() -> Result<(), String> {
    let launcher = || launch::mpirun(2).ok_or("no mpirun");
    expect(launcher()?, ON_ONE, true)?;
    expect(launcher()?, &["--bind-to", "none"], false)
}

/// Tests ranks that their library treats as ranks of different machines.
pub(crate) fn of_two_nodes(nodes: &Nodes) -> Result<(), String> {
    expect(nodes.run(1), ON_ONE, true)
}

/// Expects a warning on the error stream and the same advice after the run, or neither.
fn expect(mut launcher: Command, words: &[&str], bound: bool) -> Result<(), String> {
    if !cfg!(target_os = "linux") || std::thread::available_parallelism().map_or(1, usize::from) == 1 {
        println!("skipped: affinities are known on Linux, and a machine of one core leaves no choice");
        return Ok(());
    }
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let path = |name: &str| folder.path().join(name);
    fs::write(path("melt.toml"), MELT).map_err(|error| error.to_string())?;
    launcher.args(words).arg(md_cli()).arg("run").arg(path("melt.toml"));
    let finished = finish(launcher.arg("--output").arg(path("out")))?;
    let said = [
        finished.stderr.contains(&format!("warning: {ADVICE}\n")),
        finished.stdout.replace("\n  ", " ").contains(&format!("\nAdvice: {ADVICE}\n")),
    ];
    if finished.succeeded() && said == [bound; 2] {
        return Ok(());
    }
    Err(format!("{words:?}: {said:?}, {}", output(&finished)))
}
