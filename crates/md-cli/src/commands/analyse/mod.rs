//! `md-cli analyse`: the analyses of a run, computed from the frames of a trajectory.
//!
//! The outputs of a run observe frames instead of steps. They need a scenario for the names and
//! masses of species, the time step, the interactions and the parameters of the analyses.

mod evaluated;
mod followed;
mod frames;
mod rhythm;
mod steps;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;
use std::{fs, io};

use md_comm::{World, local};
use md_core::words::counted;
use md_core::{Boundary, ConservedMomentum, Dimension, Domain};
use md_engine::{Integrator, Needs, NeighborReport, Snapshot};
use serde_json::{Value, json};

use super::ending::summarised;
use super::{note_lock, refused};
use crate::args::AnalyseArgs;
use crate::inputs::Inputs;
use crate::requested_level::requested_or_widest;
use crate::setup;
use evaluated::{Evaluation, is_of_forces};
use followed::Followed;
use frames::{Frames, Stepped};
use md_files::input::InputParticles;
use md_files::output::run_output::{
    Closing, Console, OUTPUTS, Opened, Opening, RootOpening, RunOutput, StageBegin, Subject, open_outputs,
};
use md_files::output::{KnownFile, OutputDirectory, OutputError};
use md_files::text_file::read_text;
use md_scenario::failure::{RUN_FAILED, RunError};
use md_scenario::messages::note;
use md_scenario::{
    self as scenario, CentreOfMass, Positions, Scenario, ScenarioSource, StagePlan, Trajectory,
};
use rhythm::{Rhythm, Shifted};

/// Name of the default output folder, beside the trajectory.
const ANALYSIS: &str = "analysis";
/// Mass of a species for which neither scenario nor file gives one.
const DEFAULT_MASS: f64 = 1.0;

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
    let scenario: Scenario = scenario::load(&source)?;
    if files(&scenario).is_empty() {
        return Err(refused(
            "the scenario asks for none of `output.rdf`, `msd`, `vacf`, `viscosity`, `profile`, `averages` and `surface_tension`: \
             ask for one, for example by --set output.rdf={every=10}"
                .to_owned(),
        ));
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
    let of = |file: KnownFile, is_asked: bool| Some(file).filter(|_| is_asked);
    let single = [
        of(KnownFile::RDF, output.rdf.is_some()),
        of(KnownFile::MSD, output.msd.is_some()),
        of(KnownFile::VACF, output.vacf.is_some()),
        of(KnownFile::VISCOSITY, output.viscosity.is_some()),
        of(KnownFile::THERMO, output.averages.is_some() || output.surface_tension.is_some()),
    ];
    let profiles = output.profile.iter().map(|profile| KnownFile::PROFILES[profile.axis as usize]);
    single.into_iter().flatten().chain(profiles).collect()
}

/// Checks that no results of a run are replaced.
fn expect_no_run(folder: &Path) -> Result<(), RunError> {
    let of_run = KnownFile::SCENARIO.name();
    if !folder.join(of_run).exists() {
        return Ok(());
    }
    let folder = folder.display();
    Err(refused(format!(
        "`{folder}` is the folder of a run, with `{of_run}` in it: choose another one with --output DIR"
    )))
}

/// Returns those of the files that can be computed from such frames, and prints a note about the
/// others.
///
/// # Errors
/// Returns an error if none can be.
fn possible(asked: Vec<KnownFile>, frame: &InputParticles) -> Result<Vec<KnownFile>, RunError> {
    let needs_velocities = |file: &KnownFile| [KnownFile::THERMO, KnownFile::VISCOSITY].contains(file);
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
    let Some(mut first) = frames.next()? else {
        return Err(refused(format!("`{}` has no frame", path.display())));
    };
    let is_unwrapped = is_unwrapped(&inputs.scenario, path);
    first.frame.tells_images = told_images(&first.frame, is_unwrapped);
    let last_stage = first_of_last_stage(&inputs.scenario, path)?;
    let folder = args.output.clone().unwrap_or_else(|| beside(path, ANALYSIS));
    let asked = possible(files(&inputs.scenario), &first.frame)?;
    expect_no_run(&folder)?;
    let files: Vec<KnownFile> = asked.iter().copied().chain([KnownFile::SUMMARY]).collect();
    let directory = OutputDirectory::without_scenario(folder.clone(), &files, &[path], &[])?;
    note_lock(&directory);
    let mut rhythms = Rhythm::all(&inputs.scenario, last_stage);
    rhythms.retain(|rhythm| asked.contains(&rhythm.file));
    Rhythm::find(&mut rhythms, &mut Frames::open(args, &inputs.scenario)?)?;
    let mut inputs = inputs.clone();
    rhythms.iter().for_each(|rhythm| rhythm.adapt(&mut inputs.scenario));
    let (inputs, scenario) = (&inputs, &inputs.scenario);
    first.frame.note_of_units().iter().for_each(|text| note(text));
    note_masses(scenario, &first.frame);
    note_lacks(scenario, &first.frame);
    let (masses, domain) = (masses(scenario, &first.frame), domain(scenario, &first.frame));
    let atoms = first.frame.ids.len() as u64;
    let subject = Subject { domain: &domain, atoms, masses: &masses, simd: requested_or_widest()? };
    let root = Some(RootOpening { directory: &directory, console: Console::silent() });
    let opening = Opening { world, scenario, subject, resumed: None, root, within: String::new() };
    let mut outputs = Opened::new();
    for kind in OUTPUTS.iter().filter(|kind| kind.files.iter().any(|file| asked.contains(file))) {
        let by = Rhythm::shift(&rhythms, kind);
        let of_kind = open_outputs(std::iter::once(kind), &opening)?.into_iter();
        outputs.extend(of_kind.map(|output| -> Box<dyn RunOutput> { Box::new(Shifted { output, by }) }));
    }
    if let Some(plan) = scenario.stages().last() {
        let stage = StageBegin { plan, number: 0, first_step: last_stage, is_last: true };
        outputs.iter_mut().for_each(|output| output.begin_stage(&stage));
    }
    let followed = Followed::new(&first.frame);
    let evaluation = Evaluation::new(world, inputs, &masses);
    let stages = scenario.stages();
    let made = steps_made(&stages, path);
    let mut analysis = Analysis {
        stages,
        made,
        evaluation,
        world,
        inputs,
        masses: &masses,
        outputs,
        followed,
        rhythms,
        seen: Vec::new(),
        looks: 0,
    };
    let mut next = Some(first);
    while let Some(mut frame) = next {
        frame.frame.tells_images = told_images(&frame.frame, is_unwrapped);
        analysis.look(frame)?;
        next = frames.next()?;
    }
    frames.notes().for_each(|text| note(&text));
    analysis.finish(&directory, path)?;
    directory.finish()?;
    Ok(files.iter().map(|file| format!("{}\n", folder.join(file.name()).display())).collect())
}

/// Returns the first step that outputs observe in the last stage. Outputs without a `start` begin
/// with it.
fn first_of_last_stage(scenario: &Scenario, path: &Path) -> Result<u64, RunError> {
    match scenario.stages().split_last() {
        None | Some((_, [])) => Ok(0),
        _ if begin_by_themselves(scenario) => Ok(0),
        // The state after the last step of a stage belongs to this stage.
        Some((_, earlier)) => Ok(steps_of(earlier, path).map_err(refused)? + 1),
    }
}

/// Returns whether all analyses have a `start`.
fn begin_by_themselves(scenario: &Scenario) -> bool {
    let output = &scenario.output;
    let single = [
        output.rdf.map(|keys| keys.start),
        output.msd.map(|keys| keys.start),
        output.vacf.map(|keys| keys.start),
        output.viscosity.map(|keys| keys.start),
        output.surface_tension.map(|_| output.averages.map(|keys| keys.start)),
    ];
    let profiles = output.profile.iter().map(|profile| profile.start);
    single.into_iter().flatten().chain(profiles).all(|start| start.is_some())
}

/// Returns the total number of steps of the first stages of a run.
fn steps_of(stages: &[StagePlan], trajectory: &Path) -> Result<u64, String> {
    let made = steps_made(stages, trajectory);
    (1..).zip(made).map(|(number, steps)| steps.ok_or_else(|| unknown_end(number))).sum()
}

/// Returns the number of steps of each of these stages. Minimisations may have ended early; the
/// run's summary, if there is one, contains the number of their steps.
fn steps_made(stages: &[StagePlan], trajectory: &Path) -> Vec<Option<u64>> {
    let summary = fs::read(beside(trajectory, KnownFile::SUMMARY.name())).unwrap_or_default();
    let summary: Value = serde_json::from_slice(&summary).unwrap_or_default();
    let ended = |number: usize| -> Option<u64> {
        let all = summary.get("minimisations")?.as_array()?;
        all.iter().find(|ended| ended["stage"] == number)?.get("steps")?.as_u64()
    };
    let steps = |(number, stage): (usize, &StagePlan)| match stage.integrator.kind {
        Integrator::Fire(_) => ended(number),
        _ => Some(stage.steps),
    };
    (1..).zip(stages).map(steps).collect()
}

/// Returns the integrator of a step in a run of these stages. `made` is the number of steps of
/// each; where it is unknown, the planned number is used.
fn integrator_at(step: u64, stages: &[StagePlan], made: &[Option<u64>]) -> Integrator {
    let mut last = 0;
    let ends = stages.iter().zip(made).map(|(stage, made)| {
        last += made.unwrap_or(stage.steps);
        (last, stage.integrator.kind)
    });
    let of_last = stages.last().map_or(Integrator::default(), |stage| stage.integrator.kind);
    ends.into_iter().find(|(end, _)| step <= *end).map_or(of_last, |(_, kind)| kind)
}

fn unknown_end(number: usize) -> String {
    let summary = KnownFile::SUMMARY.name();
    format!(
        "stage {number} is a minimisation, which may have ended early, and no `{summary}` beside the trajectory says after how many steps: \
         give the step with which an analysis begins, for example by --set output.rdf.start=1000"
    )
}

/// Returns the mass of each species, if scenario or frame gives one.
fn known_masses(scenario: &Scenario, frame: &InputParticles) -> impl Iterator<Item = Option<f64>> {
    let of_file = |index: usize| frame.masses.get(index).copied().flatten();
    scenario.species.iter().enumerate().map(move |(index, species)| species.mass.or(of_file(index)))
}

fn masses(scenario: &Scenario, frame: &InputParticles) -> Vec<f64> {
    known_masses(scenario, frame).map(|mass| mass.unwrap_or(DEFAULT_MASS)).collect()
}

/// Prints a note if the run took masses from a file that is not read here, and results depend on
/// them.
fn note_masses(scenario: &Scenario, frame: &InputParticles) {
    let output = &scenario.output;
    let centres = [output.msd.map(|msd| msd.centre_of_mass), output.vacf.map(|vacf| vacf.centre_of_mass)];
    let is_removed = |centre: CentreOfMass| centre != CentreOfMass::Kept;
    let has_centre = scenario.species.len() > 1 && centres.into_iter().flatten().any(is_removed);
    let has_momenta = frame.velocities.is_none() && frame.momenta.is_some();
    let is_needed = !output.profile.is_empty() || has_centre || has_momenta;
    if scenario.system.file.is_none() || !is_needed {
        return;
    }
    let unknown =
        scenario.species.iter().zip(known_masses(scenario, frame)).filter(|(_, mass)| mass.is_none());
    for (species, _) in unknown {
        let name = &species.name;
        note(&format!(
            "neither scenario nor trajectory gives the mass of species `{name}`: {DEFAULT_MASS:?} is taken"
        ));
    }
}

/// Returns whether the scenario requests unwrapped positions for this trajectory. Not every format
/// marks them.
fn is_unwrapped(scenario: &Scenario, path: &Path) -> bool {
    let same_name = |own: &Trajectory| Path::new(&own.path).file_name() == path.file_name();
    let own = scenario.output.trajectory.as_ref().filter(|own| same_name(own));
    own.is_some_and(|own| own.positions == Positions::Unwrapped)
}

/// Returns along which axes the number of crossings of the faces is known.
fn told_images(frame: &InputParticles, is_unwrapped: bool) -> [bool; 3] {
    if frame.tells_images == [false; 3] { [is_unwrapped; 3] } else { frame.tells_images }
}

/// Prints notes about the values that replace data missing in the frames.
fn note_lacks(scenario: &Scenario, frame: &InputParticles) {
    let species: Vec<String> = scenario.species.iter().map(|species| species.name.clone()).collect();
    if species.len() > 1 && frame.lacks_types {
        // The check of the content returns an error for these frames.
        return;
    }
    frame.notes_of_lacks(&species).iter().for_each(|text| note(text));
    let untold = frame.untold_axes(setup::periodic_axes(scenario));
    if let (Some(axes), Some(_)) = (untold, scenario.output.msd) {
        note(&format!(
            "the trajectory has neither image counts nor unwrapped positions along {axes}: `output.msd` holds if no particle \
             moves by more than half of the box between two frames"
        ));
    }
}

fn domain(scenario: &Scenario, frame: &InputParticles) -> Domain {
    let dimension = if scenario.simulation.dimension == 2 { Dimension::Two } else { Dimension::Three };
    let (origin, lengths) = (frame.origin, frame.lengths);
    Domain { dimension, origin, lengths, boundary: scenario.system.boundary }
}

/// The outputs, and the state that follows from the frames so far.
struct Analysis<'a> {
    world: &'a dyn World,
    /// Stages of the run, and the number of steps that each has made, if known.
    stages: Vec<StagePlan>,
    made: Vec<Option<u64>>,
    inputs: &'a Inputs,
    evaluation: Evaluation<'a>,
    masses: &'a [f64],
    outputs: Opened<'a>,
    followed: Followed,
    rhythms: Vec<Rhythm>,
    /// Steps of the frames so far.
    seen: Vec<u64>,
    /// Number of times that an output has observed a frame.
    looks: u64,
}

impl Analysis<'_> {
    fn look(&mut self, Stepped { name, step, frame }: Stepped) -> Result<(), RunError> {
        let name = &*name;
        self.seen.push(step);
        self.rhythms.iter_mut().try_for_each(|rhythm| rhythm.check(name, step))?;
        let scenario = &self.inputs.scenario;
        let domain = domain(scenario, &frame);
        self.check_content(name, &frame)?;
        let particles = self.followed.particles(name, &frame, &domain, self.masses)?;
        let integrator = integrator_at(step, &self.stages, &self.made);
        let snapshot = Snapshot {
            rank: 0,
            step,
            time: step as f64 * scenario.simulation.timestep,
            domain: &domain,
            particles: &particles,
            thermo: None,
            sums: None,
            gathered: None,
            particle_energies: None,
            particle_virials: None,
            near_pairs: None,
            box_warnings: &[],
            conserved_momentum: ConservedMomentum::new(&domain, integrator.total_momentum()),
            minimisation: None,
            saved: None,
            neighborhood: NeighborReport::default(),
        };
        let has_velocities = frame.has_velocities();
        let mut of_forces: Vec<&mut dyn RunOutput> = Vec::new();
        for output in &mut self.outputs {
            let Some(needs) = output.due(step) else { continue };
            self.looks += 1;
            match is_of_forces(needs) {
                true if has_velocities => of_forces.push(&mut **output),
                true if needs.contains(Needs::ENERGY_AND_VIRIAL) => {
                    return Err(refused(format!("{name}: unlike the first frame it has no velocities")));
                }
                _ => output.observe(&snapshot).map_err(|reason| refused(reason.to_string()))?,
            }
        }
        if of_forces.is_empty() {
            return Ok(());
        }
        self.evaluation.show(name, frame, (step, integrator), of_forces)
    }

    /// Checks that a frame contains the data that the analyses need.
    fn check_content(&self, name: &str, frame: &InputParticles) -> Result<(), RunError> {
        let scenario = &self.inputs.scenario;
        if scenario.output.vacf.is_some() && !frame.has_velocities() {
            let less = "leave it out, or analyse a trajectory with velocities";
            return Err(refused(format!(
                "{name}: there are no velocities, of which `output.vacf` is made: {less}"
            )));
        }
        let of_identity = [(scenario.output.msd.is_some(), "msd"), (scenario.output.vacf.is_some(), "vacf")];
        if let Some((_, key)) = of_identity.into_iter().find(|(is_asked, _)| *is_asked && frame.lacks_ids) {
            return Err(refused(format!(
                "{name}: there is no column `id`, by which `output.{key}` finds particles again: leave it out, or \
                 analyse a trajectory with ids"
            )));
        }
        let boundary = scenario.system.boundary.map(|boundary| boundary == Boundary::Periodic);
        let differs = |dim: usize| frame.periodic.is_some_and(|periodic| periodic[dim] != boundary[dim]);
        if (0..usize::from(scenario.simulation.dimension)).any(differs) {
            let flags = frame.periodic.unwrap_or(boundary).map(|flag| if flag { "T" } else { "F" }).join(" ");
            return Err(refused(format!(
                "{name}: `pbc=\"{flags}\"` contradicts `system.boundary` of the scenario: give that of the run which wrote it by --scenario FILE"
            )));
        }
        let species = scenario.species.len();
        if species > 1 && frame.lacks_types {
            return Err(refused(format!(
                "{name}: the file has no types, but the scenario has {species} species: give one with a single species \
                 by --scenario FILE, in which all particles count as one, or analyse a trajectory with types"
            )));
        }
        Ok(())
    }

    fn finish(self, directory: &OutputDirectory, path: &Path) -> Result<(), RunError> {
        if self.looks == 0 {
            let (frames, last) = (self.seen.len(), self.seen.last().copied().unwrap_or_default());
            return Err(refused(format!(
                "of {}, the last of step {last}, there is none that an analysis takes: see its `every` and `start`",
                counted(frames, "frame")
            )));
        }
        let mut closing = Closing::new(self.world, Some(directory));
        for output in self.outputs {
            output.finish(&mut closing)?;
        }
        let (first, last) = (self.seen.first(), self.seen.last());
        let mut summary = json!({
            "trajectory": path.display().to_string(),
            "frames": self.seen.len(),
            "atoms": self.followed.ids.len(),
            "first_step": first,
            "last_step": last,
        });
        if let Value::Object(entries) = &mut summary {
            entries.append(&mut closing.summary);
        }
        let text = serde_json::to_vec_pretty(&summary)
            .map_err(|reason| OutputError::encode(KnownFile::SUMMARY, &reason))?;
        Ok(directory.write_whole(KnownFile::SUMMARY, &text)?)
    }
}
