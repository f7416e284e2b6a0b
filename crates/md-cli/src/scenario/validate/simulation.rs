//! `[simulation]`

use super::checks::{at_least_one, positive};
use crate::scenario::finding::{Checked, Finding};
use crate::scenario::model::Simulation;

pub(super) fn check(simulation: &Simulation) -> Checked {
    let dimension = simulation.dimension;
    if !matches!(dimension, 2 | 3) {
        let message = format!("`simulation.dimension` must be 2 or 3, found {dimension}");
        return Err(Finding::new("simulation.dimension", message, "2 is one layer in z without motion in z"));
    }
    positive("simulation.timestep", simulation.timestep, "0.005 is usual for a Lennard-Jones liquid")?;
    at_least_one(
        "simulation.steps",
        simulation.steps,
        "`md-cli forces` evaluates the forces of the initial state without motion",
    )
}
