//! The physics is apart from transport and files: md-core depends on neither, directly or through others.

use std::process::Command;

/// Crates of transports, file formats, command lines: what md-core has no business with.
const FORBIDDEN: [&str; 15] = [
    "md-comm",
    "md-cli",
    "mpi",
    "mpi-sys",
    "clap",
    "csv",
    "serde",
    "serde_json",
    "toml",
    "toml_edit",
    "indicatif",
    "miette",
    "tempfile",
    "gethostname",
    "tokio",
];

#[test]
fn md_core_depends_neither_on_mpi_nor_on_input_and_output() {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
    cargo.args(["tree", "--package", "md-core", "--edges", "normal", "--prefix", "none", "--offline"]);
    let output = cargo.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let names: Vec<&str> = text.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names.first(), Some(&"md-core"), "{text}");
    let found: Vec<&str> = FORBIDDEN.into_iter().filter(|name| names.contains(name)).collect();
    assert!(found.is_empty(), "md-core depends on {found:?}:\n{text}");
}
