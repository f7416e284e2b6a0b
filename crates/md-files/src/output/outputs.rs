//! The outputs of a run together: those of the whole run, and those of one stage in their own
//! folder.

use md_comm::World;
use md_core::Domain;
use md_engine::{Needs, Observer, ObserverError, RunsOn, Snapshot};
use md_scenario::StageScenario;
use md_scenario::failure::RunError;
use md_scenario::known_file::KnownFile;
use serde_json::Map;

use super::run_output::{Closing, Opened, OutputKind, StageBegin};
use crate::checkpoint::{OutputState, ParticleMemory};
use crate::store::{OutputDirectory, OutputError, kept_whole};

/// Returns all outputs that a run may write as it proceeds, in the order in which they sample.
pub fn all_outputs() -> impl Iterator<Item = &'static OutputKind> {
    let single = [&super::thermo::KIND, &super::trajectory::KIND, &super::minimisations::KIND];
    single.into_iter().chain(super::analyses::KINDS)
}

/// Returns the kind of the output that writes a file.
pub fn output_of(file: KnownFile) -> Option<&'static OutputKind> {
    all_outputs().find(|kind| kind.files.contains(&file))
}

/// The outputs of one folder, as one observer.
pub struct Outputs<'a>(Opened<'a>);

impl<'a> Outputs<'a> {
    /// Combines opened outputs.
    pub fn new(all: Opened<'a>) -> Self {
        Self(all)
    }

    /// See [`super::run_output::RunOutput::begin_stage`].
    pub fn begin_stage(&mut self, stage: &StageBegin) {
        self.0.iter_mut().for_each(|output| output.begin_stage(stage));
    }

    /// See [`super::run_output::RunOutput::kept`]. *Collective.*
    ///
    /// # Errors
    /// Returns the errors of that function.
    pub fn kept(&mut self) -> Result<Vec<OutputState>, ObserverError> {
        self.0.iter_mut().map(|output| output.kept().map_err(kept_whole)).collect()
    }

    /// See [`super::run_output::RunOutput::particle_memory`]. *Collective.*
    ///
    /// # Errors
    /// Returns the errors of that function.
    pub fn particle_memories(&mut self, now: &Snapshot) -> Result<Vec<ParticleMemory>, ObserverError> {
        let all = self.0.iter_mut().map(|output| output.particle_memory(now));
        Ok(all.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    }

    /// Completes all files, and collects the entries of the outputs for summary.json. A failure of
    /// one file does not prevent the others from being written; the first error is returned.
    /// *Collective.*
    ///
    /// # Errors
    /// See [`super::run_output::RunOutput::finish`].
    pub fn finish(self, closing: &mut Closing) -> Result<(), RunError> {
        let finished: Vec<_> = self.0.into_iter().map(|output| output.finish(closing)).collect();
        finished.into_iter().collect()
    }
}

impl Observer for Outputs<'_> {
    fn due(&self, step: u64) -> Option<Needs> {
        self.0.iter().filter_map(|output| output.due(step)).reduce(|all, one| all | one)
    }

    fn observe(&mut self, now: &Snapshot) -> Result<(), ObserverError> {
        for output in &mut self.0 {
            let is_here = now.rank == 0 || output.runs_on() == RunsOn::AllRanks;
            if is_here && output.due(now.step).is_some() {
                output.observe(now).map_err(kept_whole)?;
            }
        }
        Ok(())
    }

    fn box_problem(&self, domain: &Domain) -> Option<String> {
        self.0.iter().find_map(|output| output.box_problem(domain))
    }

    fn ends_at(&mut self, step: u64) {
        self.0.iter_mut().for_each(|output| output.ends_at(step));
    }

    fn converges_at(&mut self, step: u64) {
        self.0.iter_mut().for_each(|output| output.converges_at(step));
    }
}

/// Outputs of one stage alone. They sample its steps, and are completed at the end of the run.
pub struct StageOutputs<'a> {
    stage: &'a StageScenario,
    outputs: Outputs<'a>,
    /// Degrees of freedom of the temperature.
    degrees_of_freedom: u64,
    /// Directory of the folder, on rank 0.
    directory: Option<&'a OutputDirectory>,
    /// Number of the stage of the present steps.
    present: Option<usize>,
}

impl<'a> StageOutputs<'a> {
    /// Combines the opened outputs of a stage with these degrees of freedom. `directory` is that of
    /// its folder, on rank 0.
    pub fn new(
        stage: &'a StageScenario,
        outputs: Outputs<'a>,
        degrees_of_freedom: u64,
        directory: Option<&'a OutputDirectory>,
    ) -> Self {
        Self { stage, outputs, degrees_of_freedom, directory, present: None }
    }

    /// Begins a stage, which may or may not be the stage of these outputs.
    pub fn begin_stage(&mut self, begun: &StageBegin) {
        self.present = Some(begun.number);
        // These outputs have a scenario with a single stage, which has its own intervals.
        if let (true, Some(plan)) = (self.is_now(), self.stage.scenario.stages().first()) {
            self.outputs.begin_stage(&StageBegin { plan, number: 0, is_last: true, ..*begun });
        }
    }

    /// Returns whether the present steps belong to this stage.
    fn is_now(&self) -> bool {
        self.present == Some(self.stage.number)
    }

    /// Returns the data for a checkpoint, under names that differ from those of all outputs of the
    /// run. *Collective.*
    ///
    /// # Errors
    /// Returns an error if the disk or communication fails.
    pub fn kept(&mut self) -> Result<Vec<OutputState>, ObserverError> {
        let mut all = self.outputs.kept()?;
        for OutputState { mark, memory } in &mut all {
            mark.iter_mut().for_each(|mark| mark.file = self.stage.in_folder(&mark.file));
            memory.iter_mut().for_each(|memory| memory.name = self.stage.in_folder(&memory.name));
        }
        Ok(all)
    }

    /// Returns the data per particle for a checkpoint. *Collective.*
    ///
    /// # Errors
    /// Returns an error if communication fails.
    pub fn particle_memories(&mut self, now: &Snapshot) -> Result<Vec<ParticleMemory>, ObserverError> {
        let mut all = self.outputs.particle_memories(now)?;
        all.iter_mut().for_each(|memory| memory.name = self.stage.in_folder(&memory.name));
        Ok(all)
    }

    /// Completes all files of the folder, and writes a summary.json with the entries of its
    /// outputs. *Collective.*
    ///
    /// # Errors
    /// Returns an error if the disk or communication fails.
    pub fn finish(self, world: &dyn World) -> Result<(), RunError> {
        let mut closing = Closing::new(world, self.directory);
        let finished = self.outputs.finish(&mut closing);
        let StageScenario { number, folder, scenario } = self.stage;
        let mut summary = Map::new();
        summary.insert("stage".to_owned(), (number + 1).into());
        summary.insert("name".to_owned(), folder.as_str().into());
        summary.insert("degrees_of_freedom".to_owned(), self.degrees_of_freedom.into());
        summary.insert("timestep".to_owned(), scenario.simulation.timestep.into());
        summary.append(&mut closing.summary);
        let text = serde_json::to_vec_pretty(&summary)
            .map_err(|reason| OutputError::encode(KnownFile::SUMMARY, &reason));
        let written = closing.write_whole(KnownFile::SUMMARY, || text);
        finished?;
        Ok(written?)
    }
}

impl Observer for StageOutputs<'_> {
    fn due(&self, step: u64) -> Option<Needs> {
        self.outputs.due(step).filter(|_| self.is_now())
    }

    fn observe(&mut self, now: &Snapshot) -> Result<(), ObserverError> {
        if !self.is_now() {
            return Ok(());
        }
        let of_stage = |reason| format!("outputs of stage `{}`: {reason}", self.stage.folder).into();
        self.outputs.observe(now).map_err(of_stage)
    }

    fn box_problem(&self, domain: &Domain) -> Option<String> {
        let is_over = self.present > Some(self.stage.number);
        let problem = (!is_over).then(|| self.outputs.box_problem(domain))??;
        Some(format!("outputs of stage `{}`: {problem}", self.stage.folder))
    }

    fn ends_at(&mut self, step: u64) {
        if self.is_now() {
            self.outputs.ends_at(step);
        }
    }

    fn converges_at(&mut self, step: u64) {
        if self.is_now() {
            self.outputs.converges_at(step);
        }
    }
}
