//! Search for pairs.

use md_core::force::{MethodKind, Precision};
use md_core::rebuild::RebuildPolicy;

/// Search for pairs within the cutoff, and its frequency.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NeighborConfig {
    /// Method of finding pairs.
    pub method: MethodKind,
    /// Distance beyond the cutoff that lists cover, \[length\].
    pub skin: f64,
    /// Rule that decides when lists are rebuilt.
    pub rebuild: RebuildPolicy,
    /// Precision of the pair arithmetic.
    pub precision: Precision,
    /// Estimated change of the energy by missed pairs to which the user has agreed, \[energy /
    /// particle / time\]. With it, late rebuilds are not counted as dangerous.
    pub tolerated_drift: Option<f64>,
}

impl Default for NeighborConfig {
    fn default() -> Self {
        Self {
            method: MethodKind::Clusters,
            skin: 0.3,
            rebuild: RebuildPolicy::Displacement,
            precision: Precision::Double,
            tolerated_drift: None,
        }
    }
}
