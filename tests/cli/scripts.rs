//! The scripts that build and measure: wrong arguments are reported before any work is done, and
//! missing tools are reported.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output};

use crate::support::{md_cli, repository};

/// Returns the exit code and the first line of standard error.
fn said(ended: &Output) -> (Option<i32>, String) {
    let text = String::from_utf8_lossy(&ended.stderr);
    (ended.status.code(), text.lines().next().unwrap_or_default().to_owned())
}

const BUILD: &str = "benches/peers/build-peers.sh";
const COMPARE: &str = "benches/peers/compare.sh";
const ARM: &str = "scripts/check-arm.sh";

fn script(path: &str) -> Command {
    let mut command = Command::new(repository(path));
    command.env_remove("MD_SIMD").env("MD_CLI", md_cli());
    command
}

#[test]
fn options_that_are_wrong_are_named() {
    for (path, arguments, message) in [
        (COMPARE, &["--cells"][..], "compare.sh: --cells: a value is missing (see --help)"),
        (COMPARE, &["--cells", "0"], "compare.sh: --cells 0: not a whole number above 0"),
        (COMPARE, &["--drift-steps", "99"], "compare.sh: --drift-steps 99: 0 or at least 2000 is wanted"),
        (COMPARE, &["--turns", "3"], "compare.sh: --turns: there is no such option (see --help)"),
        (COMPARE, &["--precision", "f32"], "compare.sh: --precision f32: a list of double, mixed is wanted"),
        (
            BUILD,
            &["gmx"],
            "build-peers.sh: gmx: gromacs, lammps, minimd, mdbench or wheels is wanted (see --help)",
        ),
        (BUILD, &["lammps", "--simd"], "build-peers.sh: --simd: a value is missing (see --help)"),
        (BUILD, &["lammps", "--simd", "AVX"], "build-peers.sh: --simd AVX: AVX2_256 or AVX_512 is wanted"),
        (BUILD, &["lammps", "--jobs", "0"], "build-peers.sh: --jobs 0: not a whole number above 0"),
        (BUILD, &["lammps", "--opt"], "build-peers.sh: --opt: there is no such option (see --help)"),
        (
            BUILD,
            &["minimd", "--source", "/no"],
            "build-peers.sh: --source /no: there is no such file or folder",
        ),
        (ARM, &["--rum"], "check-arm: --rum: there is no such option, only --run"),
    ] {
        let ended = script(path).args(arguments).output().unwrap();
        assert_eq!(said(&ended), (Some(2), message.to_owned()), "{arguments:?}");
    }
    for (path, arguments) in
        [(COMPARE, &["--help"][..]), (BUILD, &["--help"]), (BUILD, &["gromacs", "--help"])]
    {
        let ended = script(path).args(arguments).output().unwrap();
        assert!(ended.status.success(), "{arguments:?}");
        let text = String::from_utf8_lossy(&ended.stdout);
        assert!(text.starts_with("usage: "), "{arguments:?}: {text}");
    }
}

/// A falling line after a start that does not count.
#[test]
fn the_drift_of_an_energy_is_its_slope_after_the_start() {
    let slope = |points: u32| {
        let energy = |k: u32| if k < points / 5 { 9.0 } else { 1.0 - 0.002 * f64::from(k) };
        let lines: String = (0..points).map(|k| format!("{k} {}\n", energy(k))).collect();
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), lines).unwrap();
        let mut awk = Command::new("awk");
        awk.arg("-f").arg(repository("benches/peers/slope.awk")).arg(file.path());
        String::from_utf8(awk.output().unwrap().stdout).unwrap()
    };
    assert_eq!((slope(100).as_str(), slope(9).as_str()), ("-2.00e-03\n", "-\n"));
}

/// A level that the CPU lacks gives md's own message and exit code, and nothing is measured.
#[test]
fn a_level_that_md_refuses_ends_the_comparison() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("peers.csv");
    let mut compare = script(COMPARE);
    compare.env("MD_SIMD", "mmx").arg("--output").arg(&output);
    let ended = compare.output().unwrap();
    let text = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(2), "{text}");
    assert!(text.starts_with("error: MD_SIMD is `mmx`, but this CPU has "), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(!output.exists());
}

/// Runs `build-peers.sh minimd` with a build that only copies, so that no compiler is needed.
fn build_minimd(tools: &Path, into: &Path, source: Option<&Path>) -> Output {
    let mut build = script(BUILD);
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
        symlink("/bin/true", tools.join(tool)).unwrap();
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

/// On a developer's machine the emulator may be missing. In continuous integration nothing is
/// skipped.
#[test]
fn what_the_check_for_arm_lacks_is_an_error_in_continuous_integration() {
    let folder = tempfile::tempdir().unwrap();
    // Neither emulator nor linker can be found, but the target can.
    let path = std::env::var_os("PATH").unwrap();
    for tool in ["bash", "dirname", "grep"] {
        let found = std::env::split_paths(&path).map(|place| place.join(tool)).find(|place| place.exists());
        symlink(found.unwrap(), folder.path().join(tool)).unwrap();
    }
    let rustup = folder.path().join("rustup");
    fs::write(&rustup, "#!/bin/sh\necho aarch64-unknown-linux-gnu\n").unwrap();
    fs::set_permissions(&rustup, fs::Permissions::from_mode(0o755)).unwrap();
    for (ci, code) in [("true", 1), ("", 0)] {
        let mut check = script(ARM);
        let ended = check.env("PATH", folder.path()).env("CI", ci).arg("--run").output().unwrap();
        let message = "check-arm: SKIPPED, needs qemu-aarch64 and aarch64-linux-gnu-gcc";
        assert_eq!(said(&ended), (Some(code), message.to_owned()), "CI={ci}");
    }
}
