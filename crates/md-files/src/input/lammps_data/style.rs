//! Data that are left out of files with more than positions and velocities of points.

use md_scenario::AtomStyle;

/// Sections that do not concern pair forces.
pub(super) const LEFT_OUT: [&str; 12] = [
    "Bonds",
    "Angles",
    "Dihedrals",
    "Impropers",
    "Bond Coeffs",
    "Angle Coeffs",
    "Dihedral Coeffs",
    "Improper Coeffs",
    "Bond Type Labels",
    "Angle Type Labels",
    "Dihedral Type Labels",
    "Improper Type Labels",
];

/// Returns a note about data of a file that a run does not use.
pub(super) fn note(style: AtomStyle, sections: &[String]) -> Option<String> {
    let of_atoms: &[&str] = match style {
        AtomStyle::Atomic => &[],
        AtomStyle::Charge => &["charges"],
        AtomStyle::Bond | AtomStyle::Angle | AtomStyle::Molecular => &["molecules"],
        AtomStyle::Full => &["molecules", "charges"],
    };
    let sections = sections.iter().map(|name| format!("section `{name}`"));
    let all: Vec<String> = of_atoms.iter().map(|name| (*name).to_owned()).chain(sections).collect();
    (!all.is_empty()).then(|| {
        format!("what has nothing to do with pair forces is left out of the file: {}", all.join(", "))
    })
}
