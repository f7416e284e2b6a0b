//! Mixing of the parameters of unlike pairs.

use super::Well;

/// A combining rule.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "kebab-case")
)]
pub enum Mixing {
    /// sigma: arithmetic mean (Lorentz 1881), epsilon: geometric mean (Berthelot 1898).
    #[default]
    LorentzBerthelot,
    /// Geometric mean of both.
    Geometric,
}

impl Mixing {
    /// Returns the parameters of the unlike pair.
    pub fn mix(self, a: Well, b: Well) -> Well {
        let epsilon = (a.epsilon * b.epsilon).sqrt();
        let sigma = match self {
            Self::LorentzBerthelot => 0.5 * (a.sigma + b.sigma),
            Self::Geometric => (a.sigma * b.sigma).sqrt(),
        };
        Well { epsilon, sigma }
    }
}
