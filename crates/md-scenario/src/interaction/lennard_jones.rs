//! Kind `lennard-jones`.

use md_core::potential::{LennardJones, Mixing, PotentialError, SpeciesPair, Well};
use md_engine::Forces;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::pairs::{check_names, indices};
use super::{Interaction, Keys};
use crate::Scenario;
use crate::finding::{Checked, not_negative, positive, within};
use crate::species::Species;

/// Keys of kind `lennard-jones`; well depths and diameters are those of the species.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct LennardJonesKeys {
    /// Rule for the parameters of pairs of unlike species.
    #[serde(default)]
    pub mixing: Mixing,
    /// Parameters of single pairs, instead of those of the mixing rule.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pair: Vec<LennardJonesPair>,
}

/// `[[interaction.pair]]` of kind `lennard-jones`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LennardJonesPair {
    /// Names of the two species.
    pub species: [String; 2],
    /// Well depth of this pair.
    pub epsilon: f64,
    /// Diameter of this pair.
    pub sigma: f64,
}

impl Keys for LennardJonesKeys {
    fn check(&self, Scenario { species, .. }: &Scenario) -> Checked {
        species.iter().enumerate().try_for_each(|(index, own)| {
            check_well(&format!("species[{index}]"), own.epsilon, own.sigma, "the default is 1.0")
        })?;
        check_names(self.pair.iter().map(|pair| &pair.species), species)?;
        let help = "parameters of this pair, in place of the mixed ones";
        self.pair.iter().enumerate().try_for_each(|(index, pair)| {
            check_well(&format!("interaction.pair[{index}]"), pair.epsilon, pair.sigma, help)
        })
    }

    fn forces(&self, interaction: &Interaction, species: &[Species]) -> Result<Forces, PotentialError> {
        let wells: Vec<Well> =
            species.iter().map(|own| Well { epsilon: own.epsilon, sigma: own.sigma }).collect();
        let overrides = self.pair.iter().map(|pair| SpeciesPair {
            species: indices(&pair.species, species),
            parameters: Well { epsilon: pair.epsilon, sigma: pair.sigma },
        });
        let overrides: Vec<_> = overrides.collect();
        LennardJones::new(&wells, self.mixing, &overrides, interaction.cutoff, interaction.shift)
            .map(Forces::from)
    }

    fn diameter(&self, species: &[Species]) -> f64 {
        species.iter().map(|own| own.sigma).fold(0.0, f64::max)
    }

    fn force_unit(&self, species: &[Species]) -> f64 {
        species.iter().map(|own| own.epsilon / own.sigma).fold(0.0, f64::max)
    }
}

fn check_well(table: &str, epsilon: f64, sigma: f64, help: &str) -> Checked {
    let [epsilon_key, sigma_key] = ["epsilon", "sigma"].map(|key| format!("{table}.{key}"));
    not_negative(&epsilon_key, epsilon, help)?;
    within(&epsilon_key, epsilon, &Well::EPSILONS)?;
    positive(&sigma_key, sigma, help)?;
    within(&sigma_key, sigma, &Well::SIGMAS)
}
