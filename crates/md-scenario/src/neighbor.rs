//! `[neighbor]`: search for pairs within the cutoff, and when it is repeated.

use md_core::force::{MethodKind, Precision};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::finding::{Checked, Finding};

/// `[neighbor]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Neighbor {
    /// Method that finds the pairs within the cutoff.
    pub method: MethodKind,
    /// Extra distance in units of sigma, so that a neighbour list remains valid for several steps.
    #[schemars(extend("minimum" = 0, "$comment" = "0.3 is usual, in units of sigma"))]
    pub skin: f64,
    /// When the neighbour list is rebuilt.
    pub rebuild: Rebuild,
    /// Precision of the pair arithmetic.
    pub precision: Precision,
    /// Instruction set of the kernels, which decides how many particles a cluster has. Takes
    /// precedence over the environment variable `MD_SIMD`.
    pub shape: Shape,
}

/// `neighbor.shape`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Shape {
    /// The best instruction set of the CPU for the method.
    #[default]
    #[serde(rename = "cpu")]
    Cpu,
    /// The fastest of the instruction sets with vectors of 256 bits or more, measured at the start
    /// by the time of the slowest rank for three force computations; the same as `cpu` if the CPU
    /// has at most one of them. summary.json contains the choice. If its name is given instead of
    /// `auto`, runs on one kind of CPU have identical bits.
    #[serde(rename = "auto")]
    Auto,
    /// Available on every `x86_64` CPU: one pair at a time.
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

/// ```
/// use md_core::force::{MethodKind, Precision};
/// use md_scenario::Neighbor;
///
/// let neighbor = Neighbor { precision: Precision::Mixed, ..Neighbor::default() };
/// // The skin is that of LAMMPS in reduced units.
/// assert_eq!((neighbor.skin, neighbor.method), (0.3, MethodKind::Clusters));
/// ```
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

/// Help for the two ways to say when neighbour lists are rebuilt.
const REBUILDS: &str = "write `rebuild = { every = 20 }` or `rebuild = { displacement = true }`";

/// `neighbor.rebuild`: `{ every = N }` or `{ displacement = true }`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rebuild {
    /// Rebuild every N steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1), extend("$comment" = REBUILDS))]
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
    check_rebuild(neighbor.rebuild, neighbor.skin)
}

fn check_rebuild(rebuild: Rebuild, skin: f64) -> Checked {
    const PATH: &str = "neighbor.rebuild";
    match (rebuild.every, rebuild.displacement) {
        (Some(every), None) if every > 1 && skin == 0.0 => {
            let message = format!(
                "`neighbor.skin` is 0, so the neighbourhood holds for one step, but `neighbor.rebuild.every` is {every}"
            );
            let help = "give a skin, for example 0.3, or use `rebuild = { every = 1 }`";
            Err(Finding::new("neighbor.skin", message, help).or_at("neighbor.rebuild.every"))
        }
        (None, Some(true)) if skin == 0.0 => {
            let message = "`neighbor.skin` is 0, so the slightest motion would ask for a rebuild";
            let help = "give a skin, for example 0.3, or use `rebuild = { every = 1 }`";
            Err(Finding::new("neighbor.skin", message, help).or_at("neighbor.rebuild.displacement"))
        }
        (Some(_), None) | (None, Some(true)) => Ok(()),
        (Some(_), Some(_)) => {
            let finding = Finding::new(PATH, "both `every` and `displacement` are given", REBUILDS);
            Err(finding.or_at("neighbor.rebuild.every").or_at("neighbor.rebuild.displacement"))
        }
        (None, Some(false)) => {
            let message = "`displacement = false` does not say when to rebuild";
            Err(Finding::new("neighbor.rebuild.displacement", message, REBUILDS))
        }
        (None, None) => {
            Err(Finding::new(PATH, "`neighbor.rebuild` has neither `every` nor `displacement`", REBUILDS))
        }
    }
}
