//! What looks at a run, as one observer: the outputs, then the checkpoints, which know how far those have come, then the progress
//! bar and the clock.

use md_engine::{Needs, Observer, ObserverError, RunsOn, Snapshot};

use crate::checkpoint::{BegunStage, Checkpoints};
use crate::early_end::EarlyEnd;
use crate::error::RunError;
use crate::output::run_output::{Closing, Console, RunOutput, SharedConsole, StageBegin};
use crate::output::warnings::first_danger;
use crate::session::warn;

/// All of it, on one rank.
pub(super) struct RunObservers<'a> {
    pub(super) outputs: Vec<Box<dyn RunOutput + 'a>>,
    pub(super) checkpoints: Checkpoints<'a>,
    pub(super) ticks: Ticks<'a>,
}

impl RunObservers<'_> {
    /// From here on steps are those of a stage, which says its name on the screen.
    pub(super) fn begin_stage(&mut self, stage: &StageBegin) {
        let StageBegin { plan, number, first_step, is_last } = *stage;
        self.outputs.iter_mut().for_each(|output| output.begin_stage(stage));
        let end_of_run = is_last.then_some(first_step + plan.steps);
        self.checkpoints.begin_stage(BegunStage { number, first_step }, end_of_run);
        if let (Some(console), false) = (&self.ticks.console, plan.name.is_empty()) {
            console.borrow_mut().print(&format!("Stage {} from step {first_step}\n", plan.name));
        }
    }

    /// Completes all files, and collects what outputs have to say in summary.json. What has happened to one file does not keep others
    /// from being written; the first error comes back. *Collective.*
    pub(super) fn finish(self, closing: &mut Closing) -> Result<(), RunError> {
        let finished: Vec<_> = self.outputs.into_iter().map(|output| output.finish(closing)).collect();
        finished.into_iter().collect()
    }
}

impl Observer for RunObservers<'_> {
    fn due(&self, step: u64) -> Option<Needs> {
        let outputs = self.outputs.iter().filter_map(|output| output.due(step));
        Some(outputs.chain(self.checkpoints.due(step)).fold(Needs::NOTHING, |all, one| all | one))
    }

    fn observe(&mut self, now: &Snapshot) -> Result<(), ObserverError> {
        for output in &mut self.outputs {
            let is_here = now.rank == 0 || output.runs_on() == RunsOn::AllRanks;
            if is_here && output.due(now.step).is_some() {
                output.observe(now)?;
            }
        }
        if self.checkpoints.due(now.step).is_some() {
            let kept = self.outputs.iter_mut().map(|output| output.kept());
            let kept = kept.collect::<Result<_, _>>()?;
            let of_particles = self.outputs.iter_mut().map(|output| output.particle_memory(now));
            let of_particles: Vec<_> = of_particles.collect::<Result<_, _>>()?;
            self.checkpoints.write(now, kept, &of_particles.into_iter().flatten().collect::<Vec<_>>())?;
        }
        self.ticks.tick(now);
        Ok(())
    }

    fn wants_end(&self) -> bool {
        self.ticks.early_end.is_wanted()
    }

    fn ends_at(&mut self, step: u64) {
        self.outputs.iter_mut().for_each(|output| output.ends_at(step));
        self.checkpoints.ends_at(step);
    }

    fn converges_at(&mut self, step: u64) {
        self.outputs.iter_mut().for_each(|output| output.converges_at(step));
        self.checkpoints.converges_at(step);
    }
}

/// Looks at every step: the progress bar, the warning of stale neighbourhoods, signals and the clock.
pub(super) struct Ticks<'a> {
    /// On rank 0.
    pub(super) console: Option<SharedConsole>,
    pub(super) early_end: &'a EarlyEnd,
    /// The warning that is given once, as soon as there is reason.
    pub(super) danger: Option<String>,
}

impl Ticks<'_> {
    fn tick(&mut self, now: &Snapshot) {
        let Self { console, danger, .. } = self;
        let Some(console) = console else { return };
        let Console { progress, .. } = &mut *console.borrow_mut();
        if danger.is_none() {
            *danger = first_danger(&now.neighborhood);
            danger.iter().for_each(|text| progress.suspend(|| warn(text)));
        }
        progress.tick(now.step);
    }
}
