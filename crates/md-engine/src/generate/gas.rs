//! A gas: random positions with a least distance between particles.
//!
//! The box is divided into cells with edges of at least that distance and about eight particles
//! each, so that the density is even. Particles are placed cell by cell, each at the first of many
//! random positions that is far enough from those already placed (random sequential addition).
//! Cells have eight colours, by the parity of their indices along x, y and z; no two neighbours
//! have the same colour. A cell is filled after its neighbours with a lower colour, so it depends
//! on cells up to seven away, independently of the order in which ranks fill them, and each rank
//! generates only its own cells and those that they depend on.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use md_core::random;

use super::Site;

/// Random positions tried for each particle.
const TRIES: u64 = 10_000;

/// Approximate number of particles per cell.
const PER_CELL: f64 = 8.0;

type Cell = [i64; 3];

/// A gas and its box.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RandomGas {
    atoms: u64,
    pub(crate) lengths: [f64; 3],
    /// Bounds of the particle positions: the whole box, less the least distance from faces that are
    /// not periodic.
    inner: [[f64; 2]; 3],
    is_periodic: [bool; 3],
    dimensions: usize,
    least_distance: f64,
    cells: Cell,
    seed: u64,
}

/// Parameters of a gas.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GasKeys {
    /// Number of particles.
    pub atoms: u64,
    /// Lengths of the box, which begins at the origin, \[length\].
    pub lengths: [f64; 3],
    /// Periodicity of each dimension; particles keep the least distance from faces that are not
    /// periodic.
    pub is_periodic: [bool; 3],
    /// Dimensions, 2 or 3.
    pub dimensions: usize,
    /// Least distance between any two particles, \[length\].
    pub least_distance: f64,
    /// Seed of all random numbers.
    pub seed: u64,
}

impl RandomGas {
    /// Highest number density in units of the inverse least distance to the power of the dimension;
    /// beyond it free positions are hard to find. (Random sequential addition ends at 0.73, in two
    /// dimensions at 0.70.)
    pub const MOST_FILLED: f64 = 0.5;

    /// Creates a gas and chooses its cells.
    pub fn new(keys: GasKeys) -> Self {
        let GasKeys { atoms, lengths, is_periodic, dimensions, least_distance, seed } = keys;
        let inner = [0, 1, 2].map(|dim| match dim < dimensions && !is_periodic[dim] {
            true => [least_distance, lengths[dim] - least_distance],
            false => [0.0, lengths[dim]],
        });
        let volume: f64 = inner[..dimensions].iter().map(|[low, high]| high - low).product();
        let edge = (PER_CELL * volume / atoms as f64).powf(1.0 / dimensions as f64).max(least_distance);
        let count = |dim: usize| {
            let [low, high] = inner[dim];
            let whole = ((high - low) / edge).floor().max(1.0) as i64;
            match dim < dimensions {
                // Colours alternate also across a periodic face.
                true if is_periodic[dim] && whole > 1 => whole & !1,
                true => whole,
                false => 1,
            }
        };
        let cells = [0, 1, 2].map(count);
        Self { atoms, lengths, inner, is_periodic, dimensions, least_distance, cells, seed }
    }

    /// Returns the reduced density in the space available to particles, as for
    /// [`Self::MOST_FILLED`]; infinite or NaN if there is no space.
    pub fn filled(&self) -> f64 {
        let room =
            self.inner[..self.dimensions].iter().map(|[low, high]| (high - low).max(0.0)).product::<f64>();
        self.atoms as f64 * self.least_distance.powi(self.dimensions as i32) / room
    }

    /// Returns the number of particles.
    pub fn len(&self) -> u64 {
        self.atoms
    }

    /// Returns whether there are no particles.
    pub fn is_empty(&self) -> bool {
        self.atoms == 0
    }

    /// Returns all particles.
    pub(crate) fn sites(&self) -> Result<Vec<Site>, u64> {
        self.sites_near(&[self.lengths.map(|length| 0.0..length)])
    }

    /// Returns the particles in cells that overlap one of these parts of the box.
    ///
    /// # Errors
    /// The id of a particle for which no position was found.
    pub(crate) fn sites_near(&self, parts: &[[Range<f64>; 3]]) -> Result<Vec<Site>, u64> {
        let mut wanted = BTreeSet::<Cell>::new();
        for part in parts {
            let [x, y, z] = [0, 1, 2].map(|dim| self.overlapping(dim, &part[dim]));
            for z in z {
                for y in y.clone() {
                    wanted.extend(x.clone().map(|x| [x, y, z]));
                }
            }
        }
        let mut filled = BTreeMap::new();
        let mut sites = Vec::new();
        for cell in wanted {
            self.fill(cell, &mut filled)?;
            let places = filled.get(&cell).into_iter().flatten();
            sites.extend(self.ids(cell).zip(places).map(|(id, &position)| Site {
                id,
                position,
                species: None,
            }));
        }
        sites.sort_unstable_by_key(|site| site.id);
        Ok(sites)
    }

    fn overlapping(&self, dim: usize, part: &Range<f64>) -> Range<i64> {
        /// Tolerance of a coordinate, in cells.
        const ROUNDING: f64 = 1e-6;
        let [low, high] = self.inner[dim];
        let number =
            |x: f64, by: f64| ((x - low) / (high - low) * self.cells[dim] as f64 + by).floor() as i64;
        number(part.start, -ROUNDING).max(0)..number(part.end, ROUNDING).min(self.cells[dim] - 1) + 1
    }

    /// Returns the ids of the particles of a cell; all cells have equal numbers, apart from
    /// rounding.
    fn ids(&self, cell: Cell) -> Range<u64> {
        let [nx, ny, nz] = self.cells.map(i128::from);
        let [x, y, z] = cell.map(i128::from);
        let (number, all) = ((z * ny + y) * nx + x, nx * ny * nz);
        let before = |number: i128| (i128::from(self.atoms) * number / all) as u64 + 1;
        before(number)..before(number + 1)
    }

    /// Places the particles of a cell, after those of the neighbours it depends on.
    fn fill(&self, cell: Cell, filled: &mut BTreeMap<Cell, Vec<[f64; 3]>>) -> Result<(), u64> {
        if filled.contains_key(&cell) {
            return Ok(());
        }
        let before = self.neighbours_before(cell);
        for &neighbour in &before {
            self.fill(neighbour, filled)?;
        }
        let mut own = Vec::<[f64; 3]>::new();
        for id in self.ids(cell) {
            let is_free = |place: &[f64; 3]| {
                let others = before.iter().filter_map(|cell| filled.get(cell)).flatten();
                others.chain(&own).all(|other| self.are_apart(place, other))
            };
            let place = (0..TRIES).map(|attempt| self.draw(cell, id, attempt)).find(is_free).ok_or(id)?;
            own.push(place);
        }
        filled.insert(cell, own);
        Ok(())
    }

    /// Returns the neighbours of a cell that have a lower colour.
    fn neighbours_before(&self, cell: Cell) -> BTreeSet<Cell> {
        let colour = |cell: Cell| cell.iter().zip(0..).map(|(at, bit)| (at & 1) << bit).sum::<i64>();
        let along = |dim: usize| {
            let beside = (cell[dim] - 1..=cell[dim] + 1).filter_map(move |at| match self.is_periodic[dim] {
                true => Some(at.rem_euclid(self.cells[dim])),
                false => (0..self.cells[dim]).contains(&at).then_some(at),
            });
            beside.collect::<Vec<_>>()
        };
        let [xs, ys, zs] = [0, 1, 2].map(along);
        let mut before = BTreeSet::new();
        for &z in &zs {
            for &y in &ys {
                before.extend(xs.iter().map(|&x| [x, y, z]).filter(|other| colour(*other) < colour(cell)));
            }
        }
        before
    }

    fn draw(&self, cell: Cell, id: u64, attempt: u64) -> [f64; 3] {
        /// Separate random keys, one per axis; the seed itself is used for species.
        const KEY: u64 = 0x0067_6173_0000;
        let counter = id.wrapping_mul(TRIES).wrapping_add(attempt);
        [0, 1, 2].map(|dim| {
            let [low, high] = self.inner[dim];
            if dim >= self.dimensions {
                return 0.0;
            }
            let part = random::uniform((self.seed ^ KEY).wrapping_add(dim as u64), counter);
            let x = low + (cell[dim] as f64 + part) * (high - low) / self.cells[dim] as f64;
            // Rounding must not put it on the upper face, which is the lower one of the next image.
            if x < high { x } else { low }
        })
    }

    fn are_apart(&self, a: &[f64; 3], b: &[f64; 3]) -> bool {
        let squared = |dim: usize| {
            let (d, length) = (a[dim] - b[dim], self.lengths[dim]);
            let nearest = if self.is_periodic[dim] { d - length * (d / length).round() } else { d };
            nearest * nearest
        };
        (0..self.dimensions).map(squared).sum::<f64>() >= self.least_distance * self.least_distance
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gas(atoms: u64, lengths: [f64; 3], is_periodic: [bool; 3], dimensions: usize) -> RandomGas {
        RandomGas::new(GasKeys { atoms, lengths, is_periodic, dimensions, least_distance: 0.9, seed: 7 })
    }

    #[test]
    fn no_two_are_too_close_and_the_density_is_even() {
        let dense = gas(2300, [15.0, 14.0, 16.0], [true; 3], 3);
        assert!((0.49..=RandomGas::MOST_FILLED).contains(&dense.filled()), "{}", dense.filled());
        let small = gas(20, [2.0, 4.0, 5.0], [true; 3], 3);
        let between_walls = gas(1000, [15.0, 14.0, 16.0], [true, false, true], 3);
        let flat = gas(500, [30.0, 31.0, 1.0], [true, false, false], 2);
        for gas in [dense, small, between_walls, flat] {
            let sites = gas.sites().unwrap();
            let ids: Vec<u64> = sites.iter().map(|site| site.id).collect();
            assert_eq!(ids, (1..=gas.len()).collect::<Vec<_>>());
            for (index, a) in sites.iter().enumerate() {
                assert!(sites[..index].iter().all(|b| gas.are_apart(&a.position, &b.position)), "{gas:?}");
                for dim in 0..gas.dimensions {
                    let margin = if gas.is_periodic[dim] { 0.0 } else { 0.9 };
                    let room = margin..gas.lengths[dim] - margin;
                    assert!(room.contains(&a.position[dim]), "{a:?}");
                }
            }
            let lower_half = sites.iter().filter(|site| site.position[1] < 0.5 * gas.lengths[1]).count();
            let share = lower_half as f64 / sites.len() as f64;
            assert!((share - 0.5).abs() < 2.0 / (sites.len() as f64).sqrt(), "{gas:?}: {share}");
        }
    }

    #[test]
    fn parts_of_the_box_have_the_particles_of_all() {
        let gas = gas(3000, [21.0, 19.0, 17.0], [true, false, true], 3);
        let all = gas.sites().unwrap();
        for part in [[0.0..3.0, 5.0..9.0, 16.0..17.0], [20.0..21.0, 0.0..19.0, 0.0..4.0]] {
            let inside = |site: &&Site| (0..3).all(|dim| part[dim].contains(&site.position[dim]));
            let near = gas.sites_near(std::slice::from_ref(&part)).unwrap();
            assert!(near.len() < all.len() / 2);
            assert_eq!(
                near.iter().filter(inside).collect::<Vec<_>>(),
                all.iter().filter(inside).collect::<Vec<_>>()
            );
        }
    }

    #[test]
    fn a_particle_without_a_place_is_named() {
        let full = gas(3900, [15.0, 14.0, 16.0], [true; 3], 3);
        assert!(full.filled() > RandomGas::MOST_FILLED);
        assert!((1..=3900).contains(&full.sites().unwrap_err()));
    }
}
