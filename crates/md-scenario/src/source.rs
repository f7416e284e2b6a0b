//! Conversion of the text of a scenario to a checked [`Scenario`], and back to text.

use toml::{Table, Value};
use toml_edit::{DocumentMut, Item};

use super::error::ScenarioError;
use super::finding::Finding;
use super::origin::{Place, Places};
use super::schema::ModelSchema;
use super::shape::{self, Pass};
use super::text::ScenarioSource;
use super::{Model, Scenario, overrides};

/// Returns whether a text has a table of this name at its top level. Text that is not TOML has
/// none.
///
/// ```
/// use md_scenario::has_table;
///
/// assert!(has_table("[lbm]\nsteps = 10\n", "lbm"));
/// assert!(!has_table("lbm = 10\n", "lbm"));
/// ```
pub fn has_table(text: &str, name: &str) -> bool {
    text.parse::<Table>().is_ok_and(|tree| tree.get(name).is_some_and(Value::is_table))
}

/// Reads a scenario, applies its overrides and checks everything that can be checked without
/// particles.
///
/// # Errors
/// Returns the first fault, with its place in the file or in the override.
///
/// ```
/// use md_scenario::{ScenarioSource, load};
///
/// let text = r#"
///     [simulation]
///     steps = 1000
///     [system]
///     lattice = { kind = "fcc", density = 0.8442, cells = [20, 20, 20] }
///     temperature = 1.44
/// "#;
/// let (name, text) = ("melt.toml".to_owned(), text.to_owned());
/// let overrides = vec!["simulation.steps=50".to_owned()];
/// let scenario = load(&ScenarioSource { name, text, overrides })?;
/// assert_eq!((scenario.simulation.steps, scenario.system.temperature), (50, Some(1.44)));
/// // The defaults are those of LAMMPS's benchmark.
/// assert_eq!((scenario.simulation.timestep, scenario.interaction.cutoff), (0.005, 2.5));
/// # Ok::<(), md_scenario::ScenarioError>(())
/// ```
pub fn load(source: &ScenarioSource) -> Result<Scenario, ScenarioError> {
    load_as(source)
}

/// Does what [`load`] does, for a scenario of any kind.
///
/// # Errors
/// Returns the first fault, as [`load`] does.
///
/// ```
/// use md_scenario::{LbmScenario, ScenarioSource, load_as};
///
/// let text = "[lbm]\ngrid = [8, 8, 8]\nviscosity = 0.1\nsteps = 10\n".to_owned();
/// let flow: LbmScenario = load_as(&ScenarioSource { text, ..ScenarioSource::default() })?;
/// assert_eq!(flow.lbm.grid, [8; 3]);
/// # Ok::<(), md_scenario::ScenarioError>(())
/// ```
pub fn load_as<M: Model>(source: &ScenarioSource) -> Result<M, ScenarioError> {
    let mut tree: Table = source.text.parse().map_err(|error| ScenarioError::from_syntax(source, &error))?;
    let schema = ModelSchema::of::<M>();
    // The file is checked alone first, so that an override does not hide a fault in it. Only
    // missing keys may still come from an override.
    let file_alone = ScenarioSource { overrides: Vec::new(), ..source.clone() };
    refuse(&file_alone, &shape::check(&tree, &schema, Pass::Partial))?;
    for text in &source.overrides {
        overrides::apply(&mut tree, &schema, text)
            .map_err(|fault| ScenarioError::from_override(source, text, fault))?;
    }
    refuse(source, &shape::check(&tree, &schema, Pass::Shape))?;
    refuse(source, &shape::check(&tree, &schema, Pass::Ranges))?;
    shape::fill_in(&mut tree, &schema);
    let mut scenario: M = Value::Table(tree)
        .try_into()
        .map_err(|error: toml::de::Error| ScenarioError::from_decoding(source, &error))?;
    scenario.validate().map_err(|finding| ScenarioError::locate(source, &finding))?;
    scenario.complete();
    Ok(scenario)
}

/// Returns the fault of a scenario that was made from another one by changing values, in one line,
/// or `None` if it is valid.
pub fn fault(scenario: &Scenario) -> Option<String> {
    scenario.validate().err().map(|finding| format!("{}; {}", finding.message, finding.help))
}

/// Turns the finding that comes first in the text into an error.
fn refuse(source: &ScenarioSource, findings: &[Finding]) -> Result<(), ScenarioError> {
    if findings.is_empty() {
        return Ok(());
    }
    let places = Places::new(source);
    let placed = findings.iter().map(|finding| (places.find(&finding.paths, finding.part), finding));
    let first = placed.min_by_key(|(place, _)| place.as_ref().map_or(0, Place::offset));
    first.map_or(Ok(()), |(place, finding)| Err(ScenarioError::of_finding(source, finding, place.as_ref())))
}

/// Largest number of keys of a table that is written in one line.
const MOST_INLINE: usize = 4;

/// Returns the scenario as TOML with all defaults filled in. Floats are read back exactly.
///
/// ```
/// use md_scenario::{LbmScenario, ScenarioSource, effective_toml, load_as};
///
/// let source = |text| ScenarioSource { text, ..ScenarioSource::default() };
/// let text = "[lbm]\ngrid = [8, 8, 8]\nviscosity = 0.1\nsteps = 10\n".to_owned();
/// let flow: LbmScenario = load_as(&source(text))?;
/// let all = effective_toml(&flow);
/// assert!(all.contains("collision = \"bgk\""));
/// assert_eq!(load_as::<LbmScenario>(&source(all))?, flow);
/// # Ok::<(), md_scenario::ScenarioError>(())
/// ```
pub fn effective_toml<M: Model>(scenario: &M) -> String {
    match toml_edit::ser::to_document(scenario) {
        Ok(document) => laid_out(document),
        // This only happens for integers outside of TOML's range, which cannot come from a TOML
        // file.
        Err(error) => format!("# the scenario cannot be written as TOML: {error}\n"),
    }
}

/// Returns whether two effective scenarios are equal except for the output directory, which may
/// have been moved.
pub fn same_elsewhere(one: &str, other: &str) -> bool {
    let without_directory = |text: &str| {
        let mut document: DocumentMut = text.parse().ok()?;
        let output = document.get_mut("output").and_then(Item::as_table_like_mut);
        output.map(|output| output.remove("directory"));
        Some(document.to_string())
    };
    let [one, other] = [one, other].map(without_directory);
    one.is_some() && one == other
}

/// Expands the inline tables that the serialiser writes below the top level, because users write
/// one header per table.
fn laid_out(mut document: DocumentMut) -> String {
    for (_, item) in document.as_table_mut().iter_mut() {
        expand(item);
        if let Item::Table(table) = item {
            for (_, below) in table.iter_mut() {
                let is_long = below.as_inline_table().is_some_and(|table| table.len() > MOST_INLINE);
                if is_long
                    || below
                        .as_array()
                        .is_some_and(|array| array.iter().any(toml_edit::Value::is_inline_table))
                {
                    expand(below);
                }
            }
        }
    }
    document.to_string().trim_start().to_owned()
}

/// Converts `key = {...}` to `[key]` and `key = [{...}]` to `[[key]]`. Other items stay as they
/// are.
fn expand(item: &mut Item) {
    *item = match std::mem::take(item).into_table() {
        Ok(table) => Item::Table(table),
        Err(other) => other.into_array_of_tables().map_or_else(|same| same, Item::ArrayOfTables),
    };
}
