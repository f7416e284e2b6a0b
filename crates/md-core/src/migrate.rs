//! Migration of particles to other ranks at a rebuild.

use crate::grid::CellGrid;
use crate::halo::HaloPlan;
use crate::particles::{Particle, Particles};
use crate::partition::Partition;
use crate::rebuild::RebuildWatch;
use crate::threads::{Placed, Threads};

/// A particle that has moved by more than one cell since the last rebuild or whose position is NaN,
/// so that its new owner cannot be determined.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LostParticle {
    /// The particle in its current state.
    pub particle: Particle,
    /// Displacement since the last rebuild.
    pub displacement: [f64; 3],
}

/// Returns the particles of this rank that have moved by more than `most` (the shortest cell
/// length) along a dimension.
pub fn find_lost(particles: &Particles, watch: &RebuildWatch, most: f64) -> Vec<LostParticle> {
    let lost = |index: usize| {
        let displacement = watch.displacement_of(particles, index);
        // Written as a negation so that NaN counts as lost.
        let is_near = displacement.iter().all(|d| d.abs() <= most);
        (!is_near).then(|| LostParticle { particle: particles.get(index), displacement })
    };
    (0..particles.owned()).filter_map(lost).collect()
}

/// Migration messages: `outgoing[i]` goes to rank `peers[i]`; `peers` is in ascending order.
#[derive(Debug)]
pub struct Messages<'a> {
    /// Ranks to which particles may migrate.
    pub peers: &'a [usize],
    /// Message for each of the peers.
    pub outgoing: &'a mut [Vec<u64>],
}

/// A particle that lies in a cell of a rank to which this rank sends no particles.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("particle {} at {:?} has moved beyond the cells of this rank's neighbours", .0.id, .0.position)]
pub struct StrayParticle(pub Particle);

/// Moves the particles that now lie in another rank's cells from `particles` to the messages.
/// Positions must be wrapped, and no particle may be lost.
///
/// # Errors
/// The owner of a particle is not a peer. Partition and lost-particle check rule this out, so it
/// indicates a bug or invalid input.
pub fn take_migrants(
    particles: &mut Particles,
    grid: &CellGrid,
    plan: &HaloPlan,
    partition: &Partition,
    threads: &Threads,
    Messages { peers, outgoing }: Messages,
) -> Result<(), StrayParticle> {
    outgoing.iter_mut().for_each(Vec::clear);
    // In descending order: the particle that takes a migrant's place has been checked already and
    // stays.
    for index in find_migrants(particles, grid, plan, threads).into_iter().rev() {
        let owner = partition.owner(grid, grid.cell_of(particles.position_of(index)));
        match peers.binary_search(&owner) {
            Ok(peer) => particles.append_to(&mut outgoing[peer], index),
            Err(_) => return Err(StrayParticle(particles.get(index))),
        }
        particles.swap_remove(index);
    }
    Ok(())
}

/// Appends the particles in a migration message.
pub fn append_migrants(message: &[u64], particles: &mut Particles) {
    for words in message.chunks_exact(particles.moving_words()) {
        particles.push_words(words);
    }
}

/// Returns the indices of the particles in other ranks' cells, in ascending order.
fn find_migrants(particles: &Particles, grid: &CellGrid, plan: &HaloPlan, threads: &Threads) -> Vec<usize> {
    let owned = particles.owned();
    let columns = particles.position.each_ref().map(|column| &column[..owned]);
    let is_foreign = |position: [f64; 3]| {
        plan.local_cell(grid.cell_of(position)).is_none_or(|cell| cell as usize >= plan.owned.len())
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
