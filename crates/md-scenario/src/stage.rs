//! `[[stage]]`: successive parts of a run, each with its own length, integrator and outputs.

use md_core::words::counted;
use md_engine::integrator::KeyFault;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::finding::{Checked, Finding};
use super::integrator::{self, IntegratorTable};
use super::output::Every;
use super::stage_output::{self, StageOutput};
use super::{Scenario, Simulation};

/// `[[stage]]`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// Name in the table on screen, and of the folder of the stage's own outputs.
    #[serde(default)]
    pub name: String,
    /// Number of time steps; a minimisation may end earlier.
    #[schemars(range(min = 1), extend("$comment" = "the number of time steps of the stage"))]
    pub steps: u64,
    /// Integrator of the stage; the default is `[integrator]`.
    pub integrator: Option<IntegratorTable>,
    /// Interval of thermo.csv; the default is `output.thermo`.
    #[schemars(extend("$comment" = "steps between two writes"))]
    pub thermo: Option<Every>,
    /// Interval of the trajectory; the default is that of `output.trajectory`.
    #[schemars(extend("$comment" = "steps between two writes"))]
    pub trajectory: Option<Every>,
    /// Outputs of this stage alone, in addition to those of the run: in a folder with its name in
    /// `output.directory`.
    pub output: Option<StageOutput>,
}

/// A stage with all values that it has or inherits.
///
/// ```
/// use md_scenario::{ScenarioSource, load};
///
/// let text = r#"
///     [simulation]
///     timestep = 0.005
///     [system]
///     lattice = { kind = "fcc", density = 0.8442, cells = [4, 4, 4] }
///     temperature = 1.44
///     [output]
///     thermo = { every = 50 }
///     [[stage]]
///     name = "equilibrate"
///     steps = 100
///     [[stage]]
///     name = "sample"
///     steps = 200
///     thermo = { every = 10 }
/// "#;
/// let source = ScenarioSource { text: text.to_owned(), ..ScenarioSource::default() };
/// let stages = load(&source)?.stages();
/// assert!(stages.iter().map(|stage| (stage.steps, stage.thermo)).eq([(100, 50), (200, 10)]));
/// # Ok::<(), md_scenario::ScenarioError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct StagePlan {
    /// Name in the table on screen. It is empty if the scenario has no stages.
    pub name: String,
    /// Number of time steps.
    pub steps: u64,
    /// Integrator of the stage.
    pub integrator: IntegratorTable,
    /// Steps between two rows of thermo.csv.
    pub thermo: u64,
    /// Steps between two frames of the trajectory, if there is one.
    pub trajectory: Option<u64>,
}

impl Scenario {
    /// Returns the stages of a run. A scenario without stages gives one, with `simulation.steps`
    /// and `[integrator]`.
    pub fn stages(&self) -> Vec<StagePlan> {
        let Self { simulation, output, integrator, .. } = self;
        let frames = output.trajectory.as_ref().map(|trajectory| trajectory.every);
        let plan = |stage: &Stage| StagePlan {
            name: stage.name.clone(),
            steps: stage.steps,
            integrator: stage.integrator.unwrap_or(*integrator),
            thermo: stage.thermo.unwrap_or(output.thermo).every,
            trajectory: frames.map(|frames| stage.trajectory.map_or(frames, |own| own.every)),
        };
        let whole = Stage { steps: simulation.steps, ..Stage::default() };
        if self.stage.is_empty() { vec![plan(&whole)] } else { self.stage.iter().map(plan).collect() }
    }
}

/// The largest integer of TOML.
const MOST_STEPS: u64 = i64::MAX as u64;

/// Returns the number of steps of all stages, or `None` if it exceeds the largest integer of TOML.
fn total_steps(stages: &[Stage]) -> Option<u64> {
    let total = stages.iter().try_fold(0, |sum: u64, stage| sum.checked_add(stage.steps));
    total.filter(|&total| total <= MOST_STEPS)
}

/// Checks that a barostat does not relax faster than it acts, which depends on the time step.
fn check_relaxation(path: &str, table: &IntegratorTable, simulation: &Simulation) -> Checked {
    let checked = table.barostat.as_ref().map_or(Ok(()), |it| it.check_relaxation(simulation.timestep));
    checked.map_err(|KeyFault { key, problem }| {
        let path = format!("{path}.{key}");
        let help = "2.0 is usual, in units of tau; or a smaller `every`";
        Finding::new(path.as_str(), format!("`{path}` {problem}"), help)
    })
}

pub(super) fn check(scenario: &Scenario) -> Checked {
    let Scenario { simulation, system, output, stage: stages, .. } = scenario;
    check_relaxation("integrator", &scenario.integrator, simulation)?;
    if stages.is_empty() {
        return Ok(());
    }
    for (index, stage) in stages.iter().enumerate() {
        if let Some(own) = &stage.integrator {
            let path = format!("stage[{index}].integrator");
            integrator::check(&path, own, simulation, system)?;
            check_relaxation(&path, own, simulation)?;
        }
        if stage.trajectory.is_some() && output.trajectory.is_none() {
            let path = format!("stage[{index}].trajectory");
            let message = format!("`{path}` has an interval, but there is no `output.trajectory`");
            let help = "give `output.trajectory = { path, every }`, or leave the key out";
            return Err(Finding::new(path.as_str(), message, help).at_key());
        }
    }
    stage_output::check(scenario)?;
    let total = total_steps(stages);
    let total = total.ok_or_else(|| {
        let most = MOST_STEPS;
        let message = format!("the stages have more than {most} steps together");
        Finding::new("stage", message, "fewer steps in one of the stages")
    })?;
    if simulation.steps == total {
        return Ok(());
    }
    let message =
        format!("`simulation.steps` is {}, but the stages have {}", simulation.steps, counted(total, "step"));
    let help = "leave `simulation.steps` out, and set `steps` of the stages, for example with `--set stage[0].steps=100`";
    Err(Finding::new("simulation.steps", message, help))
}
