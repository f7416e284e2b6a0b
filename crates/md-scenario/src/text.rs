//! The text of a scenario and its overrides.

use toml::{Table, Value};

/// A scenario before it is parsed. It contains the text instead of a path, because under MPI only
/// rank 0 reads the file.
///
/// ```
/// use md_scenario::ScenarioSource;
///
/// let source = ScenarioSource {
///     name: "melt.toml".to_owned(),
///     text: "[simulation]\nsteps = 1000\n".to_owned(),
///     overrides: vec!["parallel.ranks=2".to_owned()],
/// };
/// assert!(source.gives("simulation.steps") && source.gives("parallel.ranks"));
/// assert!(!source.gives("interaction.cutoff"));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScenarioSource {
    /// Path of the file as the user gave it, for messages.
    pub name: String,
    /// Content of the file.
    pub text: String,
    /// Arguments of `--set`, `key.path=value`, in order. Later arguments override earlier ones.
    pub overrides: Vec<String>,
}

impl ScenarioSource {
    /// Returns whether the file or the overrides set a key such as `interaction.cutoff`, or
    /// anything below it.
    pub fn gives(&self, path: &str) -> bool {
        let in_override = |text: &String| text.trim_start().starts_with(path);
        let tree: Table = self.text.parse().unwrap_or_default();
        let (mut keys, tree) = (path.split('.'), Value::Table(tree));
        keys.try_fold(&tree, |value, key| value.get(key)).is_some() || self.overrides.iter().any(in_override)
    }
}
