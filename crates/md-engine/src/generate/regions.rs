//! Several lattices, each of which fills a part of the box.

use std::ops::Range;
use std::sync::Arc;

use md_core::lattice::{Lattice, LatticeKind};

use super::Site;

/// Tolerance in lattice constants: a site this close to the upper face of its region counts as
/// being on it.
const ON_FACE: f64 = 1e-6;

/// A lattice in a part of the box, with a site at the lower corner. Sites on the upper faces are
/// left out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatticeRegion {
    lattice: Lattice,
    low: [f64; 3],
    /// Upper limits of site positions relative to the lower corner.
    extent: [f64; 3],
    species: Option<u32>,
}

impl LatticeRegion {
    /// Creates a lattice from `low` to `high`. Its particles have the given species, counted from
    /// 0, or species drawn by [`crate::Config::shares`].
    pub fn new(kind: LatticeKind, spacing: f64, [low, high]: [[f64; 3]; 2], species: Option<u32>) -> Self {
        let cell = Lattice::new(kind, spacing, [1; 3]).lengths();
        let dimensions = kind.dimension().count();
        let extent = [0, 1, 2].map(|dim| high[dim] - low[dim] - ON_FACE * spacing);
        let extent = [0, 1, 2].map(|dim| if dim < dimensions { extent[dim] } else { f64::INFINITY });
        let cells =
            [0, 1, 2].map(|dim| if dim < dimensions { (extent[dim] / cell[dim]).ceil() as u32 } else { 1 });
        Self { lattice: Lattice::new(kind, spacing, cells), low, extent, species }
    }

    fn placed(&self, (id, position): (u64, [f64; 3])) -> Option<Site> {
        let is_inside = (0..3).all(|dim| position[dim] < self.extent[dim]);
        let position = [0, 1, 2].map(|dim| self.low[dim] + position[dim]);
        is_inside.then_some(Site { id, position, species: self.species })
    }

    /// Returns the intersection of a part of the box with the lattice, in coordinates of the
    /// lattice; `None` if it is empty.
    fn own(&self, [x, y, z]: &[Range<f64>; 3]) -> Option<[Range<f64>; 3]> {
        let (margin, lengths) = (ON_FACE * self.lattice.nearest_distance(), self.lattice.lengths());
        let parts = [x, y, z].map(|part| part.start - margin..part.end + margin);
        let mut dims = 0..3;
        let [x, y, z] = parts.map(|part| {
            let dim = dims.next().unwrap_or_default();
            (part.start - self.low[dim]).max(0.0)..(part.end - self.low[dim]).min(lengths[dim])
        });
        [&x, &y, &z].iter().all(|part| part.start <= part.end).then_some([x, y, z])
    }
}

/// A box with lattices in parts of it.
#[derive(Debug, Clone, PartialEq)]
pub struct LatticeRegions {
    /// Lengths of the box, \[length\].
    pub(crate) lengths: [f64; 3],
    regions: Arc<[LatticeRegion]>,
    /// Number of sites in all regions.
    taken: u64,
}

impl LatticeRegions {
    /// Creates the regions in a box that begins at the origin.
    pub fn new(lengths: [f64; 3], regions: Vec<LatticeRegion>) -> Self {
        let mut made = Self { lengths, regions: regions.into(), taken: 0 };
        let counts = made.regions.iter().map(|region| region.lattice.sites_below(region.extent));
        made.taken = counts.fold(0, u64::saturating_add);
        made
    }

    /// Returns the number of particles of all regions.
    pub fn len(&self) -> u64 {
        self.taken
    }

    /// Returns whether no region has a particle.
    pub fn is_empty(&self) -> bool {
        self.taken == 0
    }

    /// Returns whether species are to be drawn.
    pub(crate) fn draws_species(&self) -> bool {
        self.regions.iter().any(|region| region.species.is_none())
    }

    /// Returns the highest species given for a region.
    pub(crate) fn highest_species(&self) -> Option<u32> {
        self.regions.iter().filter_map(|region| region.species).max()
    }

    /// Returns the regions, each with the number of sites in whole unit cells of the regions before
    /// it.
    fn numbered(&self) -> impl Iterator<Item = (u64, &LatticeRegion)> {
        self.regions.iter().scan(0_u64, |before, region| {
            let first = *before;
            *before = before.saturating_add(region.lattice.len());
            Some((first, region))
        })
    }

    /// Returns all particles.
    pub(crate) fn sites(&self) -> impl Iterator<Item = Site> + '_ {
        self.numbered().flat_map(|(before, region)| {
            region
                .lattice
                .sites()
                .filter_map(move |site| region.placed(site))
                .map(move |site| after(before, site))
        })
    }

    /// Returns the particles in unit cells that overlap one of these parts of the box.
    pub(crate) fn sites_near(&self, parts: Vec<[Range<f64>; 3]>) -> impl Iterator<Item = Site> + '_ {
        self.numbered().flat_map(move |(before, region)| {
            let own: Vec<_> = parts.iter().filter_map(|part| region.own(part)).collect();
            let near = region.lattice.sites_near(own);
            near.filter_map(move |site| region.placed(site)).map(move |site| after(before, site))
        })
    }
}

fn after(before: u64, site: Site) -> Site {
    Site { id: before + site.id, ..site }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_have_the_sites_between_their_faces() {
        // Two whole cells, and half a cell more along z, where each cell contributes two of its
        // four sites.
        let region = LatticeRegion::new(LatticeKind::Fcc, 1.5, [[1.0; 3], [4.0, 4.0, 4.75]], Some(1));
        let second = LatticeRegion::new(LatticeKind::Sc, 1.0, [[0.0, 0.0, 6.0], [5.0, 5.0, 8.0]], None);
        let regions = LatticeRegions::new([5.0, 5.0, 8.0], vec![region, second]);
        assert_eq!(regions.len(), 4 * 8 + 4 * 2 + 50);
        let sites: Vec<Site> = regions.sites().collect();
        assert_eq!(sites.len() as u64, regions.len());
        assert!(sites.is_sorted_by(|a, b| a.id < b.id));
        for Site { position, species, .. } in &sites {
            let [x, y, z] = *position;
            match species {
                Some(1) => assert!([x, y].iter().all(|c| (1.0..4.0).contains(c)) && (1.0..4.75).contains(&z)),
                _ => assert!([x, y].iter().all(|c| (0.0..5.0).contains(c)) && (6.0..8.0).contains(&z)),
            }
        }
        let part = [0.0..2.6, 0.0..5.0, 4.0..6.5];
        let inside = |site: &&Site| (0..3).all(|dim| part[dim].contains(&site.position[dim]));
        let near: Vec<Site> = regions.sites_near(vec![part.clone()]).collect();
        let expected: Vec<&Site> = sites.iter().filter(inside).collect();
        assert_eq!(near.iter().filter(inside).collect::<Vec<_>>(), expected);
        assert!(expected.len() > 15 && near.len() < sites.len());
    }
}
