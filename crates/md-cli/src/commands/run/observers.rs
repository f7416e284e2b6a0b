//! All observers of a run, combined in one: the outputs, then the checkpoints, which contain the
//! state of the outputs, then the progress bar and the clock.

use md_core::Domain;
use md_engine::{ColdStart, Needs, Observer, ObserverError, Snapshot};
use md_files::checkpoint::{BegunStage, Checkpoints};
use md_files::output::outputs::{Outputs, StageOutputs};
use md_files::output::run_output::{Closing, Console, SharedConsole, StageBegin};
use md_scenario::failure::RunError;
use md_scenario::messages::warn;

use crate::early_end::EarlyEnd;
use crate::report::warnings::{cold_start, first_danger};

/// All observers of one rank.
pub(super) struct RunObservers<'a> {
    pub(super) outputs: Outputs<'a>,
    /// Outputs of the stages that have separate ones.
    pub(super) of_stages: Vec<StageOutputs<'a>>,
    pub(super) checkpoints: Checkpoints<'a>,
    pub(super) ticks: Ticks<'a>,
}

impl RunObservers<'_> {
    /// Begins a stage, and prints its name if it has one.
    pub(super) fn begin_stage(&mut self, stage: &StageBegin, cold: Option<ColdStart>) {
        let StageBegin { plan, number, first_step, is_last } = *stage;
        self.outputs.begin_stage(stage);
        self.of_stages.iter_mut().for_each(|outputs| outputs.begin_stage(stage));
        let end_of_run = is_last.then_some(first_step + plan.steps);
        self.checkpoints.begin_stage(BegunStage { number, first_step }, end_of_run);
        if let (Some(console), false) = (&self.ticks.console, plan.name.is_empty()) {
            console.borrow_mut().print(&format!("Stage {} from step {first_step}\n", plan.name));
        }
        cold.into_iter().for_each(|cold| self.ticks.warn(cold_start(cold, &plan.name)));
    }

    /// Completes all files, and collects the entries of outputs in summary.json. A failure of one
    /// file does not prevent the others from being written; the first error is returned.
    /// *Collective.*
    pub(super) fn finish(self, closing: &mut Closing) -> Result<(), RunError> {
        closing.warned.extend(self.ticks.warned);
        let of_stages: Vec<_> =
            self.of_stages.into_iter().map(|outputs| outputs.finish(closing.world)).collect();
        let finished = self.outputs.finish(closing);
        of_stages.into_iter().fold(finished, Result::and)
    }
}

impl Observer for RunObservers<'_> {
    fn due(&self, step: u64) -> Option<Needs> {
        let of_stages = self.of_stages.iter().filter_map(|outputs| outputs.due(step));
        let outputs = self.outputs.due(step).into_iter().chain(of_stages);
        Some(outputs.chain(self.checkpoints.due(step)).fold(Needs::NOTHING, |all, one| all | one))
    }

    fn observe(&mut self, now: &Snapshot) -> Result<(), ObserverError> {
        self.outputs.observe(now)?;
        self.of_stages.iter_mut().try_for_each(|outputs| outputs.observe(now))?;
        if self.checkpoints.due(now.step).is_some() {
            let (mut kept, mut memories) = (self.outputs.kept()?, self.outputs.particle_memories(now)?);
            for outputs in &mut self.of_stages {
                kept.append(&mut outputs.kept()?);
                memories.append(&mut outputs.particle_memories(now)?);
            }
            self.checkpoints.write(now, kept, &memories)?;
        }
        self.ticks.tick(now);
        Ok(())
    }

    fn wants_end(&self) -> bool {
        self.ticks.early_end.is_wanted()
    }

    fn box_problem(&self, domain: &Domain) -> Option<String> {
        let of_stages = || self.of_stages.iter().find_map(|outputs| outputs.box_problem(domain));
        self.outputs.box_problem(domain).or_else(of_stages)
    }

    fn ends_at(&mut self, step: u64) {
        self.outputs.ends_at(step);
        self.of_stages.iter_mut().for_each(|outputs| outputs.ends_at(step));
        self.checkpoints.ends_at(step);
    }

    fn converges_at(&mut self, step: u64) {
        self.outputs.converges_at(step);
        self.of_stages.iter_mut().for_each(|outputs| outputs.converges_at(step));
        self.checkpoints.converges_at(step);
    }
}

/// Work at every step: progress bar, warnings about stale neighbour lists and runaway boxes,
/// signals and the clock.
pub(super) struct Ticks<'a> {
    /// Console of rank 0.
    pub(super) console: Option<SharedConsole>,
    pub(super) early_end: &'a EarlyEnd,
    /// Warning about stale neighbour lists, which is given once, as soon as there is a reason.
    pub(super) danger: Option<String>,
    /// Number of warnings about the box that have been given.
    pub(super) box_warnings: usize,
    /// Warnings that were given at the beginning of stages.
    pub(super) warned: Vec<String>,
}

impl Ticks<'_> {
    fn warn(&mut self, text: String) {
        if let Some(console) = &self.console {
            console.borrow_mut().progress.suspend(|| warn(&text));
        }
        self.warned.push(text);
    }

    fn tick(&mut self, now: &Snapshot) {
        let Self { console, danger, box_warnings, .. } = self;
        let Some(console) = console else { return };
        let Console { progress, .. } = &mut *console.borrow_mut();
        if danger.is_none() {
            *danger = first_danger(&now.neighborhood);
            danger.iter().for_each(|text| progress.suspend(|| warn(text)));
        }
        let new = now.box_warnings.iter().skip(std::mem::replace(box_warnings, now.box_warnings.len()));
        new.for_each(|text| progress.suspend(|| warn(text)));
        progress.tick(now.step);
    }
}
