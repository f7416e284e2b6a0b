//! `[neighbor]`: how pairs within the cutoff are found, and how often anew.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `[neighbor]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Neighbor {
    /// How pairs within the cutoff are found.
    pub method: Method,
    /// Extra distance, so that the neighbourhood holds for several steps, in units of sigma.
    pub skin: f64,
    /// When the neighbourhood is made anew.
    pub rebuild: Rebuild,
    /// Precision of the pair arithmetic.
    pub precision: Precision,
}

impl Default for Neighbor {
    fn default() -> Self {
        Self {
            method: Method::default(),
            skin: 0.3,
            rebuild: Rebuild { every: None, displacement: Some(true) },
            precision: Precision::default(),
        }
    }
}

/// Methods of finding pairs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Verlet cluster lists: the fastest.
    #[default]
    Clusters,
    /// Linked cells, every particle against the neighbouring cells.
    Cells,
    /// Every particle against every other: the reference.
    DirectSum,
}

/// `neighbor.rebuild`: `{ every = N }` or `{ displacement = true }`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rebuild {
    /// Rebuild every N steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<u64>,
    /// Rebuild when a particle has moved by more than half the skin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub displacement: Option<bool>,
}

/// Precision of the pair arithmetic.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Precision {
    /// 64-bit throughout.
    #[default]
    Double,
    /// 32-bit pairs, 64-bit sums.
    Mixed,
}
