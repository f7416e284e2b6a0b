//! The scripts that set other programs beside md-cli: what was typed wrong is said before anything is built or measured.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::support::{md_cli, repository};

/// Code and first line of standard error.
fn said(ended: &Output) -> (Option<i32>, String) {
    let text = String::from_utf8_lossy(&ended.stderr);
    (ended.status.code(), text.lines().next().unwrap_or_default().to_owned())
}

fn script(name: &str) -> Command {
    let mut command = Command::new(repository("benches/peers").join(name));
    command.env_remove("MD_SIMD").env("MD_CLI", md_cli());
    command
}

#[test]
fn options_that_are_wrong_are_named() {
    for (name, arguments, message) in [
        ("compare.sh", &["--cells"][..], "--cells: a value is missing (see --help)"),
        ("compare.sh", &["--cells", "0"], "--cells 0: not a whole number above 0"),
        ("compare.sh", &["--turns", "3"], "--turns: there is no such option (see --help)"),
        ("compare.sh", &["--precision", "single"], "--precision single: a list of double, mixed is wanted"),
        ("build-peers.sh", &["gromac"], "gromac: gromacs, lammps, minimd or mdbench is wanted (see --help)"),
        ("build-peers.sh", &["lammps", "--simd"], "--simd: a value is missing (see --help)"),
        ("build-peers.sh", &["lammps", "--simd", "AVX"], "--simd AVX: AVX2_256 or AVX_512 is wanted"),
        ("build-peers.sh", &["lammps", "--jobs", "0"], "--jobs 0: not a whole number above 0"),
        ("build-peers.sh", &["lammps", "--opt"], "--opt: there is no such option (see --help)"),
        ("build-peers.sh", &["minimd", "--source", "/no"], "--source /no: there is no such file or folder"),
    ] {
        let ended = script(name).args(arguments).output().unwrap();
        assert_eq!(said(&ended), (Some(2), format!("{name}: {message}")), "{arguments:?}");
    }
    for arguments in [&["--help"][..], &["gromacs", "--help"]] {
        let ended = script("build-peers.sh").args(arguments).output().unwrap();
        assert!(ended.status.success(), "{arguments:?}");
        assert!(String::from_utf8_lossy(&ended.stdout).starts_with("usage: build-peers.sh "), "{arguments:?}");
    }
}

/// A level that the CPU lacks, in md's own words and with its exit code, and nothing is measured.
#[test]
fn a_level_that_md_refuses_ends_the_comparison() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("peers.csv");
    let mut compare = script("compare.sh");
    compare.env("MD_SIMD", "mmx").arg("--output").arg(&output);
    let ended = compare.output().unwrap();
    let text = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(2), "{text}");
    assert!(text.starts_with("error: MD_SIMD is `mmx`, but this CPU has "), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(!output.exists());
}

/// Plays `build-peers.sh minimd` with a build that only copies; no compiler is needed.
fn build_minimd(tools: &Path, into: &Path, source: Option<&Path>) -> Output {
    let mut build = script("build-peers.sh");
    let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap());
    build.env("PATH", path).args(["minimd", "--into"]).arg(into);
    if let Some(source) = source {
        build.arg("--source").arg(source);
    }
    build.output().unwrap()
}

#[test]
fn sources_of_something_else_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let [tools, right, other, wrong, into] =
        ["tools", "right", "other", "wrong", "into"].map(|name| root.join(name));
    for made in [&tools, &wrong, &right.join("ref"), &other.join("ref")] {
        fs::create_dir_all(made).unwrap();
    }
    for source in [&right, &other] {
        fs::write(source.join("ref/Makefile.openmpi"), "").unwrap();
    }
    for tool in ["make", "mpicxx"] {
        std::os::unix::fs::symlink("/bin/true", tools.join(tool)).unwrap();
    }
    let refused = |ended: Output, message: String| {
        assert_eq!(said(&ended), (Some(2), format!("build-peers.sh: {message}")));
    };
    let needed = "--source is needed: a copy of github.com/Mantevo/miniMD";
    refused(build_minimd(&tools, &into, None), needed.to_owned());
    let no_sources = "no sources of minimd, for they have no ref/Makefile.openmpi";
    let message = format!("--source {}: {no_sources}", wrong.display());
    refused(build_minimd(&tools, &into, Some(&wrong)), message);
    let built = format!("export MINIMD=\"{}/source/ref/miniMD_openmpi\"\n", into.display());
    for source in [Some(&*right), Some(&*right), None] {
        let ended = build_minimd(&tools, &into, source);
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
        assert_eq!(String::from_utf8_lossy(&ended.stdout), built);
    }
    let message = format!(
        "--source {}: {} has a build of other sources; give another --into, or remove it",
        other.display(),
        into.display()
    );
    refused(build_minimd(&tools, &into, Some(&other)), message);
}
