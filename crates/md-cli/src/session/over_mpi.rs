//! Running commands over MPI: the world with the scenario's transport.

use std::time::Duration;

use md_comm::mpi::MpiWorld;
use md_comm::{Backend, World};
use md_lab::Processes;
use md_scenario::failure::RunError;

use super::alike::expect_alike;
use super::speak::{end, fail_at_start, warn_of_threads, write_result};
use super::{compare_any, watchdog};
use crate::args::{BenchArgs, CompareArgs, FitArgs};
use crate::commands::bench::{BenchmarkSelection, bench};
use crate::commands::fit::fit;
use crate::commands::{backends, warn_of_crowding};
use crate::grid_inputs::AnyInputs;
use crate::inputs::ReadInputs;
use crate::strategies::Choices;

/// Runs `work` over MPI with the scenario's backend and watchdog.
pub(super) fn over_mpi<J: ReadInputs>(
    read: impl FnOnce(&dyn World) -> Result<J, RunError>,
    work: impl FnOnce(&dyn World, &J) -> Result<(), RunError>,
) -> u8 {
    start_mpi(|world| {
        let inputs = read(world)?;
        let parallel = inputs.parallel();
        world.set_watchdog(watchdog(&parallel));
        if world.rank() == 0 {
            warn_of_threads(1, parallel.threads);
        }
        let world = world.clone().with_between_nodes(parallel.between_nodes)?.with_chunk(parallel.chunk);
        match parallel.backend {
            // Under a launcher with one rank: every transport is equivalent.
            Backend::Local => work(&world, &inputs),
            backend => {
                let options = parallel.rma.options();
                work(&world.with_backend(backend)?.with_options(options)?, &inputs)
            }
        }
    })
}

fn start_mpi(work: impl FnOnce(&MpiWorld) -> Result<(), RunError>) -> u8 {
    /// Used until the scenario's own limit is known.
    const WATCHDOG: Duration = Duration::from_secs(60);
    match md_comm::mpi::start(WATCHDOG) {
        Ok(world) => {
            let checked = md_comm::mpi::check_environment().map_err(RunError::from);
            let result = expect_alike(&world).and(checked).and_then(|()| work(&world));
            end(&world, result)
        }
        Err(error) => fail_at_start(&RunError::from(error)),
    }
}

pub(super) fn compare_over_mpi(
    read: impl FnOnce(&dyn World) -> Result<AnyInputs, RunError>,
    args: &CompareArgs,
    choices: &Choices,
) -> u8 {
    start_mpi(|world| {
        let inputs = read(world)?;
        if world.rank() == 0 {
            warn_of_threads(1, inputs.parallel().threads);
        }
        let parallel = inputs.parallel();
        warn_of_crowding(world, parallel.threads)?;
        let world = world.clone().with_between_nodes(parallel.between_nodes)?.with_chunk(parallel.chunk);
        compare_any(&Processes(&world), &inputs, args, choices, |code| md_comm::mpi::abort(i32::from(code)))
    })
}

pub(super) fn bench_over_mpi(args: &BenchArgs, wanted: &BenchmarkSelection) -> u8 {
    start_mpi(|world| {
        warn_of_crowding(world, 1)?;
        bench(&Processes(world), args, wanted, |code| md_comm::mpi::abort(i32::from(code)))
    })
}

pub(super) fn fit_over_mpi(args: &FitArgs) -> u8 {
    start_mpi(|world| {
        warn_of_crowding(world, 1)?;
        fit(&Processes(world), args, |code| md_comm::mpi::abort(i32::from(code)))
    })
}

/// Lists the backends and the findings about the MPI library.
pub(super) fn show_backends() -> u8 {
    start_mpi(|world| {
        let findings = backends::findings(world).map_err(RunError::from)?;
        let text = || backends::backends(&world.platform().library(), &findings);
        if world.rank() == 0 { write_result(&text()) } else { Ok(()) }
    })
}
