//! Passes the commit from which the program is built to the compiler.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Cargo would rebuild every time for a path that does not exist: in a separate work tree or an
    // archive.
    let watched = git(&["rev-parse", "--git-path", "HEAD", "--git-path", "refs/heads"]).unwrap_or_default();
    watched.lines().for_each(|path| println!("cargo::rerun-if-changed={path}"));
    let commit = git(&["describe", "--always", "--dirty", "--abbrev=12"]);
    println!("cargo::rustc-env=MD_GIT={}", commit.as_deref().map_or("unknown", str::trim));
}

/// Returns the output of git, if git is installed and this is a repository.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}
