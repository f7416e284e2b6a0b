//! `md-cli run`: the simulation, with the files and the screen as its observers.

mod beginning;
mod observers;
mod own_outputs;
mod results;
mod stages;
mod stillness;
mod verified;

use std::path::PathBuf;

use md_comm::World;
use md_core::rebuild::RebuildPolicy;
use md_core::words::counted;
use md_engine::{NeighborConfig, Setup, Simulation, ToleratedDrift};
use md_files::checkpoint::{self, Checkpoints};
use md_files::output::Verbosity;
use md_files::output::outputs::{Outputs, all_outputs};
use md_files::output::run_output::{Closing, Opening, RootOpening, open_outputs};
use md_files::output::screen::where_results_are;
use md_files::store::{OutputDirectory, OutputError};
use md_lab::significant;
use md_lab::trace::TracedWorld;
use md_scenario::failure::RunError;
use md_scenario::messages::note;
use md_scenario::{Scenario, effective_toml};

use super::ending::{Ending, with_cause};
use super::timeline::{traced, write_timeline};
use super::{note_drift, open_on_all, open_on_root, warn_of_crowding};
use crate::args::RunArgs;
use crate::early_end::{EarlyEnd, Ended};
use crate::host_load::HostLoad;
use crate::inputs::Inputs;
use crate::replay;
use crate::report::RunFacts;
use crate::report::breakdown::run_report;
use crate::report::warnings::cause;
use crate::setup::lists::{with_chosen_skin, with_skin_of_checkpoint};
use beginning::{Beginning, Root};
use observers::{RunObservers, Ticks};
use own_outputs::stage_outputs;
use results::Results;
use stages::run_stages;
use stillness::warn_of_stillness;
use verified::{Comparison, ExpectedHashes};

/// Runs the scenario on this rank. *Collective.*
///
/// # Errors
/// See [`RunError`].
pub fn run(world: &dyn World, inputs: &Inputs, args: &RunArgs, early_end: &EarlyEnd) -> Result<(), RunError> {
    let inputs = &*replay::inputs_with(inputs, args.replay.as_deref());
    let inputs = &*with_skin_of_checkpoint(world, inputs, args.resume.as_deref())?;
    let read = |path: &PathBuf| ExpectedHashes::read(world, path, &inputs.scenario);
    let expected = args.verify_hash.as_ref().map(read).transpose()?;
    let (beginning, start) = Beginning::of(world, inputs, args)?;
    let inputs = &*with_chosen_skin(inputs, &beginning.setup);
    let scenario = &inputs.scenario;
    let mut root = open_on_root(world, || Root::open(inputs, &beginning, args))?;
    let traced = traced(world, &args.trace)?;
    let world = traced.as_ref().map_or(world, |traced| traced);
    let mut simulation = start.simulation(world, &beginning.setup)?;
    // All checks have passed. From here on, results of an earlier run are removed.
    open_on_all(world, || root.as_mut().map_or(Ok(()), |root| root.begin(args)))?;
    note_drift(&mut simulation, world, Verbosity::unless(args.quiet), Some(&scenario.output))?;
    if root.is_some() && !args.quiet {
        note_lists(&beginning.setup);
    }
    let timeline = root.as_mut().and_then(|root| root.timeline.take());
    let mut observers = observers(world, inputs, &beginning, root.as_ref(), early_end)?;
    let crowding = warn_of_crowding(world, scenario.parallel.threads)?;
    let stillness = warn_of_stillness(world, &simulation, scenario, &beginning.stages)?;
    early_end.listen();
    let watch = |traced: &TracedWorld| traced.start(|observer| simulation.observe_phases(observer));
    traced.as_ref().map_or(Ok(()), watch)?;
    simulation.start_measuring()?;
    let load = HostLoad::begin();
    let ended = make_steps(&mut simulation, world, scenario, &beginning, &mut observers)?;
    let box_end = simulation.box_end().map(str::to_owned);
    traced.as_ref().map_or(Ok(()), TracedWorld::stop)?;
    let host_use = load.host_use(world, scenario.parallel.threads)?;
    let mut results = Results::of(&mut simulation, world, scenario, &beginning, ended)?;
    let mut closing = Closing::new(world, root.as_ref().map(|root| &root.directory));
    let grown = observers.finish(&mut closing);
    let compare = |(root, expected): (&Root, &ExpectedHashes)| expected.compare(root.directory.path());
    let comparison = root.as_ref().zip(expected.as_ref()).filter(|_| grown.is_ok()).map(compare);
    let Closing { summary: analyses, mut warned, .. } = closing;
    warned.extend(
        stillness.into_iter().chain(simulation.box_warnings().iter().cloned()).chain(box_end.clone()),
    );
    results.facts = RunFacts { crowding, host_use, warned, analyses, ..results.facts };
    let timeline = write_timeline(traced.as_ref(), timeline, &results.context, simulation.state().step)?;
    root.map_or(Ok(()), |root| conclude(root, &results, grown, timeline, comparison.as_ref()))?;
    let (done, steps) = (simulation.state().step, scenario.simulation.steps);
    simulation.finalise()?;
    if expected.is_some() {
        Comparison::verdict(comparison, world)?;
    }
    into_result(ended, box_end, [done, steps])
}

/// Prints a note about lists that may miss pairs, as the scenario allows.
fn note_lists(setup: &Setup) {
    /// Significant digits.
    const DIGITS: usize = 2;
    let NeighborConfig { skin, rebuild, tolerated, .. } = setup.config.neighbor;
    if let (RebuildPolicy::Every(steps), Some(ToleratedDrift { drift, .. })) = (rebuild, tolerated) {
        note(&format!(
            "lists with skin {skin:?} are rebuilt every {}: pairs that they miss change the energy by at most {} per particle and \
             time, as an estimate",
            counted(steps, "step"),
            significant(drift, DIGITS)
        ));
    }
}

/// Makes the steps of all stages. Returns how they ended. *Collective.*
fn make_steps(
    simulation: &mut Simulation,
    world: &dyn World,
    scenario: &Scenario,
    beginning: &Beginning,
    observers: &mut RunObservers,
) -> Result<Ended, RunError> {
    let ran = run_stages(simulation, observers, &beginning.stages, beginning.begun);
    let is_whole = ran.map_err(|error| {
        with_cause(error, cause(&simulation.neighbor_report(), scenario.interaction.shift))
    })?;
    Ok(match is_whole {
        _ if simulation.box_end().is_some() => Ended::Box,
        true if simulation.state().integrator.is_finished() => Ended::Converged,
        true => Ended::AsPlanned,
        false => observers.ticks.early_end.reason(world)?,
    })
}

/// Returns the result of the program after `done` of `steps` steps.
fn into_result(ended: Ended, box_end: Option<String>, [done, steps]: [u64; 2]) -> Result<(), RunError> {
    match ended {
        Ended::Signal(signal) => Err(Ending::Signalled { signal, done, steps }.into()),
        Ended::Box => Err(Ending::Box { problem: box_end.unwrap_or_default(), done, steps }.into()),
        Ended::AsPlanned | Ended::Converged | Ended::WallTime => Ok(()),
    }
}

/// Opens all outputs, on all ranks. *Collective.*
fn observers<'a>(
    world: &'a dyn World,
    inputs: &'a Inputs,
    beginning: &'a Beginning,
    root: Option<&'a Root>,
    early_end: &'a EarlyEnd,
) -> Result<RunObservers<'a>, RunError> {
    let (scenario, setup) = (&inputs.scenario, &beginning.setup);
    let console = root.map(|root| root.console.clone());
    let opening = Opening {
        world,
        scenario,
        subject: setup.into(),
        resumed: beginning.resumed.as_ref(),
        root: root.map(|root| RootOpening { directory: &root.directory, console: root.console.clone() }),
        within: String::new(),
    };
    let outputs = Outputs::new(open_on_all(world, || open_outputs(all_outputs(), &opening))?);
    let of_stages =
        stage_outputs(&opening, &beginning.own_outputs, root.map(|root| &*root.stage_directories))?;
    root.iter().for_each(|root| root.begin_table());
    let root = root.map(|Root { directory, .. }| checkpoint::Root {
        directory,
        scenario: effective_toml(scenario),
        species: setup.config.masses.len() as u64,
    });
    let steps = [beginning.first_step(), scenario.simulation.steps];
    let checkpoints = Checkpoints::new(world, scenario.output.checkpoint, steps, root);
    let ticks = Ticks { console, early_end, danger: None, warned: Vec::new(), box_warnings: 0 };
    Ok(RunObservers { outputs, of_stages, checkpoints, ticks })
}

/// Writes the final results, even if other files have failed, and shows them. Called on rank 0.
fn conclude(
    Root { directory, stage_directories, console, .. }: Root,
    results: &Results,
    grown: Result<(), RunError>,
    timeline: Result<String, OutputError>,
    comparison: Option<&Comparison>,
) -> Result<(), RunError> {
    let console = &mut *console.borrow_mut();
    console.progress.finish();
    results.write(&directory)?;
    grown?;
    directory.finish()?;
    stage_directories.iter().try_for_each(OutputDirectory::finish)?;
    let timeline = timeline?;
    console.screen.print(&run_report(&results.timings, &results.context, &results.facts));
    console.screen.print(&timeline);
    results.show(console);
    if let Some(Comparison::Agrees(text)) = comparison {
        console.screen.print(text);
    }
    console.screen.print(&where_results_are(directory.path()));
    Ok(console.screen.finish()?)
}
