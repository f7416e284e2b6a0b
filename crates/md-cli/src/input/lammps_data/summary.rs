//! What stands in a data file beside the particles, for who writes a scenario that is to take it.

use super::sections::{self, Coefficients, LENNARD_JONES};
use super::{Layout, Section};
use crate::error::RunError;
use crate::input::source::Source;
use crate::scenario::AtomStyle;

/// A data file without its particles.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Summary {
    /// Number of particles.
    pub(crate) atoms: u64,
    /// Lower corner of the box.
    pub(crate) origin: [f64; 3],
    /// Edges of the box.
    pub(crate) lengths: [f64; 3],
    /// Number of types.
    pub(crate) types: usize,
    /// Number of bonds, which are left out.
    pub(crate) bonds: u64,
    /// By type number - 1; empty where the file has none.
    pub(crate) masses: Vec<Option<f64>>,
    /// Lennard-Jones parameters. A heading that says no style leaves it to the script, as LAMMPS does.
    pub(crate) coefficients: Coefficients,
    /// Style of other coefficients, which are not read.
    pub(crate) other_pair_style: Option<String>,
    /// Atom style that the heading `Atoms` names.
    pub(crate) heading: Option<AtomStyle>,
    /// Columns of the first line of `Atoms`.
    pub(crate) columns: usize,
    /// Whether the particles have velocities.
    pub(crate) has_velocities: bool,
}

/// Looks through a data file once.
///
/// # Errors
/// A file that cannot be read; a fault in what is read of it.
pub(crate) fn summary(source: &Source<'_>) -> Result<Summary, RunError> {
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
