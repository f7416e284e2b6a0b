//! The physics is separate from transport and files: md-core depends on neither, directly or
//! through other crates, and md-engine does not depend on files or command lines.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;
use std::path::Path;
use std::process::Command;

/// Crates of file formats and command lines.
const INPUT_AND_OUTPUT: [&str; 10] =
    ["md-cli", "clap", "csv", "toml", "toml_edit", "plotters", "indicatif", "miette", "gethostname", "tokio"];

/// Crates of transports and of text formats.
const TRANSPORT: [&str; 5] = ["md-comm", "mpi", "mpi-sys", "serde", "serde_json"];

/// Calls that read, write or print.
const CALLS: [&str; 5] = ["std::fs", "std::io", "println!", "eprintln!", "print!("];

fn assert_independent(package: &str, forbidden: impl Iterator<Item = &'static str>) {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
    cargo.args(["tree", "--package", package, "--edges", "normal", "--prefix", "none", "--offline"]);
    let output = cargo.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let names: Vec<&str> = text.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names.first(), Some(&package), "{text}");
    let found: Vec<&str> = forbidden.filter(|name| names.contains(name)).collect();
    assert!(found.is_empty(), "{package} depends on {found:?}:\n{text}");
}

fn assert_silent(directory: &Path) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            assert_silent(&path);
        } else {
            let text = fs::read_to_string(&path).unwrap();
            let found: Vec<&str> = CALLS.into_iter().filter(|call| text.contains(call)).collect();
            assert!(found.is_empty(), "{}: {found:?}", path.display());
        }
    }
}

#[test]
fn md_core_depends_neither_on_mpi_nor_on_input_and_output() {
    assert_independent("md-core", INPUT_AND_OUTPUT.into_iter().chain(TRANSPORT).chain(["tempfile"]));
}

#[test]
fn md_engine_depends_on_neither_files_nor_command_lines() {
    assert_independent("md-engine", INPUT_AND_OUTPUT.into_iter());
    assert_silent(&Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/md-engine/src"));
}
