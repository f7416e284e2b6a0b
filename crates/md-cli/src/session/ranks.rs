//! The ranks of each command: processes of the launcher, or threads.
//!
//! | started as | backend | ranks |
//! | --- | --- | --- |
//! | `mpirun -n P md-cli` | over MPI | P processes |
//! | `md-cli` | over MPI | one process |
//! | `md-cli` | `local` | `parallel.ranks` threads |

use std::time::Duration;

use md_comm::{Backend, CommError, World, launch, local};
use md_lab::Threads;
use md_scenario::failure::{COMMUNICATION_FAILED, RUN_FAILED, RunError};
use md_scenario::messages::print_error;
use md_scenario::printable::printable;

use super::over_mpi::{bench_over_mpi, compare_over_mpi, fit_over_mpi, over_mpi};
use super::speak::{end, fail_alone, refuse, warn_of_threads};
use super::{compare_any, watchdog};
use crate::args::{BenchArgs, CompareArgs, FitArgs, ScenarioArgs, ThreadChoice};
use crate::commands::bench::{BenchmarkSelection, bench};
use crate::commands::fit::fit;
use crate::cores;
use crate::early_end::EarlyEnd;
use crate::grid_inputs::AnyInputs;
use crate::inputs::ReadInputs;
use crate::strategies::Choices;

/// Returns the number of ranks that would run the scenario if it were started as this process was.
pub(super) fn ranks_to_come(inputs: &impl ReadInputs) -> usize {
    launch::processes_of_job().unwrap_or(inputs.parallel().ranks)
}

/// Reads the inputs in a single process.
pub(super) fn read_alone<J: ReadInputs>(args: &ScenarioArgs) -> Result<J, RunError> {
    let mut inputs = J::read(args, None)?;
    if args.threads == Some(ThreadChoice::Auto) {
        let ranks = ranks_to_come(&inputs);
        inputs.set_threads(cores::share(inputs.parallel().ranks, ranks));
    }
    Ok(inputs)
}

/// Reads the inputs in a world of processes. *Collective.*
fn read_together<J: ReadInputs>(args: &ScenarioArgs, world: &dyn World) -> Result<J, RunError> {
    let mut inputs = J::read(args, Some(world))?;
    if args.threads == Some(ThreadChoice::Auto) {
        inputs.set_threads(cores::share_of_ranks(world, 1)?);
    }
    Ok(inputs)
}

/// Runs `work` as [`compute`] does, with an early end by signals and by the wall time.
pub(super) fn run_until<J: ReadInputs>(
    wall_time: Option<Duration>,
    args: &ScenarioArgs,
    work: impl Fn(&dyn World, &J, &EarlyEnd) -> Result<(), RunError> + Sync,
) -> u8 {
    let early_end = EarlyEnd::new(wall_time);
    compute(args, |world, inputs| work(world, inputs, &early_end))
}

/// Runs `work` on every rank of the world that launcher and scenario determine.
pub(super) fn compute<J: ReadInputs>(
    args: &ScenarioArgs,
    work: impl Fn(&dyn World, &J) -> Result<(), RunError> + Sync,
) -> u8 {
    match launch::processes_of_job() {
        Some(ranks) if cfg!(not(feature = "mpi")) => refuse_copies(ranks),
        Some(_) => {
            let read = |world: &dyn World| {
                let inputs: J = read_together(args, world)?;
                if inputs.parallel().backend == Backend::Local && world.ranks() > 1 {
                    return Err(local_under_launcher(world.ranks()));
                }
                Ok(inputs)
            };
            over_mpi(read, work)
        }
        _ => match read_alone::<J>(args) {
            Err(error) => fail_alone(&error),
            Ok(inputs) if inputs.parallel().backend == Backend::Local => over_threads(&inputs, work),
            Ok(inputs) => over_mpi(|_| Ok(inputs), work),
        },
    }
}

/// Compares strategies on the processes of the launcher, or on threads where the scenario has
/// backend `local`.
pub(super) fn compare_strategies(args: &CompareArgs, choices: &Choices) -> u8 {
    match launch::processes_of_job() {
        Some(ranks) if cfg!(not(feature = "mpi")) => refuse_copies(ranks),
        Some(_) => compare_over_mpi(|world| read_together(&args.scenario, world), args, choices),
        _ => match read_alone::<AnyInputs>(&args.scenario) {
            Err(error) => fail_alone(&error),
            Ok(inputs) if inputs.parallel().backend == Backend::Local || cfg!(not(feature = "mpi")) => {
                over_threads(&inputs, |world, inputs| {
                    compare_any(&Threads(world), inputs, args, choices, end_process)
                })
            }
            Ok(inputs) => compare_over_mpi(|_| Ok(inputs), args, choices),
        },
    }
}

/// Runs the benchmarks on the processes of the launcher, or on threads where `--ranks` requests
/// them.
pub(super) fn run_benchmarks(args: &BenchArgs, wanted: &BenchmarkSelection) -> u8 {
    match (launch::processes_of_job(), args.ranks) {
        (Some(ranks), _) if cfg!(not(feature = "mpi")) => refuse_copies(ranks),
        (Some(_), Some(_)) => refuse("`--ranks` is for a start without mpirun"),
        (_, None) if cfg!(feature = "mpi") => bench_over_mpi(args, wanted),
        (_, threads) => {
            let work = |world: &dyn World| end(world, bench(&Threads(world), args, wanted, end_process));
            highest_code(local::run(
                threads.unwrap_or(1) as usize,
                Duration::from_secs_f64(args.timeout),
                work,
            ))
        }
    }
}

/// Runs the fit on the processes of the launcher.
pub(super) fn fit_machine(args: &FitArgs) -> u8 {
    match launch::processes_of_job() {
        Some(ranks) if cfg!(not(feature = "mpi")) => refuse_copies(ranks),
        _ if cfg!(feature = "mpi") => fit_over_mpi(args),
        _ => highest_code(local::run(1, Duration::from_secs_f64(args.timeout), |world| {
            end(world, fit(&Threads(world), args, end_process))
        })),
    }
}

fn end_process(code: u8) {
    std::process::exit(i32::from(code))
}

fn refuse_copies(ranks: usize) -> u8 {
    refuse(&format!(
        "started by mpirun with {ranks} ranks, but this program was built without MPI: it would run {ranks} copies of \
         the same simulation; build it with MPI (the default), or start it once with --set parallel.backend=local \
         --set parallel.ranks={ranks}"
    ));
    COMMUNICATION_FAILED
}

fn local_under_launcher(ranks: usize) -> RunError {
    let reason = format!(
        "it runs its ranks as threads of one process, but {ranks} processes were started; use backend p2p, or start \
         md-cli without mpirun"
    );
    CommError::Unavailable { backend: "local", reason }.into()
}

fn over_threads<J: ReadInputs>(
    inputs: &J,
    work: impl Fn(&dyn World, &J) -> Result<(), RunError> + Sync,
) -> u8 {
    let parallel = inputs.parallel();
    warn_of_threads(parallel.ranks, parallel.threads);
    highest_code(local::run(parallel.ranks, watchdog(&parallel), |world| end(world, work(world, inputs))))
}

fn highest_code(ended: Vec<Result<u8, local::Panicked>>) -> u8 {
    let codes = ended.into_iter().map(|code| {
        code.unwrap_or_else(|panic| {
            print_error(&printable(&panic.to_string()));
            RUN_FAILED
        })
    });
    codes.max().unwrap_or(0)
}
