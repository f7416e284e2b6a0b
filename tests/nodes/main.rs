//! Several nodes on this machine (scripts/nodes.sh): the conformance suite and the trajectories of every backend that works over
//! TCP, what `backends`, `compare` and `run` say about those that do not, the script itself; and ranks bound to one core. Skipped
//! where there can be no nodes. The last line is `N passed, N failed`.
#![expect(clippy::print_stdout, reason = "a test program without the standard harness")]

#[cfg(feature = "mpi")]
mod agreement;
#[cfg(feature = "mpi")]
mod cores;
#[cfg(feature = "mpi")]
#[path = "../../crates/md-comm/tests/conformance/launch.rs"]
mod launch;
#[cfg(feature = "mpi")]
mod nodes;
#[cfg(feature = "mpi")]
#[path = "../support/program.rs"]
mod program;

use std::process::ExitCode;

#[cfg(feature = "mpi")]
fn main() -> ExitCode {
    if md_comm::launch::started_by_launcher().is_some() {
        return nodes::print_time_of_barriers();
    }
    let mut tally = Tally::default();
    if launch::mpirun(1).is_none() {
        let is_ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
        tally
            .count("mpirun is installed", if is_ci { Err("CI must not skip it".to_owned()) } else { Ok(()) });
    } else {
        tally.count("ranks on one core are warned of", cores::on_one_core());
        nodes::check_all(&mut tally);
    }
    println!("{} passed, {} failed", tally.passed, tally.failed);
    ExitCode::from(u8::from(tally.failed > 0))
}

#[cfg(not(feature = "mpi"))]
fn main() -> ExitCode {
    println!("skipped: built without MPI\n0 passed, 0 failed");
    ExitCode::SUCCESS
}

/// Counts and prints outcomes.
#[cfg(feature = "mpi")]
#[derive(Default)]
struct Tally {
    passed: usize,
    failed: usize,
}

#[cfg(feature = "mpi")]
impl Tally {
    fn count(&mut self, what: &str, outcome: Result<(), String>) {
        match outcome {
            Ok(()) => {
                self.passed += 1;
                println!("ok      {what}");
            }
            Err(why) => {
                self.failed += 1;
                println!("FAILED  {what}\n        {why}");
            }
        }
    }
}

/// A small melt.
#[cfg(feature = "mpi")]
const MELT: &str = r#"
[simulation]
steps = 20
[system]
lattice = { kind = "fcc", density = 0.8442, cells = [6, 6, 6] }
temperature = 1.44
"#;
