//! `[[species]]`: masses and wells, one entry per type number.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::defaults::one;
use super::finding::{Checked, Finding};
use super::system::System;
use super::wording::float;

/// `[[species]]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Species {
    /// Name, used by `interaction.pair` and in trajectories.
    pub name: String,
    /// Mass in reduced units; the default is the mass in the particle file, else 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0, "$comment" = "the default is 1.0"))]
    pub mass: Option<f64>,
    /// Well depth.
    #[serde(default = "one")]
    pub epsilon: f64,
    /// Diameter, the zero crossing of the potential.
    #[serde(default = "one")]
    pub sigma: f64,
    /// Share of the lattice sites; one species may leave it out and receives the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1), extend("$comment" = "the share of lattice sites, for example 0.9"))]
    pub fraction: Option<f64>,
}

pub(super) fn default_species() -> Vec<Species> {
    vec![Species { name: "A".to_owned(), mass: None, epsilon: 1.0, sigma: 1.0, fraction: None }]
}

/// Largest number of species. Memory and time grow with the number of their pairs.
pub const MOST: usize = 1000;

/// Tolerance of the sum of the fractions, for the rounding of decimal numbers.
const FRACTION_TOLERANCE: f64 = 1e-9;

pub(super) fn check(species: &[Species], system: &System) -> Checked {
    if species.is_empty() {
        return Err(Finding::new("species", "there are no species", "give at least one [[species]]"));
    }
    if species.len() > MOST {
        let message = format!("there are {} species, more than {MOST}", species.len());
        return Err(Finding::new("species", message, "every pair of species has its own parameters"));
    }
    (0..species.len()).try_for_each(|index| check_name(index, species))?;
    check_fractions(species, system)
}

fn check_name(index: usize, species: &[Species]) -> Checked {
    let path = format!("species[{index}].name");
    let name = species[index].name.as_str();
    if name.is_empty() || name.contains(|letter: char| letter.is_whitespace() || letter.is_control()) {
        let message = format!("{name:?} cannot be the name of a species");
        return Err(Finding::new(path, message, "a name is one word: it is a column in files"));
    }
    if let Some(first) = species[..index].iter().position(|other| other.name == name) {
        let message = format!("two species have the name `{name}`: species[{first}] and species[{index}]");
        return Err(Finding::new(path, message, "give every species its own name"));
    }
    Ok(())
}

fn check_fractions(species: &[Species], system: &System) -> Checked {
    let given = || species.iter().enumerate().filter_map(|(index, own)| Some((index, own.fraction?)));
    if let Some((index, _)) = given().next().filter(|_| !system.draws_species()) {
        let path = format!("species[{index}].fraction");
        let source = if system.file.is_some() { "file" } else { "regions" };
        let message =
            format!("`{path}` has no meaning: the {source} of [system] says which particle is what");
        return Err(Finding::new(path, message, "leave it out, or use a lattice").at_key());
    }
    let left_out = species.len() - given().count();
    if !system.draws_species() || (species.len() == 1 && left_out == 1) {
        return Ok(());
    }
    if left_out > 1 {
        let first = species.iter().position(|own| own.fraction.is_none()).unwrap_or_default();
        let message = format!("{left_out} of {} species have no `fraction`", species.len());
        let help =
            "give every species its share of the lattice sites; one may leave it out and takes the rest";
        return Err(Finding::new(format!("species[{first}]"), message, help));
    }
    check_sum(&given().collect::<Vec<_>>(), left_out)
}

fn check_sum(given: &[(usize, f64)], left_out: usize) -> Checked {
    let sum: f64 = given.iter().map(|(_, fraction)| fraction).sum();
    let complete = match left_out {
        0 => (sum - 1.0).abs() <= FRACTION_TOLERANCE,
        _ => sum <= 1.0 + FRACTION_TOLERANCE,
    };
    if complete {
        return Ok(());
    }
    let message = format!("the fractions of the species add up to {}, not to 1", float(sum));
    let help = "one species may leave its fraction out and takes the rest";
    let mut paths = given.iter().rev().map(|(index, _)| format!("species[{index}].fraction"));
    let last = paths.next().unwrap_or_default();
    Err(paths.fold(Finding::new(last, message, help), Finding::or_at))
}
