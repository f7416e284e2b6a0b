//! `md-cli forces`: one force evaluation, no motion.

use md_comm::World;

use super::{context, facts, open_on_root, output_directory};
use crate::driver::{RowVector, RunError, Setup, Simulation};
use crate::inputs::Inputs;
use crate::output::KnownFile;
use crate::output::forces::forces_csv;
use crate::output::summary::forces_summary_json;

/// Evaluates the forces of the initial state on this rank. *Collective.*
///
/// # Errors
/// See [`RunError`].
pub fn forces(world: &dyn World, inputs: &Inputs) -> Result<(), RunError> {
    let setup = Setup::new(&inputs.source, &inputs.scenario, inputs.particles.clone(), world.ranks())?;
    let directory = open_on_root(world, || output_directory(inputs))?;
    let mut simulation = Simulation::new(world, &setup, &inputs.scenario)?;
    let sums = simulation.system_sums()?;
    let timings = simulation.timings()?;
    let mut rows = simulation.gather_rows(RowVector::Force)?;
    if let Some(directory) = directory {
        let facts = facts(world, &simulation, &inputs.scenario.parallel, &setup, &sums, 0.0, 0.0);
        let context = context(world, &inputs.scenario, &setup, 0);
        let totals = simulation.force_totals(&sums);
        directory.write_whole(KnownFile::Forces, &forces_csv(&mut rows)?)?;
        let summary = forces_summary_json(&timings, &context, &facts, &totals)?;
        directory.write_whole(KnownFile::Summary, &summary)?;
    }
    simulation.finalise()
}
