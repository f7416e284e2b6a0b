//! Kinds of scenarios.

use clap::ValueEnum;

use super::schema::ModelSchema;
use super::{LbmScenario, Scenario, StencilScenario};

/// Kind of a scenario, named after the command that runs it.
///
/// ```
/// use md_scenario::{ScenarioKind, schema};
///
/// let has = |kind, table: &str| schema(kind).contains(&format!("\"{table}\":"));
/// assert!(has(ScenarioKind::Run, "species") && !has(ScenarioKind::Run, "lbm"));
/// assert!(has(ScenarioKind::Lbm, "lbm") && !has(ScenarioKind::Lbm, "species"));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum ScenarioKind {
    /// Particles
    #[default]
    Run,
    /// Fields on a grid
    Stencil,
    /// A flow
    Lbm,
}

/// Returns the JSON Schema of the scenarios of a kind, for editors.
pub fn schema(kind: ScenarioKind) -> String {
    let schema = match kind {
        ScenarioKind::Run => ModelSchema::of::<Scenario>(),
        ScenarioKind::Stencil => ModelSchema::of::<StencilScenario>(),
        ScenarioKind::Lbm => ModelSchema::of::<LbmScenario>(),
    };
    format!("{:#}\n", schema.0)
}
