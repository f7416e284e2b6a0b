//! `md-cli analyse`: what a run computes of its particles as it goes, from the frames of a trajectory.
//!
//! The outputs of a run look at frames instead of steps. They need a scenario: for the names and masses of species, the time
//! step, and what they are asked for.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use md_comm::{World, local};
use md_core::words::counted;
use md_core::{Boundary, Dimension, Domain, ImageCounts, Particle, Particles};
use md_engine::{Integrator, NeighborReport, Snapshot};
use serde_json::{Value, json};

use super::{note_lock, refused};
use crate::args::AnalyseArgs;
use crate::asked_level::asked_or_widest;
use crate::error::{RUN_FAILED, Remains, RunError};
use crate::input::{InputParticles, TrajectoryFrames};
use crate::output::run_output::{ANALYSES, Closing, Opened, Opening, StageBegin, Subject, open_outputs};
use crate::output::trajectory::{Format, format_of};
use crate::output::{KnownFile, OutputDirectory, OutputError};
use crate::scenario::{self, CentreOfMass, Scenario, ScenarioSource, StagePlan};
use crate::session::note;
use crate::text_file::read_text;

/// Of a species that neither scenario nor file gives one.
const DEFAULT_MASS: f64 = 1.0;

/// Analyses a trajectory, in one process. Gives the files that were written, one a line.
///
/// # Errors
/// A file that cannot be read, or whose frames cannot be what the scenario asks for; the disk.
pub fn analyse(args: &AnalyseArgs) -> Result<String, RunError> {
    let name = args.trajectory.display();
    let missing = |reason: io::Error| refused(format!("cannot read the trajectory {name}: {reason}"));
    fs::metadata(&args.trajectory).map_err(missing)?;
    let scenario = scenario_of(args)?;
    let mut done = local::run(1, Duration::MAX, |world| analyse_on(world, &scenario, args));
    match done.pop() {
        Some(Ok(result)) => result,
        Some(Err(panic)) => Err(failed(panic.to_string())),
        None => Ok(String::new()),
    }
}

fn failed(summary: String) -> RunError {
    RunError::Compared { summary, exit_code: RUN_FAILED, remains: Remains::Nothing }
}

/// The scenario that is given, or that of the run which wrote the trajectory; it asks for an analysis.
fn scenario_of(args: &AnalyseArgs) -> Result<Scenario, RunError> {
    let path = args.scenario.clone().unwrap_or_else(|| beside(&args.trajectory, KnownFile::SCENARIO.name()));
    let name = path.display().to_string();
    if args.scenario.is_none() && !path.exists() {
        return Err(refused(format!(
            "there is no `{name}` beside the trajectory: give species, time step and analyses by --scenario FILE"
        )));
    }
    let text =
        read_text(&path, "scenario").map_err(|reason| RunError::Unreadable { path: name.clone(), reason })?;
    let scenario: Scenario = scenario::load(&ScenarioSource { name, text, overrides: args.set.clone() })?;
    if files(&scenario).is_empty() {
        return Err(refused(
            "the scenario asks for none of `output.rdf`, `msd`, `vacf` and `profile`: \
             ask for one, for example by --set output.rdf={every=10}"
                .to_owned(),
        ));
    }
    Ok(scenario)
}

/// A file or folder beside another file.
fn beside(path: &Path, name: &str) -> PathBuf {
    path.parent().unwrap_or(Path::new("")).join(name)
}

/// What the scenario's analyses write.
fn files(scenario: &Scenario) -> Vec<KnownFile> {
    let output = &scenario.output;
    let of = |file: KnownFile, is_asked: bool| Some(file).filter(|_| is_asked);
    let single = [
        of(KnownFile::RDF, output.rdf.is_some()),
        of(KnownFile::MSD, output.msd.is_some()),
        of(KnownFile::VACF, output.vacf.is_some()),
    ];
    let profiles = output.profile.iter().map(|profile| KnownFile::PROFILES[profile.axis as usize]);
    single.into_iter().flatten().chain(profiles).collect()
}

fn analyse_on(world: &dyn World, scenario: &Scenario, args: &AnalyseArgs) -> Result<String, RunError> {
    let path = &args.trajectory;
    let species = scenario.species.iter().map(|species| species.name.clone()).collect();
    let Some((format, _)) = format_of(&path.to_string_lossy()) else {
        let formats = Format::extensions();
        return Err(refused(format!("`{}`: the extension gives the format: {formats}", path.display())));
    };
    let mut frames = TrajectoryFrames::open(path, format.frames, species)?;
    let Some((name, first)) = frames.next()? else {
        return Err(refused(format!("`{}` has no frame", path.display())));
    };
    let last_stage = first_of_last_stage(scenario, path)?;
    let folder = args.output.clone().unwrap_or_else(|| beside(path, "analysis"));
    let files: Vec<KnownFile> = files(scenario).into_iter().chain([KnownFile::SUMMARY]).collect();
    let directory = OutputDirectory::without_scenario(folder.clone(), &files, &[path], &[])?;
    note_lock(&directory);
    note_masses(scenario, &first);
    let (masses, domain) = (masses(scenario, &first), domain(scenario, &first));
    let atoms = first.ids.len() as u64;
    let subject = Subject { domain: &domain, atoms, masses: &masses, simd: asked_or_widest()? };
    let opening = Opening { world, scenario, subject, resumed: None, root: None };
    let mut outputs = open_outputs(&ANALYSES, &opening)?;
    if let Some(plan) = scenario.stages().last() {
        let stage = StageBegin { plan, number: 0, first_step: last_stage, is_last: true };
        outputs.iter_mut().for_each(|output| output.begin_stage(&stage));
    }
    let followed = Followed::new(&first);
    let mut analysis =
        Analysis { scenario, masses: &masses, outputs, followed, last_stage, seen: Vec::new(), looks: 0 };
    let mut next = Some((name, first));
    while let Some((name, frame)) = next {
        analysis.look(&name, &frame)?;
        next = frames.next()?;
    }
    analysis.finish(world, &directory, path)?;
    directory.finish()?;
    Ok(files.iter().map(|file| format!("{}\n", folder.join(file.name()).display())).collect())
}

/// The first step of the last stage that outputs look at: they begin with it if they do not say when.
fn first_of_last_stage(scenario: &Scenario, path: &Path) -> Result<u64, RunError> {
    match scenario.stages().split_last() {
        None | Some((_, [])) => Ok(0),
        _ if begin_by_themselves(scenario) => Ok(0),
        // What a run looks at after the last step of a stage is that stage's.
        Some((_, earlier)) => Ok(steps_of(earlier, path).map_err(refused)? + 1),
    }
}

/// Whether all analyses say at which step they begin.
fn begin_by_themselves(scenario: &Scenario) -> bool {
    let output = &scenario.output;
    let single = [
        output.rdf.map(|keys| keys.start),
        output.msd.map(|keys| keys.start),
        output.vacf.map(|keys| keys.start),
    ];
    let profiles = output.profile.iter().map(|profile| profile.start);
    single.into_iter().flatten().chain(profiles).all(|start| start.is_some())
}

/// Steps that the first stages of a run have made: minimisations may have ended early, as the run's summary says.
fn steps_of(stages: &[StagePlan], trajectory: &Path) -> Result<u64, String> {
    let summary = fs::read(beside(trajectory, KnownFile::SUMMARY.name())).unwrap_or_default();
    let summary: Value = serde_json::from_slice(&summary).unwrap_or_default();
    let ended = |number: usize| -> Option<u64> {
        let all = summary.get("minimisations")?.as_array()?;
        all.iter().find(|ended| ended["stage"] == number)?.get("steps")?.as_u64()
    };
    let steps = |(number, stage): (usize, &StagePlan)| match stage.integrator.kind {
        Integrator::Fire(_) => ended(number).ok_or_else(|| unknown_end(number)),
        _ => Ok(stage.steps),
    };
    (1..).zip(stages).map(steps).sum()
}

fn unknown_end(number: usize) -> String {
    let summary = KnownFile::SUMMARY.name();
    format!(
        "stage {number} is a minimisation, which may have ended early, and no `{summary}` beside the trajectory says after how many steps: \
         give the step with which an analysis begins, for example by --set output.rdf.start=1000"
    )
}

/// By species, where scenario or frame gives one.
fn known_masses(scenario: &Scenario, frame: &InputParticles) -> impl Iterator<Item = Option<f64>> {
    let of_file = |index: usize| frame.masses.get(index).copied().flatten();
    scenario.species.iter().enumerate().map(move |(index, species)| species.mass.or(of_file(index)))
}

fn masses(scenario: &Scenario, frame: &InputParticles) -> Vec<f64> {
    known_masses(scenario, frame).map(|mass| mass.unwrap_or(DEFAULT_MASS)).collect()
}

/// Says so if the run had its masses from a file that is not read here, and results depend on them.
fn note_masses(scenario: &Scenario, frame: &InputParticles) {
    let output = &scenario.output;
    let has_centre = output.msd.is_some_and(|msd| msd.centre_of_mass == CentreOfMass::Removed);
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

fn domain(scenario: &Scenario, frame: &InputParticles) -> Domain {
    let dimension = if scenario.simulation.dimension == 2 { Dimension::Two } else { Dimension::Three };
    let (origin, lengths) = (frame.origin, frame.lengths);
    Domain { dimension, origin, lengths, boundary: scenario.system.boundary }
}

/// The outputs, and what is known of the frames so far.
struct Analysis<'a> {
    scenario: &'a Scenario,
    masses: &'a [f64],
    outputs: Opened<'a>,
    followed: Followed,
    /// The first step of the last stage that analyses look at.
    last_stage: u64,
    /// Steps of the frames.
    seen: Vec<u64>,
    /// How often an output has looked at a frame.
    looks: u64,
}

impl Analysis<'_> {
    fn look(&mut self, name: &str, frame: &InputParticles) -> Result<(), RunError> {
        // Frames that do not say their step are steps of their own.
        let step = frame.step.unwrap_or(self.seen.len() as u64);
        if self.seen.last().is_some_and(|&last| step <= last) {
            let last = self.seen.last().copied().unwrap_or_default();
            return Err(refused(format!(
                "{name}: its step is {step}, but that of the frame before is {last}"
            )));
        }
        self.seen.push(step);
        self.check_rhythm(name, step)?;
        let domain = domain(self.scenario, frame);
        self.check_content(name, frame)?;
        let particles = self.followed.particles(name, frame, &domain, self.masses)?;
        let snapshot = Snapshot {
            rank: 0,
            step,
            time: step as f64 * self.scenario.simulation.timestep,
            domain: &domain,
            particles: &particles,
            thermo: None,
            sums: None,
            gathered: None,
            particle_energies: None,
            particle_virials: None,
            near_pairs: None,
            minimisation: None,
            saved: None,
            neighborhood: NeighborReport::default(),
        };
        for output in &mut self.outputs {
            if output.due(step).is_some() {
                self.looks += 1;
                output.observe(&snapshot).map_err(|reason| refused(reason.to_string()))?;
            }
        }
        Ok(())
    }

    /// Whether a frame has what the analyses are made of.
    fn check_content(&self, name: &str, frame: &InputParticles) -> Result<(), RunError> {
        if self.scenario.output.vacf.is_some() && !frame.has_velocities() {
            let less = "leave it out, or analyse a trajectory with velocities";
            return Err(refused(format!(
                "{name}: there are no velocities, of which `output.vacf` is made: {less}"
            )));
        }
        let boundary = self.scenario.system.boundary.map(|boundary| boundary == Boundary::Periodic);
        let differs = |dim: usize| frame.periodic.is_some_and(|periodic| periodic[dim] != boundary[dim]);
        if (0..usize::from(self.scenario.simulation.dimension)).any(differs) {
            let flags = frame.periodic.unwrap_or(boundary).map(|flag| if flag { "T" } else { "F" }).join(" ");
            return Err(refused(format!(
                "{name}: `pbc=\"{flags}\"` contradicts `system.boundary` of the scenario: give that of the run which wrote it by --scenario FILE"
            )));
        }
        let species = self.scenario.species.len();
        if species > 1 && frame.lacks_types {
            return Err(refused(format!(
                "{name}: the file has no types, but the scenario has {species} species: give one with a single species \
                 by --scenario FILE, in which all particles count as one, or analyse a trajectory with types"
            )));
        }
        Ok(())
    }

    /// Whether frames that are correlated in time follow each other as the scenario says.
    fn check_rhythm(&self, name: &str, step: u64) -> Result<(), RunError> {
        let output = &self.scenario.output;
        let msd = output.msd.map(|keys| ("output.msd.every", keys.every, keys.start));
        let vacf = output.vacf.map(|keys| ("output.vacf.every", keys.every, keys.start));
        for (key, every, start) in msd.into_iter().chain(vacf) {
            let from = start.unwrap_or(self.last_stage);
            let is_due = |step: u64| step >= from && step.is_multiple_of(every);
            let mut before = self.seen.iter().rev().skip(1).filter(|&&before| is_due(before));
            match before.next() {
                Some(before) if is_due(step) && step - before != every => {
                    return Err(refused(format!(
                        "{name}: `{key}` is {every}, but the last such frame before step {step} is that of step {before}: \
                         try --set {key}={}",
                        step - before
                    )));
                }
                _ => (),
            }
        }
        Ok(())
    }

    fn finish(self, world: &dyn World, directory: &OutputDirectory, path: &Path) -> Result<(), RunError> {
        if self.looks == 0 {
            let (frames, last) = (self.seen.len(), self.seen.last().copied().unwrap_or_default());
            return Err(refused(format!(
                "of {}, the last of step {last}, there is none that an analysis takes: see its `every` and `start`",
                counted(frames, "frame")
            )));
        }
        let mut closing = Closing::new(world, Some(directory));
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

/// Particles from frame to frame: how often each has crossed the periodic faces. A file need not say so if none moves by more than half of
/// the box in between.
struct Followed {
    ids: Vec<u64>,
    positions: Vec<[f64; 3]>,
    images: Vec<ImageCounts>,
}

impl Followed {
    fn new(first: &InputParticles) -> Self {
        let images = vec![ImageCounts([0; 3]); first.ids.len()];
        Self { ids: first.ids.clone(), positions: first.positions.clone(), images }
    }

    /// The particles of a frame as the engine has them.
    fn particles(
        &mut self,
        name: &str,
        frame: &InputParticles,
        domain: &Domain,
        masses: &[f64],
    ) -> Result<Particles, RunError> {
        if frame.ids != self.ids {
            return Err(refused(format!(
                "{name}: its particles are not those of the first frame, by their ids"
            )));
        }
        let mut particles = Particles::default();
        for (index, (&id, &position)) in frame.ids.iter().zip(&frame.positions).enumerate() {
            for dim in (0..3).filter(|&dim| domain.is_periodic(dim)) {
                let moved = (self.positions[index][dim] - position[dim]) / domain.lengths[dim];
                self.images[index].0[dim] += moved.round() as i32;
            }
            let species = frame.types[index] - 1;
            let velocity = velocity(frame, index, masses[species as usize]);
            particles.push(Particle { id, species, position, velocity });
            particles.images[index] = self.images[index].pack();
        }
        self.positions.clone_from(&frame.positions);
        Ok(particles)
    }
}

/// What the frame says of it, no number where it does not.
fn velocity(frame: &InputParticles, index: usize, mass: f64) -> [f64; 3] {
    let own = frame.velocities.as_ref().and_then(|all| all.get(index)).copied();
    let moved = || frame.momenta.as_ref()?.get(index).map(|momentum| momentum.map(|p| p / mass));
    own.or_else(moved).unwrap_or([f64::NAN; 3])
}
