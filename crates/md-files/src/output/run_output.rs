//! Outputs that a run writes while it proceeds. Every output is an observer with a file. This
//! module defines the functions of an output other than those of an observer.
//!
//! ```text
//! open or go on -> [ stage begins -> due, observe ... -> kept, by each checkpoint ] -> finish
//! ```
//!
//! Every rank has a value of each output; its file, if it has one, is on rank 0. A new output needs
//! one more file beside this one and a line in [`super::outputs::all_outputs`]; an analysis, one in
//! [`super::analyses`].

use std::cell::RefCell;
use std::rc::Rc;

use md_comm::World;
use md_core::{Domain, SimdLevel};
use md_engine::{Needs, Observer, ObserverError, Setup, Snapshot};
use md_scenario::failure::RunError;
use md_scenario::known_file::KnownFile;
use md_scenario::messages::note;
use md_scenario::{Scenario, StagePlan};
use serde_json::{Map, Value};

use super::{Progress, ProgressMode, Screen, Verbosity};
use crate::checkpoint::{OutputMemory, OutputState, ParticleMemory, ParticleRows, Resumed};
use crate::store::{OutputDirectory, OutputError, OutputMark};

/// A kind of output.
#[derive(Clone, Copy)]
pub struct OutputKind {
    /// Whether stages can have it too.
    pub scope: Scope,
    /// Files with fixed names, which the next run into the same directory removes.
    pub files: &'static [KnownFile],
    /// Data that a sample of an analysis needs.
    pub needs: Needs,
    /// Whether it stores values of every particle, and finds the particles again by their ids.
    pub has_tracks: bool,
    /// Opens the outputs of this kind that the scenario requests, or continues them. It is called
    /// on all ranks, for one kind after another, and does not communicate.
    pub open: for<'a> fn(&Opening<'a>) -> Result<Opened<'a>, OutputError>,
}

/// Whether an output is available to single stages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Whole runs only.
    Run,
    /// Whole runs and single stages.
    Stage,
}

/// The outputs of one kind that a scenario requests.
pub type Opened<'a> = Vec<Box<dyn RunOutput + 'a>>;

/// An output of a run, on one rank.
pub trait RunOutput: Observer {
    /// Begins a stage, to which the following steps belong. A run without stages is one stage.
    fn begin_stage(&mut self, _stage: &StageBegin) {}

    /// Returns the data of rank 0 for a checkpoint after the present step. The file has reached the
    /// disk before this returns. *Collective.*
    ///
    /// # Errors
    /// Returns an error if the disk or communication fails.
    fn kept(&mut self) -> Result<OutputState, ObserverError> {
        Ok(OutputState::default())
    }

    /// Returns the data per particle for a checkpoint after the present step. They are stored with
    /// the rows of the particles. *Collective.*
    ///
    /// # Errors
    /// Returns an error if communication fails.
    fn particle_memory(&mut self, _now: &Snapshot) -> Result<Option<ParticleMemory>, ObserverError> {
        Ok(None)
    }

    /// Completes the file, and adds the entries of this output for summary.json on rank 0.
    /// *Collective.*
    ///
    /// # Errors
    /// Returns an error if the disk or communication fails.
    fn finish(self: Box<Self>, closing: &mut Closing) -> Result<(), RunError>;
}

/// The beginning of a stage, or the point in it at which a run is resumed.
#[derive(Debug, Clone, Copy)]
pub struct StageBegin<'s> {
    /// Steps and intervals of the stage.
    pub plan: &'s StagePlan,
    /// Number of stages before this one.
    pub number: usize,
    /// Step after which the stage began.
    pub first_step: u64,
    /// Whether this is the last stage.
    pub is_last: bool,
}

/// Properties of the system that outputs need.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The box.
    pub domain: &'a Domain,
    /// Number of particles.
    pub atoms: u64,
    /// Masses by species.
    pub masses: &'a [f64],
    /// Instruction set for loops over particles.
    pub simd: SimdLevel,
    /// Steps of analyses that do not use those of the scenario.
    pub frames: &'a [Spacing],
}

/// Steps of the frames of a trajectory that an analysis uses.
#[derive(Debug, Clone, Copy)]
pub struct Spacing {
    /// File of the analysis.
    pub file: KnownFile,
    /// The first step.
    pub first: u64,
    /// Steps between two frames.
    pub steps: u64,
}

impl<'a> From<&'a Setup> for Subject<'a> {
    fn from(setup: &'a Setup) -> Self {
        let (domain, atoms, masses) = (&setup.domain, setup.atoms(), &setup.config.masses);
        Self { domain, atoms, masses, simd: setup.simd, frames: &[] }
    }
}

/// Values with which outputs are opened.
#[derive(Clone)]
pub struct Opening<'a> {
    /// The ranks.
    pub world: &'a dyn World,
    /// The scenario.
    pub scenario: &'a Scenario,
    /// The system before step 0.
    pub subject: Subject<'a>,
    /// Checkpoint from which the run is resumed.
    pub resumed: Option<&'a Resumed>,
    /// Values of rank 0.
    pub root: Option<RootOpening<'a>>,
    /// Prefix of `[output]` of this scenario in the scenario of the run: `stage[1].`, or empty.
    pub within: String,
}

/// Values that exist on rank 0 only.
#[derive(Clone)]
pub struct RootOpening<'a> {
    /// Directory of the files.
    pub directory: &'a OutputDirectory,
    /// Console on which the user sees the run.
    pub console: SharedConsole,
}

/// The screen and the progress bar above which rows are printed.
pub struct Console {
    /// Standard output.
    pub screen: Screen,
    /// Standard error.
    pub progress: Progress,
}

/// The console, for all outputs of rank 0.
pub type SharedConsole = Rc<RefCell<Console>>;

impl Console {
    /// Returns a console that shows nothing.
    pub fn silent() -> SharedConsole {
        let progress = Progress::new(ProgressMode::Never, 0, 0, 0);
        Rc::new(RefCell::new(Self { screen: Screen::stdout(Verbosity::Quiet), progress }))
    }

    /// Prints above the progress bar.
    pub fn print(&mut self, text: &str) {
        let Self { screen, progress } = self;
        progress.suspend(|| screen.print(text));
    }
}

impl<'a> Opening<'a> {
    /// Returns the names of all species.
    pub fn species(&self) -> Vec<String> {
        self.scenario.species.iter().map(|species| species.name.clone()).collect()
    }

    /// Returns the state of a growing file at the checkpoint and the step of the checkpoint, if the
    /// run continues the file.
    pub fn mark(&self, file: &str) -> Option<(&'a OutputMark, u64)> {
        let (root, resumed) = (self.root.as_ref()?, self.resumed?);
        let mark = resumed.mark(file).filter(|mark| root.directory.goes_on(mark))?;
        Some((mark, resumed.header.step))
    }

    /// Returns the data that an output had gathered at the checkpoint from which the run is
    /// resumed.
    pub fn memory(&self, name: &str) -> Option<&'a OutputMemory> {
        self.resumed?.header.memories.iter().find(|memory| memory.name == name)
    }

    /// Returns the data that an analysis had gathered at the checkpoint, if its keys have not
    /// changed. Otherwise prints a note that the analysis begins anew.
    pub(super) fn recalled<T>(&self, key: &str, read: impl FnOnce(&[u64]) -> Option<T>) -> Option<T> {
        let found = read(&self.memory(key)?.words);
        if found.is_none() && self.root.is_some() {
            note(&format!(
                "`{}output.{key}` is not as it was at the checkpoint: it begins anew",
                self.within
            ));
        }
        found
    }

    /// Returns the data per particle that an output had stored in the checkpoint; each rank has
    /// some of the rows.
    pub fn particle_rows(&self, name: &str) -> Option<&'a ParticleRows> {
        self.resumed?.particle_rows.iter().find_map(|(other, rows)| (other == name).then_some(rows))
    }
}

/// Values with which outputs are completed after the run.
pub struct Closing<'a> {
    /// The ranks.
    pub world: &'a dyn World,
    /// Directory of the files, on rank 0.
    pub directory: Option<&'a OutputDirectory>,
    /// Entries of summary.json.
    pub summary: Map<String, Value>,
    /// Warnings that have been printed, for summary.json.
    pub warned: Vec<String>,
}

impl<'a> Closing<'a> {
    /// Creates a value without entries and warnings.
    pub fn new(world: &'a dyn World, directory: Option<&'a OutputDirectory>) -> Self {
        Self { world, directory, summary: Map::new(), warned: Vec::new() }
    }

    /// Writes a file in one piece, on rank 0.
    ///
    /// # Errors
    /// Returns the errors of [`OutputDirectory::write_whole`].
    pub fn write_whole(
        &self,
        file: KnownFile,
        bytes: impl FnOnce() -> Result<Vec<u8>, OutputError>,
    ) -> Result<(), OutputError> {
        self.directory.map_or(Ok(()), |directory| directory.write_whole(file, &bytes()?))
    }
}

/// Opens all outputs of these kinds that a scenario requests, on this rank.
///
/// # Errors
/// Returns the error of the first output that cannot be opened.
pub fn open_outputs<'a>(
    kinds: impl Iterator<Item = &'static OutputKind>,
    opening: &Opening<'a>,
) -> Result<Opened<'a>, OutputError> {
    let mut all = Vec::new();
    for kind in kinds {
        all.append(&mut (kind.open)(opening)?);
    }
    Ok(all)
}
