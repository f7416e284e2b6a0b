//! The lattice of a script, in LAMMPS's arithmetic.
//!
//! Whether a site on a face is inside depends on the last digit of its coordinate.

use md_core::lattice::{Lattice, LatticeKind};
use md_lab::name_of;

use super::numbers::number;

/// `lattice STYLE SCALE [KEYWORD ...]`
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ScriptLattice {
    /// `None` (`none`): there is only a unit of length.
    kind: Option<LatticeKind>,
    density: f64,
    /// Lattice constant.
    scale: f64,
    /// Lattice units of length along each dimension.
    pub(super) cell: [f64; 3],
    /// A corner of a unit cell, in lattice units.
    origin: [f64; 3],
}

/// The first and the last of some planes of sites across a dimension.
///
/// The faces of unit cells and the planes halfway between them are numbered in order.
pub(super) type Planes = [i64; 2];

/// An interval of a coordinate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Interval {
    pub(super) low: f64,
    /// Included.
    pub(super) high: f64,
    /// Excluded.
    pub(super) end: f64,
}

impl Default for ScriptLattice {
    /// Returns the lattice of a script without a `lattice`.
    fn default() -> Self {
        Self { kind: None, density: 1.0, scale: 1.0, cell: [1.0; 3], origin: [0.0; 3] }
    }
}

impl ScriptLattice {
    /// Reads the words after `lattice`.
    ///
    /// # Errors
    /// A style or a keyword that cannot be taken.
    pub(super) fn read(style: &str, scale: &str, keywords: &[&str]) -> Result<Self, String> {
        let kind = match style {
            "none" => None,
            "fcc" => Some(LatticeKind::Fcc),
            "bcc" => Some(LatticeKind::Bcc),
            "sc" => Some(LatticeKind::Sc),
            "hex" => Some(LatticeKind::Hex),
            "sq" => Some(LatticeKind::Sq),
            "sq2" => Some(LatticeKind::Sq2),
            _ => return Err("only fcc, bcc, sc, hex, sq and sq2 can be taken".to_owned()),
        };
        let density = number(scale)?;
        if density <= 0.0 {
            return Err("the density is not above 0".to_owned());
        }
        let scale = kind.map_or(density, |kind| scale_of(kind, density));
        let cell = kind.map_or([1.0; 3], aspect).map(|side| scale * side);
        let mut lattice = Self { kind, density, scale, cell, origin: [0.0; 3] };
        lattice.set(keywords)?;
        Ok(lattice)
    }

    fn set(&mut self, mut keywords: &[&str]) -> Result<(), String> {
        loop {
            keywords = match keywords {
                [] => return Ok(()),
                ["origin", x, y, z, rest @ ..] => {
                    self.origin = [number(x)?, number(y)?, number(z)?];
                    if !self.origin.iter().all(|part| (0.0..1.0).contains(part)) {
                        return Err("its origin is not from 0 to below 1".to_owned());
                    }
                    rest
                }
                ["spacing", x, y, z, rest @ ..] => {
                    self.cell = [number(x)?, number(y)?, number(z)?].map(|factor| factor * self.scale);
                    if !self.cell.iter().all(|&side| side > 0.0) {
                        return Err("its spacing is not above 0".to_owned());
                    }
                    rest
                }
                ["orient", axis, x, y, z, rest @ ..]
                    if is_own_axis(axis, [number(x)?, number(y)?, number(z)?]) =>
                {
                    rest
                }
                ["orient", ..] => return Err("a lattice that is turned cannot be taken".to_owned()),
                [keyword, ..] => return Err(format!("the keyword `{keyword}` of lattice cannot be taken")),
            };
        }
    }

    /// Returns the sites of a unit cell, in units of its sides.
    ///
    /// # Errors
    /// There is no lattice.
    pub(super) fn sites(&self) -> Result<Vec<[f64; 3]>, String> {
        let kind = self.kind.ok_or("there is no lattice")?;
        let places = unit_cell(kind).sites().map(|(_, place)| place).collect::<Vec<_>>();
        Ok(places.into_iter().map(|place| [0, 1, 2].map(|dim| place[dim] / aspect(kind)[dim])).collect())
    }

    /// Returns the number of planes per unit cell.
    pub(super) fn planes_per_cell(&self, dim: usize) -> i64 {
        let has_between = match self.kind {
            Some(LatticeKind::Fcc | LatticeKind::Bcc) => true,
            Some(LatticeKind::Hex | LatticeKind::Sq2) => dim < 2,
            _ => false,
        };
        if has_between { 2 } else { 1 }
    }

    /// Returns the side length of a unit cell.
    pub(super) fn side(&self, dim: usize) -> f64 {
        self.scale * self.aspect(dim)
    }

    fn aspect(&self, dim: usize) -> f64 {
        self.kind.map_or(1.0, |kind| aspect(kind)[dim])
    }

    /// Returns the distance between two planes.
    pub(super) fn gap(&self, dim: usize) -> f64 {
        self.side(dim) / self.planes_per_cell(dim) as f64
    }

    /// Returns the coordinate of a plane.
    pub(super) fn plane(&self, dim: usize, number: i64) -> f64 {
        let cells = number as f64 / self.planes_per_cell(dim) as f64;
        self.scale * (self.aspect(dim) * cells) + self.cell[dim] * self.origin[dim]
    }

    /// Returns the planes in an interval; the second number is below the first if there is none.
    ///
    /// # Errors
    /// The numbers of the planes are too large.
    pub(super) fn planes_in(&self, dim: usize, interval: Interval) -> Result<Planes, String> {
        /// Above this, the last digit of a number has no meaning for the coordinate.
        const LARGEST: f64 = 4e9;
        let Interval { low, high, end } = interval;
        let estimate = |place: f64| {
            let number = ((place - self.plane(dim, 0)) / self.gap(dim)).round();
            let is_small = number.abs() < LARGEST;
            if is_small { Ok(number as i64) } else { Err("too many unit cells to be counted".to_owned()) }
        };
        let is_inside = |number: &i64| {
            let place = self.plane(dim, *number);
            low <= place && place <= high && place < end
        };
        let (first, last) = (estimate(low)?, estimate(high.min(end))?);
        let first = (first - 1..=first + 1).find(|number| self.plane(dim, *number) >= low);
        let last = (last - 1..=last + 1).rev().find(is_inside);
        let first = first.unwrap_or(i64::MAX);
        Ok([first, last.unwrap_or(first.saturating_sub(1))])
    }

    /// Returns the keys of a scenario.
    pub(super) fn keys(&self) -> String {
        let kind = self.kind.map_or_else(String::new, name_of);
        format!("kind = \"{kind}\", density = {:?}", self.density)
    }

    /// Returns the dimensions of the unit cell, if there is one.
    pub(super) fn dimensions(&self) -> Option<usize> {
        self.kind.map(|kind| kind.dimension().count())
    }
}

/// Returns one cell with a lattice constant of 1.
fn unit_cell(kind: LatticeKind) -> Lattice {
    Lattice::new(kind, 1.0, [1; 3])
}

/// Returns the side lengths of a unit cell, in units of the lattice constant.
fn aspect(kind: LatticeKind) -> [f64; 3] {
    unit_cell(kind).lengths()
}

/// Returns the lattice constant.
fn scale_of(kind: LatticeKind, density: f64) -> f64 {
    let volume: f64 = aspect(kind).iter().product();
    let per_volume = unit_cell(kind).len() as f64 / volume;
    (per_volume / density).powf(1.0 / kind.dimension().count() as f64)
}

/// Returns whether a vector points along the axis of this name.
fn is_own_axis(axis: &str, vector: [f64; 3]) -> bool {
    let own = ["x", "y", "z"].iter().position(|name| *name == axis);
    own.is_some_and(|own| (0..3).all(|dim| if dim == own { vector[dim] > 0.0 } else { vector[dim] == 0.0 }))
}
