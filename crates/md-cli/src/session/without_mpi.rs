//! Replaces `over_mpi` where the program was built without MPI.

use md_comm::World;
use md_scenario::failure::{COMMUNICATION_FAILED, RunError};
use md_scenario::messages::print_error;

use super::speak::show;
use crate::args::{BenchArgs, CompareArgs, FitArgs};
use crate::commands::backends;
use crate::commands::bench::BenchmarkSelection;
use crate::grid_inputs::AnyInputs;
use crate::inputs::ReadInputs;
use crate::strategies::Choices;

/// Prints that there is no MPI.
pub(super) fn over_mpi<J: ReadInputs>(
    _read: impl FnOnce(&dyn World) -> Result<J, RunError>,
    _work: impl FnOnce(&dyn World, &J) -> Result<(), RunError>,
) -> u8 {
    print_error(
        "this scenario's backend needs MPI, but this program was built without; \
         use --set parallel.backend=local, or build with MPI (the default)",
    );
    COMMUNICATION_FAILED
}

/// Prints that there is no MPI, for a comparison.
pub(super) fn compare_over_mpi(
    read: impl FnOnce(&dyn World) -> Result<AnyInputs, RunError>,
    _args: &CompareArgs,
    _choices: &Choices,
) -> u8 {
    over_mpi(read, |_, _| Ok(()))
}

/// Never called: without MPI the ranks of a benchmark are threads.
pub(super) fn bench_over_mpi(_args: &BenchArgs, _wanted: &BenchmarkSelection) -> u8 {
    COMMUNICATION_FAILED
}

/// Never called, as for a benchmark.
pub(super) fn fit_over_mpi(_args: &FitArgs) -> u8 {
    COMMUNICATION_FAILED
}

/// Lists the backends.
pub(super) fn show_backends() -> u8 {
    show(&backends::backends("none (built without MPI)", &backends::no_findings()))
}
