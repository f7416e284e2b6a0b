//! The inputs of a run of particles.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use md_core::Particle;
use md_files::input::InputParticles;
use md_files::text_file::is_open_already;
use md_scenario::{Scenario, ScenarioSource};

/// Everything a run starts from; equal on all ranks except for the particles, of which each rank
/// keeps a part.
#[derive(Debug, Clone)]
pub struct Inputs {
    /// Path of the scenario: particle files are relative to its folder.
    pub path: PathBuf,
    /// The scenario's text and overrides.
    pub source: ScenarioSource,
    /// The scenario, checked.
    pub scenario: Scenario,
    /// Contents of the particle file, if there is one.
    pub particles: Option<InputParticles>,
    /// Further files given to a command.
    pub beside: Vec<PathBuf>,
    /// The particles as the engine takes them, built on first use: one list for all set-ups of
    /// these inputs.
    pub(crate) list: OnceLock<Arc<[Particle]>>,
}

impl Inputs {
    /// Returns the path of the particle file, if there is one.
    pub fn particle_file(&self) -> Option<PathBuf> {
        let file = self.scenario.system.file.as_ref()?;
        // A file that another process has opened (`/dev/stdin`) is in no folder.
        let folder = self.path.parent().filter(|_| !is_open_already(&self.path));
        Some(folder.unwrap_or(Path::new("")).join(&file.path))
    }
}
