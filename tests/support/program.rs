//! The program under test, built once per test process.
#![expect(clippy::expect_used, reason = "a test without its program has failed")]

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Returns the path of an `md-cli` with the profile and features of this test. Cargo builds no
/// binaries of other packages for a test, and an existing binary may come from a build with other
/// features. If the binary is up to date, this takes a moment.
pub(crate) fn md_cli() -> PathBuf {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(build).clone()
}

/// Returns a command for a program with default signal handling, as if it were started from a
/// terminal. Under `nohup`, or behind a shell's `&`, tests and their children ignore some signals.
pub(crate) fn as_from_a_terminal(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("env");
    command.arg("--default-signal=HUP,INT,TERM").arg(program);
    command
}

fn build() -> PathBuf {
    let own = own_program();
    // With a test among the targets, dependencies get the features that they have for tests, and
    // nothing is built twice.
    let mut cargo = cargo("build");
    cargo.args(["--bin", "md-cli", "--test", &name_of_test(&own)]);
    let built = cargo.output().expect("cargo starts");
    assert!(built.status.success(), "{cargo:?}:\n{}", String::from_utf8_lossy(&built.stderr));
    keep(&own.ancestors().nth(2).expect(PLACE_OF_TESTS).join("md-cli"))
}

fn own_program() -> PathBuf {
    std::env::current_exe().expect("a process knows its program")
}

const PLACE_OF_TESTS: &str = "tests are in target/<profile>/deps";

/// Returns a call of cargo for the workspace with the profile, features and target folder of this
/// test.
pub(crate) fn cargo(command: &str) -> Command {
    // target/debug/deps/this-test
    let own = own_program();
    let folder = own.ancestors().nth(2).expect(PLACE_OF_TESTS);
    let target = folder.parent().expect("the profile's folder is in the target folder");
    let profile = match folder.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(profile) => profile,
    };
    let mut cargo = Command::new(env!("CARGO"));
    // It reports the times of tests, and would change what is built.
    cargo.env_remove("RUSTC_BOOTSTRAP");
    cargo.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")));
    cargo.args([command, "--quiet", "--workspace", "--profile", profile]).arg("--target-dir").arg(target);
    if cfg!(not(feature = "mpi")) {
        cargo.arg("--no-default-features");
        // Otherwise md-core, which takes longest, would be built once more.
        if cfg!(feature = "metis") {
            cargo.args(["--features", "metis"]);
        }
    }
    cargo
}

/// Returns the part before the hash in the name of a test program.
fn name_of_test(program: &Path) -> String {
    let stem = program.file_stem().and_then(|stem| stem.to_str()).expect("cargo names programs in UTF-8");
    stem.rsplit_once('-').expect("a name and a hash").0.to_owned()
}

/// Gives the program a second name, atomically. A build that is started during the tests removes
/// the original for a moment, and may replace it by one with other features.
fn keep(program: &Path) -> PathBuf {
    let features = if cfg!(feature = "mpi") { "mpi" } else { "no-mpi" };
    let folder = program.with_file_name("tested").join(features);
    fs::create_dir_all(&folder).expect("the target folder is writable");
    let (kept, link) = (folder.join("md-cli"), folder.join(format!("md-cli.{}", std::process::id())));
    if fs::hard_link(program, &link).is_err() {
        fs::copy(program, &link).expect("space on disk");
    }
    fs::rename(&link, &kept).expect("the target folder is writable");
    // If both names already were the same file, renaming had no effect.
    let _ = fs::remove_file(&link);
    kept
}
