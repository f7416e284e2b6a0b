//! Particles of `create_atoms`.

use super::faces::Ends;
use super::lattice::{Planes, ScriptLattice};

/// Particles of one command.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Created {
    Lattice(Filled),
    Single(Single),
    Random(Random),
}

/// Sites of a lattice in a block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Filled {
    pub(super) lattice: ScriptLattice,
    /// Number of the type, from 1.
    pub(super) kind: usize,
    /// Planes across each dimension.
    pub(super) planes: [Planes; 3],
}

/// One particle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Single {
    pub(super) kind: usize,
    pub(super) place: [f64; 3],
    /// 2 or 3.
    pub(super) dimensions: usize,
}

/// Particles at random positions in the whole box.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Random {
    pub(super) count: u64,
    pub(super) least_distance: f64,
}

/// In units of the lattice constant: sites this close to the upper face of a region are outside in
/// a scenario.
const ON_FACE: f64 = 1e-6;

impl Created {
    pub(super) fn count(&self) -> u64 {
        match self {
            Self::Lattice(filled) => filled.count(),
            Self::Single(_) => 1,
            Self::Random(random) => random.count,
        }
    }

    /// Returns the range of the particles' positions; `None` where these are random.
    pub(super) fn extent(&self) -> Option<[Ends; 3]> {
        match self {
            Self::Lattice(filled) => filled.extent(),
            Self::Single(single) => Some(single.place.map(|place| Ends { low: place, high: place })),
            Self::Random(_) => None,
        }
    }

    /// Returns entries of `system.regions.lattices`, in a box with these ends.
    ///
    /// # Errors
    /// Particles that are on no lattice, or on the upper face of the box.
    pub(super) fn regions(&self, ends: &[Ends; 3]) -> Result<String, String> {
        match self {
            Self::Lattice(filled) => filled.regions(ends),
            Self::Single(single) => single.region(ends),
            Self::Random(_) => Err("particles at random cannot be made beside others".to_owned()),
        }
    }
}

impl Filled {
    /// Returns, for each site of the unit cell and along each dimension, the first and the last
    /// plane that contains it.
    fn planes_of_sites(&self) -> impl Iterator<Item = [Planes; 3]> + '_ {
        let sites = self.lattice.sites().unwrap_or_default();
        sites.into_iter().map(|site| {
            [0, 1, 2].map(|dim| {
                let ([first, last], step) = (self.planes[dim], self.lattice.planes_per_cell(dim));
                let own = if site[dim] == 0.0 { 0 } else { 1 };
                [first + (own - first).rem_euclid(step), last - (last - own).rem_euclid(step)]
            })
        })
    }

    fn count(&self) -> u64 {
        let along = |dim: usize, [first, last]: Planes| match last < first {
            true => 0,
            false => ((last - first) / self.lattice.planes_per_cell(dim) + 1).unsigned_abs(),
        };
        let of_site =
            |planes: [Planes; 3]| (0..3).fold(1_u64, |all, dim| all.saturating_mul(along(dim, planes[dim])));
        self.planes_of_sites().map(of_site).fold(0, u64::saturating_add)
    }

    fn extent(&self) -> Option<[Ends; 3]> {
        let is_there = |planes: &[Planes; 3]| planes.iter().all(|[first, last]| first <= last);
        let ends = |planes: [Planes; 3]| {
            [0, 1, 2].map(|dim| {
                let [low, high] = planes[dim].map(|number| self.lattice.plane(dim, number));
                Ends { low, high }
            })
        };
        self.planes_of_sites().filter(is_there).map(ends).reduce(joined)
    }

    /// Returns the unit cells along each dimension, if they fill a box.
    pub(super) fn whole_cells(&self, ends: &[Ends; 3]) -> Option<[u32; 3]> {
        let mut cells = [1; 3];
        for (dim, cells) in cells.iter_mut().enumerate().take(self.lattice.dimensions()?) {
            let ([first, last], per_cell) = (self.planes[dim], self.lattice.planes_per_cell(dim));
            let (Ends { low, high }, side) = (ends[dim], self.lattice.side(dim));
            let count = last - first + 1;
            let close = |place: f64, other: f64| (place - other).abs() < ON_FACE * side;
            let is_filled = count > 0
                && first.rem_euclid(per_cell) == 0
                && count % per_cell == 0
                && close(self.lattice.plane(dim, first), low)
                && close((count / per_cell) as f64 * side, high - low);
            *cells = u32::try_from(count / per_cell).ok().filter(|_| is_filled)?;
        }
        Some(cells)
    }

    /// Returns regions, each of which begins with a site in its lower corner.
    fn regions(&self, ends: &[Ends; 3]) -> Result<String, String> {
        let dimensions = self.lattice.dimensions().unwrap_or(3);
        if self.count() == 0 {
            return Ok(String::new());
        }
        let between = |dim: usize| self.planes[dim][0].rem_euclid(self.lattice.planes_per_cell(dim)) != 0;
        let is_site = |site: &[f64; 3]| (0..dimensions).all(|dim| (site[dim] != 0.0) == between(dim));
        if self.lattice.sites()?.iter().any(is_site) {
            return self.region(ends);
        }
        // Without the first plane, the corner is at another kind of plane.
        let parted = (0..dimensions).find(|&dim| between(dim) && self.planes[dim][0] < self.planes[dim][1]);
        let dim = parted.or_else(|| (0..dimensions).find(|&dim| self.planes[dim][0] < self.planes[dim][1]));
        let Some(dim) = dim else { return Ok(String::new()) };
        let (mut first, mut others) = (*self, *self);
        first.planes[dim][1] = self.planes[dim][0];
        others.planes[dim][0] += 1;
        Ok(first.regions(ends)? + &others.regions(ends)?)
    }

    fn region(&self, ends: &[Ends; 3]) -> Result<String, String> {
        let (mut low, mut high) = ([0.0; 3], [0.0; 3]);
        for dim in 0..self.lattice.dimensions().unwrap_or(3) {
            let [first, last] =
                self.planes[dim].map(|number| self.lattice.plane(dim, number) - ends[dim].low);
            low[dim] = first;
            high[dim] = (last + 0.5 * self.lattice.gap(dim)).min(ends[dim].length());
            if high[dim] - last < 2.0 * ON_FACE * self.lattice.side(dim) {
                return Err("a plane of its sites is on the upper face of the box".to_owned());
            }
        }
        Ok(entry(&format!("{}, low = {low:?}, high = {high:?}", self.lattice.keys()), self.kind))
    }
}

impl Single {
    /// Returns a region of a lattice that contains one site.
    fn region(&self, ends: &[Ends; 3]) -> Result<String, String> {
        /// Lattice constant.
        const SPACING: f64 = 1.0;
        let (mut low, mut high) = ([0.0; 3], [0.0; 3]);
        for dim in 0..self.dimensions {
            low[dim] = self.place[dim] - ends[dim].low;
            high[dim] = (low[dim] + 0.5 * SPACING).min(ends[dim].high - ends[dim].low);
            if high[dim] - low[dim] < 2.0 * ON_FACE * SPACING {
                return Err("a particle is on the upper face of the box".to_owned());
            }
        }
        let kind = if self.dimensions == 2 { "sq" } else { "sc" };
        let keys = format!("kind = \"{kind}\", spacing = {SPACING:?}, low = {low:?}, high = {high:?}");
        Ok(entry(&keys, self.kind))
    }
}

fn entry(keys: &str, kind: usize) -> String {
    format!("    {{ {keys}, species = \"{}\" }},\n", species_name(kind))
}

/// Returns the smallest box that contains both.
pub(super) fn joined(one: [Ends; 3], other: [Ends; 3]) -> [Ends; 3] {
    [0, 1, 2]
        .map(|dim| Ends { low: one[dim].low.min(other[dim].low), high: one[dim].high.max(other[dim].high) })
}

/// Returns the name of a type: A, B, C ... for types 1, 2, 3 ...
pub(super) fn species_name(kind: usize) -> String {
    match u8::try_from(kind) {
        Ok(kind @ 1..=26) => char::from(b'A' + kind - 1).to_string(),
        _ => format!("T{kind}"),
    }
}
