//! Units that a file names. Lengths are read in the unit of the positions and times in that of the
//! time, and both are taken as reduced units. Variables in other units are converted, and angles in
//! radians.

use std::collections::BTreeMap;

use crate::input::error::Problem;
use crate::netcdf::{Header, Variable};

/// Variables with lengths.
const LENGTHS: [&str; 4] = ["coordinates", "unwrapped_coordinates", "cell_lengths", "cell_origin"];

/// Name of reduced units in LAMMPS.
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

/// Units that can be converted, in angstrom or picoseconds.
const SIZES: [(&str, f64); 8] = [
    ("angstrom", 1.0),
    ("nanometer", 10.0),
    ("picometer", 0.01),
    ("bohr", 0.529_177_210_903),
    ("femtosecond", 0.001),
    ("picosecond", 1.0),
    ("nanosecond", 1000.0),
    ("second", 1e12),
];

/// The units of a file.
#[derive(Debug, Default)]
pub(super) struct Units {
    /// Description for a note, or `None` if the file names no units, if they are reduced, or if the
    /// file is one of our own.
    pub(super) told: Option<String>,
    /// Factors of the variables whose numbers must be multiplied.
    factors: BTreeMap<String, f64>,
}

impl Units {
    /// Returns the factor for the numbers of a variable.
    pub(super) fn factor(&self, variable: &Variable) -> f64 {
        self.factors.get(&variable.name).copied().unwrap_or(1.0)
    }

    /// Returns notes about the variables that are converted.
    pub(crate) fn notes(&self) -> impl Iterator<Item = String> {
        self.factors.iter().map(|(variable, factor)| {
            format!("`{variable}` has units of its own: its numbers are multiplied by {factor:?}")
        })
    }
}

/// A unit of one quantity, and the variable that names it.
struct Named<'h> {
    variable: &'h str,
    /// Name of the unit in the file.
    text: &'h str,
    unit: String,
}

/// Reads the units of a file.
///
/// # Errors
/// Returns an error if two variables have different units and one of these is unknown.
pub(super) fn of_file(header: &Header) -> Result<Units, Problem> {
    let [mut lengths, mut times] = [Vec::new(), Vec::new()];
    for variable in LENGTHS.into_iter().filter_map(|name| header.variable(name)) {
        // ASE attaches the unit of the velocities to the coordinates.
        lengths.extend(named(variable, variable.text("units").split('/').next().unwrap_or_default()));
    }
    times.extend(header.variable("time").and_then(|time| named(time, time.text("units"))));
    if let Some(velocities) = header.variable("velocities") {
        let text = velocities.text("units");
        let (length, time) = text.split_once('/').unwrap_or((text, text));
        lengths.extend(named(velocities, length));
        times.extend(named(velocities, time));
    }
    let mut factors = BTreeMap::new();
    for (unit, factor) in others(&lengths, "lengths")? {
        *factors.entry(unit.variable.to_owned()).or_insert(1.0) *= factor;
    }
    for (unit, factor) in others(&times, "times")? {
        *factors.entry(unit.variable.to_owned()).or_insert(1.0) /= factor;
    }
    let angles = header.variable("cell_angles").filter(|it| it.text("units").trim().starts_with("rad"));
    factors.extend(angles.map(|it| (it.name.clone(), 1_f64.to_degrees())));
    if header.is_own() {
        return Ok(Units { told: None, factors });
    }
    let named = [("lengths", lengths.first()), ("times", times.first())];
    let named = named.into_iter().filter_map(|(what, first)| Some((what, first?)));
    let told: Vec<String> = named
        .filter(|(_, first)| first.unit != REDUCED)
        .map(|(what, first)| format!("{what} in `{}`", first.text))
        .collect();
    Ok(Units { told: (!told.is_empty()).then(|| told.join(", ")), factors })
}

fn named<'h>(variable: &'h Variable, text: &'h str) -> Option<Named<'h>> {
    let text = text.trim();
    let lower = text.to_lowercase();
    let singular = lower.strip_suffix('s').filter(|rest| rest.len() > 2).unwrap_or(&lower);
    let synonym = SYNONYMS.iter().find(|(other, _)| *other == singular);
    let unit = synonym.map_or(singular, |(_, unit)| unit).to_owned();
    (!text.is_empty()).then_some(Named { variable: &variable.name, text, unit })
}

/// Returns the entries whose unit is not that of the first, with the factor that converts them.
fn others<'n, 'h>(all: &'n [Named<'h>], what: &str) -> Result<Vec<(&'n Named<'h>, f64)>, Problem> {
    let Some((first, rest)) = all.split_first() else { return Ok(Vec::new()) };
    let size = |unit: &Named| SIZES.iter().find(|(name, _)| *name == unit.unit).map(|(_, size)| *size);
    let differing = rest.iter().filter(|other| other.unit != first.unit);
    let converted = differing.map(|other| match (size(other), size(first)) {
        (Some(own), Some(wanted)) => Ok((other, own / wanted)),
        _ => Err(Problem::Told(format!(
            "`{}` has {what} in `{}`, but `{}` in `{}`: one of the two units is not known, so the numbers cannot be converted",
            first.variable, first.text, other.variable, other.text
        ))),
    });
    converted.collect()
}
