//! The initial state, bit-identical on any number of ranks: everything random is keyed by (seed, id), and global sums
//! are exact.

use md_comm::World;
use md_core::exact_sum::ExactSum;
use md_core::observables::degrees_of_freedom;
use md_core::partition::Ownership;
use md_core::velocities::{self, MomentumSums};
use md_core::{Particle, Particles, random};

use super::error::RunError;
use super::setup::{ParticleSource, Setup};
use crate::scenario::{Scenario, Species};

/// The particles that this rank owns.
///
/// # Errors
/// Communication, while velocities are being normalised. *Collective.*
pub fn particles(setup: &Setup, scenario: &Scenario, world: &dyn World) -> Result<Particles, RunError> {
    let rank = world.rank();
    let owned =
        |position: &[f64; 3]| setup.partition.owner(&setup.grid, setup.grid.cell_of(*position)) == rank;
    let seed = scenario.simulation.seed;
    let mut particles: Particles = match &setup.particles {
        ParticleSource::Lattice(lattice) => {
            let limits = fraction_limits(&scenario.species);
            let sites = lattice.sites().map(|(id, position)| (id, displace(position, id, setup, seed)));
            let here = sites.filter(|(_, position)| owned(position));
            let particle = |(id, position)| {
                let species = species_of(&limits, seed, id);
                Particle { id, species, position, velocity: [0.0; 3] }
            };
            here.map(particle).collect()
        }
        ParticleSource::File(file) => {
            let particle = |index: usize| Particle {
                id: file.ids[index],
                species: file.types[index] - 1,
                position: setup.domain.wrap_position(file.positions[index]),
                velocity: file.velocities.get(index).copied().unwrap_or_default(),
            };
            (0..file.ids.len()).map(particle).filter(|particle| owned(&particle.position)).collect()
        }
    };
    if let Some(temperature) = scenario.system.temperature {
        draw_velocities(&mut particles, setup, seed, temperature, world)?;
    }
    Ok(particles)
}

/// A lattice site, moved by the setup's displacement; not towards walls.
fn displace(site: [f64; 3], id: u64, setup: &Setup, seed: u64) -> [f64; 3] {
    if setup.displacement == 0.0 {
        return site;
    }
    let domain = &setup.domain;
    let shift = |dim: usize| {
        if dim >= domain.dimension.count() || !domain.is_periodic(dim) {
            return 0.0;
        }
        // A key of its own per axis: the seed itself draws the species.
        let key = seed.wrapping_add(1 + dim as u64);
        setup.displacement * (2.0 * random::uniform(key, id) - 1.0)
    };
    domain.wrap_position([0, 1, 2].map(|dim| site[dim] + shift(dim)))
}

/// Upper limits of the species' shares of \[0, 1): a uniform number below the first limit that exceeds it is of that
/// species.
fn fraction_limits(species: &[Species]) -> Vec<f64> {
    let given: f64 = species.iter().filter_map(|species| species.fraction).sum();
    let share = |species: &Species| species.fraction.unwrap_or(1.0 - given);
    species
        .iter()
        .scan(0.0, |sum, species| {
            *sum += share(species);
            Some(*sum)
        })
        .collect()
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
    seed: u64,
    temperature: f64,
    world: &dyn World,
) -> Result<(), RunError> {
    let dimension = setup.domain.dimension;
    let MomentumSums { momentum: [x, y, z], mass } =
        velocities::draw(particles, &setup.masses, seed, dimension);
    let [x, y, z, mass] = sum_exactly([x, y, z, mass], world)?;
    let total = MomentumSums { momentum: [x, y, z], mass };
    let twice_kinetic = velocities::remove_drift(particles, &setup.masses, &total);
    let [twice_kinetic] = sum_exactly([twice_kinetic], world)?;
    let degrees = degrees_of_freedom(setup.atoms(), dimension);
    velocities::rescale(particles, twice_kinetic, temperature, degrees);
    Ok(())
}

/// Sums over all ranks without rounding.
fn sum_exactly<const N: usize>(sums: [ExactSum; N], world: &dyn World) -> Result<[ExactSum; N], RunError> {
    let mine: Vec<u8> = sums.iter().flat_map(|sum| sum.to_bytes()).collect();
    let all = world.gather_all(&mine)?;
    let mut totals = [ExactSum::default(); N];
    let (terms, _) = all.as_chunks::<{ size_of::<ExactSum>() }>();
    for (index, term) in terms.iter().enumerate() {
        totals[index % N].merge(ExactSum::from_bytes(*term));
    }
    Ok(totals)
}
