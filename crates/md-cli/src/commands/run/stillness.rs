//! Warning about a run in which nothing ever moves.

use md_comm::World;
use md_engine::{Integrator, Simulation};
use md_scenario::failure::RunError;
use md_scenario::messages::warn;
use md_scenario::{IntegratorTable, Scenario, StagePlan};

use super::super::{ROOT, units};
use crate::report::warnings::stillness;

/// Warns if all particles are at rest, no force acts on them and no stage sets them in motion, and
/// returns the warning. *Collective.*
pub(super) fn warn_of_stillness(
    world: &dyn World,
    simulation: &Simulation,
    scenario: &Scenario,
    stages: &[StagePlan],
) -> Result<Option<String>, RunError> {
    let first_force = simulation.energy_report().first_force;
    let is_moved =
        stages.iter().any(|StagePlan { integrator: IntegratorTable { kind, barostat }, .. }| {
            barostat.is_some() || matches!(kind, Integrator::Langevin(_) | Integrator::Fire(_))
        });
    // Both conditions have the same value on all ranks.
    let Some(text) = stillness(first_force, units(scenario)).filter(|_| !is_moved) else { return Ok(None) };
    let particles = &simulation.state().particles;
    let velocities = particles.velocity.iter().flat_map(|column| &column[..particles.owned()]);
    let mut fastest = [velocities.fold(0.0_f64, |most, v| most.max(v.abs()))];
    world.max(&mut fastest)?;
    if fastest != [0.0] {
        return Ok(None);
    }
    if world.rank() == ROOT {
        warn(&text);
    }
    Ok(Some(text))
}
