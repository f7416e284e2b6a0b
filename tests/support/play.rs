//! Calls of `md-cli` through its library, without a separate process for each call.
#![expect(clippy::expect_used, clippy::print_stderr, reason = "this is a part of tests")]

use std::time::Duration;

use clap::Parser;
use md_cli::args::{Cli, Command, ScenarioArgs};
use md_cli::commands::{check::check, forces::forces, run::run};
use md_cli::early_end::EarlyEnd;
use md_cli::inputs::Inputs;
use md_comm::{World, local};
use md_files::output::Verbosity;
use md_scenario::ScenarioError;
use md_scenario::failure::{RunError, Scope};

/// Exit code and output that the program would have.
#[derive(Debug)]
pub(super) struct Played {
    pub(super) code: u8,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

/// Exit code of a rank that panics, as in the program.
const PANICKED: u8 = 1;

/// Makes a call with its ranks as threads of this process.
pub(super) fn play(words: &[String]) -> Played {
    match parsed(words) {
        Command::Check(args) => {
            let text = Inputs::read(&args.scenario())
                .and_then(|inputs| check(&inputs, inputs.scenario.parallel.ranks))
                .map_err(|error| failed(&error));
            text.map_or_else(|played| played, |stdout| Played { code: 0, stdout, stderr: String::new() })
        }
        command => {
            let inputs = Inputs::read(&scenario_of(&command));
            inputs.map_or_else(|error| failed(&error), |inputs| over_threads(&command, &inputs))
        }
    }
}

fn over_threads(command: &Command, inputs: &Inputs) -> Played {
    let parallel = &inputs.scenario.parallel;
    let watchdog = Duration::from_secs_f64(parallel.watchdog_s);
    let ended = local::run(parallel.ranks, watchdog, |world| compute(world, inputs, command));
    let errors = ended.into_iter().filter_map(|ended| match ended {
        Ok(result) => result.err().map(|error| (error.scope() == Scope::Elsewhere, failed(&error))),
        Err(panicked) => {
            let stderr = panicked.to_string();
            Some((false, Played { code: PANICKED, stdout: String::new(), stderr }))
        }
    });
    // The errors of ranks that only report the failure of another rank contain less information.
    let error = errors.min_by_key(|(is_elsewhere, _)| *is_elsewhere);
    error.map_or_else(succeeded, |(_, played)| played)
}

/// Computes on this rank. An error that the other ranks do not have ends them too.
fn compute(world: &dyn World, inputs: &Inputs, command: &Command) -> Result<(), RunError> {
    let result = match command {
        Command::Forces(args) => forces(world, inputs, Verbosity::unless(args.quiet)),
        Command::Run(args) => run(world, inputs, args, &EarlyEnd::default()),
        _ => unreachable!("tests make no other calls this way: {command:?}"),
    };
    if let Err(error) = &result
        && error.scope() == Scope::ThisRank
    {
        eprintln!("rank {}: {error}", world.rank());
        world.abort(i32::from(error.exit_code()));
    }
    result
}

/// Makes a call on the processes of this world, all of which call this function together.
#[cfg(feature = "mpi")]
pub(super) fn play_over_mpi(world: &md_comm::mpi::MpiWorld, words: &[String]) -> Played {
    let command = parsed(words);
    let play = || {
        let inputs = Inputs::read_on_first_rank(&scenario_of(&command), world)?;
        let parallel = &inputs.scenario.parallel;
        world.set_watchdog(Duration::from_secs_f64(parallel.watchdog_s));
        let world = world.clone().with_between_nodes(parallel.between_nodes)?.with_chunk(parallel.chunk);
        let world = world.with_backend(parallel.backend)?.with_options(parallel.rma.options())?;
        compute(&world, &inputs, &command)
    };
    play().map_or_else(|error: RunError| failed(&error), |()| succeeded())
}

fn parsed(words: &[String]) -> Command {
    Cli::try_parse_from(words).expect("a test knows the options").command
}

fn scenario_of(command: &Command) -> ScenarioArgs {
    match command {
        Command::Run(args) => args.scenario(),
        Command::Forces(args) => args.scenario.clone(),
        _ => unreachable!("tests make no other calls this way: {command:?}"),
    }
}

fn succeeded() -> Played {
    Played { code: 0, stdout: String::new(), stderr: String::new() }
}

fn failed(error: &RunError) -> Played {
    let scenario = error.find::<ScenarioError>().map(ScenarioError::render);
    let stderr = scenario.unwrap_or_else(|| error.to_string());
    Played { code: error.exit_code(), stdout: String::new(), stderr }
}
