//! The scenario that strategies modify.

use md_engine::Protocol;
use md_scenario::failure::RunError;
use md_scenario::{Parallel, Scenario, ScenarioSource, load};

use crate::grid_inputs::{GridInputs, GridModel};

/// Returns the scenario with the protocol that moves ghosts, which all strategies use, and a
/// warning if the scenario has another one.
pub(crate) fn by_ghosts(scenario: &Scenario) -> (Scenario, Option<String>) {
    let protocol = scenario.parallel.protocol;
    let warning = (protocol != Protocol::One).then(|| {
        let name = protocol.name();
        format!("`parallel.protocol` is `{name}`, but strategies move ghosts: these are numbers of `one`")
    });
    let parallel = Parallel { protocol: Protocol::One, ..scenario.parallel.clone() };
    (Scenario { parallel, ..scenario.clone() }, warning)
}

/// Returns a scenario of particles with the `[parallel]` of `inputs`: strategies are combinations
/// of its keys.
pub(crate) fn keys_of<M: GridModel>(inputs: &GridInputs<M>) -> Result<Scenario, RunError> {
    const PARTICLES: &str =
        "[simulation]\nsteps = 1\n[system]\nlattice = { kind = \"sc\", density = 1.0, cells = [9, 9, 9] }\n";
    let source = ScenarioSource { text: PARTICLES.to_owned(), ..ScenarioSource::default() };
    Ok(Scenario { parallel: inputs.scenario.parallel().transport(), ..load(&source)? })
}
