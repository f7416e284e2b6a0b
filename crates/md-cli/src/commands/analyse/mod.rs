//! `md-cli analyse`: the analyses of a run, computed from the frames of a trajectory.
//!
//! The outputs of a run observe frames instead of steps. They need a scenario for the names and
//! masses of species, the time step, the interactions and the parameters of the analyses.

mod analysis;
mod evaluated;
mod followed;
mod frames;
mod lacks;
mod rhythm;
mod stages;
mod steps;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;
use std::{fs, io};

use md_comm::{World, local};
use md_engine::Needs;
use md_files::input::InputParticles;
use md_files::output::outputs::{all_outputs, output_of};
use md_files::output::run_output::{
    Console, Opened, Opening, RootOpening, Spacing, StageBegin, Subject, open_outputs,
};
use md_files::store::OutputDirectory;
use md_files::text_file::read_text;
use md_scenario::failure::{RUN_FAILED, RunError};
use md_scenario::known_file::KnownFile;
use md_scenario::messages::note;
use md_scenario::{self as scenario, ANALYSES, Hash, Profile, Scenario, ScenarioSource};

use super::ending::summarised;
use super::{note_lock, refused};
use crate::args::AnalyseArgs;
use crate::inputs::Inputs;
use crate::requested_level::requested_or_widest;
use analysis::Analysis;
use evaluated::Evaluation;
use followed::Followed;
use frames::Frames;
use lacks::{domain, is_unwrapped, masses, note_frame, told_images};
use rhythm::Rhythm;
use stages::{RunStages, first_of_last_stage};

/// Name of the default output folder, beside the trajectory.
const ANALYSIS: &str = "analysis";

/// Analyses a trajectory, in one process. Returns the names of the files that were written, one per
/// line.
///
/// # Errors
/// Returns an error if a file cannot be read, if its frames do not fit the scenario, or if the disk
/// fails.
pub fn analyse(args: &AnalyseArgs) -> Result<String, RunError> {
    let name = args.trajectory.display();
    let missing = |reason: io::Error| refused(format!("cannot read the trajectory {name}: {reason}"));
    fs::metadata(&args.trajectory).map_err(missing)?;
    let inputs = inputs_of(args)?;
    let mut done = local::run(1, Duration::MAX, |world| analyse_on(world, &inputs, args));
    match done.pop() {
        Some(Ok(result)) => result,
        Some(Err(panic)) => Err(failed(panic.to_string())),
        None => Ok(String::new()),
    }
}

fn failed(summary: String) -> RunError {
    summarised(summary, RUN_FAILED)
}

/// Returns inputs with the given scenario, or with that of the run which wrote the trajectory. The
/// scenario must request an analysis.
fn inputs_of(args: &AnalyseArgs) -> Result<Inputs, RunError> {
    let path = args.scenario.clone().unwrap_or_else(|| beside(&args.trajectory, KnownFile::SCENARIO.name()));
    let name = path.display().to_string();
    if args.scenario.is_none() && !path.exists() {
        return Err(refused(format!(
            "there is no `{name}` beside the trajectory: give species, time step and analyses by --scenario FILE"
        )));
    }
    let text = read_text(&path, "scenario").map_err(|reason| RunError::unreadable(name.clone(), reason))?;
    let source = ScenarioSource { name, text, overrides: args.set.clone() };
    let mut scenario: Scenario = scenario::load(&source)?;
    // Frames do not hold the whole state.
    scenario.output.analyses.hash = None;
    if files(&scenario).is_empty() {
        let kinds = ANALYSES.iter().filter(|kind| kind.key != Hash::KIND.key);
        let keys: Vec<String> = kinds.map(|kind| format!("`{}`", kind.key)).collect();
        return Err(refused(format!(
            "the scenario asks for none of the analyses {}, `averages` and `surface_tension`: ask for one, for example by \
             --set output.rdf={{every=10}}",
            keys.join(", ")
        )));
    }
    Ok(Inputs { path, source, scenario, particles: None, beside: Vec::new(), list: OnceLock::new() })
}

/// Returns the path of a file or folder beside another file.
fn beside(path: &Path, name: &str) -> PathBuf {
    path.parent().unwrap_or(Path::new("")).join(name)
}

/// Returns the files that the scenario's analyses write.
fn files(scenario: &Scenario) -> Vec<KnownFile> {
    let output = &scenario.output;
    let has_averages = output.analyses.averages.is_some() || output.analyses.surface_tension.is_some();
    let all = output.analyses.keys().into_iter().map(|keys| keys.file);
    let (profiles, single): (Vec<_>, Vec<_>) = all.partition(|file| Profile::KIND.files.contains(file));
    single.into_iter().chain(has_averages.then_some(KnownFile::THERMO)).chain(profiles).collect()
}

/// Opens the folder of the files, unless it is that of a run, whose results would be replaced.
fn open(folder: &Path, files: &[KnownFile], trajectory: &Path) -> Result<OutputDirectory, RunError> {
    let of_run = KnownFile::SCENARIO.name();
    if folder.join(of_run).exists() {
        let folder = folder.display();
        return Err(refused(format!(
            "`{folder}` is the folder of a run, with `{of_run}` in it: choose another one with --output DIR"
        )));
    }
    let directory = OutputDirectory::without_scenario(folder.to_owned(), files, &[trajectory], &[])?;
    note_lock(&directory);
    Ok(directory)
}

/// Returns those of the files that can be computed from such frames, and prints a note about the
/// others.
///
/// # Errors
/// Returns an error if none can be.
fn possible(asked: Vec<KnownFile>, frame: &InputParticles) -> Result<Vec<KnownFile>, RunError> {
    let needs_velocities =
        |file: &KnownFile| output_of(*file).is_some_and(|kind| kind.needs.contains(Needs::ENERGY_AND_VIRIAL));
    if frame.has_velocities() || !asked.iter().any(needs_velocities) {
        return Ok(asked);
    }
    let why = "the trajectory has no velocities, of which temperature and pressure are made";
    let (left_out, possible): (Vec<_>, Vec<_>) = asked.into_iter().partition(needs_velocities);
    let names: Vec<_> = left_out.iter().map(|file| format!("`{}`", file.name())).collect();
    if possible.is_empty() {
        return Err(refused(format!("{why}: there can be no {}", names.join(" and "))));
    }
    note(&format!("{why}: {} left out", names.join(" and ")));
    Ok(possible)
}

fn analyse_on(world: &dyn World, inputs: &Inputs, args: &AnalyseArgs) -> Result<String, RunError> {
    let path = &args.trajectory;
    let mut frames = Frames::open(args, &inputs.scenario)?;
    let mut first = frames.next()?.ok_or_else(|| refused(format!("`{}` has no frame", path.display())))?;
    let is_unwrapped = is_unwrapped(&inputs.scenario, path);
    first.frame.tells_images = told_images(&first.frame, is_unwrapped);
    let last_stage = first_of_last_stage(&inputs.scenario, path)?;
    let folder = args.output.clone().unwrap_or_else(|| beside(path, ANALYSIS));
    let asked = possible(files(&inputs.scenario), &first.frame)?;
    let files: Vec<KnownFile> = asked.iter().copied().chain([KnownFile::SUMMARY]).collect();
    let directory = open(&folder, &files, path)?;
    let rhythms = rhythms(&inputs.scenario, last_stage, &asked, args)?;
    let scenario = &inputs.scenario;
    let timestep = scenario.simulation.timestep;
    let spacings: Vec<Spacing> = rhythms.iter().filter_map(|rhythm| rhythm.other(timestep)).collect();
    note_frame(scenario, &first.frame);
    let (masses, domain) = (masses(scenario, &first.frame), domain(scenario, &first.frame));
    let atoms = first.frame.ids.len() as u64;
    let simd = requested_or_widest()?;
    let subject = Subject { domain: &domain, atoms, masses: &masses, simd, frames: &spacings };
    let root = Some(RootOpening { directory: &directory, console: Console::silent() });
    let opening = Opening { world, scenario, subject, resumed: None, root, within: String::new() };
    let outputs = open_asked(&opening, &asked, last_stage)?;
    let mut analysis = Analysis {
        world,
        stages: RunStages::of(scenario, path),
        inputs,
        evaluation: Evaluation::new(world, inputs, &masses),
        masses: &masses,
        outputs,
        followed: Followed::new(&first.frame),
        rhythms,
        seen: Vec::new(),
        looks: 0,
    };
    analysis.look_at_all(first, &mut frames, is_unwrapped)?;
    frames.notes().for_each(|text| note(&text));
    analysis.finish(&directory, path)?;
    directory.finish()?;
    Ok(files.iter().map(|file| format!("{}\n", folder.join(file.name()).display())).collect())
}

/// Returns the intervals of the requested analyses that correlate frames, and finds them in the
/// trajectory.
fn rhythms(
    scenario: &Scenario,
    last_stage: u64,
    asked: &[KnownFile],
    args: &AnalyseArgs,
) -> Result<Vec<Rhythm>, RunError> {
    let mut rhythms = Rhythm::all(scenario, last_stage);
    rhythms.retain(|rhythm| asked.contains(&rhythm.keys.file));
    Rhythm::find(&mut rhythms, &mut Frames::open(args, scenario)?)?;
    Ok(rhythms)
}

/// Opens the requested outputs, at the beginning of the last stage.
fn open_asked<'a>(
    opening: &Opening<'a>,
    asked: &[KnownFile],
    last_stage: u64,
) -> Result<Opened<'a>, RunError> {
    let kinds = all_outputs().filter(|kind| kind.files.iter().any(|file| asked.contains(file)));
    let mut outputs = open_outputs(kinds, opening)?;
    if let Some(plan) = opening.scenario.stages().last() {
        let stage = StageBegin { plan, number: 0, first_step: last_stage, is_last: true };
        outputs.iter_mut().for_each(|output| output.begin_stage(&stage));
    }
    Ok(outputs)
}
