//! The particles to which the entries of the lists refer, and their squared distances.

use std::ops::Range;

use crate::aligned::Column;
use crate::force::clusters::entry::Word;
use crate::force::clusters::lane_codes::LanesByCode;
use crate::particles::Particles;

/// The particles, cluster by cluster.
pub(super) struct Clusters<'a, const WIDTH: usize> {
    position: [&'a [[f64; WIDTH]]; 3],
    species: &'a [[u64; WIDTH]],
    /// The lanes of a list's entries by code.
    lanes: &'a LanesByCode,
}

/// Particles i, each repeated in the lanes of its pairs with a cluster.
pub(super) struct Centres<const LANES: usize> {
    position: [[f64; LANES]; 3],
    species: [usize; LANES],
}

impl<'a, const WIDTH: usize> Clusters<'a, WIDTH> {
    pub(super) fn new(particles: &'a Particles, range: Range<usize>, lanes: &'a LanesByCode) -> Self {
        let position = particles.position.each_ref().map(Column::padded);
        Self {
            position: position.map(|column| column[range.clone()].as_chunks().0),
            species: particles.species.padded()[range].as_chunks().0,
            lanes,
        }
    }

    /// Returns the clusters with coordinates of one length that the compiler can see, so that one
    /// bounds check is enough for all three.
    #[inline(always)]
    pub(super) fn of_equal_lengths(&self) -> Self {
        let [x, y, z] = self.position;
        let number = x.len().min(y.len()).min(z.len());
        Self { position: [&x[..number], &y[..number], &z[..number]], ..*self }
    }

    /// Returns the lanes of an entry from `first` on, in the low bits.
    #[inline(always)]
    pub(super) fn lanes_from(&self, entry: Word, first: usize) -> usize {
        usize::from(self.lanes[usize::from(entry.code())]) >> first
    }

    /// Returns the number of particles.
    #[inline(always)]
    pub(super) fn particles(&self) -> usize {
        self.species.len() * WIDTH
    }

    /// Returns the particles i from `first` on, as many as fit in the lanes.
    #[inline(always)]
    pub(super) fn centres<const LANES: usize>(&self, first: usize) -> Centres<LANES> {
        let [x, y, z] = self.position;
        let mut centres = Centres { position: [[0.0; LANES]; 3], species: [0; LANES] };
        for lane in 0..LANES {
            // The last i-cluster may have fewer particles; the pairs of the missing ones do not
            // count.
            let index = (first + lane / WIDTH).min(self.particles() - 1);
            let (cluster, place) = (index / WIDTH, index % WIDTH);
            for (to, from) in centres.position.iter_mut().zip([x, y, z]) {
                to[lane] = from[cluster][place];
            }
            centres.species[lane] = self.species[cluster][place] as usize;
        }
        centres
    }

    /// Returns the squared distances from the particles of a cluster. (Uses a loop, because
    /// closures would not be compiled for the instruction set.)
    #[inline(always)]
    pub(super) fn squares<const LANES: usize>(
        &self,
        centres: &Centres<LANES>,
        cluster: usize,
    ) -> [f64; LANES] {
        let ([x, y, z], [xs, ys, zs]) = (&centres.position, self.position);
        let (xs, ys, zs) = (&xs[cluster], &ys[cluster], &zs[cluster]);
        let mut squares = [0.0; LANES];
        for lane in 0..LANES {
            let other = lane % WIDTH;
            let (dx, dy, dz) = (x[lane] - xs[other], y[lane] - ys[other], z[lane] - zs[other]);
            squares[lane] = dx * dx + dy * dy + dz * dz;
        }
        squares
    }

    /// Returns the species of the pairs with the particles of a cluster.
    #[inline(always)]
    pub(super) fn species<const LANES: usize>(
        &self,
        centres: &Centres<LANES>,
        cluster: usize,
    ) -> [[usize; 2]; LANES] {
        let mut species = [[0; 2]; LANES];
        for (lane, pair) in species.iter_mut().enumerate() {
            *pair = [centres.species[lane], self.species[cluster][lane % WIDTH] as usize];
        }
        species
    }
}
