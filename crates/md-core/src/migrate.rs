//! Particles that change hands at a rebuild.

use crate::grid::CellGrid;
use crate::halo::HaloPlan;
use crate::particles::{Particle, Particles};
use crate::partition::{Ownership, Partition};
use crate::rebuild::RebuildWatch;
use crate::threads::{Placed, Threads};

/// A particle that has moved further than one cell since the last rebuild, or nowhere at all (not a number): it cannot
/// be followed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LostParticle {
    /// The particle as it is now.
    pub particle: Particle,
    /// How far it has moved since the last rebuild.
    pub displacement: [f64; 3],
}

/// The particles of this rank that have moved by more than `reach` (the shortest cell edge) along a dimension.
pub fn find_lost(particles: &Particles, watch: &RebuildWatch, reach: f64) -> Vec<LostParticle> {
    let lost = |index: usize| {
        let displacement = watch.displacement_of(particles, index);
        // Negated, so that a displacement that is not a number counts.
        let is_near = displacement.iter().all(|d| d.abs() <= reach);
        (!is_near).then(|| LostParticle { particle: particles.get(index), displacement })
    };
    (0..particles.owned()).filter_map(lost).collect()
}

/// Takes the particles that now lie in another rank's cells out of `particles`, into `outgoing[i]` for
/// `plan.neighbours[i]`. Positions must be wrapped and nobody lost. A particle whose owner is no neighbour is returned:
/// the partition and the lost-particle check make that impossible, so it is a bug or a broken input.
pub fn take_migrants(
    particles: &mut Particles,
    grid: &CellGrid,
    plan: &HaloPlan,
    partition: &Partition,
    outgoing: &mut [Vec<Particle>],
    threads: &Threads,
) -> Option<Particle> {
    outgoing.iter_mut().for_each(Vec::clear);
    // From the last to the first: whoever takes the place of one that leaves stays.
    for index in find_migrants(particles, grid, plan, threads).into_iter().rev() {
        let particle = particles.get(index);
        let owner = partition.owner(grid, grid.cell_of(particle.position));
        match plan.neighbours.binary_search(&owner) {
            Ok(neighbour) => outgoing[neighbour].push(particle),
            Err(_) => return Some(particle),
        }
        let last = particles.owned() - 1;
        let moved = particles.get(last);
        particles.put(index, moved);
        particles.set_owned(last);
    }
    None
}

/// Indices of the particles in other ranks' cells, ascending.
fn find_migrants(particles: &Particles, grid: &CellGrid, plan: &HaloPlan, threads: &Threads) -> Vec<usize> {
    let owned = particles.owned();
    let columns = particles.position.each_ref().map(|column| &column[..owned]);
    let is_foreign = |position: [f64; 3]| {
        plan.slot_of(grid.cell_of(position)).is_none_or(|slot| slot as usize >= plan.owned.len())
    };
    let find = |Placed { first, columns: [x, y, z] }: Placed<[&[f64]; 3]>| {
        let positions = x.iter().zip(y).zip(z).map(|((&x, &y), &z)| [x, y, z]);
        let foreign = positions.enumerate().filter(|&(_, position)| is_foreign(position));
        foreign.map(|(index, _)| first + index).collect()
    };
    let append = |mut first: Vec<usize>, second: Vec<usize>| {
        first.extend(second);
        first
    };
    threads.fold(Placed { first: 0, columns }, find, append)
}
