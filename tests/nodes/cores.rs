//! Ranks that a launcher has bound to the same core.

use std::fs;

use crate::launch;
use crate::nodes::{finish, output};
use crate::{MELT, program};

const ADVICE: &str = "2 ranks of one machine can use only the same core: they take turns, which looks like slow messages; \
    start with `mpirun --bind-to none`";

/// Warned of on the error stream, and named as the advice after the run; ranks that are not bound get neither.
pub(crate) fn on_one_core() -> Result<(), String> {
    if !cfg!(target_os = "linux") || std::thread::available_parallelism().map_or(1, usize::from) == 1 {
        println!("skipped: affinities are known on Linux, and a machine of one core leaves no choice");
        return Ok(());
    }
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let path = |name: &str| folder.path().join(name);
    fs::write(path("melt.toml"), MELT).map_err(|error| error.to_string())?;
    for (bound, words) in [(true, &["taskset", "-c", "0"][..]), (false, &["--bind-to", "none"])] {
        let mut command = launch::mpirun(2).ok_or("no mpirun")?;
        command.args(words).arg(program::md_cli()).arg("run").arg(path("melt.toml"));
        let finished = finish(command.arg("--output").arg(path("out")))?;
        let said = [
            finished.stderr.contains(&format!("warning: {ADVICE}\n")),
            finished.stdout.contains(&format!("\nAdvice: {ADVICE}\n")),
        ];
        if !finished.succeeded() || said != [bound; 2] {
            return Err(format!("{words:?}: {said:?}, {}", output(&finished)));
        }
    }
    Ok(())
}
