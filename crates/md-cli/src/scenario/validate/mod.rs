//! Everything about the values of a scenario that can be checked without particles, one file per table.

mod checks;
mod interaction;
mod neighbor;
mod output;
mod parallel;
mod simulation;
mod species;
mod system;

use super::finding::Checked;
use super::model::Scenario;

/// Checks the values; the first fault in the order of the tables is returned.
pub(super) fn validate(scenario: &Scenario) -> Checked {
    simulation::check(&scenario.simulation)?;
    system::check(&scenario.system, &scenario.simulation)?;
    species::check(&scenario.species, &scenario.system)?;
    interaction::check(&scenario.interaction, &scenario.species)?;
    neighbor::check(&scenario.neighbor)?;
    parallel::check(&scenario.parallel, &scenario.simulation)?;
    output::check(&scenario.output, &scenario.simulation)
}
