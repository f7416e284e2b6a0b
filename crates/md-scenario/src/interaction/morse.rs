//! Kind `morse`.

use md_core::potential::{self, Morse, PotentialError, SpeciesPair};
use md_engine::Forces;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::pairs::{check_names, expect_no_wells, indices};
use super::{Interaction, Keys};
use crate::Scenario;
use crate::finding::{Checked, Finding, not_negative, positive, within};
use crate::species::Species;
use crate::wording::float;

/// Keys of kind `morse`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct MorseKeys {
    /// Well depth D of all pairs of species.
    pub depth: f64,
    /// Inverse width a of the well.
    pub alpha: f64,
    /// Distance r0 of the minimum.
    pub r0: f64,
    /// Other parameters for single pairs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pair: Vec<MorsePair>,
}

/// `[[interaction.pair]]` of kind `morse`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MorsePair {
    /// Names of the two species.
    pub species: [String; 2],
    /// Well depth of this pair.
    pub depth: f64,
    /// Inverse width of this pair's well.
    pub alpha: f64,
    /// Distance of this pair's minimum.
    pub r0: f64,
}

impl Keys for MorseKeys {
    fn check(&self, Scenario { species, .. }: &Scenario) -> Checked {
        expect_no_wells(species, "morse", "`depth`, `alpha` and `r0`")?;
        check_morse("interaction", self.depth, self.alpha, self.r0)?;
        check_names(self.pair.iter().map(|pair| &pair.species), species)?;
        self.pair.iter().enumerate().try_for_each(|(index, pair)| {
            check_morse(&format!("interaction.pair[{index}]"), pair.depth, pair.alpha, pair.r0)
        })
    }

    fn forces(&self, interaction: &Interaction, species: &[Species]) -> Result<Forces, PotentialError> {
        let &Self { depth, alpha, r0, .. } = self;
        let all = potential::MorsePair { depth, alpha, r0 };
        let with_each = |a: usize| (0..species.len()).map(move |b| [a, b]);
        let defaults = (0..species.len()).flat_map(with_each);
        let defaults = defaults.map(|species| SpeciesPair { species, parameters: all });
        let own = self.pair.iter().map(|&MorsePair { species: ref names, depth, alpha, r0 }| SpeciesPair {
            species: indices(names, species),
            parameters: potential::MorsePair { depth, alpha, r0 },
        });
        let pairs: Vec<_> = defaults.chain(own).collect();
        Morse::new(species.len(), &pairs, interaction.cutoff, interaction.shift).map(Forces::from)
    }

    fn diameter(&self, _: &[Species]) -> f64 {
        self.pair.iter().map(|pair| pair.r0).fold(self.r0, f64::max)
    }

    fn force_unit(&self, _: &[Species]) -> f64 {
        self.depth * self.alpha
    }
}

fn check_morse(table: &str, depth: f64, alpha: f64, r0: f64) -> Checked {
    let [depth_key, alpha_key, r0_key] = ["depth", "alpha", "r0"].map(|key| format!("{table}.{key}"));
    not_negative(&depth_key, depth, "the depth of the well, for example 1.0")?;
    within(&depth_key, depth, &potential::MorsePair::DEPTHS)?;
    positive(&alpha_key, alpha, "the inverse width of the well, for example 6.0")?;
    positive(&r0_key, r0, "the distance of the minimum, for example 1.0")?;
    let (steepness, most) = (alpha * r0, potential::MorsePair::STEEPEST);
    if steepness <= most {
        return Ok(());
    }
    let message = format!("`{alpha_key}` times `r0` is {}, more than {most:?}", float(steepness));
    Err(Finding::new(alpha_key, message, "a wider well: beyond, its powers are no numbers any more")
        .or_at(r0_key))
}
