//! Costs from measured runs on a grid: their summary.json, combined with the messages that they
//! must have sent.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use md_core::ExchangePattern;
use md_core::words::counted;
use md_engine::Phase;
use md_files::text_file::read_text;
use md_grid::Messages;
use md_grid::stencil::Precision;
use md_lab::machine::Machine;
use md_lab::predict::{GridCost, GridCosts, GridStep, GridTimes, Request};
use md_scenario::failure::RunError;
use serde::Deserialize;
use serde_json::Value;

use super::{expect_packed, step_of};
use crate::commands::refused;
use crate::grid_inputs::{GridInputs, GridModel, Subject};

/// Largest number of ranks of a measured run.
const MOST_MEASURED: usize = 1 << 20;

/// Entries of a run's summary.json that give its costs.
#[derive(Deserialize)]
struct Measured {
    kind: String,
    nodes: String,
    fields: usize,
    grid: String,
    exchange: ExchangePattern,
    messages: Messages,
    precision: Precision,
    steps: u64,
    bytes_sent: u64,
    phases: HashMap<String, MeasuredPhase>,
    #[serde(flatten)]
    others: HashMap<String, Value>,
}

#[derive(Deserialize)]
struct MeasuredPhase {
    avg_s: f64,
}

impl Measured {
    fn read(path: &Path) -> Result<Self, RunError> {
        let name = path.display().to_string();
        let text = read_text(path, "summary of a run")
            .map_err(|reason| RunError::unreadable(name.clone(), reason))?;
        serde_json::from_str(&text)
            .map_err(|error| refused(format!("{name} is no summary.json of a run on a grid: {error}")))
    }

    /// Returns the step of the measured run: that of the scenario, with the nodes and ranks of the
    /// run.
    fn step<M: GridModel>(&self, inputs: &GridInputs<M>) -> Result<GridStep, String> {
        let Subject { kind, fields, .. } = inputs.scenario.subject();
        if (&self.kind, self.fields) != (&kind, fields) {
            let Self { kind: other, fields: others, .. } = self;
            return Err(format!(
                "it is of `{other}` with {}, but the scenario of `{kind}` with {fields}",
                counted(*others, "field")
            ));
        }
        for (key, wanted) in inputs.scenario.ways() {
            if let Some(found) = self.others.get(key).and_then(Value::as_str).filter(|found| *found != wanted)
            {
                return Err(format!("its `{key}` is `{found}`, that of the scenario `{wanted}`"));
            }
        }
        let [nodes, ranks] = [("nodes", &self.nodes), ("grid", &self.grid)].map(|(key, text)| {
            let counts: Option<Vec<usize>> = text.split('x').map(|count| count.parse().ok()).collect();
            let counts: Option<[usize; 3]> = counts.and_then(|counts| counts.try_into().ok());
            counts.filter(|counts| !counts.contains(&0)).ok_or(format!("`{key}` is `{text}`"))
        });
        let (nodes, ranks) = (nodes?, ranks?);
        let all = ranks.into_iter().try_fold(1_usize, usize::checked_mul).filter(|all| *all <= MOST_MEASURED);
        let all = all.ok_or(format!("`grid` is `{}`, more than {MOST_MEASURED} ranks", self.grid))?;
        let mut inputs = inputs.clone();
        inputs.scenario.resize(nodes, self.precision);
        let parallel = inputs.scenario.parallel_mut();
        (parallel.grid, parallel.exchange, parallel.messages) = (Some(ranks), self.exchange, self.messages);
        let first_line = |error: RunError| error.to_string().lines().next().unwrap_or_default().to_owned();
        let schedule = M::schedule(&inputs, all).map_err(first_line)?;
        let step = step_of(&schedule, all, fields).map_err(first_line)?;
        let per_step: f64 = step.sent_bytes();
        let sent = self.bytes_sent as f64;
        if (per_step * self.steps as f64 - sent).abs() > 0.5 {
            return Err(format!(
                "{sent} bytes were sent there in {}, but by this scenario it would be {per_step} in each: it is of another one",
                counted(self.steps, "step")
            ));
        }
        Ok(step)
    }

    fn times(&self, ranks: usize) -> Result<GridTimes, String> {
        let total_s = |phase: Phase| {
            let seconds = self.phases.get(phase.name()).map(|it| it.avg_s * ranks as f64);
            seconds.filter(|it| *it >= 0.0).ok_or(format!("`phases` has no time of `{}`", phase.name()))
        };
        if self.steps == 0 {
            return Err("no step was made there".to_owned());
        }
        Ok(GridTimes {
            steps: self.steps as f64,
            integrate_s: total_s(Phase::Integrate)?,
            reduce_s: total_s(Phase::Reduce)?,
            pack_s: total_s(Phase::HaloPack)?,
            unpack_s: total_s(Phase::HaloUnpack)?,
        })
    }
}

/// Returns the costs from the runs that the arguments name.
pub(super) fn costs<M: GridModel>(
    inputs: &GridInputs<M>,
    paths: &[PathBuf],
    machine: &Machine,
    request: &Request,
) -> Result<GridCosts, RunError> {
    let mut costs = GridCosts::default();
    for path in paths {
        let measured = Measured::read(path)?;
        expect_packed(measured.messages, &format!("{}: its messages", path.display()))?;
        let told = |reason: String| refused(format!("{}: {reason}", path.display()));
        let step = measured.step(inputs).map_err(told)?;
        let times = measured.times(step.updates.len()).map_err(told)?;
        costs.add(&step, GridCost::of(&step, &times, machine, request));
    }
    Ok(costs)
}
