//! Counts of pairs by distance over all ranks, up to any distance.
//!
//! Structure: every rank sends the bounding box of its particles to the others. In each pair of
//! ranks, one sends its particles near the other's box, and the other counts the pairs across. The
//! direction alternates with the difference of their ranks, so that each rank counts for half of
//! its partners.
//! Advantage: correct for any partition, also one with scattered cells, and for any distance; no
//! ghosts are needed.
//! Disadvantage: boxes of ranks with scattered cells overlap, which increases the communication.

use md_comm::{CommError, Message, Rank, Reduction, World, deliver};
use md_core::analysis::{DistanceBins, Extent, PairCounts, Points, Raster, count_across, count_within};
use md_core::{Domain, Particles, SimdLevel, Threads};

use crate::measure::Snapshot;

/// Parameters of a pair count.
pub struct DistanceCount<'a> {
    /// Distance bins; the largest distance is at most half of every periodic length.
    pub bins: DistanceBins,
    /// Number of species.
    pub species: usize,
    /// Instruction set.
    pub simd: SimdLevel,
    /// Threads of this rank.
    pub threads: &'a Threads,
}

/// Pairs and particles counted by one rank, and after [`Self::sum`] by all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairsByDistance {
    /// Pairs by species and distance.
    pub pairs: PairCounts,
    /// Particles by species.
    pub counts: Vec<u64>,
}

impl PairsByDistance {
    /// Sums several samples over all ranks, each of which must pass the same samples. One call for
    /// several samples saves time, because each sum waits for the slowest rank. *Collective.*
    ///
    /// # Errors
    /// Communication failures.
    pub fn sum(looks: &mut [Self], world: &dyn World) -> Result<(), CommError> {
        let numbers = looks.iter().flat_map(|look| look.pairs.counts.iter().chain(&look.counts));
        let mut sums: Vec<u64> = numbers.copied().collect();
        world.reduce(&mut sums, Reduction::Sum)?;
        let numbers = looks.iter_mut().flat_map(|look| look.pairs.counts.iter_mut().chain(&mut look.counts));
        numbers.zip(sums).for_each(|(number, sum)| *number = sum);
        Ok(())
    }
}

/// A particle in a message: its species and the bits of its coordinates.
type Row = [u64; 4];

impl DistanceCount<'_> {
    /// Counts pairs of owned particles, from `near_pairs` if these suffice; each pair of the system
    /// is counted on one rank. *Collective.*
    ///
    /// # Errors
    /// Communication failures.
    pub fn count(&self, now: &Snapshot, world: &dyn World) -> Result<PairsByDistance, CommError> {
        let species = self.species;
        let known = now.near_pairs.and_then(|near| near.count(species, self.bins));
        let (pairs, counts) = match known {
            Some(pairs) => {
                let mut counts = vec![0; species];
                now.particles.species[..now.particles.owned()]
                    .iter()
                    .for_each(|&kind| counts[kind as usize] += 1);
                (pairs, counts)
            }
            None => self.search(now.particles, now.domain, world)?,
        };
        Ok(PairsByDistance { pairs, counts })
    }

    /// Returns the pairs of this rank and those across to the ranks that sent it particles, and its
    /// particles by species. *Collective.*
    fn search(
        &self,
        particles: &Particles,
        domain: &Domain,
        world: &dyn World,
    ) -> Result<(PairCounts, Vec<u64>), CommError> {
        let Self { bins, species, simd, threads } = *self;
        let points = self.points(particles, domain);
        let extent = Extent::of(&points);
        let near = self.near_points(&points, &extent, domain, world)?;
        let raster = (!extent.is_empty()).then(|| Raster::new(domain, &extent, points.len(), bins.max));
        let mut pairs = PairCounts::none(species, bins.bins);
        if let Some(raster) = &raster {
            pairs = count_within(&points, raster, bins, simd, threads);
            if !near.is_empty() {
                pairs = pairs.plus(count_across(&points, &near, raster, bins, simd, threads));
            }
        }
        Ok((pairs, points.counts()))
    }

    fn points(&self, particles: &Particles, domain: &Domain) -> Points {
        let mut points = Points::none(self.species);
        for index in 0..particles.owned() {
            let position = domain.wrap_position(particles.position_of(index));
            points.push(particles.species[index] as usize, position);
        }
        points
    }

    /// Returns the particles of other ranks with which this rank counts the pairs. *Collective.*
    fn near_points(
        &self,
        points: &Points,
        extent: &Extent,
        domain: &Domain,
        world: &dyn World,
    ) -> Result<Points, CommError> {
        let mut near = Points::none(self.species);
        if world.ranks() == 1 {
            return Ok(near);
        }
        let extents: Vec<Extent> =
            bytemuck::pod_collect_to_vec(&world.gather_all(bytemuck::bytes_of(extent))?);
        let messages =
            extents.iter().enumerate().filter(|&(to, _)| sends(world, to)).filter_map(|(to, extent)| {
                let rows = self.rows_near(points, extent, domain);
                (!rows.is_empty()).then(|| Message { to, bytes: bytemuck::cast_slice(&rows).to_vec() })
            });
        for bytes in deliver(world, messages.collect())? {
            for row in bytes.chunks_exact(size_of::<Row>()) {
                let [species, position @ ..] = bytemuck::pod_read_unaligned::<Row>(row);
                near.push(species as usize, position.map(f64::from_bits));
            }
        }
        Ok(near)
    }

    fn rows_near(&self, points: &Points, extent: &Extent, domain: &Domain) -> Vec<Row> {
        let mut rows = Vec::new();
        if extent.is_empty() {
            return rows;
        }
        for (species, [x, y, z]) in (0_u64..).zip(&points.by_species) {
            for ((&x, &y), &z) in x.iter().zip(y).zip(z) {
                if extent.is_near(domain, [x, y, z], self.bins.max) {
                    rows.push([species, x.to_bits(), y.to_bits(), z.to_bits()]);
                }
            }
        }
        rows
    }
}

/// Returns whether this rank sends to `to`, which then does not send to this rank.
fn sends(world: &dyn World, to: Rank) -> bool {
    let (rank, ranks) = (world.rank(), world.ranks());
    let places = (to + ranks - rank) % ranks;
    match (2 * places).cmp(&ranks) {
        _ if places == 0 => false,
        std::cmp::Ordering::Less => true,
        std::cmp::Ordering::Equal => rank < to,
        std::cmp::Ordering::Greater => false,
    }
}
