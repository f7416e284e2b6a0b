//! Units that a file names: its numbers are taken as they are, which is right only where all of them are in one system.

use crate::input::error::Problem;
use crate::netcdf::{Header, Variable};

/// Variables with lengths.
const LENGTHS: [&str; 4] = ["coordinates", "unwrapped_coordinates", "cell_lengths", "cell_origin"];

/// What LAMMPS calls reduced units.
const REDUCED: &str = "lj";

/// Other spellings, in lower case and without an `s` at the end.
const SYNONYMS: [(&str, &str); 10] = [
    ("a", "angstrom"),
    ("å", "angstrom"),
    ("ångström", "angstrom"),
    ("nm", "nanometer"),
    ("nanometre", "nanometer"),
    ("pm", "picometer"),
    ("ps", "picosecond"),
    ("fs", "femtosecond"),
    ("ns", "nanosecond"),
    ("s", "second"),
];

/// A unit of one quantity and the variable that names it.
struct Named<'h> {
    variable: &'h str,
    /// As the file has it.
    text: &'h str,
    unit: String,
}

/// The units of a file, for a note: `None` where it names none, where they are reduced ones, and in our own files.
///
/// # Errors
/// Two variables that contradict each other.
pub(super) fn of_file(header: &Header) -> Result<Option<String>, Problem> {
    let [mut lengths, mut times] = [Vec::new(), Vec::new()];
    for variable in LENGTHS.into_iter().filter_map(|name| header.variable(name)) {
        // ASE writes the unit of the velocities to the coordinates.
        lengths.extend(named(variable, variable.text("units").split('/').next().unwrap_or_default()));
    }
    times.extend(header.variable("time").and_then(|time| named(time, time.text("units"))));
    if let Some(velocities) = header.variable("velocities") {
        let text = velocities.text("units");
        let (length, time) = text.split_once('/').unwrap_or((text, text));
        lengths.extend(named(velocities, length));
        times.extend(named(velocities, time));
    }
    expect_one(&lengths, "lengths")?;
    expect_one(&times, "times")?;
    if header.is_own() {
        return Ok(None);
    }
    let named = [("lengths", lengths.first()), ("times", times.first())];
    let named = named.into_iter().filter_map(|(what, first)| Some((what, first?)));
    let told: Vec<String> = named
        .filter(|(_, first)| first.unit != REDUCED)
        .map(|(what, first)| format!("{what} in `{}`", first.text))
        .collect();
    Ok((!told.is_empty()).then(|| told.join(", ")))
}

fn named<'h>(variable: &'h Variable, text: &'h str) -> Option<Named<'h>> {
    let text = text.trim();
    let lower = text.to_lowercase();
    let singular = lower.strip_suffix('s').filter(|rest| rest.len() > 2).unwrap_or(&lower);
    let synonym = SYNONYMS.iter().find(|(other, _)| *other == singular);
    let unit = synonym.map_or(singular, |(_, unit)| unit).to_owned();
    (!text.is_empty()).then_some(Named { variable: &variable.name, text, unit })
}

fn expect_one(all: &[Named<'_>], what: &str) -> Result<(), Problem> {
    let Some((first, rest)) = all.split_first() else { return Ok(()) };
    match rest.iter().find(|other| other.unit != first.unit) {
        None => Ok(()),
        Some(other) => Err(Problem::Told(format!(
            "`{}` has {what} in `{}`, but `{}` in `{}`: numbers are taken as they are, so all of them must have the \
             same unit",
            first.variable, first.text, other.variable, other.text
        ))),
    }
}
