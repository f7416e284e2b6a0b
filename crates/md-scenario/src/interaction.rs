//! `[interaction]`: the pair potential, and `[[interaction.pair]]`: parameters of single pairs of
//! species.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use md_core::potential::{self, LennardJones, Mixing, Morse, Shift, SpeciesPair, Well};
use md_core::{Boundary, PairPotential};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::finding::{Checked, Finding, not_negative, positive, within};
use super::schema::lift_kind;
use super::species::Species;
use super::system::System;
use super::wording::{float, listed, nearest};
use super::{ScenarioError, ScenarioSource};

/// `[interaction]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(transform = lift_kind)]
pub struct Interaction {
    /// Kind of the potential, and its parameters.
    #[serde(flatten)]
    pub kind: PotentialKind,
    /// Cutoff radius in units of sigma.
    pub cutoff: f64,
    /// What is subtracted so that the energy, or the energy and the force, vanish at the cutoff.
    pub shift: Shift,
    /// Adds the mean-field energy and pressure of the pairs beyond the cutoff.
    pub tail_correction: bool,
}

impl Default for Interaction {
    fn default() -> Self {
        let kind = PotentialKind::LennardJones { mixing: Mixing::default(), pair: Vec::new() };
        Self { kind, cutoff: 2.5, shift: Shift::default(), tail_correction: false }
    }
}

/// Pair potentials, each with its own keys. The first is the default.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum PotentialKind {
    /// 12-6 Lennard-Jones.
    LennardJones {
        /// Rule for the parameters of pairs of unlike species.
        #[serde(default)]
        mixing: Mixing,
        /// Parameters of single pairs, instead of those of the mixing rule.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pair: Vec<LennardJonesPair>,
    },
    /// Morse: `D [exp(-2 a (r - r0)) - 2 exp(-a (r - r0))]`.
    Morse {
        /// Well depth D of all pairs of species.
        depth: f64,
        /// Inverse width a of the well.
        alpha: f64,
        /// Distance r0 of the minimum.
        r0: f64,
        /// Other parameters for single pairs.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pair: Vec<MorsePair>,
    },
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

impl Interaction {
    /// Returns the potential between these species.
    ///
    /// # Errors
    /// Returns an error for parameters that md-core refuses, such as a Morse well that is too
    /// narrow for its distance.
    pub fn potential(
        &self,
        source: &ScenarioSource,
        species: &[Species],
    ) -> Result<Arc<dyn PairPotential>, ScenarioError> {
        let numbers: BTreeMap<&str, usize> =
            species.iter().enumerate().map(|(number, own)| (own.name.as_str(), number)).collect();
        let index = |name: &String| numbers.get(name.as_str()).copied().unwrap_or(usize::MAX);
        let indices = |[a, b]: &[String; 2]| [index(a), index(b)];
        let made: Result<Arc<dyn PairPotential>, _> = match &self.kind {
            PotentialKind::LennardJones { mixing, pair } => {
                let wells: Vec<Well> =
                    species.iter().map(|own| Well { epsilon: own.epsilon, sigma: own.sigma }).collect();
                let overrides = pair.iter().map(|&LennardJonesPair { ref species, epsilon, sigma }| {
                    SpeciesPair { species: indices(species), parameters: Well { epsilon, sigma } }
                });
                LennardJones::new(&wells, *mixing, &overrides.collect::<Vec<_>>(), self.cutoff, self.shift)
                    .map(|potential| Arc::new(potential) as _)
            }
            &PotentialKind::Morse { depth, alpha, r0, ref pair } => {
                let all = potential::MorsePair { depth, alpha, r0 };
                let with_each = |a: usize| (0..species.len()).map(move |b| [a, b]);
                let defaults = (0..species.len()).flat_map(with_each);
                let defaults = defaults.map(|species| SpeciesPair { species, parameters: all });
                let own = pair.iter().map(|&MorsePair { ref species, depth, alpha, r0 }| {
                    let parameters = potential::MorsePair { depth, alpha, r0 };
                    SpeciesPair { species: indices(species), parameters }
                });
                let pairs: Vec<_> = defaults.chain(own).collect();
                Morse::new(species.len(), &pairs, self.cutoff, self.shift)
                    .map(|potential| Arc::new(potential) as _)
            }
        };
        made.map_err(|error| {
            ScenarioError::at(source, "interaction", error.to_string(), "other parameters of pairs")
        })
    }

    /// Returns the distance below which a random displacement must not bring two particles.
    pub fn diameter(&self, species: &[Species]) -> f64 {
        match &self.kind {
            PotentialKind::LennardJones { .. } => species.iter().map(|own| own.sigma).fold(0.0, f64::max),
            PotentialKind::Morse { r0, pair, .. } => pair.iter().map(|pair| pair.r0).fold(*r0, f64::max),
        }
    }

    /// Returns the order of magnitude of a pair force.
    pub fn force_unit(&self, species: &[Species]) -> f64 {
        match &self.kind {
            PotentialKind::LennardJones { .. } => {
                species.iter().map(|own| own.epsilon / own.sigma).fold(0.0, f64::max)
            }
            PotentialKind::Morse { depth, alpha, .. } => depth * alpha,
        }
    }
}

pub(super) fn check(interaction: &Interaction, species: &[Species], system: &System) -> Checked {
    positive("interaction.cutoff", interaction.cutoff, "2.5 is usual, in units of sigma")?;
    if interaction.tail_correction && interaction.shift != Shift::None {
        let message = "`tail_correction` adds what a plain cutoff leaves out, but the potential is shifted";
        let help = "use `shift = \"none\"`, or leave `tail_correction` out";
        let finding = Finding::new("interaction.tail_correction", message, help);
        return Err(finding.or_at("interaction.shift"));
    }
    if interaction.tail_correction && system.boundary.contains(&Boundary::Reflecting) {
        let message = "`tail_correction` is that of a system without faces, but `system.boundary` has walls";
        let help = "leave `tail_correction` out, or make all faces \"periodic\"";
        return Err(Finding::new("interaction.tail_correction", message, help).or_at("system.boundary"));
    }
    match &interaction.kind {
        PotentialKind::LennardJones { pair, .. } => {
            species.iter().enumerate().try_for_each(|(index, own)| {
                check_well(&format!("species[{index}]"), own.epsilon, own.sigma, "the default is 1.0")
            })?;
            check_names(pair.iter().map(|pair| &pair.species), species)?;
            let help = "parameters of this pair, in place of the mixed ones";
            pair.iter().enumerate().try_for_each(|(index, pair)| {
                check_well(&format!("interaction.pair[{index}]"), pair.epsilon, pair.sigma, help)
            })
        }
        PotentialKind::Morse { depth, alpha, r0, pair } => {
            check_no_wells(species, "morse", "`depth`, `alpha` and `r0`")?;
            check_morse("interaction", *depth, *alpha, *r0)?;
            check_names(pair.iter().map(|pair| &pair.species), species)?;
            pair.iter().enumerate().try_for_each(|(index, pair)| {
                check_morse(&format!("interaction.pair[{index}]"), pair.depth, pair.alpha, pair.r0)
            })
        }
    }
}

fn check_well(table: &str, epsilon: f64, sigma: f64, help: &str) -> Checked {
    let [epsilon_key, sigma_key] = ["epsilon", "sigma"].map(|key| format!("{table}.{key}"));
    not_negative(&epsilon_key, epsilon, help)?;
    within(&epsilon_key, epsilon, &Well::EPSILONS)?;
    positive(&sigma_key, sigma, help)?;
    within(&sigma_key, sigma, &Well::SIGMAS)
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

/// Refuses `epsilon` and `sigma` of species, which potentials other than Lennard-Jones would
/// ignore.
fn check_no_wells(species: &[Species], kind: &str, parameters: &str) -> Checked {
    for (index, own) in species.iter().enumerate() {
        for (key, value) in [("epsilon", own.epsilon), ("sigma", own.sigma)] {
            if value != 1.0 {
                let path = format!("species[{index}].{key}");
                let message =
                    format!("`{path}` belongs to kind `lennard-jones`, but the interaction is `{kind}`");
                let help = format!("leave it out; {parameters} of [interaction] are for all species");
                return Err(Finding::new(path, message, help).at_key().or_at("interaction.kind"));
            }
        }
    }
    Ok(())
}

/// Checks that pairs consist of existing species and that no pair is given twice.
fn check_names<'p>(pairs: impl Iterator<Item = &'p [String; 2]>, species: &[Species]) -> Checked {
    let names = || species.iter().map(|own| own.name.as_str());
    let known: BTreeSet<&str> = names().collect();
    let mut before = BTreeMap::new();
    for (index, pair @ [left, right]) in pairs.enumerate() {
        let unknown = pair.iter().enumerate().find(|(_, name)| !known.contains(name.as_str()));
        if let Some((side, name)) = unknown {
            let help = match nearest(name, names()) {
                Some(near) => format!("did you mean `{near}`? The species are {}", listed(names())),
                None => format!("the species are {}", listed(names())),
            };
            let path = format!("interaction.pair[{index}].species[{side}]");
            return Err(Finding::new(path, format!("there is no species `{name}`"), help));
        }
        if let Some(first) = before.insert([left.min(right), left.max(right)], index) {
            let message = format!(
                "the pair `{left}`, `{right}` is given twice: interaction.pair[{first}] and [{index}]"
            );
            let help = "keep one; the order of the two names does not matter";
            return Err(Finding::new(format!("interaction.pair[{index}].species"), message, help));
        }
    }
    Ok(())
}
