//! The engine's configuration, made from a checked scenario and its particle file.

mod file;
mod inputs;
pub mod room;

use std::ops::RangeInclusive;

pub(crate) use file::periodic_axes;
pub use inputs::Inputs;
use md_comm::World;
use md_core::grid::{GridError, axis};
use md_core::lattice::Lattice;
use md_core::rebuild::RebuildPolicy;
use md_core::thinned::ThinnedLattice;
use md_core::{Dimension, PartitionKind};
use md_engine::{
    Config, EngineError, Forces, NeighborConfig, Overlap, ParallelConfig, ParticleSource, Setup, SimdChoice,
    TailCorrection,
};

use crate::requested_level::{available, level_named, requested_level};
use md_files::output::analysis::longest_distance;
use md_files::output::trajectory::format_of;
use md_scenario::failure::RunError;
use md_scenario::{
    self as scenario, Neighbor, Parallel, Scenario, ScenarioError, ScenarioSource, Shape, Species, WallPair,
    integrator_fault, name_of,
};

/// Mass of a species for which neither the scenario nor the file gives one.
const DEFAULT_MASS: f64 = 1.0;

/// Extent of a set-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Detail {
    /// Everything.
    All,
    /// All but the work that takes time for each of very many sites or cells.
    Estimate,
}

/// Largest numbers of sites and of cells that are quickly counted or divided.
const FEW_SITES: u64 = 1 << 22;
const FEW_CELLS: usize = 1 << 20;

/// Returns the set-up of the inputs' scenario on `ranks` ranks without the work that takes time for
/// each of very many sites or cells: the number of particles may be an estimate, and the partition
/// another one. Also returns what was left out, in words.
///
/// # Errors
/// The errors of [`of_inputs`], except those that only the omitted work would show.
pub fn estimated(inputs: &Inputs, ranks: usize) -> Result<(Setup, Vec<String>), RunError> {
    file::check_velocities(inputs)?;
    room::expect_particles(inputs, rough_atoms(inputs)?, ranks)?;
    let mut config = config(inputs, &inputs.scenario, Detail::Estimate)?;
    let mut left_out = Vec::new();
    if let ParticleSource::Thinned(thinned) = &config.particles
        && is_large(thinned.lattice(), &inputs.scenario)
    {
        left_out.push(format!(
            "of the {} sites of the lattice some were tried: the number of particles is an estimate",
            thinned.lattice().len()
        ));
    }
    let partition = config.parallel.partition;
    if partition.is_weighted() {
        let parallel = ParallelConfig { partition: PartitionKind::Stripe, ..config.parallel };
        let cells =
            Setup::new(Config { parallel, ..config.clone() }, ranks).map(|setup| setup.division.grid.len());
        if let Ok(cells) = cells
            && cells > FEW_CELLS
        {
            left_out.push(format!(
                "{cells} cells were not divided by `{}`, which takes a while",
                name_of(partition)
            ));
            config.parallel = parallel;
        }
    }
    Ok((checked(inputs, &inputs.scenario, &config, ranks)?, left_out))
}

/// Returns the set-up of the inputs' scenario on `ranks` ranks.
///
/// # Errors
/// The errors of [`of_scenario`]; neither file nor scenario gives velocities.
pub fn of_inputs(inputs: &Inputs, ranks: usize) -> Result<Setup, RunError> {
    file::check_velocities(inputs)?;
    of_scenario(inputs, &inputs.scenario, ranks)
}

/// Returns the set-up of a scenario on `ranks` ranks, with source and particles of the inputs.
///
/// # Errors
/// Faults that show only once box and ranks are known, each at its key: a box too small for the
/// cutoff or too thin for the ranks, a file that contradicts the scenario. The first particle with
/// an invalid position or velocity, at its line.
pub fn of_scenario(inputs: &Inputs, scenario: &Scenario, ranks: usize) -> Result<Setup, RunError> {
    checked(inputs, scenario, &config(inputs, scenario, Detail::All)?, ranks)
}

/// Checks that every rank has memory for the particles, before anything is done for each of them.
/// *Collective.*
///
/// # Errors
/// A system that is too large, at its key; communication.
pub(crate) fn expect_room_on_all(world: &dyn World, inputs: &Inputs) -> Result<(), RunError> {
    room::expect_particles_on_all(world, inputs, rough_atoms(inputs)?)
}

/// Returns the number of particles, or an estimate of it, for a scenario whose set-up loops over
/// them or over its cells; else 0. The same on all ranks.
fn rough_atoms(inputs: &Inputs) -> Result<u64, ScenarioError> {
    let Inputs { source, scenario, particles, .. } = inputs;
    if let Some(file) = particles {
        return Ok(file::copied(scenario, file));
    }
    let is_thinned = scenario.system.lattice.as_ref().is_some_and(|lattice| lattice.vapour.is_some());
    if !is_thinned && !scenario.parallel.partition.is_weighted() {
        return Ok(0);
    }
    Ok(match sites(source, scenario, Detail::Estimate)? {
        ParticleSource::Lattice(lattice) => lattice.len(),
        ParticleSource::Thinned(thinned) => thinned.len(),
        ParticleSource::Regions(regions) => regions.len(),
        ParticleSource::Gas(gas) => gas.len(),
        ParticleSource::List { particles, .. } => particles.len() as u64,
    })
}

/// Returns the set-up of a configuration; errors are located in the inputs.
fn checked(inputs: &Inputs, scenario: &Scenario, config: &Config, ranks: usize) -> Result<Setup, RunError> {
    let source = &inputs.source;
    let made = Setup::new(config.clone(), ranks);
    if matches!(made, Ok(_) | Err(EngineError::Particle(_))) {
        file::check_particles(inputs, config)?;
    }
    let made =
        made.map_err(|error| located(source, scenario, &error).map_or_else(|| error.into(), RunError::from))?;
    expect_integrators(source, scenario, &made)?;
    check_outputs(source, scenario, "", &made)?;
    for stage in scenario.stages_with_outputs() {
        check_outputs(source, &stage.scenario, &stage.within(), &made)?;
    }
    Ok(made)
}

/// Checks, before the first stage is run, that the integrators of all stages are possible for this
/// system.
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

/// Widths of histogram bins for which third powers, also multiplied and divided by numbers of
/// particles and volumes, are finite.
const WIDTHS: RangeInclusive<f64> = 1e-60..=1e60;

/// Checks that no output counts a pair twice and that frames can be written; `within` is the prefix
/// of its key.
fn check_outputs(
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
    let Some(rdf) = scenario.output.rdf else { return Ok(()) };
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

fn config(inputs: &Inputs, scenario: &Scenario, detail: Detail) -> Result<Config, RunError> {
    let source = &inputs.source;
    let own_masses = scenario.species.iter().map(|species| species.mass.unwrap_or(DEFAULT_MASS));
    let (particles, masses) = match &inputs.particles {
        Some(particles) => file::particles(inputs, scenario, particles)?,
        None => (sites(source, scenario, detail)?, own_masses.collect()),
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

/// Returns the instruction set that the scenario or else the environment requests.
fn simd_choice(source: &ScenarioSource, shape: Shape) -> Result<SimdChoice, RunError> {
    match shape {
        Shape::Cpu => Ok(requested_level()?.map_or(SimdChoice::Cpu, SimdChoice::Named)),
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

/// Returns a gas, lattices in parts of the box, all sites of one lattice, or a liquid and its
/// vapour.
fn sites(
    source: &ScenarioSource,
    scenario: &Scenario,
    detail: Detail,
) -> Result<ParticleSource, ScenarioError> {
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
    let thinned = match detail {
        Detail::Estimate if is_large(&made, scenario) => ThinnedLattice::estimated,
        Detail::Estimate | Detail::All => ThinnedLattice::new,
    };
    let thinned = thinned(made, dimensions, vapour.regions(), share, scenario.simulation.seed);
    if thinned.is_empty() {
        let message =
            "no site of the lattice is taken: the liquid has no site, and the vapour none by chance";
        let help = "larger regions, a denser vapour or more cells";
        return Err(ScenarioError::at(source, "system.lattice.vapour", message.to_owned(), help));
    }
    Ok(ParticleSource::Thinned(thinned))
}

/// Returns whether it takes long to determine which sites of a lattice are occupied.
fn is_large(lattice: &Lattice, scenario: &Scenario) -> bool {
    let vapour = scenario.system.lattice.as_ref().and_then(|lattice| lattice.vapour.as_ref());
    let regions = vapour.map_or(0, |vapour| vapour.droplets.len() + vapour.slabs.len());
    lattice.len().saturating_mul(regions.max(1) as u64) > FEW_SITES
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

/// Returns the share of each species; the one without a `fraction` gets what the others leave.
fn shares(species: &[Species]) -> Vec<f64> {
    let given: f64 = species.iter().filter_map(|species| species.fraction).sum();
    species.iter().map(|species| species.fraction.unwrap_or(1.0 - given)).collect()
}

/// Locates an error of the engine at the key of the scenario that caused it.
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
        // Errors that no key has caused; the enum is non-exhaustive.
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
