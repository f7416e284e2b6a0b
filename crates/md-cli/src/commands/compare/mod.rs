//! `md-cli compare`: halo strategies on the user's scenario and machine, checked, measured and ranked.
//!
//! Structure: every strategy has a world of its own (its contexts and collectives), and the ranks agree in another one,
//! that of their agreement, on what has become of each piece of work. So a strategy may fail on one rank, or leave messages
//! behind, and the ranks still know what to do next: they leave it out. Repetitions are interleaved and their order is
//! rotated, so that whatever drifts (clock frequency, neighbours on the machine) drifts for all alike.
//! Strategies that can stand still inside the MPI library come later, group by group, each group beside the
//! baseline measured again: if one hangs, a monitor ends the job, and the groups before it have been measured already.

mod measure;
mod outcome;
mod reference;
mod results;
mod strategies;
#[cfg(test)]
mod tests;
mod transports;
mod trials;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use md_comm::World;
use md_comm::monitor::Monitor;

use super::{open_on_root, output_directory};
use crate::args::CompareArgs;
use crate::comparison::{Comparison, Status};
use crate::cores;
use crate::error::{COMMUNICATION_FAILED, RUN_FAILED, Remains, RunError};
use crate::inputs::Inputs;
use crate::memory;
use crate::output::{KnownFile, OutputError, Screen, Verbosity};
use crate::report::Strategy;
use crate::scenario::Neighbor;
use reference::Reference;
use results::Results;
pub use strategies::{Choices, Selection};
#[cfg(feature = "mpi")]
pub use transports::Processes;
pub use transports::{Threads, Transports};
use trials::{Sampling, Trials};

/// Steps per sample.
const STEPS: u64 = 20;

/// The ranks' agreement waits for computations too, such as the reference. A call that hangs is the monitor's business.
const SHORTEST_AGREEMENT_WATCHDOG: Duration = Duration::from_secs(600);

/// Compares strategies on this rank. *Collective.*
///
/// # Errors
/// [`RunError::Compared`] if a strategy was wrong, failed or timed out; see [`RunError`] for the others.
pub fn compare(
    transports: &dyn Transports,
    inputs: &Inputs,
    args: &CompareArgs,
    choices: &Choices,
) -> Result<(), RunError> {
    let agreement = transports.agreement();
    let strategies = choices.strategies(&inputs.scenario, &transports.backends());
    let timeout = Duration::from_secs_f64(args.timeout);
    agreement.set_watchdog(SHORTEST_AGREEMENT_WATCHDOG.max(4 * timeout));
    let sampling = Sampling {
        repeat: args.repeat as usize,
        steps: args.steps.unwrap_or_else(|| steps(&inputs.scenario.neighbor)),
        timeout,
    };
    let ranks_per_core = ranks_per_core(agreement)?;
    // What cannot be computed or written is found out first, before old results are removed and new ones computed.
    let setup = reference::setup(inputs, agreement.ranks())?;
    let open = || {
        memory::expect(inputs, &setup, memory::of_machine())?;
        Ok::<_, RunError>(open_results(inputs, args, &strategies, ranks_per_core)?)
    };
    let results = open_on_root(agreement, open)?;
    let reference = Reference::compute(agreement, inputs, &setup)?;
    let available = memory::available_to_all(agreement)?;
    let mut trials = Trials::new(transports, inputs, sampling, available, results.clone(), reference);
    let monitor = results.as_ref().map(|results| watch(results, &trials, transports.end_job()));
    let outcome = trials.run(&strategies);
    drop(monitor);
    let statuses = outcome?;
    if let Some(results) = &results {
        lock(results).publish()?;
    }
    exit_status(&strategies, &statuses)
}

/// On rank 0: files and table.
fn open_results(
    inputs: &Inputs,
    args: &CompareArgs,
    strategies: &[Strategy],
    ranks_per_core: f64,
) -> Result<Arc<Mutex<Results>>, OutputError> {
    let verbosity = Verbosity::unless(args.quiet);
    let names = KnownFile::RESULTS_OF_A_COMPARISON.map(KnownFile::name);
    let directory = output_directory(inputs, names, verbosity)?;
    let mut screen = Screen::stdout(verbosity);
    screen.print(&format!("comparing {} strategies, {} repetitions\n", strategies.len(), args.repeat));
    let own = Strategy::of(&inputs.scenario.parallel);
    Ok(Arc::new(Mutex::new(Results {
        entries: Vec::new(),
        current: None,
        controls: Vec::new(),
        frame: Comparison {
            rows: Vec::new(),
            own: strategies.iter().position(|&strategy| strategy == own),
            controls: Vec::new(),
            between_nodes: inputs.scenario.parallel.between_nodes,
            repeat: args.repeat as usize,
            ranks_per_core,
        },
        directory,
        screen,
    })))
}

/// On rank 0: if the measuring thread stands still, publishes what there is and ends the job.
fn watch(results: &Arc<Mutex<Results>>, trials: &Trials, end_job: fn(u8)) -> Monitor {
    // A wait that the transports' own watchdog can end comes first, on this rank and then on the others.
    let limit = 2 * trials.sampling.timeout;
    let results = Arc::clone(results);
    let heartbeat = trials.heartbeat.clone();
    Monitor::start(
        move || limit,
        move || Some(heartbeat.count()),
        move |_| {
            let mut results = lock(&results);
            let limit_s = limit.as_secs_f64();
            results
                .give_up_current(&format!("a call did not come back within {limit_s} s; the job was ended"));
            // The job ends with an error in any case; what could not be written has been shown.
            let _ = results.publish();
            results.directory.unlock();
            end_job(COMMUNICATION_FAILED);
        },
    )
}

fn lock(results: &Mutex<Results>) -> MutexGuard<'_, Results> {
    results.lock().unwrap_or_else(PoisonError::into_inner)
}

/// So many that the neighbourhood is not rebuilt in between, where it is rebuilt on a schedule that leaves room.
fn steps(neighbor: &Neighbor) -> u64 {
    match neighbor.rebuild.every {
        Some(every @ 2..=STEPS) => every - 1,
        _ => STEPS,
    }
}

/// Ranks on rank 0's machine per hardware thread of it. *Collective.*
fn ranks_per_core(world: &dyn World) -> Result<f64, RunError> {
    let hosts = world.gather(super::ROOT, gethostname::gethostname().as_encoded_bytes())?;
    let here = hosts.iter().filter(|host| *host == &hosts[0]).count();
    Ok(here as f64 / cores::of_machine() as f64)
}

/// How the program ends.
fn exit_status(strategies: &[Strategy], statuses: &[Option<Status>]) -> Result<(), RunError> {
    let named = |wanted: Status| -> Vec<String> {
        let with = strategies.iter().zip(statuses).filter(|(_, status)| **status == Some(wanted));
        let name = |strategy: &Strategy| {
            let [backend, work @ ..] = strategy.names();
            format!("{backend} ({})", work.join(", "))
        };
        with.map(|(strategy, _)| name(strategy)).collect()
    };
    let (wrong, failed, timeout) = (named(Status::Wrong), named(Status::Failed), named(Status::Timeout));
    let is_broken = !failed.is_empty() || !timeout.is_empty();
    if wrong.is_empty() && !is_broken {
        return Ok(());
    }
    let parts = [("wrong forces", &wrong), ("failed", &failed), ("timed out", &timeout)];
    let parts = parts.iter().filter(|(_, names)| !names.is_empty());
    let summary: Vec<_> = parts.map(|(what, names)| format!("{what}: {}", names.join(", "))).collect();
    Err(RunError::Compared {
        summary: format!("{}; see compare.csv", summary.join("; ")),
        exit_code: if wrong.is_empty() { COMMUNICATION_FAILED } else { RUN_FAILED },
        remains: if is_broken { Remains::Unfinished } else { Remains::Nothing },
    })
}
