//! The inputs of a run of particles.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use md_core::Particle;

use crate::input::InputParticles;
use crate::scenario::{Scenario, ScenarioSource};
use crate::text_file::is_open_already;

/// Everything a run starts from, the same on all ranks but for the particles that each of them keeps.
#[derive(Debug, Clone)]
pub struct Inputs {
    /// Where the scenario stands: particle files are relative to its folder.
    pub path: PathBuf,
    /// The scenario's text and overrides.
    pub source: ScenarioSource,
    /// The scenario, checked.
    pub scenario: Scenario,
    /// The particle file, where there is one.
    pub particles: Option<InputParticles>,
    /// Further files that a command was given.
    pub beside: Vec<PathBuf>,
    /// The particles as the engine takes them, once they are asked for: one list for all set-ups of these inputs.
    pub(crate) list: OnceLock<Arc<[Particle]>>,
}

impl Inputs {
    /// Path of the particle file, where there is one.
    pub fn particle_file(&self) -> Option<PathBuf> {
        let file = self.scenario.system.file.as_ref()?;
        // What somebody else has opened for us (`/dev/stdin`) stands in no folder.
        let folder = self.path.parent().filter(|_| !is_open_already(&self.path));
        Some(folder.unwrap_or(Path::new("")).join(&file.path))
    }
}
