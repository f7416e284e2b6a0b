//! From the command line to ranks: who runs a command, who prints, which exit code.
//!
//! | started as | backend | ranks |
//! | --- | --- | --- |
//! | `mpirun -n P md-cli` | over MPI | P processes |
//! | `md-cli` | over MPI | one process |
//! | `md-cli` | `local` | `parallel.ranks` threads |
//!
//! Here stands who runs what; `over_mpi` brings up MPI (`without_mpi` refuses to), `speak` says what came of it.

#[cfg(feature = "mpi")]
mod over_mpi;
#[cfg(not(feature = "mpi"))]
#[path = "without_mpi.rs"]
mod over_mpi;
mod speak;

use std::time::Duration;

use clap::Parser;
use md_comm::{Backend, CommError, World, launch, local};

use crate::args::{Cli, Command, CompareArgs, RunArgs, ScenarioArgs};
use crate::commands::compare::{Choices, Threads, compare};
use crate::commands::{self, check::check};
use crate::error::{BAD_INPUT, COMMUNICATION_FAILED, RUN_FAILED, RunError};
use crate::inputs::Inputs;
use crate::printable::printable;
use crate::scenario::schema;
use over_mpi::{compare_over_mpi, over_mpi, show_backends};
use speak::{
    end, fail_alone, is_first_process, on_first_process, print_error, print_whole, refuse, show,
    warn_of_threads,
};

/// Runs the program and returns its exit code.
pub fn main() -> u8 {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // If the terminal is gone there is nobody to tell.
            let tell = || {
                let mut words = std::env::args_os();
                if error.use_stderr() && words.any(|word| word.to_string_lossy().contains(char::is_control)) {
                    print_whole(&printable(&error.render().to_string()));
                } else {
                    drop(error.print());
                }
            };
            return if error.use_stderr() {
                on_first_process(tell);
                BAD_INPUT
            } else {
                if is_first_process() {
                    tell();
                }
                0
            };
        }
    };
    match cli.command {
        Command::Schema => show(&schema()),
        Command::Backends => show_backends(),
        Command::Check(args) => {
            let ranks = |inputs: &Inputs| match launch::started_by_launcher() {
                Some(ranks) => ranks,
                None => inputs.scenario.parallel.ranks,
            };
            let checked = Inputs::read(&args).and_then(|inputs| check(&inputs, ranks(&inputs)));
            checked.map_or_else(|error| fail_alone(&error), |text| show(&text))
        }
        Command::Compare(args) => match Choices::read(&args) {
            Ok(choices) => compare_strategies(&args, &choices),
            Err(unknown) => refuse(&unknown),
        },
        Command::Run(args) if args.resume.is_some() => refuse("`--resume` is not available yet"),
        Command::Run(args) => compute(&args, |world, inputs| commands::run::run(world, inputs, &args)),
        Command::Forces(args) => compute(&args, commands::forces::forces),
    }
}

/// Runs `work` on every rank of the world that launcher and scenario ask for.
fn compute(args: &RunArgs, work: impl Fn(&dyn World, &Inputs) -> Result<(), RunError> + Sync) -> u8 {
    match launch::started_by_launcher() {
        Some(ranks) if ranks > 1 && cfg!(not(feature = "mpi")) => refuse_copies(ranks),
        Some(_) if cfg!(feature = "mpi") => {
            let read = |world: &dyn World| {
                let inputs = Inputs::read_on_first_rank(&args.scenario, world)?;
                match inputs.scenario.parallel.backend {
                    Backend::Local if world.ranks() > 1 => Err(local_under_launcher(world.ranks())),
                    _ => Ok(inputs),
                }
            };
            over_mpi(read, work)
        }
        _ => match Inputs::read(&args.scenario) {
            Err(error) => fail_alone(&error),
            Ok(inputs) if inputs.scenario.parallel.backend == Backend::Local => over_threads(&inputs, work),
            Ok(inputs) => over_mpi(|_| Ok(inputs.clone()), work),
        },
    }
}

/// Compares strategies over what the launcher started, or over threads where the scenario asks for `local`.
fn compare_strategies(args: &CompareArgs, choices: &Choices) -> u8 {
    // `--steps` is the length of a sample here, not of a run.
    let scenario = ScenarioArgs { steps: None, ..args.scenario.clone() };
    match launch::started_by_launcher() {
        Some(ranks) if ranks > 1 && cfg!(not(feature = "mpi")) => refuse_copies(ranks),
        Some(_) if cfg!(feature = "mpi") => {
            compare_over_mpi(|world| Inputs::read_on_first_rank(&scenario, world), args, choices)
        }
        _ => match Inputs::read(&scenario) {
            Err(error) => fail_alone(&error),
            Ok(inputs)
                if inputs.scenario.parallel.backend == Backend::Local || cfg!(not(feature = "mpi")) =>
            {
                over_threads(&inputs, |world, inputs| compare(&Threads(world), inputs, args, choices))
            }
            Ok(inputs) => compare_over_mpi(|_| Ok(inputs.clone()), args, choices),
        },
    }
}

fn refuse_copies(ranks: usize) -> u8 {
    refuse(&format!(
        "started by mpirun with {ranks} ranks, but this program was built without MPI: it would run {ranks} copies of \
         the same simulation; build it with MPI (the default), or start it once with --set parallel.backend=local \
         --set parallel.ranks={ranks}"
    ));
    COMMUNICATION_FAILED
}

/// The scenario's limit on waiting; more seconds than a [`Duration`] can hold are no limit.
fn watchdog(inputs: &Inputs) -> Duration {
    Duration::try_from_secs_f64(inputs.scenario.parallel.watchdog_s).unwrap_or(Duration::MAX)
}

fn local_under_launcher(ranks: usize) -> RunError {
    let reason = format!(
        "it runs its ranks as threads of one process, but {ranks} processes were started; use backend p2p, or start \
         md-cli without mpirun"
    );
    RunError::Communication(CommError::Unavailable { backend: "local", reason })
}

fn over_threads(inputs: &Inputs, work: impl Fn(&dyn World, &Inputs) -> Result<(), RunError> + Sync) -> u8 {
    let ranks = inputs.scenario.parallel.ranks;
    warn_of_threads(ranks, inputs);
    let ended = local::run(ranks, watchdog(inputs), |world| end(world, work(world, inputs)));
    let codes = ended.into_iter().map(|code| {
        code.unwrap_or_else(|panic| {
            print_error(&printable(&panic.to_string()));
            RUN_FAILED
        })
    });
    codes.max().unwrap_or(0)
}
