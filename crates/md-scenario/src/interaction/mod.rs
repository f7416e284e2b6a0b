//! `[interaction]`: the forces between particles. Each kind is a file in this folder: its keys, its
//! checks and what md-engine computes with them.

mod lennard_jones;
mod morse;
mod pairs;
mod sutton_chen;

use md_core::Boundary;
use md_core::potential::{PotentialError, Shift};
use md_engine::Forces;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::finding::{Checked, Finding, positive};
use super::schema::lift_kind;
use super::species::Species;
use super::{Scenario, ScenarioError, ScenarioSource};
pub use lennard_jones::{LennardJonesKeys, LennardJonesPair};
pub use morse::{MorseKeys, MorsePair};
pub use sutton_chen::SuttonChenKeys;

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
        let kind = PotentialKind::LennardJones(LennardJonesKeys::default());
        Self { kind, cutoff: 2.5, shift: Shift::default(), tail_correction: false }
    }
}

/// Kinds of interaction, each with its own keys. The first is the default.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum PotentialKind {
    /// 12-6 Lennard-Jones.
    LennardJones(LennardJonesKeys),
    /// Morse: `D [exp(-2 a (r - r0)) - 2 exp(-a (r - r0))]`.
    Morse(MorseKeys),
    /// Many-body potential of Sutton and Chen for metals: repulsion `epsilon (a/r)^n` of pairs, and
    /// `-epsilon c sqrt(density)` of each particle, where the density is the sum of `(a/r)^m` over
    /// its partners.
    SuttonChen(SuttonChenKeys),
}

impl PotentialKind {
    fn keys(&self) -> &dyn Keys {
        match self {
            Self::LennardJones(keys) => keys,
            Self::Morse(keys) => keys,
            Self::SuttonChen(keys) => keys,
        }
    }
}

/// Keys of one kind of interaction.
trait Keys {
    /// Checks the keys, and that the other tables suit them.
    fn check(&self, scenario: &Scenario) -> Checked;

    /// Returns the forces between these species.
    fn forces(&self, interaction: &Interaction, species: &[Species]) -> Result<Forces, PotentialError>;

    /// Returns the distance below which a random displacement must not bring two particles.
    fn diameter(&self, species: &[Species]) -> f64;

    /// Returns the order of magnitude of a force between two particles.
    fn force_unit(&self, species: &[Species]) -> f64;
}

/// ```
/// use md_scenario::{Interaction, Species};
///
/// let species = |name: &str, epsilon, sigma| {
///     Species { name: name.to_owned(), mass: None, epsilon, sigma, fraction: None }
/// };
/// // Argon and krypton: the larger diameter keeps random displacements apart.
/// let mixture = [species("Ar", 1.0, 1.0), species("Kr", 1.4, 1.07)];
/// assert_eq!(Interaction::default().diameter(&mixture), 1.07);
/// assert_eq!(Interaction::default().force_unit(&mixture), 1.4 / 1.07);
/// ```
impl Interaction {
    /// Returns the forces between these species.
    ///
    /// # Errors
    /// Returns an error for parameters that md-core refuses, such as a Morse well that is too
    /// narrow for its distance.
    pub fn forces(&self, source: &ScenarioSource, species: &[Species]) -> Result<Forces, ScenarioError> {
        self.kind.keys().forces(self, species).map_err(|error| {
            ScenarioError::at(source, "interaction", error.to_string(), "other parameters of pairs")
        })
    }

    /// Returns the distance below which a random displacement must not bring two particles.
    pub fn diameter(&self, species: &[Species]) -> f64 {
        self.kind.keys().diameter(species)
    }

    /// Returns the order of magnitude of a force between two particles.
    pub fn force_unit(&self, species: &[Species]) -> f64 {
        self.kind.keys().force_unit(species)
    }
}

pub(super) fn check(scenario: &Scenario) -> Checked {
    let Scenario { interaction, system, .. } = scenario;
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
    interaction.kind.keys().check(scenario)
}
