//! `[simulation]`: title, time step, length of the run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::finding::{Checked, Finding, at_least_one, positive};

/// `[simulation]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Simulation {
    /// A line that describes the run in its outputs.
    #[serde(default)]
    pub title: String,
    /// 2 (one layer in z, no motion in z) or 3.
    #[serde(default = "three")]
    #[schemars(range(min = 2, max = 3))]
    pub dimension: u8,
    /// Time step in units of tau = sigma sqrt(m / epsilon).
    #[serde(default = "default_timestep")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub timestep: f64,
    /// Largest change of the total energy per atom since step 0, in units of epsilon. If a row of
    /// the thermo table exceeds it, the run ends with exit code 1. Without this key, a drift of
    /// more than 3 % of the mean kinetic energy gives a warning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub max_drift: Option<f64>,
    /// Number of time steps.
    #[schemars(range(min = 1))]
    pub steps: u64,
    /// Seed of all random numbers.
    #[serde(default)]
    pub seed: u64,
}

fn three() -> u8 {
    3
}

fn default_timestep() -> f64 {
    0.005
}

pub(super) fn check(simulation: &Simulation) -> Checked {
    let dimension = simulation.dimension;
    if !matches!(dimension, 2 | 3) {
        let message = format!("`simulation.dimension` must be 2 or 3, found {dimension}");
        return Err(Finding::new("simulation.dimension", message, "2 is one layer in z without motion in z"));
    }
    positive("simulation.timestep", simulation.timestep, "0.005 is usual for a Lennard-Jones liquid")?;
    if let Some(max_drift) = simulation.max_drift {
        positive("simulation.max_drift", max_drift, "an energy per atom, for example 0.01")?;
    }
    Ok(())
}

/// Checks the length of a run without stages. The length of a run with stages is their sum and need
/// not be given.
pub(super) fn check_steps(simulation: &Simulation) -> Checked {
    at_least_one(
        "simulation.steps",
        simulation.steps,
        "`md-cli forces` evaluates the forces of the initial state without motion",
    )
}
