//! Masses and the pair potential.

use md_core::force::{Precision, mixed_precision_problem};
use md_core::{CellGrid, PairPotential, Potential};

use crate::input::InputParticles;
use crate::scenario::{Scenario, ScenarioError, ScenarioSource};

/// Masses of the scenario, or of the file where it has some; 1 where neither gives one. A mass given in both places must
/// agree.
pub(super) fn masses(
    source: &ScenarioSource,
    scenario: &Scenario,
    file: Option<&InputParticles>,
) -> Result<Vec<f64>, ScenarioError> {
    const DEFAULT_MASS: f64 = 1.0;
    let of_species: Vec<Option<f64>> = scenario.species.iter().map(|species| species.mass).collect();
    let Some(file) = file else {
        return Ok(of_species.into_iter().map(|mass| mass.unwrap_or(DEFAULT_MASS)).collect());
    };
    let types = file.types.iter().map(|&kind| kind as usize).max().unwrap_or(0).max(file.masses.len());
    if types > of_species.len() {
        let message = format!("the file has {types} atom types, the scenario {} species", of_species.len());
        return Err(ScenarioError::at(
            source,
            "species",
            message,
            "give one [[species]] per atom type, in order",
        ));
    }
    let choose = |(index, &own): (usize, &Option<f64>)| match (own, file.masses.get(index)) {
        (Some(mass), Some(&in_file)) if mass != in_file => {
            let message = format!("mass {mass} of species {} contradicts {in_file} in the file", index + 1);
            Err(ScenarioError::at(
                source,
                &format!("species[{index}].mass"),
                message,
                "remove one of the two",
            ))
        }
        (_, Some(&in_file)) => Ok(in_file),
        (own, None) => Ok(own.unwrap_or(DEFAULT_MASS)),
    };
    of_species.iter().enumerate().map(choose).collect()
}

pub(super) fn potential(source: &ScenarioSource, scenario: &Scenario) -> Result<Potential, ScenarioError> {
    let potential = scenario.interaction.potential(source, &scenario.species)?;
    if scenario.neighbor.precision == Precision::Mixed && !potential.fits_single_precision() {
        let message =
            "`neighbor.precision = \"mixed\"` cannot hold the pair forces of this epsilon and sigma";
        let help = "units in which epsilon and sigma are not far from 1, or precision `double`";
        return Err(ScenarioError::at(source, "neighbor.precision", message, help));
    }
    Ok(potential)
}

/// Refuses mixed precision where it would lose digits.
pub(super) fn check_precision(
    source: &ScenarioSource,
    scenario: &Scenario,
    grid: &CellGrid,
) -> Result<(), ScenarioError> {
    let reach = scenario.interaction.cutoff + scenario.neighbor.skin;
    match mixed_precision_problem(grid, reach) {
        Some(problem) if scenario.neighbor.precision == Precision::Mixed => Err(ScenarioError::at(
            source,
            "neighbor.precision",
            format!("`neighbor.precision = \"mixed\"` would lose digits: {problem}"),
            "precision `double`, or a smaller box",
        )),
        _ => Ok(()),
    }
}
