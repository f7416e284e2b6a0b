//! Schedule of checkpoints, and removal of older ones.

use std::fs;

use md_comm::World;
use md_engine::{Needs, ObserverError, Snapshot};
use md_grid::Application;
use md_scenario::Checkpoint;
use md_scenario::failure::RunError;

use super::choice::in_folder;
use super::file_name;
use super::header::{BegunStage, Header, SavedNodes};
use super::kept::{OutputState, ParticleMemory};
use super::write::{NodeRows, ParticleRows, Place, Rows, Sizes, WriteError, write};
use crate::store::{OutputDirectory, OutputError};

/// Writer of checkpoints, on all ranks.
pub struct Checkpoints<'a> {
    world: &'a dyn World,
    /// Schedule of checkpoints. If it is `None`, a checkpoint is only written if the run ends early
    /// or was resumed.
    when: Option<Checkpoint>,
    first_step: u64,
    /// Last step of the run, or the largest number if another stage follows.
    last_step: u64,
    ends_early: bool,
    stage: BegunStage,
    /// Values of rank 0.
    root: Option<Root<'a>>,
}

/// Values that rank 0 needs.
pub struct Root<'a> {
    /// Directory of the files.
    pub directory: &'a OutputDirectory,
    /// The effective scenario.
    pub scenario: String,
    /// Number of species, or 0 for a grid.
    pub species: u64,
}

/// Contents of a checkpoint.
struct Moment<'s> {
    step: u64,
    time: f64,
    /// Lower corner and lengths of the box.
    domain: [[f64; 3]; 2],
    nodes: Option<SavedNodes>,
    shared: Vec<u64>,
    rows: &'s dyn Rows,
}

impl<'a> Checkpoints<'a> {
    /// Creates the writer for a run from `first_step` to `last_step`.
    pub fn new(
        world: &'a dyn World,
        when: Option<Checkpoint>,
        [first_step, last_step]: [u64; 2],
        root: Option<Root<'a>>,
    ) -> Self {
        let stage = BegunStage::default();
        Self { world, when, first_step, last_step, ends_early: false, stage, root }
    }

    /// Begins a stage, to which the following steps belong. `end_of_run` is given for the last
    /// stage.
    pub fn begin_stage(&mut self, stage: BegunStage, end_of_run: Option<u64>) {
        (self.stage, self.last_step, self.ends_early) = (stage, end_of_run.unwrap_or(u64::MAX), false);
    }

    /// Returns the saved state as a need of this step, if a checkpoint is written after it.
    pub fn due(&self, step: u64) -> Option<Needs> {
        self.is_due(step).then_some(Needs::SAVED_STATE)
    }

    /// Returns whether a checkpoint is written after this step.
    pub fn is_due(&self, step: u64) -> bool {
        let every = self.when.map(|checkpoint| checkpoint.every);
        // A resumed run writes a checkpoint at its end beside the one from which it began, so that
        // the newest checkpoint can be resumed again.
        let leaves_end = self.ends_early || every.is_some() || self.first_step > 0;
        let is_last = step == self.last_step && leaves_end;
        let is_due = is_last || every.is_some_and(|every| step.is_multiple_of(every));
        is_due && step > self.first_step
    }

    /// Writes a checkpoint, with the data `kept` of the outputs. *Collective.*
    ///
    /// # Errors
    /// Returns an error if the disk or communication fails.
    pub fn write(
        &self,
        now: &Snapshot,
        kept: Vec<OutputState>,
        memories: &[ParticleMemory],
    ) -> Result<(), ObserverError> {
        let Some(state) = &now.saved else { return Ok(()) };
        let moment = Moment {
            step: now.step,
            time: now.time,
            domain: [now.domain.origin, now.domain.lengths],
            nodes: None,
            shared: state.shared.to_vec(),
            rows: &ParticleRows { state, memories },
        };
        self.write_file(&moment, kept).map_err(|error| match error {
            WriteError::Output(error) => ObserverError::from(RunError::from(error)),
            WriteError::Communication(error) => error.into(),
        })
    }

    /// Writes a checkpoint of an application on a grid. *Collective.*
    ///
    /// # Errors
    /// Returns an error if the disk or communication fails.
    pub fn write_nodes<A: Application + ?Sized>(
        &self,
        step: u64,
        app: &A,
        nodes: &SavedNodes,
        kept: Vec<OutputState>,
    ) -> Result<(), RunError> {
        let moment = Moment {
            step,
            time: step as f64,
            domain: [[0.0; 3], nodes.nodes.map(|count| count as f64)],
            nodes: Some(nodes.clone()),
            shared: app.shared_words(),
            rows: &NodeRows(app),
        };
        self.write_file(&moment, kept).map_err(|error| match error {
            WriteError::Output(error) => error.into(),
            WriteError::Communication(error) => error.into(),
        })
    }

    /// Sets the last step of the run, whether it was planned or not.
    pub fn last_is(&mut self, step: u64) {
        self.last_step = step;
    }

    /// Records that the stage converged before its last step. If it is the last stage, the run ends
    /// with it.
    pub fn converges_at(&mut self, step: u64) {
        if self.last_step != u64::MAX {
            self.last_is(step);
        }
    }

    /// Records that the run ends early, after this step.
    pub fn ends_at(&mut self, step: u64) {
        (self.last_step, self.ends_early) = (step, true);
    }

    fn write_file(&self, now: &Moment, kept: Vec<OutputState>) -> Result<(), WriteError> {
        let sizes = Sizes::of(now.rows, self.world)?;
        // If preparation fails on rank 0, the error is returned there before anything is written.
        // The other ranks wait until they are terminated.
        let prepare = |root: &Root| root.prepare(now, &sizes, self.stage, self.world, kept);
        let root = self.root.as_ref().map(prepare).transpose()?;
        write(now.rows, &sizes, root.as_ref().map(|(place, header)| (place, header)), self.world)?;
        self.root.as_ref().map_or(Ok(()), |root| root.keep(self.when, now.step))?;
        Ok(())
    }
}

impl Root<'_> {
    fn prepare(
        &self,
        now: &Moment,
        sizes: &Sizes,
        stage: BegunStage,
        world: &dyn World,
        kept: Vec<OutputState>,
    ) -> Result<(Place, Header), OutputError> {
        let [unfinished, finished] = self.directory.places_of(&file_name(now.step))?;
        let header = Header {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            step: now.step,
            time: now.time,
            stage,
            atoms: sizes.atoms,
            species: self.species,
            ranks: world.ranks() as u64,
            row_words: now.rows.row_words() as u64,
            block_rows: super::layout::BLOCK_ROWS,
            bytes: 0,
            domain: now.domain,
            nodes: now.nodes.clone(),
            outputs: kept.iter().filter_map(|kept| kept.mark.clone()).collect(),
            memories: kept.into_iter().filter_map(|kept| kept.memory).collect(),
            particle_words: now.rows.particle_words(),
            shared: now.shared.clone(),
            scenario: self.scenario.clone(),
        };
        Ok((Place { unfinished, finished }, header))
    }

    /// Removes old checkpoints beyond the number to be kept, now that there is a new one.
    fn keep(&self, when: Option<Checkpoint>, step: u64) -> Result<(), OutputError> {
        let keep = when.map_or(u64::MAX, |checkpoint| checkpoint.keep);
        let older = in_folder(self.directory.path()).into_iter().filter(|(other, _)| *other < step);
        for (_, path) in older.skip(keep.saturating_sub(1).try_into().unwrap_or(usize::MAX)) {
            fs::remove_file(&path).map_err(|reason| OutputError::Create {
                action: "remove the old file",
                path,
                reason,
            })?;
        }
        Ok(())
    }
}
