//! The columns that `ITEM: ATOMS` names.

use super::frames::Region;
use crate::input::InputParticles;
use crate::input::error::{InputError, Problem};
use crate::input::fields::Line;

/// Where the columns stand.
#[derive(Debug)]
pub(super) struct Columns {
    /// Number of columns.
    pub(super) width: usize,
    pub(super) id: usize,
    pub(super) kind: usize,
    position: ([usize; 3], Scale),
    /// Of velocities.
    pub(super) velocity: Option<[usize; 3]>,
    mass: Option<usize>,
    unknown: Vec<String>,
}

/// What positions are given in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scale {
    /// As they are.
    Lengths,
    /// In edges of the box, from its lower corner.
    Edges,
}

/// Names of positions, in the order in which they are looked for.
const POSITIONS: [([&str; 3], Scale); 4] = [
    (["x", "y", "z"], Scale::Lengths),
    (["xu", "yu", "zu"], Scale::Lengths),
    (["xs", "ys", "zs"], Scale::Edges),
    (["xsu", "ysu", "zsu"], Scale::Edges),
];

/// What a frame may say of particles that a run has no use for, because it follows from the rest.
const REDUNDANT: [&str; 7] = ["ix", "iy", "iz", "fx", "fy", "fz", "c_epot"];

impl Columns {
    /// Reads the heading of the particles, without `ITEM: ATOMS`.
    pub(super) fn parse(line: Line<'_>, names: &str) -> Result<Self, InputError> {
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
        let position = POSITIONS.iter().find_map(|(names, scale)| Some((vector(*names)?, *scale)));
        let position = position.ok_or_else(|| missing("columns of positions"))?;
        let (velocity, mass) = (vector(["vx", "vy", "vz"]), column("mass"));
        let (id, kind) = (column("id"), column("type"));
        let (id, kind) =
            (id.ok_or_else(|| missing("column `id`"))?, kind.ok_or_else(|| missing("column `type`"))?);
        let used = [id, kind].into_iter().chain(position.0).chain(velocity.into_iter().flatten()).chain(mass);
        let used: Vec<usize> = used.collect();
        let is_unknown = |(index, name): &(usize, &&str)| !used.contains(index) && !REDUNDANT.contains(name);
        let unknown =
            names.iter().enumerate().filter(is_unknown).map(|(_, name)| format!("`{name}`")).collect();
        Ok(Self { width: names.len(), id, kind, position, velocity, mass, unknown })
    }

    /// The position of a row.
    pub(super) fn position(
        &self,
        line: Line<'_>,
        fields: &[&str],
        region: &Region,
    ) -> Result<[f64; 3], InputError> {
        let (columns, scale) = self.position;
        let found = line.vector(&columns.map(|column| fields[column]), "columns of positions")?;
        Ok(match scale {
            Scale::Lengths => found,
            Scale::Edges => [0, 1, 2].map(|dim| region.origin[dim] + found[dim] * region.lengths[dim]),
        })
    }

    /// The velocity of a row, zero if there are none.
    pub(super) fn velocity(&self, line: Line<'_>, fields: &[&str]) -> Result<[f64; 3], InputError> {
        let vector =
            |columns: [usize; 3]| line.vector(&columns.map(|column| fields[column]), "columns vx vy vz");
        self.velocity.map_or(Ok([0.0; 3]), vector)
    }

    /// The mass of a row of type `kind`, if there is such a column.
    pub(super) fn mass(&self, line: Line<'_>, fields: &[&str], kind: u32) -> Result<Option<f64>, InputError> {
        let Some(column) = self.mass else { return Ok(None) };
        match line.number(fields[column], "column mass")? {
            mass if mass > 0.0 => Ok(Some(mass)),
            _ => Err(line.here.error(Problem::Mass { kind, text: fields[column].to_owned() })),
        }
    }

    /// Says which columns are left out.
    pub(super) fn note_unknown(&self, particles: &mut InputParticles) {
        if !self.unknown.is_empty() {
            let names = self.unknown.join(", ");
            particles.notes.push(format!("columns of the file that mean nothing here are left out: {names}"));
        }
    }
}
