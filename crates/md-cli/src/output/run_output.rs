//! What a run writes while it goes: every output is an observer with a file, and this is what the run asks of it beside looking.
//!
//! ```text
//! open or go on -> [ stage begins -> due, observe ... -> kept, by each checkpoint ] -> finish
//! ```
//!
//! There is one value of an output on every rank; its file, if it has one, is on rank 0. A new output is one file beside this one
//! and a line in [`OUTPUTS`].

use std::cell::RefCell;
use std::rc::Rc;

use md_comm::World;
use md_core::{Domain, SimdLevel};
use md_engine::{Observer, ObserverError, Setup, Snapshot};
use serde_json::{Map, Value};

use super::{
    KnownFile, OutputDirectory, OutputError, Progress, ProgressMode, Screen, Verbosity, minimisations, msd,
    profile, rdf, thermo, trajectory, vacf, viscosity,
};
use crate::checkpoint::{OutputMark, OutputMemory, ParticleRows, Resumed};
use crate::error::RunError;
use crate::scenario::{Scenario, StagePlan};

/// Everything that a run may write as it goes, in the order in which it looks.
pub static OUTPUTS: [OutputKind; 8] = [
    thermo::KIND,
    trajectory::KIND,
    rdf::KIND,
    msd::KIND,
    vacf::KIND,
    viscosity::KIND,
    minimisations::KIND,
    profile::KIND,
];

/// A kind of output.
#[derive(Clone, Copy)]
pub struct OutputKind {
    /// What it can be of.
    pub scope: Scope,
    /// Files with fixed names, which the next run into the same directory removes.
    pub files: &'static [KnownFile],
    /// Opens what the scenario asks for of it, or goes on with it. Called on all ranks, one kind after the other; does not communicate.
    pub open: for<'a> fn(&Opening<'a>) -> Result<Opened<'a>, OutputError>,
}

/// What an output can be of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Whole runs alone.
    Run,
    /// A stage too.
    Stage,
}

/// The outputs of one kind that a scenario asks for.
pub type Opened<'a> = Vec<Box<dyn RunOutput + 'a>>;

/// An output of a run, on one rank.
pub trait RunOutput: Observer {
    /// From here on steps are those of a stage. A run without stages is one stage.
    fn begin_stage(&mut self, _stage: &StageBegin) {}

    /// What a checkpoint after the present step has to know, on rank 0; from then on it is on disk. *Collective.*
    ///
    /// # Errors
    /// The disk; communication.
    fn kept(&mut self) -> Result<Kept, ObserverError> {
        Ok(Kept::default())
    }

    /// What a checkpoint after the present step has to know of every particle: it goes with the particles' rows. *Collective.*
    ///
    /// # Errors
    /// Communication.
    fn particle_memory(&mut self, _now: &Snapshot) -> Result<Option<ParticleMemory>, ObserverError> {
        Ok(None)
    }

    /// Completes its file, and tells rank 0 what it has to say in summary.json. *Collective.*
    ///
    /// # Errors
    /// The disk; communication.
    fn finish(self: Box<Self>, closing: &mut Closing) -> Result<(), RunError>;
}

/// What a checkpoint keeps of an output.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Kept {
    /// How far a file that grows has come.
    pub mark: Option<OutputMark>,
    /// What an output that writes at the end has gathered.
    pub memory: Option<OutputMemory>,
}

/// What an output remembers of the particles of this rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParticleMemory {
    /// Of the output.
    pub name: String,
    /// Words per particle.
    pub width: usize,
    /// Those of all owned particles, in their order.
    pub words: Vec<u64>,
}

/// The beginning of a stage, or where a run goes on in one.
#[derive(Debug, Clone, Copy)]
pub struct StageBegin<'s> {
    /// Its steps and intervals.
    pub plan: &'s StagePlan,
    /// Stages before it.
    pub number: usize,
    /// The step after which it began.
    pub first_step: u64,
    /// Whether no other stage follows.
    pub is_last: bool,
}

/// What outputs know of a system.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The box.
    pub domain: &'a Domain,
    /// Number of particles.
    pub atoms: u64,
    /// By species.
    pub masses: &'a [f64],
    /// Instruction set for loops over particles.
    pub simd: SimdLevel,
}

impl<'a> From<&'a Setup> for Subject<'a> {
    fn from(setup: &'a Setup) -> Self {
        Self { domain: &setup.domain, atoms: setup.atoms(), masses: &setup.config.masses, simd: setup.simd }
    }
}

/// What outputs are opened with.
#[derive(Clone)]
pub struct Opening<'a> {
    /// The ranks.
    pub world: &'a dyn World,
    /// The scenario.
    pub scenario: &'a Scenario,
    /// The system before step 0.
    pub subject: Subject<'a>,
    /// The checkpoint that the run goes on from.
    pub resumed: Option<&'a Resumed>,
    /// On rank 0.
    pub root: Option<RootOpening<'a>>,
    /// Where `[output]` of this scenario stands in that of the run: `stage[1].` before it, or nothing.
    pub within: String,
}

/// What there is on rank 0 alone.
#[derive(Clone)]
pub struct RootOpening<'a> {
    /// Where files go.
    pub directory: &'a OutputDirectory,
    /// What the user sees.
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
    /// Where nobody looks.
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
    /// Where a file that grows was at the checkpoint, if the run goes on with it: then with the step of the checkpoint.
    pub fn mark(&self, file: &str) -> Option<(&'a OutputMark, u64)> {
        let (root, resumed) = (self.root.as_ref()?, self.resumed?);
        let mark = resumed.mark(file).filter(|mark| root.directory.goes_on(mark))?;
        Some((mark, resumed.header.step))
    }

    /// What an output had gathered at the checkpoint that the run goes on from.
    pub fn memory(&self, name: &str) -> Option<&'a OutputMemory> {
        self.resumed?.header.memories.iter().find(|memory| memory.name == name)
    }

    /// What an output had remembered of particles at the checkpoint: some of them on each rank.
    pub fn particle_rows(&self, name: &str) -> Option<&'a ParticleRows> {
        self.resumed?.particle_rows.iter().find_map(|(other, rows)| (other == name).then_some(rows))
    }
}

/// What is left to outputs once the run has ended.
pub struct Closing<'a> {
    /// The ranks.
    pub world: &'a dyn World,
    /// Where files go, on rank 0.
    pub directory: Option<&'a OutputDirectory>,
    /// Entries of summary.json.
    pub summary: Map<String, Value>,
    /// What has been warned of, for summary.json.
    pub warned: Vec<String>,
}

impl<'a> Closing<'a> {
    /// With nothing said so far.
    pub fn new(world: &'a dyn World, directory: Option<&'a OutputDirectory>) -> Self {
        Self { world, directory, summary: Map::new(), warned: Vec::new() }
    }

    /// Writes a file in one piece, on rank 0.
    ///
    /// # Errors
    /// As [`OutputDirectory::write_whole`].
    pub fn write_whole(
        &self,
        file: KnownFile,
        bytes: impl FnOnce() -> Result<Vec<u8>, OutputError>,
    ) -> Result<(), OutputError> {
        self.directory.map_or(Ok(()), |directory| directory.write_whole(file, &bytes()?))
    }
}

/// Opens all outputs of these kinds that a scenario asks for, on this rank.
///
/// # Errors
/// The first that cannot be.
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
