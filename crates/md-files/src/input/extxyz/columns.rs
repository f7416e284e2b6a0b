//! The columns that `Properties` names.

use super::comment::Comment;
use crate::input::error::{InputError, Problem};
use crate::input::fields::{Line, Record};

/// Columns of a file without `Properties`.
const DEFAULT: &str = "species:S:1:pos:R:3";
const FORM: &str =
    "`Properties` is `name:type:columns`, joined by `:`, types S, R, I, L, e.g. species:S:1:pos:R:3";

/// Positions of the columns.
#[derive(Debug, Default)]
pub(super) struct Columns {
    /// Number of columns.
    pub(super) width: usize,
    position: usize,
    species: Option<usize>,
    kind: Option<usize>,
    id: Option<usize>,
    /// First column of velocities.
    pub(super) velocity: Option<usize>,
    /// First column of momenta.
    pub(super) momentum: Option<usize>,
    /// First column of image counts.
    pub(super) images: Option<usize>,
    /// Column of masses.
    pub(super) mass: Option<usize>,
    /// Names of columns that have no meaning here.
    pub(super) unknown: Vec<String>,
}

/// Columns of our own trajectories that contain nothing new.
const REDUNDANT: [&str; 1] = ["Z"];

impl Columns {
    /// Parses `Properties`.
    pub(super) fn parse(line: Line<'_>, comment: &Comment<'_>) -> Result<Self, InputError> {
        let text = comment.get("Properties").unwrap_or(DEFAULT);
        let parts: Vec<&str> = text.split(':').collect();
        let mut columns = Self::default();
        let mut position = None;
        for property in parts.chunks(3) {
            let [name, kind, count] = property else {
                return Err(line.unexpected(FORM));
            };
            let start = columns.width;
            let column = match *name {
                "pos" => Some((&mut position, "R", "3")),
                "species" => Some((&mut columns.species, "S", "1")),
                "type" => Some((&mut columns.kind, "I", "1")),
                "id" => Some((&mut columns.id, "I", "1")),
                "vel" | "velo" | "velocities" => Some((&mut columns.velocity, "R", "3")),
                "momenta" => Some((&mut columns.momentum, "R", "3")),
                "images" => Some((&mut columns.images, "I", "3")),
                "mass" | "masses" => Some((&mut columns.mass, "R", "1")),
                _ => None,
            };
            let is_unknown = column.is_none() && !REDUNDANT.contains(name);
            if let Some((column, own_kind, own_count)) = column {
                if (*kind, *count) != (own_kind, own_count) {
                    return Err(line.unexpected(format!("`{name}` must be `{name}:{own_kind}:{own_count}`")));
                }
                if column.replace(start).is_some() {
                    return Err(line.here.error(Problem::Twice { what: format!("column `{name}`") }));
                }
            }
            columns.width += width(line, kind, count)?;
            if is_unknown {
                columns.unknown.push(format!("`{name}`"));
            }
        }
        columns.checked(line, position)
    }

    fn checked(mut self, line: Line<'_>, position: Option<usize>) -> Result<Self, InputError> {
        let missing = |what: &str, form: &str| {
            let (what, expected) = (format!("column {what}"), format!("`{form}` in `Properties`"));
            line.here.error(Problem::Missing { what, expected })
        };
        self.position = position.ok_or_else(|| missing("`pos`", "pos:R:3"))?;
        if self.species.is_none() && self.kind.is_none() {
            return Err(missing("`species` or `type`", "species:S:1"));
        }
        Ok(self)
    }

    /// Returns the id of a row, if there is such a column.
    pub(super) fn id(&self, line: Line<'_>, fields: &[&str]) -> Result<Option<u64>, InputError> {
        self.id.map(|column| line.id(fields[column], "column id")).transpose()
    }

    /// Returns the position of a row.
    pub(super) fn position(&self, line: Line<'_>, fields: &[&str]) -> Result<[f64; 3], InputError> {
        line.vector(&fields[self.position..self.position + 3], "column pos")
    }

    /// Sets the image counts from a row, if there are such columns.
    pub(super) fn set_images(
        &self,
        line: Line<'_>,
        fields: &[&str],
        record: &mut Record,
    ) -> Result<(), InputError> {
        for (dim, column) in (0..3).zip(self.images.into_iter().flat_map(|first| first..first + 3)) {
            record.set_image(dim, line.image(fields[column], "column images")?);
        }
        Ok(())
    }

    /// Returns the type of a row: that of its type column, or else that of its species. If both
    /// exist, they must agree, unless the scenario does not contain the species. Then its name is
    /// only a label.
    pub(super) fn kind(
        &self,
        line: Line<'_>,
        fields: &[&str],
        species: &[String],
    ) -> Result<u32, InputError> {
        let name = self.species.map(|column| fields[column]);
        let named = name.and_then(|name| species.iter().zip(1..).find(|(own, _)| *own == name));
        let named = named.map(|(_, kind): (_, u32)| kind);
        let largest = u32::try_from(species.len()).unwrap_or(u32::MAX);
        let column = self.kind.map(|column| line.kind(fields[column], largest, "column type")).transpose()?;
        match (column, named) {
            (Some(kind), Some(expected)) if kind != expected => {
                let name = name.unwrap_or_default().to_owned();
                Err(line.here.error(Problem::Contradiction { name, expected, kind }))
            }
            (Some(kind), _) | (None, Some(kind)) => Ok(kind),
            (None, None) => {
                let name = name.unwrap_or_default().to_owned();
                let expected = format!("the scenario has `{}`", species.join("`, `"));
                Err(line.here.error(Problem::UnknownSpecies { name, expected }))
            }
        }
    }
}

/// Returns the vector of a row in the columns from `first` on, if there are such columns.
pub(super) fn vector(
    line: Line<'_>,
    fields: &[&str],
    first: Option<usize>,
    place: &'static str,
) -> Result<[f64; 3], InputError> {
    first.map_or(Ok([0.0; 3]), |first| line.vector(&fields[first..first + 3], place))
}

fn width(line: Line<'_>, kind: &str, count: &str) -> Result<usize, InputError> {
    // A line with more columns than this is damaged and does not contain data.
    const MOST: usize = 1000;
    match count.parse() {
        Ok(count) if (1..=MOST).contains(&count) && matches!(kind, "S" | "R" | "I" | "L") => Ok(count),
        _ => Err(line.unexpected(FORM)),
    }
}
