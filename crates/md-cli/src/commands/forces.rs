//! `md-cli forces`: one force evaluation, no motion.

use md_comm::World;
use md_engine::{RowVector, Simulation, Timings};
use md_files::output::screen::forces_report;
use md_files::output::{Gathers, ResultFiles, Screen, Verbosity};
use md_scenario::failure::RunError;
use md_scenario::known_file::KnownFile;

use super::{RunSummary, context, facts, note_drift, open_on_root, output_directory};
use crate::early_end::Ended;
use crate::inputs::Inputs;
use crate::report::summary::summary_json;
use crate::report::tables::forces_csv;
use crate::setup::{self, room};

/// Evaluates the forces of the initial state on this rank. *Collective.*
///
/// # Errors
/// See [`RunError`].
pub fn forces(world: &dyn World, inputs: &Inputs, verbosity: Verbosity) -> Result<(), RunError> {
    // Nothing moves, so particles need no velocities.
    setup::expect_room_on_all(world, inputs)?;
    let setup = setup::of_scenario(inputs, &inputs.scenario, world.ranks())?;
    room::expect_on_all(world, inputs, &setup, Gathers::Forces)?;
    let directory = open_on_root(world, || output_directory(inputs, &ResultFiles::default(), verbosity))?;
    let mut simulation = Simulation::new(world, &setup)?;
    note_drift(&mut simulation, world, verbosity, None)?;
    let sums = simulation.system_sums()?;
    let timings = Timings::reduce(&simulation.timing()?, world)?;
    let rows = simulation.gather_rows(RowVector::Force)?;
    if let Some(directory) = directory {
        let summary = RunSummary { sums, wall_s: 0.0, drift_per_atom: 0.0, ended: Ended::AsPlanned };
        let facts = facts(world, &simulation, &inputs.scenario, &summary);
        let context = context(world, &inputs.scenario, &setup, 0);
        let totals = simulation.force_totals(&sums);
        directory.write_whole(KnownFile::FORCES, &forces_csv(&rows)?)?;
        let summary = summary_json(&timings, &context, &facts, Some(&totals))?;
        directory.write_whole(KnownFile::SUMMARY, &summary)?;
        directory.finish()?;
        let mut screen = Screen::stdout(verbosity);
        screen.print(&forces_report(&totals, &rows));
        screen.finish()?;
    }
    Ok(simulation.finalise()?)
}
