//! Who speaks, once, and with which exit code the ranks end.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use md_comm::World;

use crate::cores;
use crate::error::{BAD_INPUT, Remains, RunError, Scope};
use crate::inputs::Inputs;
use crate::output::{Screen, Verbosity};
use crate::printable::printable;

/// Says what went wrong, once, and makes sure that all ranks end.
pub(super) fn end(world: &dyn World, result: Result<(), RunError>) -> u8 {
    let Err(error) = result else { return 0 };
    let code = error.exit_code();
    match error.scope() {
        Scope::AllRanks => {
            if world.rank() == 0 {
                print_error(&render(&error));
            }
            if matches!(error, RunError::Compared { remains: Remains::Unfinished, .. }) {
                // Rank 0 has written and said everything before any rank ends the job.
                let _ = world.barrier();
                world.abort(i32::from(code));
            }
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

/// Prints a command's result on the first process.
pub(super) fn show(text: &str) -> u8 {
    if !is_first_process() {
        return 0;
    }
    write_result(text).map_or_else(|error| fail_alone(&error), |()| 0)
}

pub(super) fn write_result(text: &str) -> Result<(), RunError> {
    Ok(Screen::stdout(Verbosity::Normal).write_result(text)?)
}

pub(super) fn fail_alone(error: &RunError) -> u8 {
    on_first_process(|| print_error(&render(error)));
    error.exit_code()
}

pub(super) fn refuse(what: &str) -> u8 {
    on_first_process(|| print_error(&printable(what)));
    BAD_INPUT
}

/// Tells what is wrong before MPI is up. The launcher ends the job as soon as one process ends with an error, so the
/// others wait for the first one to have spoken; its own end ends them.
pub(super) fn on_first_process(tell: impl FnOnce()) {
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
        other => printable(&other.to_string()),
    }
}

pub(super) fn print_error(text: &str) {
    print_whole(&format!("error: {}\n", text.trim()));
}

/// Prints by one call of the system, so that words of the launcher or of other ranks do not come in between.
pub(super) fn print_whole(text: &str) {
    // If the terminal is gone there is nobody to tell.
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Says so if the threads of the ranks in this process have no core each.
pub(super) fn warn_of_threads(ranks: usize, inputs: &Inputs) {
    if let Some(text) = cores::warning(ranks, inputs.scenario.parallel.threads) {
        print_whole(&format!("warning: {text}\n"));
    }
}

/// Whether this is the process that prints, judged by the launcher's environment: MPI may not be up yet.
pub(super) fn is_first_process() -> bool {
    const RANK_VARIABLES: [&str; 3] = ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"];
    RANK_VARIABLES.iter().find_map(|name| std::env::var(name).ok()).is_none_or(|rank| rank == "0")
}
