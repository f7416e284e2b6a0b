//! `[interaction]`: the pair potential, and `[[interaction.pair]]`: exceptions from mixing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `[interaction]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Interaction {
    /// Which potential.
    pub kind: PotentialKind,
    /// Cutoff radius in units of sigma.
    pub cutoff: f64,
    /// What is subtracted so that energy, or energy and force, vanish at the cutoff.
    pub shift: Shift,
    /// How parameters of unlike species are made.
    pub mixing: Mixing,
    /// Adds the mean-field energy and pressure from beyond the cutoff.
    pub tail_correction: bool,
    /// Overrides mixing for single pairs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pair: Vec<PairOverride>,
}

impl Default for Interaction {
    fn default() -> Self {
        Self {
            kind: PotentialKind::default(),
            cutoff: 2.5,
            shift: Shift::default(),
            mixing: Mixing::default(),
            tail_correction: false,
            pair: Vec::new(),
        }
    }
}

/// Kinds of pair potentials.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PotentialKind {
    /// 12-6 Lennard-Jones.
    #[default]
    LennardJones,
}

/// Shift at the cutoff.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Shift {
    /// Plain truncation.
    #[default]
    None,
    /// Energy is zero at the cutoff.
    Energy,
    /// Energy and force are zero at the cutoff.
    Force,
}

/// Mixing rules for unlike species.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mixing {
    /// Arithmetic mean of sigma, geometric mean of epsilon.
    #[default]
    LorentzBerthelot,
    /// Geometric mean of both.
    Geometric,
}

/// `[[interaction.pair]]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PairOverride {
    /// Names of the two species.
    pub species: [String; 2],
    /// Well depth of this pair.
    pub epsilon: f64,
    /// Diameter of this pair.
    pub sigma: f64,
}
