//! A lattice with liquid in some regions and vapour elsewhere. All sites inside the regions are
//! occupied; outside, a random fraction is.
//!
//! All particles lie on sites of one lattice, so they do not overlap, and ids and occupation do not
//! depend on the number of ranks.

use crate::lattice::Lattice;
use crate::random;
use std::sync::Arc;

/// Region of liquid, including its periodic images.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Region {
    /// A sphere (a disc in two dimensions).
    Droplet {
        /// Centre, in box lengths, 0 to 1.
        centre: [f64; 3],
        /// Radius, \[length\].
        radius: f64,
    },
    /// A layer.
    Slab {
        /// Axis across the layer: 0, 1, 2 for x, y, z.
        axis: usize,
        /// Middle of the layer, in box lengths, 0 to 1.
        centre: f64,
        /// Thickness, \[length\].
        thickness: f64,
    },
}

impl Region {
    fn contains(&self, position: [f64; 3], lengths: [f64; 3], dimensions: usize) -> bool {
        let distance = |dim: usize, centre: f64| {
            let distance = (position[dim] / lengths[dim] - centre).rem_euclid(1.0);
            distance.min(1.0 - distance) * lengths[dim]
        };
        match *self {
            Self::Droplet { centre, radius } => {
                let distance2: f64 = (0..dimensions).map(|dim| distance(dim, centre[dim]).powi(2)).sum();
                distance2 < radius * radius
            }
            Self::Slab { axis, centre, thickness } => distance(axis, centre) < 0.5 * thickness,
        }
    }
}

/// A lattice of which only some sites are occupied.
#[derive(Debug, Clone, PartialEq)]
pub struct ThinnedLattice {
    lattice: Lattice,
    dimensions: usize,
    regions: Arc<[Region]>,
    /// Fraction of the sites outside all regions that is occupied.
    share_outside: f64,
    seed: u64,
    taken: u64,
}

impl ThinnedLattice {
    /// Creates the lattice with the fraction `share_outside`, from 0 to 1, of the sites outside all
    /// regions. Goes through all sites to count the occupied ones.
    pub fn new(
        lattice: Lattice,
        dimensions: usize,
        regions: Vec<Region>,
        share_outside: f64,
        seed: u64,
    ) -> Self {
        let mut thinned =
            Self { lattice, dimensions, regions: regions.into(), share_outside, seed, taken: 0 };
        thinned.taken =
            lattice.sites().filter(|&(id, position)| thinned.is_taken(id, position)).count() as u64;
        thinned
    }

    /// Does what `new` does, but estimates [`Self::len`] (at least 1) from some thousand sites all
    /// over the box, which takes hardly any time.
    pub fn estimated(
        lattice: Lattice,
        dimensions: usize,
        regions: Vec<Region>,
        share_outside: f64,
        seed: u64,
    ) -> Self {
        const LOOKS: usize = 100_000;
        /// Separate key for drawing the sampled sites.
        const KEY: u64 = 0x7472_6965_6421;
        let tried = (LOOKS / regions.len().max(1)).max(100) as u64;
        let mut thinned =
            Self { lattice, dimensions, regions: regions.into(), share_outside, seed, taken: 0 };
        let sites = lattice.len().max(1);
        let id = |number| 1 + ((random::uniform(KEY, number) * sites as f64) as u64).min(sites - 1);
        let is_taken = |id: u64| thinned.is_taken(id, lattice.site(id));
        let taken = (0..tried).map(id).filter(|&id| is_taken(id)).count();
        thinned.taken = ((taken as f64 / tried as f64 * sites as f64) as u64).max(1);
        thinned
    }

    /// Returns the complete lattice.
    pub fn lattice(&self) -> &Lattice {
        &self.lattice
    }

    /// Returns the number of occupied sites.
    pub fn len(&self) -> u64 {
        self.taken
    }

    /// Returns whether no site is occupied.
    pub fn is_empty(&self) -> bool {
        self.taken == 0
    }

    /// Returns whether the site with this id and position is occupied.
    pub fn is_taken(&self, id: u64, position: [f64; 3]) -> bool {
        /// Separate key: the seed itself is used for species, and the following ones for
        /// displacements.
        const KEY: u64 = 0x7468_696e;
        let lengths = self.lattice.lengths();
        let is_inside = self.regions.iter().any(|region| region.contains(position, lengths, self.dimensions));
        is_inside || random::uniform(self.seed ^ KEY, id) < self.share_outside
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lattice::LatticeKind;

    #[test]
    fn densities_inside_and_outside_are_those_asked_for() {
        let lattice = Lattice::with_density(LatticeKind::Fcc, 0.8, [20; 3]);
        let [length, ..] = lattice.lengths();
        let pi = std::f64::consts::PI;
        // A droplet that crosses a face of the box, and a slab.
        let droplet = Region::Droplet { centre: [0.1, 0.5, 0.9], radius: 8.0 };
        let slab = Region::Slab { axis: 1, centre: 0.95, thickness: 6.0 };
        for (region, volume) in [(droplet, 4.0 / 3.0 * pi * 512.0), (slab, 6.0 * length * length)] {
            let thinned = ThinnedLattice::new(lattice, 3, vec![region], 0.025, 5);
            let expected = 0.8 * volume + 0.02 * (length.powi(3) - volume);
            let found = thinned.len() as f64;
            assert!((found - expected).abs() < 0.05 * expected, "{region:?}: {found}, not {expected}");
        }
        assert_eq!(ThinnedLattice::new(lattice, 3, Vec::new(), 1.0, 5).len(), lattice.len());
        let counted = ThinnedLattice::new(lattice, 3, vec![slab], 0.1, 5).len() as f64;
        let estimated = ThinnedLattice::estimated(lattice, 3, vec![slab], 0.1, 5).len() as f64;
        assert!((estimated / counted - 1.0).abs() < 0.03, "{estimated}, not {counted}");
        let huge = Lattice::with_density(LatticeKind::Fcc, 0.8, [40_000; 3]);
        let estimated = ThinnedLattice::estimated(huge, 3, Vec::new(), 0.1, 5).len() as f64;
        assert!((estimated / (0.1 * huge.len() as f64) - 1.0).abs() < 0.1, "{estimated}");
        assert!(ThinnedLattice::new(lattice, 3, Vec::new(), 0.0, 5).is_empty());
    }
}
