//! The commands, one file each, and the functions that they share.

pub mod analyse;
pub mod backends;
pub mod bench;
pub mod check;
pub mod compare;
pub mod ending;
#[cfg(test)]
mod faulty;
pub mod fit;
pub mod forces;
pub mod from_lammps;
pub mod grid_run;
pub mod inspect;
mod intervals;
pub mod lbm;
pub mod minimise;
pub mod partition;
pub mod plot;
pub mod predict;
pub mod predict_grid;
pub mod run;
pub mod shell;
pub mod stencil;
pub mod sweep;
mod timeline;
pub mod trace_summary;

use std::path::{Path, PathBuf};
use std::{fs, io};

pub(crate) use intervals::interval_warnings;
use md_comm::{Backend, Communication, World};
use md_core::observables::SystemSums;
use md_engine::{Setup, SimdChoice, Simulation};

use crate::cores;
use crate::early_end::Ended;
use crate::inputs::Inputs;
use crate::report::RunFacts;
use crate::report::warnings::{Units, limited_box, unreached, warnings};
use md_files::output::{ResultFiles, Verbosity, holds_results_but};
use md_files::store::{OutputDirectory, OutputError};
use md_files::text_file::LONGEST_SCENARIO;
use md_lab::{RunContext, significant};
use md_scenario::failure::{BAD_INPUT, RunError};
use md_scenario::known_file::KnownFile;
use md_scenario::messages::{is_first_process, note, warn};
use md_scenario::printable::printable;
use md_scenario::{CentreOfMass, Output, Scenario, effective_toml};

/// Rank that reads and writes files.
pub(crate) const ROOT: usize = 0;

/// Performs an action on rank 0, such as opening outputs. If it fails, all ranks return an error.
/// *Collective.*
fn open_on_root<T, E>(world: &dyn World, open: impl FnOnce() -> Result<T, E>) -> Result<Option<T>, RunError>
where
    RunError: From<E>,
{
    open_on_all(world, || (world.rank() == ROOT).then(open).transpose())
}

/// Performs an action on all ranks. If it fails on one, all return an error. *Collective.*
fn open_on_all<T, E>(world: &dyn World, open: impl FnOnce() -> Result<T, E>) -> Result<T, RunError>
where
    RunError: From<E>,
{
    let opened = open();
    let mut failed = [f64::from(u8::from(opened.is_err()))];
    world.max(&mut failed)?;
    match opened {
        Ok(_) if failed[0] > 0.0 => Err(ending::OutputElsewhere.into()),
        opened => Ok(opened?),
    }
}

/// Returns the error of a request that cannot be met.
pub(crate) fn refused(summary: String) -> RunError {
    ending::summarised(summary, BAD_INPUT)
}

/// Prints the notes about the particle file, on the first process.
pub(crate) fn note_particles(inputs: &Inputs, verbosity: Verbosity) {
    if is_first_process() && verbosity == Verbosity::Normal {
        let notes = inputs.particles.iter().flat_map(|particles| &particles.notes);
        notes.for_each(|text| note(&printable(text)));
    }
}

/// Opens the output directory for results of the inputs' scenario and writes the effective scenario
/// into it. The results may contain a trajectory.
fn output_directory(
    inputs: &Inputs,
    results: &ResultFiles,
    verbosity: Verbosity,
) -> Result<OutputDirectory, OutputError> {
    let mut directory = prepared_directory(inputs, &inputs.scenario, results)?;
    note_lock(&directory);
    note_particles(inputs, verbosity);
    directory.begin()?;
    note_removal(&directory, verbosity);
    Ok(directory)
}

/// Prepares the output directory of a scenario of these inputs. Existing files stay there until
/// [`OutputDirectory::begin`] is called.
fn prepared_directory(
    inputs: &Inputs,
    scenario: &Scenario,
    results: &ResultFiles,
) -> Result<OutputDirectory, OutputError> {
    let inputs_read = files_read(inputs);
    let inputs_read: Vec<&Path> = inputs_read.iter().map(PathBuf::as_path).collect();
    let path = &scenario.output.directory;
    let effective = effective_toml(&found_from_anywhere(inputs, scenario)?);
    let directory = OutputDirectory::prepare(path, results, &inputs_read, effective.as_bytes())?;
    length_warning(effective.len() as u64).iter().for_each(|text| warn(text));
    Ok(directory)
}

/// Opens the output directory of a command that only plans. Results of other commands stay there,
/// and so does the scenario that they belong to.
fn planning_directory(
    inputs: &Inputs,
    own: &[KnownFile],
    verbosity: Verbosity,
) -> Result<OutputDirectory, OutputError> {
    let path = PathBuf::from(&inputs.scenario.output.directory);
    if !holds_results_but(&path, own) {
        return output_directory(inputs, &ResultFiles::default(), verbosity);
    }
    let inputs_read = files_read(inputs);
    let inputs_read: Vec<&Path> = inputs_read.iter().map(PathBuf::as_path).collect();
    let directory = OutputDirectory::without_scenario(path, own, &inputs_read, &[])?;
    note_lock(&directory);
    note_particles(inputs, verbosity);
    Ok(directory)
}

/// Returns the paths of all files that the inputs were read from.
fn files_read(inputs: &Inputs) -> Vec<PathBuf> {
    let beside = inputs.particle_file().into_iter().chain(inputs.beside.iter().cloned());
    [inputs.path.clone()].into_iter().chain(beside).collect()
}

/// Prints a note if the lock of another process was taken over.
fn note_lock(directory: &OutputDirectory) {
    if let Some(holder) = directory.left_by() {
        note(&format!("the lock of {holder}, which has ended without removing it, was taken over"));
    }
}

/// Prints which results of an earlier run were removed.
fn note_removal(directory: &OutputDirectory, verbosity: Verbosity) {
    if verbosity == Verbosity::Normal {
        directory.removal().iter().for_each(|text| note(text));
    }
}

/// Returns a warning if the effective scenario is too long to be read again. It has more text than
/// a scenario that leaves out defaults.
pub(crate) fn length_warning(bytes: u64) -> Option<String> {
    (bytes >= LONGEST_SCENARIO).then(|| {
        format!(
            "the effective scenario is {} MB long, and none of more than {} MB is read: to repeat the run, keep your own",
            bytes >> 20,
            LONGEST_SCENARIO >> 20
        )
    })
}

/// Prints a note if the whole system moves: temperature and pressure are relative to this motion,
/// and the note names the outputs that include it. *Collective.*
fn note_drift(
    simulation: &mut Simulation,
    world: &dyn World,
    verbosity: Verbosity,
    output: Option<&Output>,
) -> Result<(), RunError> {
    let drift = simulation.drift()?;
    if world.rank() == ROOT && verbosity == Verbosity::Normal && drift != [0.0; 3] {
        note(&format!("{}{}", drift_note(drift), output.map_or_else(String::new, with_drift)));
    }
    Ok(())
}

/// Returns the note about what a velocity of the whole system means for the results.
fn drift_note(drift: [f64; 3]) -> String {
    /// Number of significant digits.
    const DIGITS: usize = 3;
    let [x, y, z] = drift.map(|velocity| significant(velocity, DIGITS));
    format!(
        "the whole system moves at [{x}, {y}, {z}]: `temperature` and `pressure` are about this velocity, which thermostats and \
         barostats leave as it is; `kinetic_per_atom` includes it"
    )
}

/// Returns the part of the note that names the outputs whose columns include the motion of the
/// whole system.
fn with_drift(output: &Output) -> String {
    let analyses = output.analyses.keys().into_iter();
    let with_it = analyses.filter(|keys| keys.centre_of_mass == Some(CentreOfMass::Diffusion));
    let files: Vec<&str> = with_it.map(|keys| keys.file.name()).collect();
    match files[..] {
        [] => String::new(),
        _ => format!(
            "; the columns of {} include it, the diffusion coefficients do not (`centre_of_mass = \"removed\"` takes it off)",
            files.join(" and ")
        ),
    }
}

/// Warns if ranks are bound to the same cores, and returns the warning. *Collective.*
pub(crate) fn warn_of_crowding(world: &dyn World, threads: usize) -> Result<Option<String>, RunError> {
    let text = world.platform().crowded_cores(threads)?.map(|crowded| cores::crowding(crowded, threads));
    if world.rank() == ROOT {
        text.iter().for_each(|text| warn(text));
    }
    Ok(text)
}

/// Returns the scenario with an absolute path of the particle file, so that it is valid in any
/// folder, and with the number of the frame that was read, since trajectories grow.
pub(crate) fn found_from_anywhere(inputs: &Inputs, scenario: &Scenario) -> Result<Scenario, OutputError> {
    let mut scenario = scenario.clone();
    if let (Some(file), Some(path)) = (&mut scenario.system.file, inputs.particle_file()) {
        let absolute = fs::canonicalize(&path).and_then(|path| {
            let not_utf_8 = |_| io::Error::other("its path is not UTF-8");
            path.into_os_string().into_string().map_err(not_utf_8)
        });
        file.path = absolute.map_err(|reason| OutputError::Unnamed { path, reason })?;
        file.frame = file.frame.or(inputs.particles.as_ref().and_then(|particles| particles.frame));
    }
    Ok(scenario)
}

/// Returns the context of a run of `steps` steps.
fn context(world: &dyn World, scenario: &Scenario, setup: &Setup, steps: u64) -> RunContext {
    RunContext {
        grid: setup.grid_text(),
        atoms: setup.atoms(),
        ..context_without_setup(world, scenario, steps)
    }
}

/// Returns the context without the entries that need a set-up: no grid and no number of atoms.
fn context_without_setup(world: &dyn World, scenario: &Scenario, steps: u64) -> RunContext {
    let parallel = &scenario.parallel;
    RunContext {
        strategy: parallel.strategy(),
        grid: "-".to_owned(),
        ranks: world.ranks(),
        threads: parallel.threads,
        precision: scenario.neighbor.precision,
        atoms: 0,
        steps,
        seed: scenario.simulation.seed,
        mpi_library: world.platform().library().lines().next().unwrap_or_default().to_owned(),
        host: gethostname::gethostname().to_string_lossy().into_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

/// Results of a run, apart from its timings.
struct RunSummary {
    sums: SystemSums,
    /// Duration of the step loop in seconds.
    wall_s: f64,
    /// Change of the total energy, last minus first.
    drift_per_atom: f64,
    ended: Ended,
}

/// Returns the typical force and energy of the scenario's pair interactions.
fn units(Scenario { interaction, species, .. }: &Scenario) -> Units {
    let force = interaction.force_unit(species);
    Units { force, energy: force * interaction.diameter(species) }
}

fn facts(world: &dyn World, simulation: &Simulation, scenario: &Scenario, summary: &RunSummary) -> RunFacts {
    let (interaction, parallel) = (&scenario.interaction, &scenario.parallel);
    let RunSummary { sums, wall_s, drift_per_atom, ended } = *summary;
    let (neighborhood, energy) = (simulation.neighbor_report(), simulation.energy_report());
    let (level, choice) = simulation.simd();
    let box_changes = simulation.box_report();
    let left = simulation.unreached_balancings();
    let mut warnings =
        warnings(&neighborhood, &energy, simulation.setup(), units(scenario), interaction.shift);
    warnings.extend(limited_box(&box_changes));
    warnings.extend(left.and_then(|left| unreached(left, simulation.state().step)));
    RunFacts {
        wall_s,
        degrees_of_freedom: simulation.degrees_of_freedom(),
        timestep: simulation.timestep(),
        simd: level.name().to_owned(),
        shape: match choice {
            SimdChoice::Cpu => "cpu",
            SimdChoice::Measured => "measured",
            SimdChoice::Named(_) => "named",
        },
        useful_pairs_per_atom: sums.pairs.useful_pairs / sums.atoms,
        computed_pairs_per_atom: sums.pairs.computed_pairs / sums.atoms,
        warnings,
        box_changes,
        integrity_checks: simulation.integrity_checks(),
        neighborhood,
        lists: simulation.setup().config.neighbor,
        inner_skin: simulation.inner_skin(),
        lost_particles: 0,
        ended,
        energy_drift_per_atom: drift_per_atom,
        energy,
        balance: simulation.balance_report().clone(),
        warned: Vec::new(),
        crowding: None,
        host_use: None,
        trajectory: None,
        resumed_from_step: None,
        rma_component: rma_component(world, parallel.backend),
        choices: simulation.choices(),
        analyses: serde_json::Map::new(),
        git: env!("MD_GIT").to_owned(),
    }
}

/// Returns the component of the MPI library that moves the data of a backend's windows, or `none`.
fn rma_component(world: &dyn World, backend: Backend) -> String {
    match backend.communication() {
        Communication::Threads | Communication::TwoSided | Communication::Collective => "none".to_owned(),
        Communication::SharedMemory | Communication::OneSided | Communication::Composed => {
            world.platform().rma_component().unwrap_or_else(|| "none".to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_effective_scenario_that_cannot_be_read_is_a_warning() {
        assert_eq!(length_warning(16_777_215), None);
        let expected = "the effective scenario is 40 MB long, and none of more than 16 MB is read: to repeat the run, keep your own";
        assert_eq!(length_warning(42_000_000).as_deref(), Some(expected));
    }
}
