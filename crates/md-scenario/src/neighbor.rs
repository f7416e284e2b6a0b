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
    /// Extra distance, so that a neighbour list remains valid for several steps, or "auto": the
    /// distance with which steps are fastest, by a model of the thermal motion at the highest
    /// temperature of the start and of all stages. summary.json contains the choice; a run that
    /// gives it as a number has the same bits.
    #[schemars(extend("$comment" = SKINS))]
    pub skin: Skin,
    /// When the neighbour list is rebuilt.
    pub rebuild: Rebuild,
    /// Precision of the pair arithmetic.
    pub precision: Precision,
    /// Instruction set of the kernels, which decides how many particles a cluster has. Takes
    /// precedence over the environment variable `MD_SIMD`.
    pub shape: Shape,
}

/// Help for the skin.
const SKINS: &str = "\"auto\", or a distance: 0.3 is usual, in units of sigma";

/// `neighbor.skin`
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "WrittenSkin", into = "WrittenSkin")]
pub enum Skin {
    /// Chosen by a model.
    #[default]
    Auto,
    /// Given distance.
    Given(f64),
}

/// Representation of a skin in a scenario.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum WrittenSkin {
    Distance(#[schemars(range(min = 0))] f64),
    Name(SkinName),
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum SkinName {
    Auto,
}

impl From<WrittenSkin> for Skin {
    fn from(written: WrittenSkin) -> Self {
        match written {
            WrittenSkin::Distance(skin) => Self::Given(skin),
            WrittenSkin::Name(SkinName::Auto) => Self::Auto,
        }
    }
}

impl From<Skin> for WrittenSkin {
    fn from(skin: Skin) -> Self {
        match skin {
            Skin::Given(skin) => Self::Distance(skin),
            Skin::Auto => Self::Name(SkinName::Auto),
        }
    }
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
/// use md_scenario::{Neighbor, Skin};
///
/// let neighbor = Neighbor { precision: Precision::Mixed, ..Neighbor::default() };
/// assert_eq!((neighbor.skin, neighbor.method), (Skin::Auto, MethodKind::Clusters));
/// ```
impl Default for Neighbor {
    fn default() -> Self {
        Self {
            method: MethodKind::default(),
            skin: Skin::default(),
            rebuild: Rebuild { every: None, displacement: Some(true), drift: None },
            precision: Precision::default(),
            shape: Shape::default(),
        }
    }
}

/// Help for the ways to say when neighbour lists are rebuilt.
const REBUILDS: &str =
    "write `rebuild = { displacement = true }`, `rebuild = { every = 20 }` or `rebuild = { drift = 1e-4 }`";

/// `neighbor.rebuild`: `{ every = N }`, `{ displacement = true }` or `{ drift = X }`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rebuild {
    /// Rebuild every N steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1), extend("$comment" = REBUILDS))]
    pub every: Option<u64>,
    /// Rebuild when a particle has moved by more than half the skin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub displacement: Option<bool>,
    /// Rebuild so rarely that missed pairs change the energy per particle and time by at most this
    /// much, according to an estimate from the thermal motion. summary.json contains the interval
    /// and the estimate, which is for the mean density of the box. For pair potentials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0, "$comment" = REBUILDS))]
    pub drift: Option<f64>,
}

pub(super) fn check(neighbor: &Neighbor) -> Checked {
    if neighbor.precision == Precision::Mixed && neighbor.method != MethodKind::Clusters {
        let message = "only `neighbor.method = \"clusters\"` computes in mixed precision";
        let help = "use method `clusters`, or precision `double`";
        return Err(Finding::new("neighbor.precision", message, help));
    }
    check_rebuild(neighbor.rebuild, neighbor.skin)
}

fn check_rebuild(rebuild: Rebuild, skin: Skin) -> Checked {
    const PATH: &str = "neighbor.rebuild";
    let without_skin = |message: String, key: &str| {
        let help = "give a skin, for example 0.3 or \"auto\", or use `rebuild = { every = 1 }`";
        Err(Finding::new("neighbor.skin", message, help).or_at(key))
    };
    match (rebuild.every, rebuild.displacement, rebuild.drift) {
        (Some(every), None, None) if every > 1 && skin == Skin::Given(0.0) => {
            let message = format!(
                "`neighbor.skin` is 0, so the neighbourhood holds for one step, but `neighbor.rebuild.every` is {every}"
            );
            without_skin(message, "neighbor.rebuild.every")
        }
        (None, Some(true), None) if skin == Skin::Given(0.0) => {
            let message = "`neighbor.skin` is 0, so the slightest motion would ask for a rebuild".to_owned();
            without_skin(message, "neighbor.rebuild.displacement")
        }
        (None, None, Some(_)) if skin == Skin::Given(0.0) => {
            let message = "`neighbor.skin` is 0, so every step would miss pairs".to_owned();
            without_skin(message, "neighbor.rebuild.drift")
        }
        (Some(_), None, None) | (None, Some(true), None) | (None, None, Some(_)) => Ok(()),
        (None, Some(false), None) => {
            let message = "`displacement = false` does not say when to rebuild";
            Err(Finding::new("neighbor.rebuild.displacement", message, REBUILDS))
        }
        (None, None, None) => {
            let message = "`neighbor.rebuild` has none of `displacement`, `every` and `drift`";
            Err(Finding::new(PATH, message, REBUILDS))
        }
        (every, displacement, drift) => {
            let given = [
                ("every", every.is_some()),
                ("displacement", displacement.is_some()),
                ("drift", drift.is_some()),
            ];
            let names: Vec<&str> = given.into_iter().filter(|it| it.1).map(|it| it.0).collect();
            let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            let all = if names.len() == 2 { "both" } else { "all of" };
            let message = format!("{all} {} are given", quoted.join(" and "));
            let finding = Finding::new(PATH, message, REBUILDS);
            Err(names.iter().fold(finding, |finding, name| finding.or_at(format!("{PATH}.{name}"))))
        }
    }
}
