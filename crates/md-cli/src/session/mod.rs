//! From the command line to commands and the exit code.
//!
//! `ranks` determines where a command runs; `over_mpi` initialises MPI (`without_mpi` refuses to),
//! and `speak` prints results and errors.

#[cfg(feature = "mpi")]
mod alike;
#[cfg(feature = "mpi")]
mod over_mpi;
#[cfg(not(feature = "mpi"))]
#[path = "without_mpi.rs"]
mod over_mpi;
mod ranks;
mod speak;

use std::time::Duration;

use md_files::output::Verbosity;
use md_lab::Transports;
use md_scenario::failure::{BAD_INPUT, RunError};
use md_scenario::messages::print_whole;
use md_scenario::printable::{escaped, printable};
use md_scenario::{Parallel, schema};

use crate::args::{Cli, Command, CompareArgs, PredictArgs};
use crate::commands::analyse::analyse;
use crate::commands::bench::BenchmarkSelection;
use crate::commands::check::check;
use crate::commands::compare::{compare, compare_on_grid};
use crate::commands::forces::forces;
use crate::commands::lbm::lbm;
use crate::commands::minimise::minimise;
use crate::commands::partition::{partition, partitions};
use crate::commands::predict::{PredictionChoices, predict};
use crate::commands::predict_grid::predict_on_grid;
use crate::commands::run::run;
use crate::commands::stencil::stencil;
use crate::commands::{self, note_particles};
use crate::early_end::{EarlyEnd, fail_in_order};
use crate::grid_inputs::AnyInputs;
use crate::strategies::Choices;
use over_mpi::show_backends;
use ranks::{compare_strategies, compute, fit_machine, ranks_to_come, read_alone, run_benchmarks, run_until};
use speak::{
    code_of, on_first_process, on_one_process, refuse, show, show_help, show_result, warn_of_interval,
    write_result,
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
        AnyInputs::Stencil(inputs) => return commands::grid_run::check(&inputs, ranks),
        AnyInputs::Lbm(inputs) => return commands::grid_run::check(&inputs, ranks),
    };
    let text = check(&inputs, ranks)?;
    note_particles(&inputs, Verbosity::Normal);
    warn_of_interval(&inputs);
    Ok(text)
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

/// Returns the scenario's watchdog limit; more seconds than a [`Duration`] can hold are no limit.
fn watchdog(parallel: &Parallel) -> Duration {
    Duration::try_from_secs_f64(parallel.watchdog_s).unwrap_or(Duration::MAX)
}
