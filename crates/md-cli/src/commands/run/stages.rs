//! The stages of a run, one after the other.

use md_engine::{EngineError, Setup, Simulation};
use md_files::checkpoint::BegunStage;
use md_files::output::run_output::StageBegin;
use md_scenario::{IntegratorTable, StagePlan};

use super::observers::RunObservers;

/// Sets up a simulation with the integrator of the stage in which a checkpoint was taken.
pub(super) fn go_on_in_stage(setup: &mut Setup, stages: &[StagePlan], begun: BegunStage) {
    if let Some(StagePlan { steps, integrator, .. }) = stages.get(begun.number) {
        let IntegratorTable { kind, barostat } = *integrator;
        let config = &mut setup.config;
        (config.integrator, config.barostat) = (kind, barostat);
        config.schedule = begun.first_step..begun.first_step + steps;
    }
}

/// Makes the steps of all stages, the first of which has begun. Returns whether none of them ended
/// early. *Collective.*
pub(super) fn run_stages(
    simulation: &mut Simulation,
    observers: &mut RunObservers,
    stages: &[StagePlan],
    begun: BegunStage,
) -> Result<bool, EngineError> {
    for (number, stage) in stages.iter().enumerate().skip(begun.number) {
        let mut first_step = begun.first_step;
        if number > begun.number {
            let IntegratorTable { kind, barostat } = stage.integrator;
            simulation.begin_stage(kind, barostat, stage.steps)?;
            first_step = simulation.state().step;
        }
        let cold = simulation.cold_start()?;
        let is_last = number + 1 == stages.len();
        observers.begin_stage(&StageBegin { plan: stage, number, first_step, is_last }, cold);
        let last = first_step + stage.steps;
        simulation.run(last.saturating_sub(simulation.state().step), &mut [observers])?;
        let state = simulation.state();
        let is_early = state.step < last && !state.integrator.is_finished();
        if is_early || simulation.box_end().is_some() {
            return Ok(false);
        }
    }
    Ok(true)
}
