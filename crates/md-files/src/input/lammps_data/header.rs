//! The header of a data file: counts and box.

use md_scenario::MOST_SPECIES;
use serde::{Deserialize, Serialize};

use crate::input::error::{InputError, Position, Problem};
use crate::input::fields::{AXES, Line};

/// Counts and box.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Header {
    /// Number of atoms.
    pub(super) atoms: u64,
    /// Number of atom types.
    pub(super) types: u32,
    /// Number of bonds, which are not read.
    pub(super) bonds: u64,
    /// Lower corner of the box.
    pub(super) origin: [f64; 3],
    /// Edges of the box.
    pub(super) lengths: [f64; 3],
}

/// Values from the lines read so far.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Draft {
    atoms: Option<u64>,
    types: Option<u32>,
    bonds: u64,
    bounds: [Option<(f64, f64)>; 3],
}

/// Last words of header lines.
pub(super) const KEYWORDS: [&str; 5] = ["atoms", "types", "xhi", "yhi", "zhi"];

const FORMS: &str = "the header has `N atoms`, `N atom types`, `LO HI xlo xhi`, the same for y and z";

/// Counts that must be zero.
const ABSENT: [&str; 4] = ["ellipsoids", "lines", "triangles", "bodies"];

/// Counts that are ignored, whatever their value.
const LEFT_OUT: [&str; 13] = [
    "bonds",
    "angles",
    "dihedrals",
    "impropers",
    "bond types",
    "angle types",
    "dihedral types",
    "improper types",
    "extra bond per atom",
    "extra angle per atom",
    "extra dihedral per atom",
    "extra improper per atom",
    "extra special per atom",
];

impl Draft {
    /// Returns the header from the lines before the first section.
    pub(super) fn finished(&self, whole: Position<'_>) -> Result<Header, InputError> {
        let missing = |what: &str| {
            whole
                .error(Problem::Missing { what: format!("header line `{what}`"), expected: FORMS.to_owned() })
        };
        let mut header = Header {
            atoms: self.atoms.ok_or_else(|| missing("N atoms"))?,
            types: self.types.ok_or_else(|| missing("N atom types"))?,
            bonds: self.bonds,
            origin: [0.0; 3],
            lengths: [0.0; 3],
        };
        for (axis, name) in AXES.into_iter().enumerate() {
            let (low, high) =
                self.bounds[axis].ok_or_else(|| missing(&format!("LO HI {name}lo {name}hi")))?;
            header.origin[axis] = low;
            header.lengths[axis] = high - low;
        }
        Ok(header)
    }

    /// Reads a line of the header.
    pub(super) fn read(&mut self, line: Line<'_>) -> Result<(), InputError> {
        let fields = line.fields();
        match fields.as_slice() {
            [count, "atoms"] => store(&mut self.atoms, line, count_of(line, count)?),
            [count, "atom", "types"] => {
                let types = count_of(line, count)?;
                match u32::try_from(types).ok().filter(|&types| types as usize <= MOST_SPECIES) {
                    Some(types) => store(&mut self.types, line, types),
                    None => {
                        let supported = format!("there can be at most {MOST_SPECIES}");
                        let what = format!("a file of {types} atom types");
                        Err(line.here.error(Problem::Unsupported { what, supported }))
                    }
                }
            }
            [low, high, "xlo", "xhi"] => self.bound(0, line, low, high),
            [low, high, "ylo", "yhi"] => self.bound(1, line, low, high),
            [low, high, "zlo", "zhi"] => self.bound(2, line, low, high),
            [xy, xz, yz, "xy", "xz", "yz"] => refuse_tilt(line, &[xy, xz, yz]),
            [count, what @ ..] if LEFT_OUT.contains(&what.join(" ").as_str()) => {
                let count = line.integer(count, "a count of the header")?;
                if what == ["bonds"] {
                    self.bonds = u64::try_from(count).unwrap_or(0);
                }
                Ok(())
            }
            ["0", what @ ..] if ABSENT.contains(&what.join(" ").as_str()) => Ok(()),
            _ => Err(line.unexpected(FORMS)),
        }
    }

    fn bound(&mut self, axis: usize, line: Line<'_>, low: &str, high: &str) -> Result<(), InputError> {
        store(&mut self.bounds[axis], line, line.bounds(axis, low, high)?)
    }
}

fn count_of(line: Line<'_>, text: &str) -> Result<u64, InputError> {
    match text.parse() {
        Ok(count) if count > 0 => Ok(count),
        _ => Err(line.unexpected(format!("`{text}` must be an integer of at least 1"))),
    }
}

fn store<T>(place: &mut Option<T>, line: Line<'_>, value: T) -> Result<(), InputError> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(line.here.error(Problem::Twice { what: format!("header line `{}`", line.text) })),
    }
}

fn refuse_tilt(line: Line<'_>, tilts: &[&str]) -> Result<(), InputError> {
    for tilt in tilts {
        if line.number(tilt, "a tilt of the box")? != 0.0 {
            let supported = "the box must be orthogonal, with `xy xz yz` zero or left out".to_owned();
            let what = format!("the triclinic box `{}`", line.text);
            return Err(line.here.error(Problem::Unsupported { what, supported }));
        }
    }
    Ok(())
}
