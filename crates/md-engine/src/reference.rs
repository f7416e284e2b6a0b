//! Forces without a halo, as a reference for exchanges: each rank visits the particles of all
//! ranks, one rank after the other.

use std::collections::{BTreeMap, HashMap};

use md_comm::World;
use md_core::grid::{Cell, add};
use md_core::potential::PairPotential;
use md_core::{Particle, Shell, memory};

use crate::collective::{expect_room, for_each_rank};
use crate::error::EngineError;
use crate::report::ParticleRow;
use crate::setup::Setup;
use crate::start::initial::{self, particle, words};

/// Returns the forces on this rank's particles in the initial state, by plain loops over all pairs
/// of adjacent cells. Ranks exchange only their complete lists of particles, which no rank stores.
/// *Collective.*
///
/// # Errors
/// [`EngineError::Config`] if the forces are not those of a pair potential; communication.
pub fn forces_without_halo(world: &dyn World, setup: &Setup) -> Result<Vec<ParticleRow>, EngineError> {
    let grid = &setup.division.grid;
    let own = own_particles(world, setup)?;
    let mut members = BTreeMap::<Cell, Vec<usize>>::new();
    for (index, particle) in own.iter().enumerate() {
        members.entry(grid.cell_of(particle.position)).or_default().push(index);
    }
    // Own particles in adjacent cells by cell, with the shift of the cell's image next to them.
    let mut adjacent = HashMap::<Cell, Vec<(&[usize], [f64; 3])>>::new();
    for (&cell, members) in &members {
        let cells = Shell::Full.offsets(setup.domain.dimension).into_iter().chain([[0; 3]]);
        for (primary, shift) in cells.filter_map(|offset| grid.wrap(add(cell, offset))) {
            let shift = [0, 1, 2].map(|dim| f64::from(shift[dim]) * setup.domain.lengths[dim]);
            adjacent.entry(primary).or_default().push((members, shift));
        }
    }
    sum_pairs(world, setup, &own, |other, meet| {
        let beside = adjacent.get(&grid.cell_of(other.position)).into_iter().flatten();
        for (index, shift) in beside.flat_map(|(members, shift)| members.iter().map(move |&i| (i, shift))) {
            meet(index, *shift);
        }
    })
}

/// Returns the forces of [`forces_without_halo`] by a direct sum over all pairs of particles, with
/// every periodic image within the cutoff. Uses no cells and shares only the potential with a
/// simulation; the work grows with the square of the number of particles. *Collective.*
///
/// # Errors
/// As [`forces_without_halo`].
pub fn forces_by_direct_sum(world: &dyn World, setup: &Setup) -> Result<Vec<ParticleRow>, EngineError> {
    let (domain, cutoff) = (&setup.domain, pair_potential(setup)?.cutoff());
    let own = own_particles(world, setup)?;
    sum_pairs(world, setup, &own, |other, meet| {
        for (index, particle) in own.iter().enumerate() {
            let [x, y, z] = [0, 1, 2].map(|dim| {
                let (d, length) = (particle.position[dim] - other.position[dim], domain.lengths[dim]);
                let bound = |d: f64| if domain.is_periodic(dim) { d / length } else { 0.0 };
                let images = bound(d - cutoff).ceil() as i32..=bound(d + cutoff).floor() as i32;
                images.map(move |image| f64::from(image) * length)
            });
            for x in x {
                for y in y.clone() {
                    z.clone().for_each(|z| meet(index, [x, y, z]));
                }
            }
        }
    })
}

fn pair_potential(setup: &Setup) -> Result<&dyn PairPotential, EngineError> {
    let potential = setup.config.forces.pair_potential();
    potential.ok_or_else(|| EngineError::Config("the forces are not those of a pair potential".to_owned()))
}

fn own_particles(world: &dyn World, setup: &Setup) -> Result<Vec<Particle>, EngineError> {
    let particles = memory::or_error(|| initial::particles(setup, world))??;
    let mut own = Vec::new();
    expect_room(&mut own, particles.owned(), "the particles of this rank")?;
    own.extend((0..particles.owned()).map(|index| particles.get(index)));
    Ok(own)
}

/// Adds up the forces of all particles on `own`. For each particle of the system, `partners` passes
/// the indices of own particles and the shift of the particle's image; the cutoff is applied here.
/// *Collective.*
fn sum_pairs(
    world: &dyn World,
    setup: &Setup,
    own: &[Particle],
    partners: impl Fn(Particle, &mut dyn FnMut(usize, [f64; 3])),
) -> Result<Vec<ParticleRow>, EngineError> {
    let potential = pair_potential(setup)?;
    let cutoff2 = potential.cutoff().powi(2);
    let mut forces = Vec::new();
    expect_room(&mut forces, own.len(), "the forces on the particles of this rank")?;
    forces.resize(own.len(), [0.0; 3]);
    let mut add_forces = |other: Particle| {
        partners(other, &mut |index, shift| {
            let Particle { id, species, position, .. } = own[index];
            let d = [0, 1, 2].map(|dim| position[dim] - (other.position[dim] + shift[dim]));
            let r2 = d.iter().map(|d| d * d).sum::<f64>();
            if r2 < cutoff2 && id != other.id {
                let term = potential.term(species as usize, other.species as usize, r2);
                forces[index].iter_mut().zip(d).for_each(|(force, d)| *force += term.force_over_r * d);
            }
        });
    };
    for_each_rank(&own.iter().map(words), world, |words| add_forces(particle(&words)))?;
    for wall in &setup.config.walls {
        let across = wall.axis;
        for (particle, force) in own.iter().zip(&mut forces) {
            force[across] += wall.force_at(particle.position[across], &setup.domain);
        }
    }
    let row = |(&Particle { id, species, position, .. }, vector): (&Particle, [f64; 3])| ParticleRow {
        id,
        kind: species + 1,
        position,
        vector,
        ..ParticleRow::default()
    };
    Ok(own.iter().zip(forces).map(row).collect())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use md_comm::local;
    use md_core::lattice::{Lattice, LatticeKind};
    use md_core::potential::LennardJones;

    use super::*;
    use crate::{Config, RowVector, Simulation};

    /// In the smallest box, a particle is within the cutoff of several images of another.
    #[test]
    fn they_are_those_of_a_simulation() {
        for (cells, ranks) in [([2, 2, 2], 1), ([4, 5, 6], 3)] {
            let lattice = Lattice::with_density(LatticeKind::Fcc, 0.8442, cells);
            let mut config = Config::new(lattice, LennardJones::reduced(2.5)).displaced(1.0);
            config.parallel.partition = md_core::PartitionKind::Stripe;
            let setup = Setup::new(config, ranks).unwrap();
            let ended = local::run(ranks, Duration::from_secs(60), |world| {
                let mut expected = Simulation::new(world, &setup).unwrap().rows(RowVector::Force).unwrap();
                expected.sort_by_key(|row| row.id);
                for reference in [forces_without_halo, forces_by_direct_sum] {
                    let mut rows = reference(world, &setup).unwrap();
                    rows.sort_by_key(|row| row.id);
                    assert_eq!(rows.len(), expected.len());
                    for (row, expected) in rows.iter().zip(&expected) {
                        assert_eq!((row.id, row.kind), (expected.id, expected.kind));
                        let difference = (0..3).map(|dim| (row.vector[dim] - expected.vector[dim]).abs());
                        assert!(difference.fold(0.0, f64::max) < 1e-9, "{row:?} {expected:?}");
                    }
                }
            });
            ended.into_iter().for_each(|ended| ended.unwrap());
        }
    }
}
