//! Lennard-Jones parameters of a particle file that replace those of the scenario.

use std::collections::BTreeMap;

use md_scenario::{LennardJonesPair, PotentialKind, Scenario, ScenarioSource, Species, fault};

use super::error::{InputError, Position, Problem};
use super::{InputParticles, PairCoefficients, TypePair};

/// Replaces the parameters of a scenario that has no species by those of the file, and adds a note.
/// For other scenarios, the file's parameters are left out, with a note.
///
/// # Errors
/// Returns an error if a type has no parameters, if cutoffs differ, or if a value is not valid in a
/// scenario.
pub fn adopt(
    name: &str,
    particles: &mut InputParticles,
    source: &ScenarioSource,
    scenario: &mut Scenario,
) -> Result<(), InputError> {
    let InputParticles { coefficients, other_pair_style, notes, .. } = particles;
    if coefficients.is_empty() && other_pair_style.is_none() {
        return Ok(());
    }
    let has_cutoffs = coefficients.values().any(|own| own.cutoff.is_some());
    if let Some(reason) = own_parameters(source, scenario) {
        let what = if has_cutoffs { " and cutoffs" } else { "" };
        notes.push(format!("the pair coefficients{what} of the file are left out: {reason}"));
        return Ok(());
    }
    let used = match other_pair_style {
        Some(style) => {
            Err(format!("their style is `{style}`, not `lj/cut`: give [[species]] in the scenario"))
        }
        None => replace(coefficients, source, scenario),
    };
    let used = used.and_then(|()| fault(scenario).map_or(Ok(()), Err));
    used.map_err(|reason| Position { file: name, line: None }.error(Problem::Coefficients { reason }))?;
    let what = match (has_cutoffs, source.gives("interaction.cutoff")) {
        (false, _) => "epsilon and sigma are those of the file",
        (true, true) => {
            "epsilon and sigma are those of the file; its cutoffs are left out: the scenario has `interaction.cutoff`"
        }
        (true, false) => "epsilon, sigma and the cutoff are those of the file",
    };
    notes.push(what.to_owned());
    Ok(())
}

/// Returns the reason why the scenario needs no parameters of the file.
fn own_parameters(source: &ScenarioSource, scenario: &Scenario) -> Option<&'static str> {
    match &scenario.interaction.kind {
        PotentialKind::LennardJones(_) if source.gives("species") => Some("the scenario has [[species]]"),
        PotentialKind::LennardJones(keys) if !keys.pair.is_empty() => {
            Some("the scenario has [[interaction.pair]]")
        }
        PotentialKind::LennardJones(_) => None,
        PotentialKind::Morse(_) => Some("the interaction is `morse`"),
        PotentialKind::SuttonChen(_) => Some("the interaction is `sutton-chen`"),
    }
}

fn replace(
    coefficients: &BTreeMap<TypePair, PairCoefficients>,
    source: &ScenarioSource,
    scenario: &mut Scenario,
) -> Result<(), String> {
    let types = coefficients.keys().map(|&[_, larger]| larger).max().unwrap_or_default();
    let species = |kind: u32| {
        let own = coefficients.get(&[kind; 2]).ok_or_else(|| format!("type {kind} has none"))?;
        let (epsilon, sigma) = (own.epsilon, own.sigma);
        Ok(Species { name: type_name(kind), mass: None, epsilon, sigma, fraction: None })
    };
    scenario.species = (1..=types).map(species).collect::<Result<_, String>>()?;
    if let PotentialKind::LennardJones(keys) = &mut scenario.interaction.kind {
        let unlike = coefficients.iter().filter(|([a, b], _)| a != b);
        let made = unlike.map(|(types, &PairCoefficients { epsilon, sigma, .. })| LennardJonesPair {
            species: types.map(type_name),
            epsilon,
            sigma,
        });
        keys.pair.extend(made);
    }
    let mut cutoffs = coefficients.values().filter_map(|own| own.cutoff);
    let Some(cutoff) = cutoffs.next().filter(|_| !source.gives("interaction.cutoff")) else { return Ok(()) };
    match cutoffs.find(|other| *other != cutoff) {
        Some(other) => Err(format!(
            "the cutoffs {cutoff} and {other} differ, but all pairs have the same one: give `interaction.cutoff`"
        )),
        None => {
            scenario.interaction.cutoff = cutoff;
            Ok(())
        }
    }
}

/// Returns the name of a type: A, B, C, ..., or `type27` and so on from the 27th.
fn type_name(kind: u32) -> String {
    match u8::try_from(kind) {
        Ok(kind @ 1..=26) => char::from(b'A' + kind - 1).to_string(),
        _ => format!("type{kind}"),
    }
}
