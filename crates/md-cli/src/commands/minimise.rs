//! `md-cli minimise`: FIRE minimisation to a force tolerance, and its final state.

use std::cell::RefCell;
use std::rc::Rc;

use md_comm::World;
use md_core::force::Precision;
use md_core::words::counted;
use md_engine::integrator::FireKeys;
use md_engine::{
    EngineError, Integrator, Needs, Observer, ObserverError, ParticleRow, RowVector, Setup, Simulation,
    Snapshot, Timings, every,
};
use md_files::output::run_output::{Closing, Console, Opened, Opening, RootOpening, SharedConsole};
use md_files::output::screen::{thermo_header, thermo_row};
use md_files::output::{Gathers, Progress, ProgressMode, ResultFiles, Screen, Verbosity, trajectory};
use md_files::store::{OutputDirectory, kept_whole};
use md_scenario::failure::{RUN_FAILED, RunError};
use md_scenario::known_file::KnownFile;
use md_scenario::messages::note;
use md_scenario::{IntegratorTable, Neighbor, Positions, Scenario, Trajectory};
use serde_json::{Map, json};

use super::ending::{Ending, summarised};
use super::{ROOT, RunSummary, context, facts, open_on_all, open_on_root, output_directory};
use crate::args::MinimiseArgs;
use crate::early_end::{EarlyEnd, Ended};
use crate::inputs::Inputs;
use crate::report::RunFacts;
use crate::report::summary::summary_json;
use crate::setup::{self, room};

/// File of the final state of a minimisation.
pub const FINAL_STATE: &str = "minimised.extxyz";

/// In mixed precision, forces do not fall below small tolerances, whatever the number of steps.
const PRECISION: Precision = Precision::Double;

/// Minimises the energy of the scenario's initial state on this rank, from rest. *Collective.*
///
/// # Errors
/// Returns [`RunError`]. If forces are above the tolerance after the last step, or if a signal
/// ended the run, all results are written first.
pub fn minimise(
    world: &dyn World,
    inputs: &Inputs,
    args: &MinimiseArgs,
    early_end: &EarlyEnd,
) -> Result<(), RunError> {
    let verbosity = Verbosity::unless(args.quiet);
    let (scenario, keys) = from_rest(&inputs.scenario, args);
    note_precision(world, inputs.scenario.neighbor.precision);
    setup::expect_room_on_all(world, inputs)?;
    let setup = setup::of_scenario(inputs, &scenario, world.ranks())?;
    room::expect_on_all(world, inputs, &setup, Gathers::Forces)?;
    let results = ResultFiles { trajectory: Some(FINAL_STATE), ..ResultFiles::default() };
    let directory = open_on_root(world, || output_directory(inputs, &results, verbosity))?;
    let progress = Progress::new(ProgressMode::Never, 0, args.steps, setup.atoms());
    let console = Rc::new(RefCell::new(Console { screen: Screen::stdout(verbosity), progress }));
    let root = directory.as_ref().map(|directory| RootOpening { directory, console: console.clone() });
    let (subject, within) = ((&setup).into(), String::new());
    let opening = Opening { world, scenario: &scenario, subject, resumed: None, root, within };
    let frames = open_on_all(world, || (trajectory::KIND.open)(&opening))?;
    let mut simulation = Simulation::new(world, &setup)?;
    let before = simulation.system_sums()?.pairs.energy;
    early_end.listen();
    simulation.start_measuring()?;
    let mut state = AtEnd { frames, last: args.steps, early_end };
    make_steps(&mut simulation, world, scenario.output.thermo.every, &mut state, &console)?;
    let mut closing = Closing::new(world, directory.as_ref());
    state.frames.into_iter().try_for_each(|frames| frames.finish(&mut closing))?;
    let root = directory.as_ref().map(|directory| (directory, &console));
    let done = simulation.state().step;
    let ended = how_it_ended(&simulation, world, args.steps, early_end)?;
    conclude(&mut simulation, world, (&scenario, &setup), ended, keys, before, root)?;
    simulation.finalise()?;
    match ended {
        Ended::Converged => Ok(()),
        Ended::Signal(signal) => Err(Ending::Signalled { signal, done, steps: args.steps }.into()),
        Ended::AsPlanned | Ended::WallTime | Ended::Box => Err(not_converged(done, keys.force_tolerance)),
    }
}

/// Prints a note on rank 0 if another precision than that of minimisations was requested.
fn note_precision(world: &dyn World, requested: Precision) {
    if world.rank() == ROOT && requested != PRECISION {
        note(
            "`minimise` computes in double precision: rounding in mixed precision leaves forces above small tolerances",
        );
    }
}

/// Makes the steps, and prints the thermodynamic state every `interval` steps. *Collective.*
fn make_steps(
    simulation: &mut Simulation,
    world: &dyn World,
    interval: u64,
    state: &mut AtEnd,
    console: &SharedConsole,
) -> Result<(), EngineError> {
    if world.rank() == 0 {
        console.borrow_mut().print(&thermo_header());
    }
    let rows = every(interval, Needs::ENERGY_AND_VIRIAL, |now| {
        now.thermo.iter().for_each(|row| console.borrow_mut().print(&thermo_row(row)));
        Ok(())
    });
    simulation.run(state.last, &mut [&mut rows.on_first_rank(), state])
}

/// Returns how the minimisation ended. *Collective.*
fn how_it_ended(
    simulation: &Simulation,
    world: &dyn World,
    steps: u64,
    early_end: &EarlyEnd,
) -> Result<Ended, RunError> {
    let state = simulation.state();
    Ok(match state.integrator.is_finished() {
        true => Ended::Converged,
        false if state.step == steps => Ended::AsPlanned,
        false => early_end.reason(world)?,
    })
}

fn not_converged(steps: u64, tolerance: f64) -> RunError {
    let steps = counted(steps, "step");
    let summary = format!(
        "after {steps} there are forces above {tolerance:e}; more `--steps`, or another `--force-tolerance`"
    );
    summarised(summary, RUN_FAILED)
}

/// Writes the results of the minimisation. `energy_before` is the initial potential energy.
/// *Collective.*
fn conclude(
    simulation: &mut Simulation,
    world: &dyn World,
    (scenario, setup): (&Scenario, &Setup),
    ended: Ended,
    FireKeys { force_tolerance }: FireKeys,
    energy_before: f64,
    root: Option<(&OutputDirectory, &SharedConsole)>,
) -> Result<(), RunError> {
    let is_converged = ended == Ended::Converged;
    let sums = simulation.system_sums()?;
    let timings = Timings::reduce(&simulation.timing()?, world)?;
    let forces = simulation.gather_rows(RowVector::Force)?;
    let Some((directory, console)) = root else { return Ok(()) };
    let steps = simulation.state().step;
    let totals = simulation.force_totals(&sums);
    let largest = forces.iter().map(largest_of).fold(0.0, f64::max);
    let wall_s = timings.phase(md_engine::Phase::Total).seconds.max;
    let summary = RunSummary { sums, wall_s, drift_per_atom: 0.0, ended };
    let analyses = Map::from_iter([
        ("converged".to_owned(), json!(is_converged)),
        ("force_tolerance".to_owned(), json!(force_tolerance)),
        ("largest_force".to_owned(), json!(largest)),
    ]);
    let trajectory = Some(FINAL_STATE.to_owned());
    let facts = RunFacts { analyses, trajectory, ..facts(world, simulation, scenario, &summary) };
    let context = context(world, scenario, setup, steps);
    directory.write_whole(KnownFile::SUMMARY, &summary_json(&timings, &context, &facts, Some(&totals))?)?;
    directory.finish()?;
    let [before, after] = [energy_before, sums.pairs.energy].map(|energy| energy / sums.atoms);
    let console = &mut *console.borrow_mut();
    console.print(&format!(
        "\n{} after {}\npotential energy {}\n  ({before} per atom before, {after} after)\nlargest force {largest:.3e}\nThe final state is in `{}`\n",
        if is_converged { "Minimised" } else { "Not minimised" },
        counted(steps, "step"),
        totals.potential_energy,
        directory.path().join(FINAL_STATE).display()
    ));
    Ok(console.screen.finish()?)
}

/// Returns the scenario with particles at rest and with FIRE instead of its integrators. The force
/// tolerance is that of the arguments, or else that of the scenario's integrator or first stage if
/// it is a minimisation.
fn from_rest(scenario: &Scenario, args: &MinimiseArgs) -> (Scenario, FireKeys) {
    let own = match scenario.stages().first().map(|stage| stage.integrator.kind) {
        Some(Integrator::Fire(keys)) => keys,
        _ => FireKeys::default(),
    };
    let keys = FireKeys { force_tolerance: args.force_tolerance.unwrap_or(own.force_tolerance) };
    let mut scenario = scenario.clone();
    scenario.stage.clear();
    scenario.neighbor.precision = PRECISION;
    scenario.integrator = IntegratorTable { kind: Integrator::Fire(keys), barostat: None };
    if scenario.neighbor.rebuild.drift.is_some() {
        scenario.neighbor.rebuild = Neighbor::default().rebuild;
    }
    (scenario.system.temperature, scenario.system.drift) = (Some(0.0), None);
    (scenario.simulation.steps, scenario.simulation.max_drift) = (args.steps, None);
    scenario.output.trajectory = Some(Trajectory {
        path: FINAL_STATE.to_owned(),
        every: 1,
        columns: None,
        positions: Positions::default(),
        precision: None,
    });
    (scenario, keys)
}

/// Writes only the last frame, which a signal makes come earlier.
struct AtEnd<'a> {
    frames: Opened<'a>,
    last: u64,
    early_end: &'a EarlyEnd,
}

impl Observer for AtEnd<'_> {
    fn due(&self, step: u64) -> Option<Needs> {
        let needs = self.frames.iter().filter_map(|frames| frames.due(step));
        needs.reduce(|all, one| all | one).filter(|_| step == self.last)
    }

    fn observe(&mut self, now: &Snapshot) -> Result<(), ObserverError> {
        self.frames.iter_mut().try_for_each(|frames| frames.observe(now)).map_err(kept_whole)
    }

    fn wants_end(&self) -> bool {
        self.early_end.is_wanted()
    }

    fn ends_at(&mut self, step: u64) {
        self.last = step;
    }
}

fn largest_of(row: &ParticleRow) -> f64 {
    row.vector.iter().map(|component| component * component).sum::<f64>().sqrt()
}
