//! The scenario that strategies change.

use md_engine::Protocol;

use crate::commands::ROOT;
use crate::error::RunError;
use crate::grid_inputs::{GridInputs, GridModel};
use crate::scenario::{Parallel, Scenario, ScenarioSource, load};
use crate::session::warn;

/// Strategies move ghosts, whatever the scenario's protocol; rank 0 says so.
pub(crate) fn by_ghosts(scenario: &Scenario, rank: usize) -> Scenario {
    let protocol = scenario.parallel.protocol;
    if protocol != Protocol::One && rank == ROOT {
        let name = protocol.name();
        warn(&format!(
            "`parallel.protocol` is `{name}`, but strategies move ghosts: these are numbers of `one`"
        ));
    }
    let parallel = Parallel { protocol: Protocol::One, ..scenario.parallel.clone() };
    Scenario { parallel, ..scenario.clone() }
}

/// A scenario of particles with the same `[parallel]`: strategies are combinations of its keys.
pub(crate) fn keys_of<M: GridModel>(inputs: &GridInputs<M>) -> Result<Scenario, RunError> {
    const PARTICLES: &str =
        "[simulation]\nsteps = 1\n[system]\nlattice = { kind = \"sc\", density = 1.0, cells = [9, 9, 9] }\n";
    let source = ScenarioSource { text: PARTICLES.to_owned(), ..ScenarioSource::default() };
    Ok(Scenario { parallel: inputs.scenario.parallel().transport(), ..load(&source)? })
}
