//! The commands, one file each, and what they share.

pub mod backends;
pub mod check;
pub mod forces;
pub mod run;

use std::path::Path;

use md_comm::World;

use crate::driver::{RunError, Setup, Simulation};
use crate::inputs::Inputs;
use crate::output::{OutputDirectory, OutputError, SpeciesLabel};
use crate::report::{RunContext, RunFacts};
use crate::scenario::{Backend, Parallel, Scenario, effective_toml, name_of};
use md_core::observables::SystemSums;

/// Rank that reads and writes.
pub(crate) const ROOT: usize = 0;

/// Opens outputs on rank 0; if that fails, all ranks learn it. *Collective.*
fn open_on_root<T>(
    world: &dyn World,
    open: impl FnOnce() -> Result<T, OutputError>,
) -> Result<Option<T>, RunError> {
    let opened = (world.rank() == ROOT).then(open).transpose();
    let mut failed = [f64::from(u8::from(opened.is_err()))];
    world.max(&mut failed)?;
    match opened {
        Ok(_) if failed[0] > 0.0 => Err(RunError::OutputElsewhere),
        opened => Ok(opened?),
    }
}

/// The output directory with the effective scenario in it.
fn output_directory(inputs: &Inputs) -> Result<OutputDirectory, OutputError> {
    let directory = OutputDirectory::create(&inputs.scenario.output.directory)?;
    let particle_file = inputs.particle_file();
    let inputs_read: Vec<&Path> =
        [Path::new(&inputs.source.name)].into_iter().chain(particle_file.as_deref()).collect();
    let directory = directory.protecting(&inputs_read);
    directory.write_scenario(effective_toml(&inputs.scenario).as_bytes())?;
    Ok(directory)
}

fn species_labels(scenario: &Scenario, masses: &[f64]) -> Vec<SpeciesLabel> {
    let label = |(name, &mass): (&String, &f64)| SpeciesLabel { name: name.clone(), mass };
    scenario.species.iter().map(|species| &species.name).zip(masses).map(label).collect()
}

fn context(world: &dyn World, inputs: &Inputs, setup: &Setup, steps: u64) -> RunContext {
    let parallel = &inputs.scenario.parallel;
    RunContext {
        backend: name_of(parallel.backend),
        shell: name_of(parallel.shell),
        exchange: name_of(parallel.exchange),
        partition: name_of(parallel.partition),
        grid: setup.grid_text(),
        ranks: world.ranks(),
        threads: parallel.threads,
        precision: name_of(inputs.scenario.neighbor.precision),
        atoms: setup.atoms(),
        steps,
        seed: inputs.scenario.simulation.seed,
        mpi_library: world.library().lines().next().unwrap_or_default().to_owned(),
        host: gethostname::gethostname().to_string_lossy().into_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

fn facts(
    world: &dyn World,
    simulation: &Simulation,
    parallel: &Parallel,
    setup: &Setup,
    sums: &SystemSums,
    wall_s: f64,
    drift: f64,
) -> RunFacts {
    RunFacts {
        wall_s,
        timestep: simulation.timestep(),
        simd: setup.simd.name().to_owned(),
        useful_pairs_per_atom: sums.pairs.useful_pairs / sums.atoms,
        computed_pairs_per_atom: sums.pairs.computed_pairs / sums.atoms,
        rebuilds: simulation.rebuilds(),
        dangerous_rebuilds: simulation.dangerous_rebuilds(),
        lost_particles: 0,
        energy_drift_per_atom: drift,
        rma_component: match parallel.backend {
            Backend::Local | Backend::P2p | Backend::P2pPersistent | Backend::NeighborCollective => {
                "none".to_owned()
            }
            _ => world.rma_component().unwrap_or_else(|| "none".to_owned()),
        },
        choices: simulation.choices(),
        git: env!("MD_GIT").to_owned(),
    }
}
