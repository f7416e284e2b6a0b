//! From a checked scenario and its particle file to the engine's configuration.

use md_core::grid::{GridError, axis};
use md_core::lattice::Lattice;
use md_core::rebuild::RebuildPolicy;
use md_core::{Dimension, Particle, SimdLevel};
use md_engine::{
    Config, EngineError, Forces, NeighborConfig, Overlap, ParallelConfig, ParticleSource, Setup,
    TailCorrection,
};

use crate::error::RunError;
use crate::input::InputParticles;
use crate::inputs::Inputs;
use crate::scenario::{Neighbor, Parallel, Scenario, ScenarioError, ScenarioSource, Species};

/// Chooses another instruction set than the method's best on this CPU, e.g. `MD_SIMD=avx2+fma`.
const SIMD_VARIABLE: &str = "MD_SIMD";

/// The set-up of the inputs' scenario on so many ranks.
///
/// # Errors
/// As [`of_scenario`].
pub fn of_inputs(inputs: &Inputs, ranks: usize) -> Result<Setup, RunError> {
    of_scenario(inputs, &inputs.scenario, ranks)
}

/// The set-up of a scenario on so many ranks, with source and particles of the inputs.
///
/// # Errors
/// What only shows once box and ranks are known, each at its key: a box too small for the cutoff or too thin for the
/// ranks, species that do not match the file.
pub fn of_scenario(inputs: &Inputs, scenario: &Scenario, ranks: usize) -> Result<Setup, RunError> {
    let source = &inputs.source;
    let config = config(source, scenario, inputs.particles.as_ref())?;
    Setup::new(config, ranks).map_err(|error| match located(source, scenario, &error) {
        Some(located) => located.into(),
        None => error.into(),
    })
}

fn config(
    source: &ScenarioSource,
    scenario: &Scenario,
    file: Option<&InputParticles>,
) -> Result<Config, RunError> {
    let masses = masses(source, scenario, file)?;
    let particles = match file {
        Some(file) => listed(file),
        None => ParticleSource::Lattice(lattice(source, scenario)?),
    };
    let Scenario { simulation, system, interaction, neighbor, parallel, .. } = scenario;
    Ok(Config {
        dimension: if simulation.dimension == 2 { Dimension::Two } else { Dimension::Three },
        boundary: system.boundary,
        shares: shares(&scenario.species),
        temperature: system.temperature,
        displacement: 0.0,
        seed: simulation.seed,
        tail_correction: if interaction.tail_correction { TailCorrection::On } else { TailCorrection::Off },
        timestep: simulation.timestep,
        integrator: scenario.integrator,
        neighbor: neighbor_config(neighbor),
        parallel: parallel_config(parallel)?,
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

fn parallel_config(parallel: &Parallel) -> Result<ParallelConfig, RunError> {
    Ok(ParallelConfig {
        partition: parallel.partition,
        rank_grid: parallel.grid,
        shell: parallel.shell,
        exchange: parallel.exchange,
        overlap: if parallel.overlap { Overlap::On } else { Overlap::Off },
        buffering: parallel.rma.buffering(),
        threads: parallel.threads,
        simd: simd_level()?,
    })
}

/// The level that the environment asks for.
fn simd_level() -> Result<Option<SimdLevel>, RunError> {
    let wanted = std::env::var(SIMD_VARIABLE).unwrap_or_default();
    if wanted.is_empty() {
        return Ok(None);
    }
    let available = || SimdLevel::available();
    let level = available().find(|level| level.name() == wanted);
    level.map(Some).ok_or_else(|| RunError::UnknownSimd {
        variable: SIMD_VARIABLE,
        wanted,
        available: available().map(SimdLevel::name).collect::<Vec<_>>().join(", "),
    })
}

fn listed(file: &InputParticles) -> ParticleSource {
    let particle = |index: usize| Particle {
        id: file.ids[index],
        species: file.types[index] - 1,
        position: file.positions[index],
        velocity: file.velocities.get(index).copied().unwrap_or_default(),
    };
    let particles = (0..file.ids.len()).map(particle).collect();
    ParticleSource::List { origin: file.origin, lengths: file.lengths, particles }
}

fn lattice(source: &ScenarioSource, scenario: &Scenario) -> Result<Lattice, ScenarioError> {
    let Some(lattice) = &scenario.system.lattice else {
        let help = "give `lattice` or `file`";
        return Err(ScenarioError::at(source, "system", "no source of particles", help));
    };
    let spacing = lattice.spacing.or_else(|| lattice.density.map(|density| lattice.kind.spacing(density)));
    Ok(Lattice::new(lattice.kind, spacing.unwrap_or(1.0), lattice.cells))
}

/// What the species without a `fraction` leave to the one that has none.
fn shares(species: &[Species]) -> Vec<f64> {
    let given: f64 = species.iter().filter_map(|species| species.fraction).sum();
    species.iter().map(|species| species.fraction.unwrap_or(1.0 - given)).collect()
}

/// Masses of the scenario, or of the file where it has some; 1 where neither gives one. A mass given in both places must
/// agree.
fn masses(
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
        let help = "give one [[species]] per atom type, in order";
        return Err(ScenarioError::at(source, "species", message, help));
    }
    let choose = |(index, &own): (usize, &Option<f64>)| match (own, file.masses.get(index)) {
        (Some(mass), Some(&in_file)) if mass != in_file => {
            let message = format!("mass {mass} of species {} contradicts {in_file} in the file", index + 1);
            let key = format!("species[{index}].mass");
            Err(ScenarioError::at(source, &key, message, "remove one of the two"))
        }
        (_, Some(&in_file)) => Ok(in_file),
        (own, None) => Ok(own.unwrap_or(DEFAULT_MASS)),
    };
    of_species.iter().enumerate().map(choose).collect()
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
        },
        _ => None,
    }
}
