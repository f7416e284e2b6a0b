//! From the command line to ranks: where a command runs, which rank prints, and the exit code.
//!
//! | started as | backend | ranks |
//! | --- | --- | --- |
//! | `mpirun -n P md-cli` | over MPI | P processes |
//! | `md-cli` | over MPI | one process |
//! | `md-cli` | `local` | `parallel.ranks` threads |
//!
//! This module selects the ranks of each command; `over_mpi` initialises MPI (`without_mpi` refuses
//! to), and `speak` prints results and errors.

#[cfg(feature = "mpi")]
mod alike;
#[cfg(feature = "mpi")]
mod over_mpi;
#[cfg(not(feature = "mpi"))]
#[path = "without_mpi.rs"]
mod over_mpi;
mod speak;

use std::time::Duration;

use md_comm::{Backend, CommError, World, launch, local};

use crate::args::{BenchArgs, Cli, Command, CompareArgs, FitArgs, PredictArgs, ScenarioArgs, ThreadChoice};
use crate::commands::analyse::analyse;
use crate::commands::bench::{BenchmarkSelection, bench};
use crate::commands::compare::{compare, compare_on_grid};
use crate::commands::fit::fit;
use crate::commands::forces::forces;
use crate::commands::lbm::lbm;
use crate::commands::minimise::minimise;
use crate::commands::note_particles;
use crate::commands::partition::{partition, partitions};
use crate::commands::predict::{PredictionChoices, predict};
use crate::commands::predict_grid::predict_on_grid;
use crate::commands::run::run;
use crate::commands::stencil::stencil;
use crate::commands::{self, check::check};
use crate::cores;
use crate::early_end::{EarlyEnd, fail_in_order};
use crate::grid_inputs::AnyInputs;
use crate::inputs::ReadInputs;
use crate::strategies::Choices;
use md_files::output::Verbosity;
use md_lab::{Threads, Transports};
use md_scenario::failure::{BAD_INPUT, COMMUNICATION_FAILED, RUN_FAILED, RunError};
use md_scenario::messages::{print_error, print_whole};
use md_scenario::printable::{escaped, printable};
use md_scenario::{Parallel, schema};
use over_mpi::{bench_over_mpi, compare_over_mpi, fit_over_mpi, over_mpi, show_backends};
use speak::{
    code_of, end, fail_alone, on_first_process, on_one_process, refuse, show, show_help, show_result,
    warn_of_interval, warn_of_threads, write_result,
};

/// Arguments from this length on, in bytes, are not echoed whole, nor in colour.
const LONGEST_PLAIN: usize = 200;

/// Runs the program and returns its exit code.
pub fn main() -> u8 {
    fail_in_order();
    match Cli::read(std::env::args_os()) {
        Ok(cli) => carry_out(cli.command),
        Err(error) if error.use_stderr() => refuse_arguments(error),
        Err(help) => show_help(&help),
    }
}

/// Carries out a command and returns the exit code.
fn carry_out(command: Command) -> u8 {
    match command {
        Command::Schema(args) => show(&schema(args.kind)),
        Command::Completions(args) => show(&commands::shell::completions(args.shell)),
        Command::Man(args) => show_result(commands::shell::manual(args.command.as_deref())),
        Command::Backends => show_backends(),
        Command::Check(args) => show_result(read_alone(&args.scenario()).and_then(check_any)),
        Command::Compare(args) => given(Choices::read(&args), |choices| compare_strategies(&args, &choices)),
        Command::TraceSummary(args) => show_result(commands::trace_summary::trace_summary(&args)),
        Command::Inspect(args) => show_result(commands::inspect::inspect(&args.file)),
        Command::Sweep(args) => code_of(commands::sweep::sweep(&args, &EarlyEnd::new(None))),
        Command::Bench(args) => {
            given(BenchmarkSelection::read(&args), |wanted| run_benchmarks(&args, &wanted))
        }
        Command::Fit(args) => fit_machine(&args),
        Command::Predict(args) => given(PredictionChoices::read(&args), |wish| predict_any(&args, &wish)),
        Command::Partition(args) => given(partitions(&args), |kinds| {
            on_one_process(|| partition(&read_alone(&args.scenario)?, &args, &kinds))
        }),
        Command::Run(args) => run_until(args.wall_time, &args.scenario(), |world, inputs, early_end| {
            run(world, inputs, &args, early_end)
        }),
        Command::Forces(args) => {
            compute(&args.scenario, |world, inputs| forces(world, inputs, Verbosity::unless(args.quiet)))
        }
        Command::Minimise(args) => run_until(None, &args.scenario, |world, inputs, early_end| {
            minimise(world, inputs, &args, early_end)
        }),
        Command::FromLammps(args) => show_result(commands::from_lammps::from_lammps(&args)),
        Command::Analyse(args) => on_one_process(|| analyse(&args).and_then(|text| write_result(&text))),
        Command::Plot(args) => show_result(commands::plot::plot(&args)),
        Command::Lbm(args) => run_until(args.wall_time, &args.scenario(), |world, inputs, early_end| {
            lbm(world, inputs, &args, early_end)
        }),
        Command::Stencil(args) => run_until(args.wall_time, &args.scenario(), |world, inputs, early_end| {
            stencil(world, inputs, &args, early_end)
        }),
    }
}

/// Prints why the command line cannot be read, and returns the exit code.
fn refuse_arguments(error: clap::Error) -> u8 {
    // If the terminal is gone, there is nowhere to report it.
    on_first_process(|| {
        let is_plain = |word: &str| word.len() < LONGEST_PLAIN && !word.contains(char::is_control);
        if std::env::args_os().any(|word| !is_plain(&word.to_string_lossy())) {
            print_whole(&printable(&error_with_escapes(error).render().to_string()));
        } else {
            drop(error.print());
        }
    });
    BAD_INPUT
}

/// Does `work` with names that were read from the command line, unless one is unknown.
fn given<T>(names: Result<T, String>, work: impl FnOnce(T) -> u8) -> u8 {
    names.map_or_else(|unknown| refuse(&unknown), work)
}

/// Checks a scenario of any kind. Returns the text that describes it.
fn check_any(inputs: AnyInputs) -> Result<String, RunError> {
    let ranks = ranks_to_come(&inputs);
    let inputs = match inputs {
        AnyInputs::Particles(inputs) => inputs,
        AnyInputs::Stencil(inputs) => return commands::stencil::check(&inputs, ranks),
        AnyInputs::Lbm(inputs) => return commands::lbm::check(&inputs, ranks),
    };
    let text = check(&inputs, ranks)?;
    note_particles(&inputs, Verbosity::Normal);
    warn_of_interval(&inputs);
    Ok(text)
}

/// Predicts the time of a step of a scenario of any kind.
fn predict_any(args: &PredictArgs, wish: &PredictionChoices) -> u8 {
    on_one_process(|| match read_alone(&args.scenario)? {
        AnyInputs::Particles(inputs) => predict(*inputs, args, wish),
        AnyInputs::Stencil(inputs) => predict_on_grid(&inputs, args, wish),
        AnyInputs::Lbm(inputs) => predict_on_grid(&inputs, args, wish),
    })
}

/// Returns the refusal of a command line with terminal control characters escaped: clap would leave
/// them out of its message.
fn error_with_escapes(error: clap::Error) -> clap::Error {
    let words = std::env::args_os().map(|word| escaped(&word.to_string_lossy()).into());
    Cli::read(words).err().filter(clap::Error::use_stderr).unwrap_or(error)
}

/// Returns the number of ranks that would run the scenario if it were started as this process was.
fn ranks_to_come(inputs: &impl ReadInputs) -> usize {
    launch::processes_of_job().unwrap_or(inputs.parallel().ranks)
}

/// Reads the inputs in a single process.
fn read_alone<J: ReadInputs>(args: &ScenarioArgs) -> Result<J, RunError> {
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
fn run_until<J: ReadInputs>(
    wall_time: Option<Duration>,
    args: &ScenarioArgs,
    work: impl Fn(&dyn World, &J, &EarlyEnd) -> Result<(), RunError> + Sync,
) -> u8 {
    let early_end = EarlyEnd::new(wall_time);
    compute(args, |world, inputs| work(world, inputs, &early_end))
}

/// Runs `work` on every rank of the world that launcher and scenario determine.
fn compute<J: ReadInputs>(
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
fn compare_strategies(args: &CompareArgs, choices: &Choices) -> u8 {
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

/// Compares strategies on a scenario of any kind.
fn compare_any(
    transports: &dyn Transports,
    inputs: &AnyInputs,
    args: &CompareArgs,
    choices: &Choices,
    end_job: fn(u8),
) -> Result<(), RunError> {
    match inputs {
        AnyInputs::Particles(inputs) => compare(transports, inputs, args, choices, end_job),
        AnyInputs::Stencil(inputs) => compare_on_grid(transports, inputs, args, choices, end_job),
        AnyInputs::Lbm(inputs) => compare_on_grid(transports, inputs, args, choices, end_job),
    }
}

/// Runs the benchmarks on the processes of the launcher, or on threads where `--ranks` requests
/// them.
fn run_benchmarks(args: &BenchArgs, wanted: &BenchmarkSelection) -> u8 {
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
fn fit_machine(args: &FitArgs) -> u8 {
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

/// Returns the scenario's watchdog limit; more seconds than a [`Duration`] can hold are no limit.
fn watchdog(parallel: &Parallel) -> Duration {
    Duration::try_from_secs_f64(parallel.watchdog_s).unwrap_or(Duration::MAX)
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
