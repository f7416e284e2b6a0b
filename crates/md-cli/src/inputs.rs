//! Reading a scenario and its particle file: rank 0 reads, and each rank keeps its share of the particles.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use md_comm::World;
use md_core::Particle;

use crate::args::ScenarioArgs;
use crate::error::RunError;
use crate::input::{self, InputParticles, Source};
use crate::scenario::{self, InputFile, InputFormat, Scenario, ScenarioSource};
use crate::setup;
use crate::text_file::{read_scenario, told};

/// Everything a run starts from, the same on all ranks but for the particles that each of them keeps.
#[derive(Debug, Clone)]
pub struct Inputs {
    /// The scenario's text and overrides.
    pub source: ScenarioSource,
    /// The scenario, checked.
    pub scenario: Scenario,
    /// The particle file, where there is one.
    pub particles: Option<InputParticles>,
    /// The particles as the engine takes them, once they are asked for: one list for all set-ups of these inputs.
    pub(crate) list: OnceLock<Arc<[Particle]>>,
}

impl Inputs {
    /// In a process of its own.
    ///
    /// # Errors
    /// An unreadable file, a fault in the scenario or in the particle file.
    pub fn read(args: &ScenarioArgs) -> Result<Self, RunError> {
        Self::with(args, None)
    }

    /// In a world of ranks: rank 0 reads, and each rank keeps a part of the particles; an error is one of all. *Collective.*
    ///
    /// # Errors
    /// As [`Inputs::read`], and particles that cannot be where they are; the same on all ranks. Communication.
    pub fn read_on_first_rank(args: &ScenarioArgs, world: &dyn World) -> Result<Self, RunError> {
        Self::with(args, Some(world))
    }

    /// Path of the particle file, where there is one.
    pub fn particle_file(&self) -> Option<PathBuf> {
        let file = self.scenario.system.file.as_ref()?;
        Some(beside(Path::new(&self.source.name), &file.path))
    }

    /// From a scenario's text; particle files are relative to the folder of `name`.
    ///
    /// # Errors
    /// As [`Inputs::read`].
    pub fn from_text(name: &str, text: &str, overrides: Vec<String>) -> Result<Self, RunError> {
        Self::load(ScenarioSource { name: name.to_owned(), text: text.to_owned(), overrides }, None)
    }

    fn with(args: &ScenarioArgs, world: Option<&dyn World>) -> Result<Self, RunError> {
        let (path, name) = (&args.scenario, args.scenario.display().to_string());
        let text = told(world, path, || read_scenario(path).map(Some))?.unwrap_or_default();
        Self::load(ScenarioSource { name, text, overrides: args.overrides() }, world)
    }

    fn load(source: ScenarioSource, world: Option<&dyn World>) -> Result<Self, RunError> {
        let scenario = scenario::load(&source)?;
        let mut inputs = Self { source, scenario, particles: None, list: OnceLock::new() };
        if let (Some(path), Some(file)) = (inputs.particle_file(), inputs.scenario.system.file.clone()) {
            let name = path.display().to_string();
            inputs.read_particles(&file, &Source::file(&name, &path, world))?;
        }
        Ok(inputs)
    }

    fn read_particles(&mut self, file: &InputFile, text: &Source<'_>) -> Result<(), RunError> {
        let Self { source, scenario, .. } = self;
        let species: Vec<String> = scenario.species.iter().map(|s| s.name.clone()).collect();
        let mut particles = match file.format {
            InputFormat::LammpsData => input::lammps_data::read(text)?,
            InputFormat::Extxyz => input::extxyz::read(text, &species, file.frame)?,
        };
        input::adopt(text.name(), &mut particles, source, scenario)?;
        if particles.has_velocities() && scenario.system.temperature.is_some() {
            let note = "the velocities of the file are replaced: the scenario has `system.temperature`";
            particles.notes.push(note.to_owned());
        }
        let is_shared = particles.share.is_some();
        self.particles = Some(particles);
        if !is_shared {
            return Ok(());
        }
        // What only the rank that keeps a particle can find out; everything else all ranks find out when they set up.
        let fault = match setup::of_scenario(self, &self.scenario, text.ranks()) {
            Err(RunError::Input(error)) => Err(error),
            _ => Ok(()),
        };
        text.agree(fault)
    }
}

/// A path given in a scenario: relative to the scenario's folder.
fn beside(scenario: &Path, path: &str) -> PathBuf {
    scenario.parent().unwrap_or(Path::new("")).join(path)
}
