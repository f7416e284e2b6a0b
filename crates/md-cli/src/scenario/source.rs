//! From the text of a scenario to a checked [`Scenario`].

use toml::{Table, Value};

use super::error::ScenarioError;
use super::finding::Finding;
use super::model::Scenario;
use super::overrides;
use super::schema::ModelSchema;
use super::shape::{self, Missing};
use super::validate::validate;

/// A scenario before it is read. Holds text and not a path, since under MPI only rank 0 reads the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScenarioSource {
    /// Path of the file as typed, for messages.
    pub name: String,
    /// Content of the file.
    pub text: String,
    /// Arguments of `--set`, `key.path=value`, in order; later ones win.
    pub overrides: Vec<String>,
}

/// Reads a scenario, applies its overrides and checks everything that can be checked without particles.
///
/// # Errors
/// The first fault, with its place in the file or the override it comes from.
pub fn load(source: &ScenarioSource) -> Result<Scenario, ScenarioError> {
    let mut tree: Table = source.text.parse().map_err(|error| ScenarioError::from_syntax(source, &error))?;
    let schema = ModelSchema::new();
    // The file alone first: a fault in it stays a fault when an override happens to hide it. Only keys that are
    // missing may still come from an override.
    let file_alone = ScenarioSource { overrides: Vec::new(), ..source.clone() };
    refuse(&file_alone, &shape::check(&tree, &schema, Missing::Allowed))?;
    for text in &source.overrides {
        overrides::apply(&mut tree, &schema, text)
            .map_err(|fault| ScenarioError::from_override(text, fault))?;
    }
    refuse(source, &shape::check(&tree, &schema, Missing::Refused))?;
    let scenario: Scenario = Value::Table(tree)
        .try_into()
        .map_err(|error: toml::de::Error| ScenarioError::from_decoding(source, &error))?;
    validate(&scenario).map_err(|finding| ScenarioError::locate(source, &finding))?;
    Ok(scenario)
}

/// What is wrong with a scenario that was made from another one by changing values, in one line.
pub fn fault(scenario: &Scenario) -> Option<String> {
    validate(scenario).err().map(|finding| format!("{}; {}", finding.message, finding.help))
}

/// Turns the finding that stands first in the text into an error.
fn refuse(source: &ScenarioSource, findings: &[Finding]) -> Result<(), ScenarioError> {
    let errors = findings.iter().map(|finding| ScenarioError::locate(source, finding));
    errors.min_by_key(ScenarioError::offset).map_or(Ok(()), Err)
}
