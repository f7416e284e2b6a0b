//! Atom styles of LAMMPS data files.

use md_lab::name_of;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Number of columns of a position, and of the image counts that may follow it.
const POSITION: usize = 3;
const IMAGES: usize = 3;

/// Atom styles of LAMMPS data files: the columns of a line of `Atoms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, strum::VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum AtomStyle {
    /// `id type x y z`.
    Atomic,
    /// `id type charge x y z`.
    Charge,
    /// Same columns as `molecular`.
    Bond,
    /// Same columns as `molecular`.
    Angle,
    /// `id molecule type x y z`.
    Molecular,
    /// `id molecule type charge x y z`.
    Full,
}

impl AtomStyle {
    /// All styles.
    pub const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;

    /// Returns the style with this name, if it is supported.
    ///
    /// ```
    /// use md_scenario::AtomStyle;
    ///
    /// assert_eq!(AtomStyle::named("full"), Some(AtomStyle::Full));
    /// // `id type charge x y z` has six columns, and no other style has.
    /// assert_eq!(AtomStyle::of_lines(None, 6, AtomStyle::named("charge")), Ok(AtomStyle::Charge));
    /// assert!(AtomStyle::of_lines(None, 5, AtomStyle::named("charge")).is_err());
    /// ```
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|style| name_of(style) == name)
    }

    /// Returns the style of lines of `Atoms`: the wanted style, or that of the heading, or the only
    /// one with this number of columns.
    ///
    /// # Errors
    /// Returns an error if the heading names a style with other lines than the wanted one, or if
    /// the number of columns fits no style, several styles, or not the wanted one.
    pub fn of_lines(heading: Option<Self>, columns: usize, wanted: Option<Self>) -> Result<Self, String> {
        match (heading, wanted) {
            (Some(own), Some(wanted)) if own.form() != wanted.form() => Err(format!(
                "the heading is `Atoms # {}`, but the style is given as `{}`: one of the two is wrong",
                name_of(own),
                name_of(wanted)
            )),
            (None, Some(style)) if !style.has_lines_of(columns) => Err(format!(
                "lines of {columns} columns are not of the style `{}`, which has {}",
                name_of(style),
                style.form()
            )),
            (_, Some(style)) | (Some(style), None) => Ok(style),
            (None, None) => Self::of_columns(columns),
        }
    }

    fn of_columns(columns: usize) -> Result<Self, String> {
        let styles = [Self::Atomic, Self::Charge, Self::Molecular, Self::Full];
        let fit: Vec<Self> = styles.into_iter().filter(|style| style.has_lines_of(columns)).collect();
        let names = |styles: &[Self]| {
            styles.iter().map(|style| format!("`{}`", name_of(style))).collect::<Vec<_>>().join(" or ")
        };
        let help = "name the style in the heading, as in `Atoms # full`, or by `system.file.style`";
        match fit[..] {
            [style] => Ok(style),
            [] => Err(format!("no style {} has lines of {columns} columns", names(&styles))),
            _ => Err(format!(
                "the heading `Atoms` names no style, and lines of {columns} columns may be {}: {help}",
                names(&fit)
            )),
        }
    }

    /// Returns whether lines of this style may have this number of columns.
    pub fn has_lines_of(self, columns: usize) -> bool {
        columns == self.columns() + POSITION || self.has_images(columns)
    }

    /// Returns whether lines with this number of columns contain image counts.
    pub fn has_images(self, columns: usize) -> bool {
        columns == self.columns() + POSITION + IMAGES
    }

    /// Returns the columns of a line, for messages.
    pub fn form(self) -> &'static str {
        match self {
            Self::Atomic => "an atom: id type x y z [ix iy iz]",
            Self::Charge => "an atom: id type charge x y z [ix iy iz]",
            Self::Bond | Self::Angle | Self::Molecular => "an atom: id molecule type x y z [ix iy iz]",
            Self::Full => "an atom: id molecule type charge x y z [ix iy iz]",
        }
    }

    /// Returns the number of columns before the position.
    pub fn columns(self) -> usize {
        match self {
            Self::Atomic => 2,
            Self::Charge | Self::Bond | Self::Angle | Self::Molecular => 3,
            Self::Full => 4,
        }
    }

    /// Returns id and type from the columns before the position.
    pub fn id_and_kind<'f>(self, columns: &[&'f str]) -> Option<(&'f str, &'f str)> {
        let kind = match self {
            Self::Atomic | Self::Charge => 1,
            Self::Bond | Self::Angle | Self::Molecular | Self::Full => 2,
        };
        Some((columns.first()?, columns.get(kind)?))
    }

    /// Returns the charge from the columns before the position, if there is one.
    pub fn charge<'f>(self, columns: &[&'f str]) -> Option<&'f str> {
        match self {
            Self::Atomic | Self::Bond | Self::Angle | Self::Molecular => None,
            Self::Charge | Self::Full => columns.last().copied(),
        }
    }
}
