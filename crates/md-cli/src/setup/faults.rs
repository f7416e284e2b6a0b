//! Faults that show only once box and ranks are known, located at the keys of the scenario.

use std::ops::RangeInclusive;

use md_core::grid::{GridError, axis};
use md_engine::{EngineError, Setup};
use md_files::output::analyses::longest_distance;
use md_files::output::trajectory::format_of;
use md_scenario::{Scenario, ScenarioError, ScenarioSource, integrator_fault};

/// Checks, before the first stage is run, that the integrators of all stages are possible for this
/// system.
pub(super) fn expect_integrators(
    source: &ScenarioSource,
    scenario: &Scenario,
    setup: &Setup,
) -> Result<(), ScenarioError> {
    scenario.stages().iter().enumerate().try_for_each(|(number, stage)| {
        let Err(EngineError::Integrator(fault)) = stage.integrator.kind.build(setup) else { return Ok(()) };
        let has_own = scenario.stage.get(number).is_some_and(|stage| stage.integrator.is_some());
        let own = format!("stage[{number}].integrator");
        let table = if has_own { own } else { "integrator".to_owned() };
        Err(integrator_fault(source, &table, fault))
    })
}

/// Widths of histogram bins for which third powers, also multiplied and divided by numbers of
/// particles and volumes, are finite.
const WIDTHS: RangeInclusive<f64> = 1e-60..=1e60;

/// Checks that no output counts a pair twice and that frames can be written; `within` is the prefix
/// of its key.
pub(super) fn check_outputs(
    source: &ScenarioSource,
    scenario: &Scenario,
    within: &str,
    setup: &Setup,
) -> Result<(), ScenarioError> {
    if let Some(trajectory) = &scenario.output.trajectory
        && let Some((format, _)) = format_of(&trajectory.path)
        && let Some(problem) = format.box_problem(&setup.domain)
    {
        let key = format!("{within}output.trajectory.path");
        return Err(ScenarioError::at(source, &key, problem, "another format, such as `.nc`"));
    }
    let Some(rdf) = scenario.output.analyses.rdf else { return Ok(()) };
    let (max, longest) = (rdf.max.unwrap_or(scenario.interaction.cutoff), longest_distance(&setup.domain));
    let (key, what) = match rdf.max {
        Some(_) => ("output.rdf.max", ""),
        None => ("output.rdf", ", the cutoff,"),
    };
    let (key, what) = (format!("{within}{key}"), format!("`{within}output.rdf.max`{what}"));
    let width = max / rdf.bins as f64;
    if !WIDTHS.contains(&width) {
        let (bins, least, most) = (rdf.bins, WIDTHS.start(), WIDTHS.end());
        let message = format!(
            "{what} is {max:?}: each of its {bins} classes is {width:e} wide, but must be from {least:e} to {most:e}, so that \
             volumes are numbers"
        );
        return Err(ScenarioError::at(source, &key, message, "a distance such as the cutoff"));
    }
    if max <= longest {
        return Ok(());
    }
    let message = format!("{what} is {max:?}, more than half the shortest periodic side of the box");
    Err(ScenarioError::at(source, &key, message, format!("at most {longest:?}")))
}

/// Locates an error of the engine at the key of the scenario that caused it.
pub(super) fn located(
    source: &ScenarioSource,
    scenario: &Scenario,
    error: &EngineError,
) -> Option<ScenarioError> {
    let at = |key: &str, message: String, help: &str| Some(ScenarioError::at(source, key, message, help));
    match error {
        EngineError::MixedPrecision(problem) => at(
            "neighbor.precision",
            format!("`neighbor.precision = \"mixed\"` would lose digits: {problem}"),
            "precision `double`, or a smaller box",
        ),
        EngineError::SinglePrecision => at(
            "neighbor.precision",
            "`neighbor.precision = \"mixed\"` cannot hold the pair forces of this potential".to_owned(),
            "units in which its parameters are not far from 1, or precision `double`",
        ),
        EngineError::NotReproducible(needed) => at(
            "simulation.reproducible",
            format!("`simulation.reproducible = true` needs {needed}"),
            "change that setting, or leave `simulation.reproducible` out",
        ),
        EngineError::BoxTooLarge(message) => {
            at(scenario.system.size_key(), message.clone(), "a smaller box, nearer to the origin")
        }
        EngineError::Mass { species, mass, problem } => {
            let what = format!("is {mass:?}, but {problem}");
            Some(mass_fault(source, scenario, *species, &what))
        }
        EngineError::Temperature { temperature, problem } => at(
            "system.temperature",
            format!("`system.temperature` is {temperature:?}, but {problem}"),
            "another temperature, or velocities from a file",
        ),
        EngineError::Grid(error) => Some(grid_fault(source, scenario, error)),
        // Errors that no key has caused; the enum is non-exhaustive.
        _ => None,
    }
}

/// Returns the fault of the mass of a species; `what` states the mass and its problem.
fn mass_fault(source: &ScenarioSource, scenario: &Scenario, species: usize, what: &str) -> ScenarioError {
    const OTHER_UNITS: &str = "units in which masses are not far from 1";
    if !source.gives("species") {
        let message = format!("the mass of species {} in the particle file {what}", species + 1);
        return ScenarioError::at(source, "system.file", message, OTHER_UNITS);
    }
    let key = format!("species[{species}].mass");
    let is_unused = scenario.species[species].fraction == Some(0.0);
    let help = if is_unused {
        "no particle is of this species (`fraction = 0`): leave it out, or give it a mass not far from 1"
    } else {
        OTHER_UNITS
    };
    ScenarioError::at(source, &key, format!("`{key}` {what}"), help)
}

fn grid_fault(source: &ScenarioSource, scenario: &Scenario, error: &GridError) -> ScenarioError {
    let at = |key: &str, help: &str| ScenarioError::at(source, key, error.to_string(), help);
    match error {
        GridError::BoxTooSmall { dim, .. } => {
            let help = format!("a larger box along {}, a smaller cutoff or a smaller skin", axis(*dim));
            at("interaction.cutoff", &help)
        }
        GridError::WrongGrid { .. } => at("parallel.grid", "a grid whose product is the number of ranks"),
        GridError::TooThin(_) => {
            let chosen = scenario.parallel.grid.is_some();
            let key = if chosen { "parallel.grid" } else { "parallel.partition" };
            at(key, "fewer ranks, another partition or a larger box")
        }
        GridError::NoWeight | GridError::NotBuilt { .. } | GridError::Metis(_) => {
            at("parallel.partition", "another partition, such as `rect` or `rcb`")
        }
    }
}
