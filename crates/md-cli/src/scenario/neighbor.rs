//! `[neighbor]`: how pairs within the cutoff are found, and how often anew.

use md_core::force::{MethodKind, Precision};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::finding::{Checked, Finding, at_least_one, not_negative};

/// `[neighbor]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Neighbor {
    /// How pairs within the cutoff are found.
    pub method: MethodKind,
    /// Extra distance, so that the neighbourhood holds for several steps, in units of sigma.
    pub skin: f64,
    /// When the neighbourhood is made anew.
    pub rebuild: Rebuild,
    /// Precision of the pair arithmetic.
    pub precision: Precision,
    /// Instruction set of the kernels, which decides how many particles a cluster has. Comes before the environment variable `MD_SIMD`.
    pub shape: Shape,
}

/// `neighbor.shape`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Shape {
    /// The best for the method, by what the CPU has.
    #[default]
    #[serde(rename = "cpu")]
    Cpu,
    /// Of those with vectors of 256 bits and more, the one that takes the slowest rank the least time for three force computations at the
    /// start; as `cpu` where the CPU has one at most. summary.json says which: with its name instead, runs on one kind of CPU have the same bits.
    #[serde(rename = "auto")]
    Auto,
    /// What every `x86_64` has: one pair at a time.
    #[serde(rename = "sse2")]
    Sse2,
    /// Two lanes.
    #[serde(rename = "sse4.2")]
    Sse4,
    /// Two lanes, 64-bit ARM.
    #[serde(rename = "neon")]
    Neon,
    /// Four lanes.
    #[serde(rename = "avx2+fma")]
    Avx2,
    /// Four lanes with the registers and masks of AVX-512.
    #[serde(rename = "avx512vl")]
    Avx512Vl,
    /// Eight lanes.
    #[serde(rename = "avx512")]
    Avx512,
}

impl Default for Neighbor {
    fn default() -> Self {
        Self {
            method: MethodKind::default(),
            skin: 0.3,
            rebuild: Rebuild { every: None, displacement: Some(true) },
            precision: Precision::default(),
            shape: Shape::default(),
        }
    }
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

pub(super) fn check(neighbor: &Neighbor) -> Checked {
    if neighbor.precision == Precision::Mixed && neighbor.method != MethodKind::Clusters {
        let message = "only `neighbor.method = \"clusters\"` computes in mixed precision";
        let help = "use method `clusters`, or precision `double`";
        return Err(Finding::new("neighbor.precision", message, help));
    }
    not_negative("neighbor.skin", neighbor.skin, "0.3 is usual, in units of sigma")?;
    check_rebuild(neighbor.rebuild, neighbor.skin)
}

fn check_rebuild(rebuild: Rebuild, skin: f64) -> Checked {
    const PATH: &str = "neighbor.rebuild";
    const HELP: &str = "write `rebuild = { every = 20 }` or `rebuild = { displacement = true }`";
    match (rebuild.every, rebuild.displacement) {
        (Some(every), None) if every > 1 && skin == 0.0 => {
            let message = format!(
                "`neighbor.skin` is 0, so the neighbourhood holds for one step, but `neighbor.rebuild.every` is {every}"
            );
            let help = "give a skin, for example 0.3, or use `rebuild = { every = 1 }`";
            Err(Finding::new("neighbor.skin", message, help).or_at("neighbor.rebuild.every"))
        }
        (Some(every), None) => at_least_one("neighbor.rebuild.every", every, HELP),
        (None, Some(true)) if skin == 0.0 => {
            let message = "`neighbor.skin` is 0, so the slightest motion would ask for a rebuild";
            let help = "give a skin, for example 0.3, or use `rebuild = { every = 1 }`";
            Err(Finding::new("neighbor.skin", message, help).or_at("neighbor.rebuild.displacement"))
        }
        (None, Some(true)) => Ok(()),
        (Some(_), Some(_)) => {
            let finding = Finding::new(PATH, "both `every` and `displacement` are given", HELP);
            Err(finding.or_at("neighbor.rebuild.every").or_at("neighbor.rebuild.displacement"))
        }
        (None, Some(false)) => {
            let message = "`displacement = false` does not say when to rebuild";
            Err(Finding::new("neighbor.rebuild.displacement", message, HELP))
        }
        (None, None) => {
            Err(Finding::new(PATH, "`neighbor.rebuild` has neither `every` nor `displacement`", HELP))
        }
    }
}
