//! Treatment of the step at the cutoff.

use super::PairTerm;

/// Shift that makes energy, or energy and force, vanish at the cutoff.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "kebab-case")
)]
pub enum Shift {
    /// Plain truncation.
    #[default]
    None,
    /// Energy is zero at the cutoff.
    Energy,
    /// Energy and force are zero at the cutoff.
    Force,
}

impl Shift {
    /// Returns the constants e and f of U(r) - e + f r, given the pair term at the cutoff.
    pub fn constants(self, at_cutoff: PairTerm, cutoff: f64) -> [f64; 2] {
        let force = at_cutoff.force_over_r * cutoff;
        match self {
            Self::None => [0.0, 0.0],
            Self::Energy => [at_cutoff.energy, 0.0],
            Self::Force => [at_cutoff.energy + force * cutoff, force],
        }
    }
}
