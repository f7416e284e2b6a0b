//! Reading a scenario and its particle file: rank 0 reads and broadcasts.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use md_comm::World;
use md_core::Particle;

use crate::args::ScenarioArgs;
use crate::error::RunError;
use crate::input::{self, InputParticles};
use crate::memory;
use crate::scenario::{self, InputFormat, Scenario, ScenarioSource};
use crate::text_file::{TextFile, Unread};

/// Everything a run starts from, the same on all ranks.
#[derive(Debug, Clone)]
pub struct Inputs {
    /// The scenario's text and overrides.
    pub source: ScenarioSource,
    /// The scenario, checked.
    pub scenario: Scenario,
    /// The particle file, where there is one.
    pub particles: Option<InputParticles>,
    /// Size of the particle file's text.
    pub particle_bytes: usize,
    /// The particles as the engine takes them, once they are asked for: one list for all set-ups of these inputs.
    pub(crate) list: OnceLock<Arc<[Particle]>>,
}

impl Inputs {
    /// In a process of its own.
    ///
    /// # Errors
    /// An unreadable file, a fault in the scenario or in the particle file.
    pub fn read(args: &ScenarioArgs) -> Result<Self, RunError> {
        Self::with(args, read_text)
    }

    /// In a world of ranks: rank 0 reads, the others receive what it has read, or its error. *Collective.*
    ///
    /// # Errors
    /// As [`Inputs::read`], the same on all ranks; communication.
    pub fn read_on_first_rank(args: &ScenarioArgs, world: &dyn World) -> Result<Self, RunError> {
        Self::with(args, |path, kind| {
            let mut message = Vec::new();
            if world.rank() == 0 {
                let (text, mark) = match read_text(path, kind) {
                    Ok(text) => (text, b'+'),
                    Err(RunError::Unreadable { reason, .. }) => (reason, b'-'),
                    Err(other) => return Err(other),
                };
                message = text.into_bytes();
                message.push(mark);
            }
            world.broadcast(0, &mut message)?;
            let is_text = message.pop() == Some(b'+');
            // No copy of what may be large.
            let text = String::from_utf8(message).unwrap_or_default();
            if is_text { Ok(text) } else { Err(unreadable(path, text)) }
        })
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
        Self::load(ScenarioSource { name: name.to_owned(), text: text.to_owned(), overrides }, read_text)
    }

    fn with(
        args: &ScenarioArgs,
        read: impl Fn(&Path, TextFile) -> Result<String, RunError>,
    ) -> Result<Self, RunError> {
        let name = args.scenario.display().to_string();
        let source = ScenarioSource {
            name,
            text: read(&args.scenario, TextFile::Scenario)?,
            overrides: args.overrides(),
        };
        Self::load(source, read)
    }

    fn load(
        source: ScenarioSource,
        read: impl Fn(&Path, TextFile) -> Result<String, RunError>,
    ) -> Result<Self, RunError> {
        let mut scenario = scenario::load(&source)?;
        let (particles, particle_bytes) = match &scenario.system.file {
            None => (None, 0),
            Some(file) => {
                let path = beside(Path::new(&source.name), &file.path);
                let (name, text) = (path.display().to_string(), read(&path, TextFile::Particles)?);
                expect_room_to_parse(&path, &text)?;
                let species: Vec<String> = scenario.species.iter().map(|s| s.name.clone()).collect();
                let mut particles = match file.format {
                    InputFormat::LammpsData => input::lammps_data::parse(&name, &text)?,
                    InputFormat::Extxyz => input::extxyz::parse_frame(&name, &text, &species, file.frame)?,
                };
                input::adopt(&name, &mut particles, &source, &mut scenario)?;
                if particles.has_velocities() && scenario.system.temperature.is_some() {
                    let note =
                        "the velocities of the file are replaced: the scenario has `system.temperature`";
                    particles.notes.push(note.to_owned());
                }
                (Some(particles), text.len())
            }
        };
        Ok(Self { source, scenario, particles, particle_bytes, list: OnceLock::new() })
    }
}

/// A path given in a scenario: relative to the scenario's folder.
fn beside(scenario: &Path, path: &str) -> PathBuf {
    scenario.parent().unwrap_or(Path::new("")).join(path)
}

fn read_text(path: &Path, kind: TextFile) -> Result<String, RunError> {
    kind.read(path).map_err(|error| match error {
        Unread::Because(reason) => unreadable(path, reason),
        Unread::NoRoom(bytes) => no_room(path, bytes),
    })
}

/// Particles in the making take more than their text. Asked for at once, what is missing is an error; later it would be a
/// signal.
fn expect_room_to_parse(path: &Path, text: &str) -> Result<(), RunError> {
    /// Fields, records and particles, each while it grows.
    const BYTES_PER_LINE: usize = 320;
    let lines = text.bytes().filter(|&byte| byte == b'\n').count();
    let room = Vec::<u8>::new().try_reserve_exact(lines.saturating_mul(BYTES_PER_LINE));
    room.map_err(|_| no_room(path, text.len() as u64))
}

fn no_room(path: &Path, bytes: u64) -> RunError {
    RunError::NoRoom { path: path.display().to_string(), size: memory::in_words(bytes as f64) }
}

fn unreadable(path: &Path, reason: String) -> RunError {
    RunError::Unreadable { path: path.display().to_string(), reason }
}
