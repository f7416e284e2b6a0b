//! From the command line to ranks: who runs a command, who prints, which exit code.
//!
//! | started as | backend | ranks |
//! | --- | --- | --- |
//! | `mpirun -n P md-cli` | over MPI | P processes |
//! | `md-cli` | over MPI | one process |
//! | `md-cli` | `local` | `parallel.ranks` threads |

use std::io::{IsTerminal, Write};
use std::time::Duration;

use clap::Parser;
use md_comm::{CommError, World, launch, local};

use crate::args::{Cli, Command, CompareArgs, RunArgs, ScenarioArgs};
#[cfg(feature = "mpi")]
use crate::commands::compare::Processes;
use crate::commands::compare::{Choices, Threads, compare};
use crate::commands::{self, backends, check::check};
use crate::cores;
use crate::driver::{RunError, Scope};
use crate::inputs::Inputs;
use crate::output::{Screen, Verbosity};
use crate::scenario::{Backend, schema};

const BAD_INPUT: u8 = 2;
const COMMUNICATION_FAILED: u8 = 3;
const RUN_FAILED: u8 = 1;

/// Runs the program and returns its exit code.
pub fn main() -> u8 {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // If the terminal is gone there is nobody to tell.
            let tell = || drop(error.print());
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

#[cfg(feature = "mpi")]
fn compare_over_mpi(
    read: impl FnOnce(&dyn World) -> Result<Inputs, RunError>,
    args: &CompareArgs,
    choices: &Choices,
) -> u8 {
    start_mpi(|world| {
        let inputs = read(world)?;
        if world.rank() == 0 {
            warn_of_threads(1, &inputs);
        }
        let parallel = &inputs.scenario.parallel;
        let world = &with_between_nodes(world, parallel.between_nodes)?;
        compare(&Processes { world, options: parallel.rma.options() }, &inputs, args, choices)
    })
}

#[cfg(not(feature = "mpi"))]
fn compare_over_mpi(
    read: impl FnOnce(&dyn World) -> Result<Inputs, RunError>,
    _args: &CompareArgs,
    _choices: &Choices,
) -> u8 {
    over_mpi(read, |_, _| Ok(()))
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
            print_error(&panic.to_string());
            RUN_FAILED
        })
    });
    codes.max().unwrap_or(0)
}

/// Runs `work` over MPI with the scenario's backend and limit on waiting.
#[cfg(feature = "mpi")]
fn over_mpi(
    read: impl FnOnce(&dyn World) -> Result<Inputs, RunError>,
    work: impl FnOnce(&dyn World, &Inputs) -> Result<(), RunError>,
) -> u8 {
    start_mpi(|world| {
        let inputs = read(world)?;
        world.set_watchdog(watchdog(&inputs));
        if world.rank() == 0 {
            warn_of_threads(1, &inputs);
        }
        let parallel = &inputs.scenario.parallel;
        let world = with_between_nodes(world, parallel.between_nodes)?;
        match transport(parallel.backend) {
            // Under a launcher with one rank: any transport is as good.
            Some(md_comm::Backend::Local) | None => work(&world, &inputs),
            Some(backend) => {
                let options = inputs.scenario.parallel.rma.options();
                work(&world.with_backend(backend)?.with_options(options)?, &inputs)
            }
        }
    })
}

/// The same world, with what `hybrid` is to use between nodes.
#[cfg(feature = "mpi")]
fn with_between_nodes(
    world: &md_comm::mpi::MpiWorld,
    between_nodes: Backend,
) -> Result<md_comm::mpi::MpiWorld, CommError> {
    match transport(between_nodes) {
        Some(between_nodes) => world.clone().with_between_nodes(between_nodes),
        None => Ok(world.clone()),
    }
}

/// The transport that a scenario names.
#[cfg(feature = "mpi")]
fn transport(backend: Backend) -> Option<md_comm::Backend> {
    md_comm::Backend::from_name(&crate::scenario::name_of(backend))
}

#[cfg(feature = "mpi")]
fn start_mpi(work: impl FnOnce(&md_comm::mpi::MpiWorld) -> Result<(), RunError>) -> u8 {
    /// Until the scenario's own limit is known.
    const WATCHDOG: Duration = Duration::from_secs(60);
    match md_comm::mpi::start(WATCHDOG) {
        Ok(world) => {
            let result = work(&world);
            end(&world, result)
        }
        Err(error) => fail_alone(&RunError::Communication(error)),
    }
}

#[cfg(not(feature = "mpi"))]
fn over_mpi(
    _read: impl FnOnce(&dyn World) -> Result<Inputs, RunError>,
    _work: impl FnOnce(&dyn World, &Inputs) -> Result<(), RunError>,
) -> u8 {
    print_error(
        "this scenario's backend needs MPI, but this program was built without; \
         use --set parallel.backend=local, or build with MPI (the default)",
    );
    COMMUNICATION_FAILED
}

/// Says what went wrong, once, and makes sure that all ranks end.
fn end(world: &dyn World, result: Result<(), RunError>) -> u8 {
    let Err(error) = result else { return 0 };
    let code = error.exit_code();
    match error.scope() {
        Scope::AllRanks if world.rank() == 0 => print_error(&render(&error)),
        Scope::AllRanks => (),
        Scope::AllRanksBroken => {
            if world.rank() == 0 {
                print_error(&render(&error));
            }
            // Rank 0 has written and said everything before any rank ends the job.
            let _ = world.barrier();
            world.abort(i32::from(code));
        }
        Scope::ThisRank => {
            print_error(&format!("rank {}: {}", world.rank(), render(&error)));
            world.abort(i32::from(code));
        }
        // The rank that failed first has the exit code.
        Scope::Elsewhere => return 0,
    }
    code
}

fn show_backends() -> u8 {
    #[cfg(feature = "mpi")]
    {
        start_mpi(|world| {
            let findings = backends::findings(world).map_err(RunError::Communication)?;
            let text = || backends::backends(&world.library(), &findings);
            if world.rank() == 0 { write_result(&text()) } else { Ok(()) }
        })
    }
    #[cfg(not(feature = "mpi"))]
    show(&backends::backends("none (built without MPI)", &backends::no_findings()))
}

/// Prints a command's result on the first process.
fn show(text: &str) -> u8 {
    if !is_first_process() {
        return 0;
    }
    write_result(text).map_or_else(|error| fail_alone(&error), |()| 0)
}

fn write_result(text: &str) -> Result<(), RunError> {
    Ok(Screen::stdout(Verbosity::Normal).write_result(text)?)
}

fn fail_alone(error: &RunError) -> u8 {
    on_first_process(|| print_error(&render(error)));
    error.exit_code()
}

fn refuse(what: &str) -> u8 {
    on_first_process(|| print_error(what));
    BAD_INPUT
}

/// Tells what is wrong before MPI is up. The launcher ends the job as soon as one process ends with an error, so the
/// others wait for the first one to have spoken; its own end ends them.
fn on_first_process(tell: impl FnOnce()) {
    const TIME_TO_SPEAK: Duration = Duration::from_secs(2);
    if is_first_process() {
        tell();
    } else {
        std::thread::sleep(TIME_TO_SPEAK);
    }
}

fn render(error: &RunError) -> String {
    match error {
        RunError::Scenario(error) if std::io::stderr().is_terminal() => error.render_coloured(),
        RunError::Scenario(error) => error.render(),
        other => other.to_string(),
    }
}

fn print_error(text: &str) {
    // If the terminal is gone there is nobody to tell.
    let _ = writeln!(std::io::stderr().lock(), "error: {}", text.trim());
}

/// Says so if the threads of the ranks in this process have no core each.
fn warn_of_threads(ranks: usize, inputs: &Inputs) {
    if let Some(text) = cores::warning(ranks, inputs.scenario.parallel.threads) {
        // If the terminal is gone there is nobody to tell.
        let _ = writeln!(std::io::stderr().lock(), "warning: {text}");
    }
}

/// Whether this is the process that prints, judged by the launcher's environment: MPI may not be up yet.
fn is_first_process() -> bool {
    const RANK_VARIABLES: [&str; 3] = ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"];
    RANK_VARIABLES.iter().find_map(|name| std::env::var(name).ok()).is_none_or(|rank| rank == "0")
}
