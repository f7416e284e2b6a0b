//! Migration of particles to other ranks at a rebuild.

use crate::grid::CellGrid;
use crate::halo::HaloPlan;
use crate::particles::{Particle, Particles};
use crate::partition::Partition;
use crate::prediction::{Prediction, places};
use crate::rebuild::RebuildWatch;
use crate::threads::{Placed, Threads};

/// A particle that has moved by more than one cell from its position of reference or whose position
/// is NaN, so that its new owner cannot be determined.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LostParticle {
    /// The particle in its current state.
    pub particle: Particle,
    /// Displacement from the position of reference of the last rebuild.
    pub displacement: [f64; 3],
}

/// Returns the particles of this rank that have moved by more than `most` along a dimension
/// ([`CellGrid::longest_move`]).
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

/// Moves the particles whose predicted positions lie in another rank's cells from `particles` to
/// the messages. Predicted positions must be wrapped, and no particle may be lost.
///
/// # Errors
/// The owner of a particle is not a peer. Partition and lost-particle check rule this out, so it
/// indicates a bug or invalid input.
pub fn take_migrants(
    particles: &mut Particles,
    grid: &CellGrid,
    plan: &HaloPlan,
    partition: &Partition,
    prediction: Prediction,
    threads: &Threads,
    Messages { peers, outgoing }: Messages,
) -> Result<(), StrayParticle> {
    outgoing.iter_mut().for_each(Vec::clear);
    // In descending order: the particle that takes a migrant's place has been checked already and
    // stays.
    for index in find_migrants(particles, grid, plan, prediction, threads).into_iter().rev() {
        let Particle { position, velocity, .. } = particles.get(index);
        let place = prediction.place(position, velocity);
        let owner = partition.owner(grid, grid.cell_of(place));
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

/// Columns of positions and velocities.
type Motion<'a> = ([&'a [f64]; 3], [&'a [f64]; 3]);

/// Returns the indices of the particles that will be in other ranks' cells, in ascending order.
fn find_migrants(
    particles: &Particles,
    grid: &CellGrid,
    plan: &HaloPlan,
    prediction: Prediction,
    threads: &Threads,
) -> Vec<usize> {
    let owned = particles.owned();
    let position = particles.position.each_ref().map(|column| &column[..owned]);
    let velocity = particles.velocity.each_ref().map(|column| &column[..owned]);
    let is_foreign = |position: [f64; 3]| {
        plan.local_cell(grid.cell_of(position)).is_none_or(|cell| cell as usize >= plan.owned.len())
    };
    let find = |Placed { first, columns: (position, velocity) }: Placed<Motion>| {
        let places = places(prediction, position, velocity);
        let foreign = places.enumerate().filter(|&(_, place)| is_foreign(place));
        foreign.map(|(index, _)| first + index).collect()
    };
    let append = |mut first: Vec<usize>, second: Vec<usize>| {
        first.extend(second);
        first
    };
    threads.fold(Placed { first: 0, columns: (position, velocity) }, find, append)
}
