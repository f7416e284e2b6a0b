//! A clock that jumps: a library between the programs and the C library, so that no real clock has
//! to be set.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// A jump of the time of day by ten years. The second jump undoes the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Jump {
    Ahead,
    Back,
}

/// Puts a job's clock under control: it jumps when [`jump`] is called with the same `folder`.
pub(crate) fn control(command: &mut Command, folder: &Path) -> Result<(), String> {
    command.env("LD_PRELOAD", library()?).env("MD_CLOCK", folder);
    Ok(())
}

/// Lets the clock jump, and checks that a program under control sees the jump.
pub(crate) fn jump(folder: &Path, jump: Jump) -> Result<(), String> {
    let before = year(folder)?;
    fs::write(folder.join(if jump == Jump::Ahead { "ahead" } else { "back" }), "")
        .map_err(|error| error.to_string())?;
    let now = year(folder)?;
    let jumped = if jump == Jump::Ahead { now > before } else { now < before };
    if jumped { Ok(()) } else { Err(format!("the clock has not jumped: {before}, {now}")) }
}

fn year(folder: &Path) -> Result<i32, String> {
    let mut date = Command::new("date");
    control(&mut date, folder)?;
    let output = date.arg("+%Y").output().map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().map_err(|_| format!("date: {text}"))
}

/// Returns the library, which is built once.
fn library() -> Result<PathBuf, String> {
    static LIBRARY: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let build = || {
        let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("clock.{}.so", std::process::id()));
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"]).arg(&library);
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults/clock.c");
        let built = compiler.arg(source).output().map_err(|error| format!("cc: {error}"))?;
        if built.status.success() {
            Ok(library)
        } else {
            Err(String::from_utf8_lossy(&built.stderr).into_owned())
        }
    };
    LIBRARY.get_or_init(build).clone()
}
