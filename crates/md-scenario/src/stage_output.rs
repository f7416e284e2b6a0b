//! `stage.output`: outputs of one stage alone, in their own folder.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::finding::{Checked, Finding};
use super::output::{self, Every, Output};
use super::{Scenario, Simulation};
use crate::output::analysis::Analyses;
use crate::output::trajectory::Trajectory;

/// `stage.output`: keys of `[output]` for this stage alone.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct StageOutput {
    /// Interval of thermo.csv in the folder of the stage; the default is that of the stage.
    #[schemars(extend("$comment" = "steps between two rows of thermo.csv"))]
    pub thermo: Option<Every>,
    /// Same keys as `output.trajectory`.
    pub trajectory: Option<Trajectory>,
    /// Quantities computed from the particles during the stage.
    #[serde(flatten)]
    pub analyses: Analyses,
}

/// A stage that has outputs of its own, as a scenario without other stages.
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
///     [[stage]]
///     name = "equilibrate"
///     steps = 100
///     [[stage]]
///     name = "sample"
///     steps = 200
///     output = { rdf = { every = 10 } }
/// "#;
/// let source = ScenarioSource { text: text.to_owned(), ..ScenarioSource::default() };
/// let stages = load(&source)?.stages_with_outputs();
/// assert!(stages.iter().map(|stage| stage.in_folder("rdf.csv")).eq(["sample/rdf.csv"]));
/// assert_eq!(stages[0].scenario.simulation.steps, 200);
/// # Ok::<(), md_scenario::ScenarioError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct StageScenario {
    /// Number of stages before this one.
    pub number: usize,
    /// Folder of its outputs in `output.directory`: the name of the stage, or `stage-2` if it has
    /// none.
    pub folder: String,
    /// Scenario of this stage alone, with its outputs.
    pub scenario: Scenario,
}

impl StageScenario {
    /// Returns the prefix that turns a key of this scenario into a key of the scenario of the run:
    /// `stage[1].`.
    pub fn within(&self) -> String {
        format!("stage[{}].", self.number)
    }

    /// Returns the folder of a stage. The name may be empty.
    pub fn folder_of(number: usize, name: &str) -> String {
        if name.is_empty() { format!("stage-{}", number + 1) } else { name.to_owned() }
    }

    /// Returns the name of a file or an output in its folder, relative to the directory of the run.
    pub fn in_folder(&self, name: &str) -> String {
        format!("{}/{name}", self.folder)
    }

    fn new(run: &Scenario, number: usize, own: &StageOutput) -> Option<Self> {
        let stage = run.stage.get(number)?;
        let folder = Self::folder_of(number, &stage.name);
        let output = Output {
            directory: Path::new(&run.output.directory).join(&folder).to_string_lossy().into_owned(),
            thermo: own.thermo.or(stage.thermo).unwrap_or(run.output.thermo),
            checkpoint: None,
            trajectory: own.trajectory.clone(),
            analyses: own.analyses.clone(),
        };
        let scenario = Scenario {
            simulation: Simulation { steps: stage.steps, ..run.simulation.clone() },
            integrator: stage.integrator.unwrap_or(run.integrator),
            stage: Vec::new(),
            output,
            ..run.clone()
        };
        Some(Self { number, folder, scenario })
    }
}

impl Scenario {
    /// Returns the stages that have outputs of their own.
    pub fn stages_with_outputs(&self) -> Vec<StageScenario> {
        let stages = self.stage.iter().enumerate();
        stages
            .filter_map(|(number, stage)| StageScenario::new(self, number, stage.output.as_ref()?))
            .collect()
    }
}

/// Largest length of the name of a folder.
const MOST_LETTERS: usize = 100;
/// Folder in which `analyse` writes its tables.
const TAKEN: &str = "analysis";

/// Returns whether `name` can be a folder on every file system, beside the files of a run, which
/// have dots in their names.
fn is_folder(name: &str) -> bool {
    let is_plain = |letter: char| letter.is_alphanumeric() || letter == '-' || letter == '_';
    name.chars().all(is_plain) && name.chars().count() <= MOST_LETTERS && name != TAKEN
}

pub(super) fn check(scenario: &Scenario) -> Checked {
    let stages = scenario.stages_with_outputs();
    for (index, stage) in stages.iter().enumerate() {
        let within = stage.within();
        let path = format!("{within}name");
        let folder = &stage.folder;
        if !is_folder(folder) {
            let message =
                format!("`{path}` is {folder:?}, which cannot be the name of its folder of outputs");
            let help = format!(
                "at most {MOST_LETTERS} letters, digits, `-` and `_`, for example \"equilibrate\"; not \"{TAKEN}\""
            );
            return Err(Finding::new(path.as_str(), message, help));
        }
        let is_same = |other: &&StageScenario| other.folder.to_lowercase() == folder.to_lowercase();
        if let Some(other) = stages[..index].iter().find(is_same) {
            let message = format!(
                "`{path}` is {folder:?}, as `{}name`: their outputs would be one folder",
                other.within()
            );
            return Err(Finding::new(path.as_str(), message, "a name of its own for each stage"));
        }
        let Scenario { output, simulation, species, .. } = &stage.scenario;
        output::check(output, species, simulation).map_err(|finding| finding.within(&within))?;
    }
    Ok(())
}
