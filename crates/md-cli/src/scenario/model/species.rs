//! `[[species]]`: masses and wells, one entry per type number.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `[[species]]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Species {
    /// Name, used by `interaction.pair` and in trajectories.
    pub name: String,
    /// Mass in reduced units: that of the particle file where it is left out, else 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mass: Option<f64>,
    /// Well depth.
    #[serde(default = "one")]
    pub epsilon: f64,
    /// Diameter: the potential's zero crossing.
    #[serde(default = "one")]
    pub sigma: f64,
    /// Share of lattice sites; when one species leaves it out, it takes the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fraction: Option<f64>,
}

fn one() -> f64 {
    1.0
}

pub(super) fn default_species() -> Vec<Species> {
    vec![Species { name: "A".to_owned(), mass: None, epsilon: 1.0, sigma: 1.0, fraction: None }]
}
