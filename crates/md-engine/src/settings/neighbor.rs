//! Search for pairs.

use md_core::force::{MethodKind, Precision, Summation};
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
    /// How forces and energies are added up.
    pub summation: Summation,
    /// Missed pairs to which the user has agreed.
    pub tolerated: Option<ToleratedDrift>,
}

/// Missed pairs to which the user has agreed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ToleratedDrift {
    /// Estimated change of the energy, \[energy / particle / time\].
    pub drift: f64,
    /// Largest displacement over half the skin that the estimate allows for. Rebuilds after a
    /// larger one are counted as dangerous.
    pub largest_displacement: f64,
}

impl Default for NeighborConfig {
    fn default() -> Self {
        Self {
            method: MethodKind::Clusters,
            skin: 0.3,
            rebuild: RebuildPolicy::Displacement,
            precision: Precision::Double,
            summation: Summation::Rounded,
            tolerated: None,
        }
    }
}
