//! Several nodes on this machine (scripts/nodes.sh): the conformance suite and the trajectories of
//! every backend that works over TCP, the output of `backends`, `compare` and `run` for the other
//! backends, and the script itself. Also ranks bound to one core, and the accuracy of predictions.
//! The tests between nodes are skipped where no nodes can be created. The last line is `N passed, N
//! failed`.
#![expect(clippy::print_stdout, reason = "a test program without the standard harness")]

#[cfg(feature = "mpi")]
mod agreement;
#[cfg(feature = "mpi")]
mod cores;
#[cfg(feature = "mpi")]
mod nodes;
#[cfg(feature = "mpi")]
mod predictions;
#[cfg(feature = "mpi")]
#[path = "../support/mod.rs"]
mod support;

use std::process::ExitCode;

#[cfg(feature = "mpi")]
use support::{Tally, launch};

/// Some of the tests are calls of the program.
#[cfg(feature = "mpi")]
const STARTS_PROGRAM: bool = true;

/// Variable that says that no other program uses the machine, so that times can be compared.
#[cfg(feature = "mpi")]
const QUIET: &str = "MD_QUIET_MACHINE";

#[cfg(feature = "mpi")]
fn main() -> ExitCode {
    if md_comm::launch::started_by_launcher().is_some() {
        return nodes::print_time_of_barriers();
    }
    let mut tally = Tally::default();
    if launch::mpirun(1).is_none() {
        tally.show("mpirun is installed", launch::may_skip("no mpirun"));
    } else {
        tally.show("ranks on one core are warned of", cores::on_one_core());
        if std::env::var_os(QUIET).is_some() {
            tally.show("predictions come true on one node", predictions::on_one_node());
        } else {
            println!("not run: predictions on one node, which need a machine of their own ({QUIET}=1)");
        }
        nodes::check_all(&mut tally);
    }
    tally.end()
}

#[cfg(not(feature = "mpi"))]
fn main() -> ExitCode {
    println!("skipped: built without MPI\n0 passed, 0 failed");
    ExitCode::SUCCESS
}
