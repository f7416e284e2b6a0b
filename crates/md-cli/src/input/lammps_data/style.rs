//! Atom styles, and what is left out of files that have more than positions and velocities of points.

/// What stands in a line of `Atoms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AtomStyle {
    /// `Atomic`, since the heading says nothing.
    Unnamed,
    Atomic,
    Charge,
    Molecular,
    Full,
}

/// Sections that have nothing to do with pair forces.
pub(super) const LEFT_OUT: [&str; 8] = [
    "Bonds",
    "Angles",
    "Dihedrals",
    "Impropers",
    "Bond Coeffs",
    "Angle Coeffs",
    "Dihedral Coeffs",
    "Improper Coeffs",
];

impl AtomStyle {
    /// What the comment of a heading says; `None` for a style of which nothing is read.
    pub(super) fn of(comment: &str) -> Option<Self> {
        match comment.split_whitespace().next() {
            None => Some(Self::Unnamed),
            Some("atomic") => Some(Self::Atomic),
            Some("charge") => Some(Self::Charge),
            Some("angle" | "bond" | "molecular") => Some(Self::Molecular),
            Some("full") => Some(Self::Full),
            Some(_) => None,
        }
    }

    /// For messages.
    pub(super) fn form(self) -> &'static str {
        match self {
            Self::Unnamed => {
                "an atom: id type x y z [ix iy iz], or a heading with another style, such as `Atoms # full`"
            }
            Self::Atomic => "an atom: id type x y z [ix iy iz]",
            Self::Charge => "an atom: id type charge x y z [ix iy iz]",
            Self::Molecular => "an atom: id molecule type x y z [ix iy iz]",
            Self::Full => "an atom: id molecule type charge x y z [ix iy iz]",
        }
    }

    /// Columns before the position.
    pub(super) fn columns(self) -> usize {
        match self {
            Self::Unnamed | Self::Atomic => 2,
            Self::Charge | Self::Molecular => 3,
            Self::Full => 4,
        }
    }

    /// Of the columns before the position.
    pub(super) fn id_and_kind<'f>(self, columns: &[&'f str]) -> Option<(&'f str, &'f str)> {
        let kind = match self {
            Self::Unnamed | Self::Atomic | Self::Charge => 1,
            Self::Molecular | Self::Full => 2,
        };
        Some((columns.first()?, columns.get(kind)?))
    }

    /// Of the columns before the position.
    pub(super) fn charge<'f>(self, columns: &[&'f str]) -> Option<&'f str> {
        match self {
            Self::Unnamed | Self::Atomic | Self::Molecular => None,
            Self::Charge | Self::Full => columns.last().copied(),
        }
    }
}

/// What the user should know of what a file has and a run has not.
pub(super) fn note(style: Option<AtomStyle>, sections: &[String]) -> Option<String> {
    let of_atoms: &[&str] = match style {
        None | Some(AtomStyle::Unnamed | AtomStyle::Atomic) => &[],
        Some(AtomStyle::Charge) => &["charges"],
        Some(AtomStyle::Molecular) => &["molecules"],
        Some(AtomStyle::Full) => &["molecules", "charges"],
    };
    let sections = sections.iter().map(|name| format!("section `{name}`"));
    let all: Vec<String> = of_atoms.iter().map(|name| (*name).to_owned()).chain(sections).collect();
    (!all.is_empty()).then(|| {
        format!("what has nothing to do with pair forces is left out of the file: {}", all.join(", "))
    })
}
