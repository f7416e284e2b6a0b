//! `[integrator]`: how the equations of motion are integrated.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `[integrator]`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Integrator {
    /// Which integrator.
    pub kind: IntegratorKind,
}

/// Integrators.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IntegratorKind {
    /// Velocity Verlet: constant energy.
    #[default]
    VelocityVerlet,
}
