//! Stages of the run that wrote a trajectory, and the steps that they have made.

use std::fs;
use std::path::Path;

use md_engine::Integrator;
use md_scenario::failure::RunError;
use md_scenario::known_file::KnownFile;
use md_scenario::{Scenario, StagePlan};
use serde_json::Value;

use super::beside;
use crate::commands::refused;

/// Stages of a run.
pub(super) struct RunStages {
    plans: Vec<StagePlan>,
    /// Number of steps that each stage has made, if known.
    made: Vec<Option<u64>>,
}

impl RunStages {
    pub(super) fn of(scenario: &Scenario, trajectory: &Path) -> Self {
        let plans = scenario.stages();
        let made = steps_made(&plans, trajectory);
        Self { plans, made }
    }

    /// Returns the integrator of a step. Where the number of steps of a stage is unknown, the
    /// planned number is used.
    pub(super) fn integrator_at(&self, step: u64) -> Integrator {
        let mut last = 0;
        let ends = self.plans.iter().zip(&self.made).map(|(stage, made)| {
            last += made.unwrap_or(stage.steps);
            (last, stage.integrator.kind)
        });
        let of_last = self.plans.last().map_or(Integrator::default(), |stage| stage.integrator.kind);
        ends.into_iter().find(|(end, _)| step <= *end).map_or(of_last, |(_, kind)| kind)
    }
}

/// Returns the first step that outputs observe in the last stage. Outputs without a `start` begin
/// with it.
pub(super) fn first_of_last_stage(scenario: &Scenario, path: &Path) -> Result<u64, RunError> {
    match scenario.stages().split_last() {
        None | Some((_, [])) => Ok(0),
        _ if begin_by_themselves(scenario) => Ok(0),
        // The state after the last step of a stage belongs to this stage.
        Some((_, earlier)) => Ok(steps_of(earlier, path).map_err(refused)? + 1),
    }
}

/// Returns whether all analyses have a `start`.
fn begin_by_themselves(scenario: &Scenario) -> bool {
    let output = &scenario.output;
    let tension = output.analyses.surface_tension.map(|_| output.analyses.averages.map(|keys| keys.start));
    output.analyses.keys().iter().map(|keys| keys.start).chain(tension).all(|start| start.is_some())
}

/// Returns the total number of steps of the first stages of a run.
fn steps_of(stages: &[StagePlan], trajectory: &Path) -> Result<u64, String> {
    let made = steps_made(stages, trajectory);
    (1..).zip(made).map(|(number, steps)| steps.ok_or_else(|| unknown_end(number))).sum()
}

/// Returns the number of steps of each of these stages. Minimisations may have ended early; the
/// run's summary, if there is one, contains the number of their steps.
fn steps_made(stages: &[StagePlan], trajectory: &Path) -> Vec<Option<u64>> {
    let summary = fs::read(beside(trajectory, KnownFile::SUMMARY.name())).unwrap_or_default();
    let summary: Value = serde_json::from_slice(&summary).unwrap_or_default();
    let ended = |number: usize| -> Option<u64> {
        let all = summary.get("minimisations")?.as_array()?;
        all.iter().find(|ended| ended["stage"] == number)?.get("steps")?.as_u64()
    };
    let steps = |(number, stage): (usize, &StagePlan)| match stage.integrator.kind {
        Integrator::Fire(_) => ended(number),
        _ => Some(stage.steps),
    };
    (1..).zip(stages).map(steps).collect()
}

fn unknown_end(number: usize) -> String {
    let summary = KnownFile::SUMMARY.name();
    format!(
        "stage {number} is a minimisation, which may have ended early, and no `{summary}` beside the trajectory says after how many steps: \
         give the step with which an analysis begins, for example by --set output.rdf.start=1000"
    )
}
