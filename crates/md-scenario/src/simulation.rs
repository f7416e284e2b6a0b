//! `[simulation]`: title, time step, length of the run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Help for a run without steps.
const NO_STEPS: &str = "`md-cli forces` evaluates the forces without motion; with stages, leave the key out";

/// `[simulation]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Simulation {
    /// A line that describes the run in its outputs.
    #[serde(default)]
    pub title: String,
    /// 2 (one layer in z, no motion in z) or 3.
    #[serde(default = "three")]
    #[schemars(range(min = 2, max = 3), extend("$comment" = "2 is one layer in z without motion in z"))]
    pub dimension: u8,
    /// Time step in units of tau = sigma sqrt(m / epsilon).
    #[serde(default = "default_timestep")]
    #[schemars(extend("exclusiveMinimum" = 0, "$comment" = "0.005 is usual for a Lennard-Jones liquid"))]
    pub timestep: f64,
    /// Largest change of the total energy per atom since step 0, in units of epsilon. If a row of
    /// the thermo table exceeds it, the run ends with exit code 1. Without this key, a drift of
    /// more than 3 % of the mean kinetic energy gives a warning.
    #[schemars(extend("exclusiveMinimum" = 0, "$comment" = "an energy per atom, for example 0.01"))]
    pub max_drift: Option<f64>,
    /// Number of time steps.
    #[schemars(range(min = 1), extend("$comment" = NO_STEPS))]
    pub steps: u64,
    /// Whether a run has the same bits on any number of ranks and threads, with any division, shell
    /// and transport, and on any CPU with AVX2. Positions and the terms of forces and energies are
    /// then rounded to multiples of small quanta, of which sums are exact. False by default.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reproducible: bool,
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
