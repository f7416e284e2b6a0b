//! Extended XYZ, readable by ASE, OVITO and others.
//!
//! A frame consists of the number of particles, a line that describes the frame and its columns,
//! and a line per particle:
//!
//! ```text
//! 2
//! Lattice="10.0 0.0 0.0 0.0 10.0 0.0 0.0 0.0 10.0" Origin="0.0 0.0 0.0" Properties=species:S:1:pos:R:3:... Time=0.5 Step=100 pbc="T T T"
//! A 0.1 0.2 0.3 1.0 0.0 0.0 1 1 0 2.0
//! B ...
//! ```
//!
//! With `Z` (the atomic number, 0 for names that are not chemical elements) ASE accepts any species
//! name. OVITO reads velocities from `velo`, and ASE from `momenta` and `masses`; a file contains
//! all three by default.

use md_scenario::{Positions, TrajectoryColumn, TrajectoryFormat};

use super::Format;
use super::frame::{Frame, FrameLayout, FrameRow, make_room};
use super::records::{self, Encode};
use super::text::{Line, TYPICAL_NUMBER_BYTES};
use crate::input;
use crate::output::gathers::Gathers;

/// Beginning of `Properties` in all frames.
const FIRST_PROPERTIES: &str = "species:S:1:pos:R:3:id:I:1:type:I:1:Z:I:1";

/// The format `.extxyz`.
pub(super) const FORMAT: Format = Format {
    properties: TrajectoryFormat::Extxyz.properties(),
    contents: input::extxyz::contents,
    frames: input::FrameReader::Text(input::TextFormat::Extxyz),
    gathers: Gathers::Frames,
    farthest: f64::INFINITY,
    is_own,
    open: |opening, layout, compression| {
        let encoder = Extxyz::new(layout.clone());
        records::open(opening, &layout, compression, encoder)
    },
};

fn is_own(head: &[u8]) -> bool {
    let comment = head.split(|&byte| byte == b'\n').nth(1).map(String::from_utf8_lossy);
    comment.is_some_and(|line| {
        line.starts_with("Lattice=") && line.contains(&format!(" Properties={FIRST_PROPERTIES}"))
    })
}

pub(super) struct Extxyz {
    layout: FrameLayout,
    /// Name and atomic number of each species, in the order of the type numbers.
    species: Vec<(String, usize)>,
    properties: String,
    boundary: String,
}

impl Extxyz {
    pub(super) fn new(layout: FrameLayout) -> Self {
        let numbers = atomic_numbers(layout.species.iter().map(|label| label.name.as_str()));
        let species =
            layout.species.iter().zip(numbers).map(|(label, number)| (column_text(&label.name), number));
        let species = species.collect();
        let properties =
            std::iter::once(FIRST_PROPERTIES).chain(layout.columns.iter().map(|&column| property(column)));
        let properties = properties.collect::<Vec<_>>().join(":");
        let boundary = layout.periodic.map(|is_periodic| if is_periodic { "T" } else { "F" }).join(" ");
        Self { layout, species, properties, boundary }
    }

    /// Returns the second line of a frame.
    fn comment(&self, &Frame { step, time, origin: [ox, oy, oz], lengths: [lx, ly, lz] }: &Frame) -> String {
        let Self { properties, boundary, layout, .. } = self;
        let unwrapped = if layout.positions == Positions::Unwrapped { " unwrapped=T" } else { "" };
        format!(
            "Lattice=\"{lx:?} 0.0 0.0 0.0 {ly:?} 0.0 0.0 0.0 {lz:?}\" Origin=\"{ox:?} {oy:?} {oz:?}\" \
             Properties={properties} Time={time:?} Step={step} pbc=\"{boundary}\"{unwrapped}"
        )
    }

    fn push(&self, bytes: &mut Vec<u8>, frame: &Frame, row: &FrameRow) -> Result<(), String> {
        let species = (row.kind as usize).checked_sub(1).and_then(|index| self.species.get(index));
        let Some((name, atomic_number)) = species else {
            return Err(format!("particle {} is of type {}, which is no species", row.id, row.kind));
        };
        let mut line = Line::new(bytes);
        line.word(name);
        line.vector(self.layout.position(frame, row));
        line.integer(row.id);
        line.integer(row.kind);
        line.integer(*atomic_number);
        line.columns(&self.layout.columns, row);
        line.end();
        Ok(())
    }
}

/// Returns the name of a column that ASE, OVITO or both recognise.
fn property(column: TrajectoryColumn) -> &'static str {
    match column {
        TrajectoryColumn::Velocity => "velo:R:3",
        TrajectoryColumn::Mass => "masses:R:1",
        TrajectoryColumn::Momentum => "momenta:R:3",
        TrajectoryColumn::Images => "images:I:3",
        TrajectoryColumn::Force => "forces:R:3",
        TrajectoryColumn::Energy => "energies:R:1",
    }
}

impl Encode for Extxyz {
    fn encode(&mut self, frame: &Frame, rows: &[FrameRow], bytes: &mut Vec<u8>) -> Result<(), String> {
        let words: usize = 2 * self.properties.split(':').count() / 3 + 2;
        make_room(bytes, TYPICAL_NUMBER_BYTES * words * (rows.len() + 2))?;
        bytes.extend_from_slice(format!("{}\n{}\n", rows.len(), self.comment(frame)).as_bytes());
        rows.iter().try_for_each(|row| self.push(bytes, frame, row))
    }
}

/// Returns a name as one column.
fn column_text(name: &str) -> String {
    match name.trim() {
        "" => "X".to_owned(),
        name => name.split_whitespace().collect::<Vec<_>>().join("_"),
    }
}

/// Chemical symbols in the order of the atomic numbers, from 1.
const SYMBOLS: [&str; 118] = [
    "H", "He", "Li", "Be", "B", "C", "N", "O", "F", "Ne", "Na", "Mg", "Al", "Si", "P", "S", "Cl", "Ar", "K",
    "Ca", "Sc", "Ti", "V", "Cr", "Mn", "Fe", "Co", "Ni", "Cu", "Zn", "Ga", "Ge", "As", "Se", "Br", "Kr",
    "Rb", "Sr", "Y", "Zr", "Nb", "Mo", "Tc", "Ru", "Rh", "Pd", "Ag", "Cd", "In", "Sn", "Sb", "Te", "I", "Xe",
    "Cs", "Ba", "La", "Ce", "Pr", "Nd", "Pm", "Sm", "Eu", "Gd", "Tb", "Dy", "Ho", "Er", "Tm", "Yb", "Lu",
    "Hf", "Ta", "W", "Re", "Os", "Ir", "Pt", "Au", "Hg", "Tl", "Pb", "Bi", "Po", "At", "Rn", "Fr", "Ra",
    "Ac", "Th", "Pa", "U", "Np", "Pu", "Am", "Cm", "Bk", "Cf", "Es", "Fm", "Md", "No", "Lr", "Rf", "Db",
    "Sg", "Bh", "Hs", "Mt", "Ds", "Rg", "Cn", "Nh", "Fl", "Mc", "Lv", "Ts", "Og",
];

/// Number that ASE uses for a particle that is not a chemical element.
const NO_ELEMENT: usize = 0;

/// Returns the atomic numbers of species, if every name is a chemical symbol. Names such as "A",
/// "B" are labels, and the second of them should not be treated as boron.
fn atomic_numbers<'a>(names: impl Iterator<Item = &'a str> + Clone) -> Vec<usize> {
    let known: Option<Vec<usize>> = names.clone().map(atomic_number).collect();
    known.unwrap_or_else(|| names.map(|_| NO_ELEMENT).collect())
}

fn atomic_number(name: &str) -> Option<usize> {
    SYMBOLS.iter().position(|symbol| *symbol == name).map(|index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_elements_only_together() {
        assert_eq!(atomic_numbers(["Ar", "Kr"].into_iter()), [18, 36]);
        assert_eq!(atomic_numbers(["Og"].into_iter()), [118]);
        assert_eq!(atomic_numbers(["A", "B"].into_iter()), [NO_ELEMENT; 2]);
    }
}
