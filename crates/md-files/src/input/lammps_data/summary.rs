//! Contents of a data file other than the particles, for writing a scenario that reads it.

use md_scenario::AtomStyle;
use md_scenario::failure::RunError;

use super::sections::{self, Coefficients, LENNARD_JONES};
use super::{Layout, Section};
use crate::input::source::Source;

/// A data file without its particles.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Summary {
    /// Number of particles.
    pub atoms: u64,
    /// Lower corner of the box.
    pub origin: [f64; 3],
    /// Edges of the box.
    pub lengths: [f64; 3],
    /// Number of types.
    pub types: usize,
    /// Number of bonds, which are left out.
    pub bonds: u64,
    /// Masses by type number - 1. Empty if the file contains none.
    pub masses: Vec<Option<f64>>,
    /// Lennard-Jones parameters. If the heading names no style, the script determines it, as in
    /// LAMMPS.
    pub coefficients: Coefficients,
    /// Style of other coefficients, which are not read.
    pub other_pair_style: Option<String>,
    /// Atom style that the heading `Atoms` names.
    pub heading: Option<AtomStyle>,
    /// Number of columns in the first line of `Atoms`.
    pub columns: usize,
    /// Whether the particles have velocities.
    pub has_velocities: bool,
}

/// Reads a data file in one pass, without its particles.
///
/// # Errors
/// Returns an error if the file cannot be read, or if the parts that are read have a fault.
pub fn summary(source: &Source<'_>) -> Result<Summary, RunError> {
    let (header, layout) = Layout::find(source)?;
    let section = |section: Section| layout.sections.get(&section);
    let labels = layout.types(&header, source.name)?;
    let masses = section(Section::Masses)
        .map_or(Ok(Vec::new()), |content| sections::masses(content, source.name, &labels))?;
    let has_velocities = section(Section::Velocities).is_some();
    let mut found = Summary {
        atoms: header.atoms,
        origin: header.origin,
        lengths: header.lengths,
        types: header.types as usize,
        bonds: header.bonds,
        masses,
        has_velocities,
        ..Summary::default()
    };
    if let Some(atoms) = section(Section::Atoms) {
        (found.heading, found.columns) = (atoms.atom_style(), atoms.columns);
    }
    for content in [Section::PairCoeffs, Section::PairIjCoeffs].into_iter().filter_map(section) {
        if !matches!(content.style.as_str(), "" | LENNARD_JONES) {
            found.other_pair_style = Some(content.style.clone());
            continue;
        }
        let read = sections::read_coefficients(content, source.name, &labels, &found.coefficients)?;
        found.coefficients.extend(read);
    }
    Ok(found)
}
