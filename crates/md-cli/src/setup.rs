//! From a checked scenario and its particle file to the engine's configuration.

mod file;

pub(crate) use file::periodic_axes;
use md_core::Dimension;
use md_core::grid::{GridError, axis};
use md_core::lattice::Lattice;
use md_core::rebuild::RebuildPolicy;
use md_core::thinned::ThinnedLattice;
use md_engine::{
    Config, EngineError, Forces, NeighborConfig, Overlap, ParallelConfig, ParticleSource, Setup, SimdChoice,
    TailCorrection,
};

use crate::asked_level::{asked_level, available, level_named};
use crate::error::RunError;
use crate::inputs::Inputs;
use crate::output::analysis::longest_distance;
use crate::scenario::{
    self, Neighbor, Parallel, Scenario, ScenarioError, ScenarioSource, Shape, Species, WallPair,
    integrator_fault, name_of,
};

/// Of a species that neither scenario nor file gives one.
const DEFAULT_MASS: f64 = 1.0;

/// The set-up of the inputs' scenario on so many ranks.
///
/// # Errors
/// As [`of_scenario`]; nothing says how the particles of a file move.
pub fn of_inputs(inputs: &Inputs, ranks: usize) -> Result<Setup, RunError> {
    file::check_velocities(inputs)?;
    of_scenario(inputs, &inputs.scenario, ranks)
}

/// The set-up of a scenario on so many ranks, with source and particles of the inputs.
///
/// # Errors
/// What only shows once box and ranks are known, each at its key: a box too small for the cutoff or too thin for the
/// ranks, a file that contradicts the scenario; each particle that cannot be where it is, at its line.
pub fn of_scenario(inputs: &Inputs, scenario: &Scenario, ranks: usize) -> Result<Setup, RunError> {
    let source = &inputs.source;
    let config = config(inputs, scenario)?;
    let made = Setup::new(config.clone(), ranks);
    if matches!(made, Ok(_) | Err(EngineError::Particle(_))) {
        file::check_particles(inputs, &config)?;
    }
    let made =
        made.map_err(|error| located(source, scenario, &error).map_or_else(|| error.into(), RunError::from))?;
    expect_integrators(source, scenario, &made)?;
    check_distances(source, scenario, "", &made)?;
    for stage in scenario.stages_with_outputs() {
        check_distances(source, &stage.scenario, &stage.within(), &made)?;
    }
    Ok(made)
}

/// Whether the integrators of all stages can be for this system, before the first stage is run.
fn expect_integrators(
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

/// Whether no pair is counted twice by an output; `within` stands before its key.
fn check_distances(
    source: &ScenarioSource,
    scenario: &Scenario,
    within: &str,
    setup: &Setup,
) -> Result<(), ScenarioError> {
    let Some(rdf) = scenario.output.rdf else { return Ok(()) };
    let (max, longest) = (rdf.max.unwrap_or(scenario.interaction.cutoff), longest_distance(&setup.domain));
    if max <= longest {
        return Ok(());
    }
    let (key, what) = match rdf.max {
        Some(_) => ("output.rdf.max", ""),
        None => ("output.rdf", ", the cutoff,"),
    };
    let (key, what) = (format!("{within}{key}"), format!("`{within}output.rdf.max`{what}"));
    let message = format!("{what} is {max:?}, more than half the shortest periodic side of the box");
    Err(ScenarioError::at(source, &key, message, format!("at most {longest:?}")))
}

fn config(inputs: &Inputs, scenario: &Scenario) -> Result<Config, RunError> {
    let source = &inputs.source;
    let own_masses = scenario.species.iter().map(|species| species.mass.unwrap_or(DEFAULT_MASS));
    let (particles, masses) = match &inputs.particles {
        Some(particles) => file::particles(inputs, scenario, particles)?,
        None => (sites(source, scenario)?, own_masses.collect()),
    };
    let Scenario { simulation, system, interaction, neighbor, parallel, .. } = scenario;
    let stages = scenario.stages();
    let (integrator, steps) = stages.first().map(|stage| (stage.integrator, stage.steps)).unwrap_or_default();
    Ok(Config {
        dimension: if simulation.dimension == 2 { Dimension::Two } else { Dimension::Three },
        boundary: system.boundary,
        walls: system.walls.iter().flat_map(WallPair::walls).collect(),
        shares: shares(&scenario.species),
        temperature: system.temperature,
        displacement: 0.0,
        drift: system.drift.unwrap_or_default(),
        seed: simulation.seed,
        tail_correction: if interaction.tail_correction { TailCorrection::On } else { TailCorrection::Off },
        timestep: simulation.timestep,
        max_drift: simulation.max_drift,
        integrator: integrator.kind,
        barostat: integrator.barostat,
        schedule: 0..steps,
        neighbor: neighbor_config(neighbor),
        parallel: ParallelConfig { simd: simd_choice(source, neighbor.shape)?, ..parallel_config(parallel) },
        masses,
        ..Config::new(particles, Forces::Pairs(interaction.potential(source, &scenario.species)?))
    })
}

fn neighbor_config(neighbor: &Neighbor) -> NeighborConfig {
    NeighborConfig {
        method: neighbor.method,
        skin: neighbor.skin,
        rebuild: match neighbor.rebuild.every {
            Some(steps) => RebuildPolicy::Every(steps),
            None => RebuildPolicy::Displacement,
        },
        precision: neighbor.precision,
    }
}

fn parallel_config(parallel: &Parallel) -> ParallelConfig {
    ParallelConfig {
        partition: parallel.partition,
        rank_grid: parallel.grid,
        protocol: parallel.protocol,
        shell: parallel.shell,
        exchange: parallel.exchange,
        overlap: if parallel.overlap { Overlap::On } else { Overlap::Off },
        second_share: parallel.second_share,
        balance: parallel.balance,
        buffering: parallel.rma.buffering(),
        threads: parallel.threads,
        ..ParallelConfig::default()
    }
}

/// What the scenario asks for, or else the environment.
fn simd_choice(source: &ScenarioSource, shape: Shape) -> Result<SimdChoice, RunError> {
    match shape {
        Shape::Cpu => Ok(asked_level()?.map_or(SimdChoice::Cpu, SimdChoice::Named)),
        Shape::Auto => Ok(SimdChoice::Measured),
        _ => {
            let wanted = name_of(shape);
            level_named(&wanted).map(SimdChoice::Named).ok_or_else(|| {
                let message = format!("`neighbor.shape` is `{wanted}`, which this CPU lacks");
                let help = format!("it has {}; or write \"cpu\"", available());
                ScenarioError::at(source, "neighbor.shape", message, help).into()
            })
        }
    }
}

/// A gas, lattices in parts of the box, all sites of one lattice, or a liquid and its vapour.
fn sites(source: &ScenarioSource, scenario: &Scenario) -> Result<ParticleSource, ScenarioError> {
    if let Some(gas) = scenario::gas(scenario) {
        return Ok(ParticleSource::Gas(gas));
    }
    if let Some(regions) = scenario::regions(source, scenario)? {
        return Ok(ParticleSource::Regions(regions));
    }
    let made = lattice(source, scenario)?;
    let of_scenario = scenario.system.lattice.as_ref();
    let Some((lattice, vapour)) = of_scenario.and_then(|lattice| Some((lattice, lattice.vapour.as_ref()?)))
    else {
        return Ok(made.into());
    };
    let dimensions = lattice.kind.dimension().count();
    let volume: f64 = made.lengths()[..dimensions].iter().product();
    let share = vapour.density * volume / made.len() as f64;
    let thinned = ThinnedLattice::new(made, dimensions, vapour.regions(), share, scenario.simulation.seed);
    if thinned.is_empty() {
        let message =
            "no site of the lattice is taken: the liquid has no site, and the vapour none by chance";
        let help = "larger regions, a denser vapour or more cells";
        return Err(ScenarioError::at(source, "system.lattice.vapour", message.to_owned(), help));
    }
    Ok(ParticleSource::Thinned(thinned))
}

fn lattice(source: &ScenarioSource, scenario: &Scenario) -> Result<Lattice, ScenarioError> {
    let Some(lattice) = &scenario.system.lattice else {
        let help = "give `lattice` or `file`";
        return Err(ScenarioError::at(source, "system", "no source of particles", help));
    };
    let spacing = lattice.spacing.or_else(|| lattice.density.map(|density| lattice.kind.spacing(density)));
    let made = Lattice::new(lattice.kind, spacing.unwrap_or(1.0), lattice.cells);
    if made.lengths().iter().all(|length| length.is_finite()) {
        return Ok(made);
    }
    let name = if lattice.density.is_some() { "density" } else { "spacing" };
    let value = lattice.density.or(lattice.spacing).unwrap_or_default();
    let message = format!("`system.lattice.{name}` is {value:?}, which makes the box infinitely long");
    Err(ScenarioError::at(source, &format!("system.lattice.{name}"), message, "a number not far from 1"))
}

/// What the species without a `fraction` leave to the one that has none.
fn shares(species: &[Species]) -> Vec<f64> {
    let given: f64 = species.iter().filter_map(|species| species.fraction).sum();
    species.iter().map(|species| species.fraction.unwrap_or(1.0 - given)).collect()
}

/// An error of the engine at the key of the scenario that caused it.
fn located(source: &ScenarioSource, scenario: &Scenario, error: &EngineError) -> Option<ScenarioError> {
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
        EngineError::BoxTooLarge(message) => {
            at(scenario.system.size_key(), message.clone(), "a smaller box, nearer to the origin")
        }
        EngineError::Mass { species, mass, problem } => {
            let key = format!("species[{species}].mass");
            if !source.gives("species") {
                let message = format!(
                    "the mass of species {} in the particle file is {mass:?}, but {problem}",
                    species + 1
                );
                return at("system.file", message, "units in which masses are not far from 1");
            }
            let is_unused = scenario.species[*species].fraction == Some(0.0);
            let help = if is_unused {
                "no particle is of this species (`fraction = 0`): leave it out, or give it a mass not far from 1"
            } else {
                "units in which masses are not far from 1"
            };
            at(&key, format!("`{key}` is {mass:?}, but {problem}"), help)
        }
        EngineError::Temperature { temperature, problem } => at(
            "system.temperature",
            format!("`system.temperature` is {temperature:?}, but {problem}"),
            "another temperature, or velocities from a file",
        ),
        EngineError::Grid(error) => match error {
            GridError::BoxTooSmall { dim, .. } => at(
                "interaction.cutoff",
                error.to_string(),
                &format!("a larger box along {}, a smaller cutoff or a smaller skin", axis(*dim)),
            ),
            GridError::WrongGrid { .. } => {
                at("parallel.grid", error.to_string(), "a grid whose product is the number of ranks")
            }
            GridError::TooThin(_) => {
                let chosen = scenario.parallel.grid.is_some();
                let key = if chosen { "parallel.grid" } else { "parallel.partition" };
                at(key, error.to_string(), "fewer ranks, another partition or a larger box")
            }
            GridError::NoWeight | GridError::NotBuilt { .. } | GridError::Metis(_) => {
                at("parallel.partition", error.to_string(), "another partition, such as `rect` or `rcb`")
            }
        },
        // What no key has caused; the enum is non-exhaustive.
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn set_ups_of_the_same_inputs_share_the_particles_of_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = "2\nLattice=\"9 0 0 0 9 0 0 0 9\" Properties=species:S:1:pos:R:3:velo:R:3\n\
                    A 1 1 1 0 0 1\nA 3 3 3 0 0 -1\n";
        std::fs::write(folder.path().join("two.extxyz"), file).unwrap();
        let text =
            "[simulation]\nsteps = 1\n[system]\nfile = { path = \"two.extxyz\", format = \"extxyz\" }\n";
        let name = folder.path().join("two.toml");
        let inputs = Inputs::from_text(&name.to_string_lossy(), text, Vec::new()).unwrap();
        let list = |ranks| match of_inputs(&inputs, ranks).unwrap().config.particles {
            ParticleSource::List { particles, .. } => particles,
            _ => unreachable!("a file has a list"),
        };
        assert!(Arc::ptr_eq(&list(1), &list(2)));
        assert_eq!(list(1)[1].velocity, [0.0, 0.0, -1.0]);
    }
}
