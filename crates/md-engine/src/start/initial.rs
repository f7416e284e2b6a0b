//! Initial state, bit-identical on any number of ranks: all random numbers are keyed by (seed, id),
//! and global sums are exact.

use std::ops::Range;

use md_comm::{Rank, Reduction, World, deliver_items};
use md_core::exact_sum::ExactSum;
use md_core::force::Summation;
use md_core::grid::add;
use md_core::lattice::Lattice;
use md_core::velocities::{self, MomentumSums};
use md_core::{ImageCounts, Particle, Particles, random};

use crate::config::ParticleSource;
use crate::division::Division;
use crate::error::EngineError;
use crate::generate::Site;
use crate::setup::Setup;

/// Returns the particles that this rank owns.
///
/// # Errors
/// Communication, when particles are sent or velocities are normalised. *Collective.*
pub(crate) fn particles(setup: &Setup, world: &dyn World) -> Result<Particles, EngineError> {
    let mut particles = from_source(setup, world)?;
    match setup.config.temperature {
        Some(0.0) => particles.velocity.iter_mut().for_each(|column| column.fill(0.0)),
        Some(temperature) => draw_velocities(&mut particles, setup, temperature, world)?,
        None => (),
    }
    for (column, drift) in particles.velocity.iter_mut().zip(setup.config.drift) {
        if drift != 0.0 {
            column.iter_mut().for_each(|velocity| *velocity += drift);
        }
    }
    if setup.config.neighbor.summation == Summation::Exact {
        particles.round_to_quanta();
    }
    Ok(particles)
}

/// Returns the particles that this rank owns, with the velocities of their source. *Collective.*
fn from_source(setup: &Setup, world: &dyn World) -> Result<Particles, EngineError> {
    let rank = world.rank();
    let seed = setup.config.seed;
    let limits = share_limits(&setup.config.shares);
    let made = |Site { id, position, species }: Site| {
        let species = species.unwrap_or_else(|| species_of(&limits, seed, id));
        Particle { id, species, position, ..Particle::default() }
    };
    let here = |site: &Site| owner(setup, site.position) == rank;
    Ok(match &setup.config.particles {
        source @ (ParticleSource::Lattice(_) | ParticleSource::Thinned(_)) => {
            let sites = source.lattice().into_iter().flat_map(|lattice| sites_near(lattice, setup, rank));
            let taken = sites.filter(|&(id, position)| source.is_taken(id, position));
            let site = |(id, position)| Site { id, position: displace(position, id, setup), species: None };
            taken.map(site).filter(here).map(made).collect()
        }
        ParticleSource::Regions(regions) => {
            regions.sites_near(parts_of(setup, rank, 0.0)).filter(here).map(made).collect()
        }
        ParticleSource::Gas(gas) => {
            let sites = placed(gas.sites_near(&parts_of(setup, rank, 0.0)), world)?;
            sites.into_iter().filter(here).map(made).collect()
        }
        ParticleSource::List { particles, share, .. } => {
            let wrapped = particles.iter().map(|particle| {
                let (position, images) = setup.domain.wrap_counting(particle.position, particle.images);
                Particle { position, images, ..*particle }
            });
            match share {
                None => wrapped.filter(|particle| owner(setup, particle.position) == rank).collect(),
                Some(_) => delivered(wrapped, setup, world)?,
            }
        }
    })
}

fn owner(setup: &Setup, position: [f64; 3]) -> Rank {
    let Division { grid, partition } = &setup.division;
    partition.owner(grid, grid.cell_of(position))
}

/// Sends particles to their owners, and returns this rank's, sorted by id. *Collective.*
fn delivered(
    particles: impl Iterator<Item = Particle>,
    setup: &Setup,
    world: &dyn World,
) -> Result<Particles, EngineError> {
    let sent = particles.map(|particle| (owner(setup, particle.position), words(&particle)));
    let mut own = deliver_items(world, sent)?;
    own.sort_unstable_by_key(|[id, ..]| *id);
    Ok(own.iter().map(particle).collect())
}

/// Returns a particle as words, to be sent.
pub(crate) fn words(&Particle { id, species, position, velocity, images }: &Particle) -> [u64; 9] {
    let ([x, y, z], [u, v, w]) = (position.map(f64::to_bits), velocity.map(f64::to_bits));
    [id, species.into(), x, y, z, u, v, w, images.pack()]
}

/// Returns the particle of received words.
pub(crate) fn particle(&[id, species, x, y, z, u, v, w, images]: &[u64; 9]) -> Particle {
    let [position, velocity] = [[x, y, z], [u, v, w]].map(|vector| vector.map(f64::from_bits));
    Particle { id, species: species as u32, position, velocity, images: ImageCounts::unpack(images) }
}

/// Returns the lattice sites that may lie, after displacement, in cells of a rank.
fn sites_near<'a>(
    lattice: &'a Lattice,
    setup: &'a Setup,
    rank: Rank,
) -> impl Iterator<Item = (u64, [f64; 3])> + 'a {
    lattice.sites_near(parts_of(setup, rank, setup.config.displacement))
}

/// Returns the parts of the box that a rank owns, each widened by `margin`.
fn parts_of(setup: &Setup, rank: Rank, margin: f64) -> Vec<[Range<f64>; 3]> {
    let Division { grid, partition } = &setup.division;
    let cells = partition.cells_of(grid, rank);
    let rows = cells.chunk_by(|&cell, &next| add(cell, [1, 0, 0]) == next);
    let regions = rows.filter_map(|row| Some(grid.region(*row.first()?, *row.last()?)));
    regions.map(|region| region.map(|side| side.start - margin..side.end + margin)).collect()
}

/// Returns the sites of a gas generated on this rank, or an error if a rank found no place for a
/// particle. *Collective.*
fn placed(mine: Result<Vec<Site>, u64>, world: &dyn World) -> Result<Vec<Site>, EngineError> {
    let mut without_place = [mine.as_ref().err().copied().unwrap_or_default()];
    world.reduce(&mut without_place, Reduction::Highest)?;
    match (mine, without_place) {
        (Ok(sites), [0]) => Ok(sites),
        (_, [id]) => Err(EngineError::Config(format!(
            "particle {id} of the gas finds no place far enough from the others: fewer particles, or a smaller distance"
        ))),
    }
}

/// Returns a lattice site moved by the configured displacement, but not towards walls.
fn displace(site: [f64; 3], id: u64, setup: &Setup) -> [f64; 3] {
    let (domain, displacement) = (&setup.domain, setup.config.displacement);
    if displacement == 0.0 {
        return site;
    }
    let shift = |dim: usize| {
        if dim >= domain.dimension.count() || !domain.is_periodic(dim) {
            return 0.0;
        }
        // One key per axis; the seed itself draws the species.
        let key = setup.config.seed.wrapping_add(1 + dim as u64);
        displacement * (2.0 * random::uniform(key, id) - 1.0)
    };
    domain.wrap_position([0, 1, 2].map(|dim| site[dim] + shift(dim)))
}

/// Returns the upper limits of the species' shares of \[0, 1): the first limit above a uniform
/// random number determines the species.
fn share_limits(shares: &[f64]) -> Vec<f64> {
    let add = |sum: &mut f64, share: &f64| {
        *sum += share;
        Some(*sum)
    };
    shares.iter().scan(0.0, add).collect()
}

fn species_of(limits: &[f64], seed: u64, id: u64) -> u32 {
    let last = limits.len() - 1;
    if last == 0 {
        return 0;
    }
    let number = random::uniform(seed, id);
    limits.iter().position(|&limit| number < limit).unwrap_or(last) as u32
}

fn draw_velocities(
    particles: &mut Particles,
    setup: &Setup,
    temperature: f64,
    world: &dyn World,
) -> Result<(), EngineError> {
    let (dimension, masses, seed) = (setup.domain.dimension, &setup.config.masses, setup.config.seed);
    let MomentumSums { momentum, mass } = velocities::draw(particles, masses, seed, dimension);
    let momentum = sum_exactly("momentum", momentum, world)?;
    let [mass] = sum_exactly("mass", [mass], world)?;
    let drift = momentum.map(|momentum| momentum / mass);
    let twice_kinetic = velocities::remove_drift(particles, masses, drift);
    let [twice_kinetic] = sum_exactly("kinetic energy", [twice_kinetic], world)?;
    let degrees = setup.degrees_of_freedom(setup.config.integrator.total_momentum());
    velocities::rescale(particles, twice_kinetic, temperature, degrees as f64);
    Ok(())
}

/// Returns sums over all ranks, without rounding. *Collective.*
fn sum_exactly<const N: usize>(
    what: &'static str,
    sums: [ExactSum; N],
    world: &dyn World,
) -> Result<[f64; N], EngineError> {
    let mut limbs = sums.map(ExactSum::limbs);
    world.sum(limbs.as_flattened_mut())?;
    let mut totals = [0.0; N];
    for (total, limbs) in totals.iter_mut().zip(limbs) {
        *total = ExactSum::from_limbs(limbs).value().ok_or(EngineError::Sum { what })?;
    }
    Ok(totals)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use md_comm::local;
    use md_core::grid::Cell;
    use md_core::lattice::LatticeKind;
    use md_core::partition::Ownership;
    use md_core::potential::LennardJones;
    use md_core::{CellGrid, PartitionKind};

    use super::*;
    use crate::config::{Config, check_temperature};

    /// A partition in which every rank has cells everywhere.
    #[derive(Debug)]
    struct Scattered {
        ranks: usize,
    }

    impl Ownership for Scattered {
        fn owner(&self, grid: &CellGrid, cell: Cell) -> usize {
            grid.linear(cell) * 7 % self.ranks
        }
    }

    fn setup(partition: PartitionKind, ranks: usize, displacement: f64) -> Setup {
        let lattice = Lattice::with_density(LatticeKind::Fcc, 0.8442, [9, 8, 7]);
        let mut config = Config::new(lattice, LennardJones::reduced(2.5));
        (config.temperature, config.displacement) = (Some(1.0), displacement);
        config.parallel.partition = partition;
        Setup::new(config, ranks).unwrap()
    }

    /// Returns all ranks' particles by id; those of each rank are already in that order.
    fn of_all_ranks(setup: &Setup) -> Vec<Particle> {
        let of_rank = |world: &dyn World| {
            let particles = particles(setup, world).unwrap();
            (0..particles.owned()).map(|index| particles.get(index)).collect::<Vec<_>>()
        };
        let ranks = local::run(setup.ranks, Duration::from_secs(60), of_rank);
        let ranks: Vec<Vec<Particle>> = ranks.into_iter().map(Result::unwrap).collect();
        assert!(ranks.iter().all(|rank| rank.is_sorted_by_key(|particle| particle.id)));
        let mut all = ranks.concat();
        all.sort_by_key(|particle| particle.id);
        all
    }

    #[test]
    fn any_division_gives_the_particles_of_one_rank() {
        for displacement in [0.0, 0.1, 3.0, 1e9] {
            let expected = of_all_ranks(&setup(PartitionKind::Rect, 1, displacement));
            for partition in [PartitionKind::Rect, PartitionKind::Stripe] {
                assert_eq!(of_all_ranks(&setup(partition, 5, displacement)), expected, "{displacement}");
            }
            let mut scattered = setup(PartitionKind::Stripe, 5, displacement);
            scattered.division.partition = Arc::new(Scattered { ranks: 5 });
            assert_eq!(of_all_ranks(&scattered), expected, "{displacement}");
        }
    }

    #[test]
    fn the_temperature_is_exact_for_all_that_is_accepted() {
        let accepted = |temperature, masses: [f64; 2]| {
            let mut setup = setup(PartitionKind::Rect, 1, 0.0);
            let config = &mut setup.config;
            (config.temperature, config.masses, config.shares) =
                (Some(temperature), masses.into(), vec![0.5; 2]);
            check_temperature(config, temperature).map(|()| setup)
        };
        let most = 4e18 / 2016.0;
        for masses in [[1e-12, 1e-12], [1e-12, most], [most, most], [1.0, 3.0]] {
            for temperature in [1e-280, 1e-3, 1.0, 1e280] {
                let setup = accepted(temperature, masses).unwrap();
                let all = of_all_ranks(&setup);
                let twice_kinetic = |particle: &Particle| {
                    let squares = particle.velocity.map(|v| v * v);
                    setup.config.masses[particle.species as usize] * squares.iter().sum::<f64>()
                };
                let found = all.iter().map(twice_kinetic).sum::<f64>() / (3.0 * (2016.0 - 1.0));
                assert!((found / temperature - 1.0).abs() < 1e-9, "{temperature:e} {masses:?}: {found:e}");
            }
        }
        for (temperature, masses) in [(1e281, [1.0; 2]), (5e-324, [1.0; 2])] {
            assert!(matches!(accepted(temperature, masses), Err(EngineError::Temperature { .. })));
        }
        for masses in [[1.0, 1e-13], [1.0, 1.01 * most]] {
            assert!(matches!(accepted(1.0, masses), Err(EngineError::Mass { species: 1, .. })));
        }
    }
}
