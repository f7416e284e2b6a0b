//! Kind `sutton-chen`.

use std::ops::RangeInclusive;

use md_core::force::Precision;
use md_core::potential::{PotentialError, Well};
use md_engine::{Forces, Protocol, SuttonChen};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::pairs::expect_no_wells;
use super::{Interaction, Keys};
use crate::Scenario;
use crate::finding::{Checked, Finding, within};
use crate::species::Species;

/// Keys of kind `sutton-chen`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct SuttonChenKeys {
    /// Energy scale.
    #[schemars(extend("exclusiveMinimum" = 0, "$comment" = "the energy scale, for example 1.0"))]
    pub epsilon: f64,
    /// Length scale: the lattice constant.
    #[schemars(extend("exclusiveMinimum" = 0, "$comment" = "the lattice constant, for example 1.0"))]
    pub a: f64,
    /// Strength of the embedding energy.
    #[schemars(extend("exclusiveMinimum" = 0, "$comment" = "39.432 for copper"))]
    pub c: f64,
    /// Power of the repulsion.
    #[schemars(range(min = 2, max = 32))]
    pub n: u8,
    /// Power of the density, below `n`.
    #[schemars(range(min = 1, max = 31))]
    pub m: u8,
}

/// Powers of the repulsion that do not overflow at usual distances.
const POWERS: RangeInclusive<u8> = 2..=32;

impl Keys for SuttonChenKeys {
    fn check(&self, scenario: &Scenario) -> Checked {
        let &Self { epsilon, a, c, n, m } = self;
        within("interaction.epsilon", epsilon, &Well::EPSILONS)?;
        within("interaction.a", a, &Well::SIGMAS)?;
        within("interaction.c", c, &Well::EPSILONS)?;
        let Scenario { species, interaction, neighbor, parallel, .. } = scenario;
        if !POWERS.contains(&n) {
            let message = format!("`interaction.n` must be from 2 to 32, found {n}");
            return Err(Finding::new("interaction.n", message, "9 for copper"));
        }
        if !(1..n).contains(&m) {
            let message =
                format!("`interaction.m` is {m}, but must be at least 1 and below `n`, which is {n}");
            return Err(Finding::new("interaction.m", message, "6 and 9 for copper").or_at("interaction.n"));
        }
        expect_no_wells(species, "sutton-chen", "the parameters")?;
        let refuse = |path: &str, message: &str, help: &str| {
            Err(Finding::new(path, message, help).or_at("interaction.kind"))
        };
        if species.len() != 1 {
            return refuse(
                "species",
                "kind `sutton-chen` has parameters of one species only",
                "leave one species",
            );
        }
        if interaction.tail_correction {
            let help = "leave `tail_correction` out";
            return refuse("interaction.tail_correction", "kind `sutton-chen` has no tail correction", help);
        }
        if neighbor.precision == Precision::Mixed {
            let help = "use precision `double`";
            return refuse(
                "neighbor.precision",
                "kind `sutton-chen` is computed in double precision only",
                help,
            );
        }
        if parallel.protocol != Protocol::One {
            let help = "use protocol `one`";
            return refuse("parallel.protocol", "kind `sutton-chen` needs ghosts", help);
        }
        Ok(())
    }

    fn forces(&self, interaction: &Interaction, _: &[Species]) -> Result<Forces, PotentialError> {
        let &Self { epsilon, a, c, n, m } = self;
        let &Interaction { cutoff, shift, .. } = interaction;
        Ok(Forces::new(SuttonChen { epsilon, a, c, n: n.into(), m: m.into(), cutoff, shift }))
    }

    /// Returns the distance of nearest neighbours in an fcc crystal.
    fn diameter(&self, _: &[Species]) -> f64 {
        self.a * std::f64::consts::FRAC_1_SQRT_2
    }

    fn force_unit(&self, species: &[Species]) -> f64 {
        self.epsilon * self.c / self.diameter(species)
    }
}
