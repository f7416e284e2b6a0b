//! The engine's configuration, made from a checked scenario and its particle file.

mod faults;
mod file;
mod inputs;
pub(crate) mod lists;
pub mod room;
mod sites;

pub(crate) use file::periodic_axes;
pub use inputs::Inputs;
use md_comm::World;
use md_core::force::Summation;
use md_core::{Dimension, PartitionKind};
use md_engine::{
    Config, EngineError, NeighborConfig, Overlap, ParallelConfig, ParticleSource, Setup, SimdChoice,
    TailCorrection,
};
use md_scenario::failure::RunError;
use md_scenario::{Parallel, Scenario, ScenarioError, ScenarioSource, Shape, WallPair, name_of};

use crate::requested_level::{available, level_named, requested_level};
use faults::{check_outputs, expect_integrators, located};
use sites::{is_large, shares, sites};

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

/// Largest number of cells that are quickly divided.
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
    let made = lists::set_up(source, scenario, config, ranks);
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
    let forces = interaction.forces(source, &scenario.species)?;
    let mut config = Config {
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
        neighbor: NeighborConfig {
            summation: if simulation.reproducible { Summation::Exact } else { Summation::Rounded },
            ..lists::at_first(neighbor, forces.cutoff())
        },
        parallel: ParallelConfig { simd: simd_choice(source, neighbor.shape)?, ..parallel_config(parallel) },
        masses,
        ..Config::new(particles, forces)
    };
    lists::choose(source, scenario, &mut config, f64::INFINITY)?;
    Ok(config)
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
        buffering: parallel.rma.slots,
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
