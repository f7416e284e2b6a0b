//! The columns that `ITEM: ATOMS` names.

use super::frames::Region;
use crate::input::error::{InputError, Problem};
use crate::input::fields::{AXES, Line, Record};

/// Positions of the columns.
#[derive(Debug)]
pub(super) struct Columns {
    /// Number of columns.
    pub(super) width: usize,
    pub(super) id: Option<usize>,
    pub(super) kind: Option<usize>,
    position: [Coordinate; 3],
    /// Columns of velocities.
    pub(super) velocity: Option<[usize; 3]>,
    pub(super) mass: Option<usize>,
    pub(super) unknown: Vec<String>,
}

/// Column of positions along an axis.
#[derive(Debug, Clone, Copy)]
struct Coordinate {
    column: usize,
    scale: Scale,
    /// Column of the image counts of these positions, or `None` if positions are unwrapped.
    images: Option<usize>,
    /// Whether the number of crossings of the faces is known.
    tells_images: bool,
}

/// Scale of positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scale {
    /// Unscaled.
    Lengths,
    /// In units of the box edges, from the lower corner.
    Edges,
}

/// Suffixes after the axis in names of wrapped positions.
const WRAPPED: [(&str, Scale); 2] = [("", Scale::Lengths), ("s", Scale::Edges)];

/// Suffixes after the axis in names of unwrapped positions.
const UNWRAPPED: [(&str, Scale); 2] = [("u", Scale::Lengths), ("su", Scale::Edges)];

impl Coordinate {
    /// Returns wrapped positions with image counts, or else unwrapped positions, or else wrapped
    /// positions alone.
    fn find(axis: char, column: impl Fn(&str) -> Option<usize>) -> Option<Self> {
        let any = |names: [(&str, Scale); 2]| {
            names.into_iter().find_map(|(suffix, scale)| Some((column(&format!("{axis}{suffix}"))?, scale)))
        };
        let images = column(&format!("i{axis}"));
        let found = |(column, scale)| Self { column, scale, images: None, tells_images: true };
        let (wrapped, unwrapped) = (any(WRAPPED).map(found), any(UNWRAPPED).map(found));
        match (wrapped, unwrapped) {
            (Some(wrapped), _) if images.is_some() => Some(Self { images, ..wrapped }),
            (_, Some(unwrapped)) => Some(unwrapped),
            (wrapped, None) => Some(Self { tells_images: false, ..wrapped? }),
        }
    }
}

/// Columns that a run does not need, because they follow from the others.
const REDUNDANT: [&str; 4] = ["fx", "fy", "fz", "c_epot"];

/// Returns whether a column contains positions or image counts, which may exist in several forms.
fn is_of_position(name: &str) -> bool {
    let forms = WRAPPED.into_iter().chain(UNWRAPPED).map(|(suffix, _)| suffix);
    AXES.iter().any(|&axis| {
        name == format!("i{axis}") || forms.clone().any(|suffix| name == format!("{axis}{suffix}"))
    })
}

impl Columns {
    /// Parses the heading of the particles, without `ITEM: ATOMS`. A column of types is required if
    /// there are several species.
    pub(super) fn parse(line: Line<'_>, names: &str, species: usize) -> Result<Self, InputError> {
        let names: Vec<&str> = names.split_whitespace().collect();
        if let Some((_, twice)) =
            names.iter().enumerate().find(|(index, name)| names[..*index].contains(name))
        {
            return Err(line.here.error(Problem::Twice { what: format!("column `{twice}`") }));
        }
        let column = |name: &str| names.iter().position(|own| *own == name);
        let vector = |[x, y, z]: [&str; 3]| Some([column(x)?, column(y)?, column(z)?]);
        let missing = |what: &str| {
            let expected = "`ITEM: ATOMS id type x y z`".to_owned();
            line.here.error(Problem::Missing { what: what.to_owned(), expected })
        };
        let [x, y, z] = AXES.map(|axis| Coordinate::find(axis, column));
        let (Some(x), Some(y), Some(z)) = (x, y, z) else { return Err(missing("a position")) };
        let (velocity, mass) = (vector(["vx", "vy", "vz"]), column("mass"));
        let (id, kind) = (column("id"), column("type"));
        if kind.is_none() && species > 1 {
            return Err(missing("column `type`"));
        }
        let used = [id, kind, mass].into_iter().flatten().chain(velocity.into_iter().flatten());
        let used: Vec<usize> = used.collect();
        let is_known = |index: usize, name: &&str| {
            used.contains(&index) || REDUNDANT.contains(name) || is_of_position(name)
        };
        let is_unknown = |(index, name): &(usize, &&str)| !is_known(*index, name);
        let unknown =
            names.iter().enumerate().filter(is_unknown).map(|(_, name)| format!("`{name}`")).collect();
        Ok(Self { width: names.len(), id, kind, position: [x, y, z], velocity, mass, unknown })
    }

    /// Returns the position of a row.
    pub(super) fn position(
        &self,
        line: Line<'_>,
        fields: &[&str],
        region: &Region,
    ) -> Result<[f64; 3], InputError> {
        let found = line.vector(&self.position.map(|it| fields[it.column]), "columns of positions")?;
        Ok([0, 1, 2].map(|dim| match self.position[dim].scale {
            Scale::Lengths => found[dim],
            Scale::Edges => region.origin[dim] + found[dim] * region.lengths[dim],
        }))
    }

    /// Returns along which axes the number of crossings of the faces is known.
    pub(super) fn tells_images(&self) -> [bool; 3] {
        self.position.map(|it| it.tells_images)
    }

    /// Sets the image counts from a row.
    pub(super) fn set_images(
        &self,
        line: Line<'_>,
        fields: &[&str],
        record: &mut Record,
    ) -> Result<(), InputError> {
        for (dim, coordinate) in self.position.iter().enumerate() {
            if let Some(column) = coordinate.images {
                record.set_image(dim, line.image(fields[column], "columns ix iy iz")?);
            }
        }
        Ok(())
    }

    /// Returns the velocity of a row, or zero if there is none.
    pub(super) fn velocity(&self, line: Line<'_>, fields: &[&str]) -> Result<[f64; 3], InputError> {
        let vector =
            |columns: [usize; 3]| line.vector(&columns.map(|column| fields[column]), "columns vx vy vz");
        self.velocity.map_or(Ok([0.0; 3]), vector)
    }
}
