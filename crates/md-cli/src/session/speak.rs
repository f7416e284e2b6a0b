//! Which rank prints, and with which exit code the ranks end.

use std::io::IsTerminal;
use std::time::Duration;

use md_comm::World;
use md_files::output::screen::result_written;
use md_files::output::{Screen, Verbosity};
use md_scenario::failure::{BAD_INPUT, DONE, Remains, RunError, Scope};
use md_scenario::messages::{is_first_process, note, print_error, warn};
use md_scenario::printable::printable;

use crate::commands::interval_warnings;
use crate::cores;
use crate::inputs::Inputs;

/// Prints the error of a command once, makes sure that all ranks end, and returns the exit code.
pub(super) fn end(world: &dyn World, result: Result<(), RunError>) -> u8 {
    let Err(error) = result else { return 0 };
    let code = error.exit_code();
    match error.scope() {
        Scope::AllRanks => {
            if world.rank() == 0 {
                if code == DONE { note(&render(&error)) } else { print_error(&render(&error)) }
            }
            if error.remains() == Remains::Unfinished {
                // Rank 0 has written and printed everything before any rank ends the job.
                let _ = world.barrier();
                world.abort(i32::from(code));
            }
        }
        Scope::ThisRank => {
            print_error(&format!("rank {}: {}", world.rank(), render(&error)));
            world.abort(i32::from(code));
        }
        // The exit code is that of the rank that failed first.
        Scope::Elsewhere => return 0,
    }
    code
}

/// Prints a command's result on the first process.
pub(super) fn show(text: &str) -> u8 {
    if !is_first_process() {
        return 0;
    }
    code_of(write_result(text))
}

/// Prints the text that a command has made on the first process, or why there is none.
pub(super) fn show_result(made: Result<String, RunError>) -> u8 {
    made.map_or_else(|error| fail_alone(&error), |text| show(&text))
}

/// Returns the exit code of a result of this process alone, and prints the error if it is one.
pub(super) fn code_of(result: Result<(), RunError>) -> u8 {
    result.map_or_else(|error| fail_alone(&error), |()| 0)
}

/// Runs, on the first process only, work that takes a single process.
pub(super) fn on_one_process(work: impl FnOnce() -> Result<(), RunError>) -> u8 {
    if !is_first_process() {
        return 0;
    }
    code_of(work())
}

/// Prints the text of `--help` or `--version`, in colour where that is possible.
pub(super) fn show_help(help: &clap::Error) -> u8 {
    let printed = if is_first_process() { help.print() } else { Ok(()) };
    code_of(result_written(printed).map_err(RunError::from))
}

pub(super) fn write_result(text: &str) -> Result<(), RunError> {
    Ok(Screen::stdout(Verbosity::Normal).write_result(text)?)
}

pub(super) fn fail_alone(error: &RunError) -> u8 {
    on_first_process(|| print_error(&render(error)));
    error.exit_code()
}

/// Prints why communication could not be set up. The first process prints the message for all; a
/// process that is still running after that may be the only one with the error, and prints it with
/// its rank.
#[cfg(feature = "mpi")]
pub(super) fn fail_at_start(error: &RunError) -> u8 {
    let code = fail_alone(error);
    if let Some(rank @ 1..) = md_comm::launch::rank() {
        print_error(&format!("rank {rank}: {}", render(error)));
    }
    code
}

pub(super) fn refuse(what: &str) -> u8 {
    on_first_process(|| print_error(&printable(what)));
    BAD_INPUT
}

/// Prints an error before MPI is initialised. The launcher ends the job as soon as one process ends
/// with an error, so the other processes wait until the first one has printed; its end then ends
/// them.
pub(super) fn on_first_process(tell: impl FnOnce()) {
    const TIME_TO_SPEAK: Duration = Duration::from_secs(2);
    if is_first_process() {
        tell();
    } else {
        std::thread::sleep(TIME_TO_SPEAK);
    }
}

fn render(error: &RunError) -> String {
    if is_coloured() { error.shown_in_colour() } else { error.shown() }
}

/// Returns whether standard error is a terminal with colours and the user has not disabled them
/// (<https://no-color.org>).
fn is_coloured() -> bool {
    let is = |name: &str, answer: fn(&str) -> bool| std::env::var(name).is_ok_and(|value| answer(&value));
    std::io::stderr().is_terminal()
        && !is("NO_COLOR", |value| !value.is_empty())
        && !is("TERM", |value| value == "dumb")
}

/// Prints the warnings that `run` prints about intervals, on the first process.
pub(super) fn warn_of_interval(inputs: &Inputs) {
    if is_first_process() {
        interval_warnings(&inputs.scenario).iter().for_each(|text| warn(text));
    }
}

/// Prints a warning if the threads of the ranks in this process do not have a core each.
pub(super) fn warn_of_threads(ranks: usize, threads: usize) {
    if let Some(text) = cores::warning(ranks, threads) {
        warn(&text);
    }
}
