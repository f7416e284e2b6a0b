//! Results of the minimisations of a run: a part of summary.json, and a warning for each that used
//! all its steps without converging.

use md_core::force::Precision;
use md_core::words::counted;
use md_engine::integrator::Minimisation;
use md_engine::{Integrator, Needs, Observer, ObserverError, RunsOn, Snapshot};
use md_scenario::StagePlan;
use md_scenario::failure::RunError;
use md_scenario::messages::warn;
use serde_json::{Value, json};

use super::run_output::{Closing, Opened, Opening, OutputKind, RunOutput, Scope, SharedConsole, StageBegin};
use crate::checkpoint::{OutputMemory, OutputState};
use crate::store::OutputError;

/// Output of the results of minimisations.
pub static KIND: OutputKind =
    OutputKind { scope: Scope::Run, files: &[], needs: Needs::NOTHING, has_tracks: false, open };

const NAME: &str = "minimisations";

struct Minimisations {
    stages: Vec<Stage>,
    /// Precision of the forces.
    precision: Precision,
    /// The console, on rank 0.
    console: Option<SharedConsole>,
    /// Number of the present stage; its first and last step follow.
    number: usize,
    first_step: u64,
    last_step: u64,
    ended: Vec<Ended>,
}

/// A stage, and the keys that decide how far its minimisation converges.
struct Stage {
    plan: StagePlan,
    steps_key: String,
    tolerance_key: String,
}

/// End of a minimisation.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Ended {
    stage: usize,
    steps: u64,
    came_to: Minimisation,
}

fn open<'a>(opening: &Opening<'a>) -> Result<Opened<'a>, OutputError> {
    let scenario = opening.scenario;
    let stages: Vec<StagePlan> = scenario.stages();
    if !stages.iter().any(|plan| matches!(plan.integrator.kind, Integrator::Fire(_))) {
        return Ok(Vec::new());
    }
    let keys = |(number, plan): (usize, StagePlan)| {
        let own = scenario.stage.get(number);
        let steps = own.map_or("simulation".to_owned(), |_| format!("stage[{number}]"));
        let integrator = own.filter(|own| own.integrator.is_some());
        let tolerance = integrator.map_or(String::new(), |_| format!("stage[{number}]."));
        Stage {
            plan,
            steps_key: format!("{steps}.steps"),
            tolerance_key: format!("{tolerance}integrator.force_tolerance"),
        }
    };
    Ok(vec![Box::new(Minimisations {
        stages: stages.into_iter().enumerate().map(keys).collect(),
        precision: scenario.neighbor.precision,
        console: opening.root.as_ref().map(|root| root.console.clone()),
        number: 0,
        first_step: 0,
        last_step: 0,
        ended: opening.recalled(NAME, from_words).unwrap_or_default(),
    })])
}

impl Minimisations {
    /// Returns the warning for a minimisation that used all its steps without converging.
    fn warning(&self, Ended { stage, steps, came_to }: &Ended) -> Option<String> {
        let Stage { plan, steps_key, tolerance_key } = self.stages.get(*stage)?;
        if came_to.is_converged() || *steps < plan.steps {
            return None;
        }
        let of_stage = match &*plan.name {
            "" if self.stages.len() == 1 => String::new(),
            "" => format!(" of stage {}", stage + 1),
            name => format!(" of stage `{name}`"),
        };
        let Minimisation { largest_force, force_tolerance } = *came_to;
        let rounding = match self.precision {
            Precision::Mixed => {
                "; or `neighbor.precision = \"double\"`, since rounding in mixed precision may keep forces above it"
            }
            Precision::Double => "",
        };
        Some(format!(
            "the minimisation{of_stage} has not converged: after {} the largest force is {largest_force:.3e}, above the \
             tolerance of {force_tolerance:e}; more `{steps_key}`, or a larger `{tolerance_key}`{rounding}",
            counted(*steps, "step")
        ))
    }

    fn entry(&self, Ended { stage, steps, came_to }: &Ended) -> Value {
        let Minimisation { largest_force, force_tolerance } = *came_to;
        json!({
            "stage": stage + 1,
            "name": self.stages.get(*stage).map_or("", |stage| &stage.plan.name),
            "steps": steps,
            "converged": came_to.is_converged(),
            "largest_force": largest_force,
            "force_tolerance": force_tolerance,
        })
    }
}

impl Observer for Minimisations {
    fn due(&self, step: u64) -> Option<Needs> {
        (step == self.last_step).then_some(Needs::NOTHING)
    }

    fn observe(&mut self, now: &Snapshot) -> Result<(), ObserverError> {
        let Some(came_to) = now.minimisation else { return Ok(()) };
        let ended = Ended { stage: self.number, steps: now.step - self.first_step, came_to };
        // A stage in which a run is resumed ends a second time.
        self.ended.retain(|other| other.stage != self.number);
        self.ended.push(ended);
        if let (Some(console), Some(text)) = (&self.console, self.warning(&ended)) {
            console.borrow_mut().progress.suspend(|| warn(&text));
        }
        Ok(())
    }

    fn runs_on(&self) -> RunsOn {
        RunsOn::FirstRank
    }

    fn ends_at(&mut self, step: u64) {
        self.last_step = step;
    }
}

impl RunOutput for Minimisations {
    fn begin_stage(&mut self, stage: &StageBegin) {
        (self.number, self.first_step) = (stage.number, stage.first_step);
        self.last_step = stage.first_step + stage.plan.steps;
    }

    fn kept(&mut self) -> Result<OutputState, ObserverError> {
        let words = self.ended.iter().flat_map(|Ended { stage, steps, came_to }| {
            let Minimisation { largest_force, force_tolerance } = came_to;
            [*stage as u64, *steps, largest_force.to_bits(), force_tolerance.to_bits()]
        });
        let memory = OutputMemory { name: NAME.to_owned(), words: words.collect() };
        Ok(OutputState { memory: Some(memory), ..OutputState::default() })
    }

    fn finish(self: Box<Self>, closing: &mut Closing) -> Result<(), RunError> {
        if !self.ended.is_empty() {
            let entries = self.ended.iter().map(|ended| self.entry(ended)).collect();
            closing.summary.insert(NAME.to_owned(), Value::Array(entries));
        }
        closing.warned.extend(self.ended.iter().filter_map(|ended| self.warning(ended)));
        Ok(())
    }
}

fn from_words(words: &[u64]) -> Option<Vec<Ended>> {
    let (all, rest) = words.as_chunks();
    let ended = |&[stage, steps, largest_force, force_tolerance]: &[u64; 4]| {
        let [largest_force, force_tolerance] = [largest_force, force_tolerance].map(f64::from_bits);
        let came_to = Minimisation { largest_force, force_tolerance };
        let is_number = largest_force.is_finite() && force_tolerance.is_finite();
        is_number.then_some(Ended { stage: usize::try_from(stage).ok()?, steps, came_to })
    };
    all.iter().map(ended).collect::<Option<_>>().filter(|_| rest.is_empty())
}
