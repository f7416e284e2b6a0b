//! Sources of the particles.

use std::sync::Arc;

use md_core::Particle;
use md_core::lattice::Lattice;
use md_core::thinned::ThinnedLattice;

use crate::generate::{LatticeRegions, RandomGas};

/// Source of the particles.
#[derive(Debug, Clone)]
pub enum ParticleSource {
    /// Lattice that fills the box; species are drawn by [`crate::Config::shares`].
    Lattice(Lattice),
    /// Occupied sites of a lattice: a liquid in some regions, vapour elsewhere.
    Thinned(ThinnedLattice),
    /// Lattices in parts of the box.
    Regions(LatticeRegions),
    /// Gas placed at random.
    Gas(RandomGas),
    /// Individually given particles.
    List {
        /// Lower corner of the box, \[length\].
        origin: [f64; 3],
        /// Lengths of the box, \[length\].
        lengths: [f64; 3],
        /// Particles with their ids: either all of them, of which every rank takes those it owns,
        /// or this rank's share.
        particles: Arc<[Particle]>,
        /// Data about all shares, if `particles` is a share; each particle is in the share of one
        /// rank, regardless of its owner.
        share: Option<Share>,
    },
}

/// Data about particles that are given in shares, known on all ranks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    /// Number of particles in all shares.
    pub atoms: u64,
    /// Particle whose z all particles share in two dimensions.
    pub first: FirstOfAll,
}

/// Particle with the lowest id of all shares.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FirstOfAll {
    /// Id of the particle.
    pub id: u64,
    /// Position along z, \[length\].
    pub z: f64,
}

impl ParticleSource {
    /// Returns the lattice on whose sites all particles lie, if there is one.
    pub(crate) fn lattice(&self) -> Option<&Lattice> {
        match self {
            Self::Lattice(lattice) => Some(lattice),
            Self::Thinned(thinned) => Some(thinned.lattice()),
            Self::Regions(_) | Self::Gas(_) | Self::List { .. } => None,
        }
    }

    /// Returns whether a site of the lattice is occupied.
    pub(crate) fn is_taken(&self, id: u64, position: [f64; 3]) -> bool {
        match self {
            Self::Thinned(thinned) => thinned.is_taken(id, position),
            Self::Lattice(_) | Self::Regions(_) | Self::Gas(_) | Self::List { .. } => true,
        }
    }

    /// Calls `visit` with the position of every particle that this source contains on this rank.
    pub fn for_each_position(&self, mut visit: impl FnMut([f64; 3])) {
        match self {
            Self::List { particles, .. } => particles.iter().for_each(|particle| visit(particle.position)),
            Self::Regions(regions) => regions.sites().for_each(|site| visit(site.position)),
            // A gas without room for a particle ends the run that uses it.
            Self::Gas(gas) => gas.sites().into_iter().flatten().for_each(|site| visit(site.position)),
            Self::Lattice(_) | Self::Thinned(_) => (),
        }
        let sites = self.lattice().into_iter().flat_map(Lattice::sites);
        let taken = sites.filter(|&(id, position)| self.is_taken(id, position));
        taken.for_each(|(_, position)| visit(position));
    }

    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Lattice(lattice) => lattice.len(),
            Self::Thinned(thinned) => thinned.len(),
            Self::Regions(regions) => regions.len(),
            Self::Gas(gas) => gas.len(),
            Self::List { particles, share, .. } => share.map_or(particles.len() as u64, |share| share.atoms),
        }
    }
}

impl From<Lattice> for ParticleSource {
    fn from(lattice: Lattice) -> Self {
        Self::Lattice(lattice)
    }
}
