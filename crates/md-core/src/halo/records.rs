//! Messages of a rebuild: migrating particles and the border (the first filling of the ghost cells).
//!
//! Both are blocks of 8-byte numbers, one block per column. A border message starts with the number of particles in
//! each exported cell; from it the receiver lays out its ghost cells.

use super::pack::ghost_range;
use super::{Export, HaloEdge, Selection, Stage, pack_positions};
use crate::cells::LocalCells;
use crate::particles::{Particle, Particles};
use crate::threads::Threads;

const WORD: usize = size_of::<f64>();
/// Columns of a migrating particle: position, velocity, id, species.
const MIGRANT_WORDS: usize = 8;
/// Columns of a ghost: position, id, species.
const GHOST_WORDS: usize = 5;

/// A border message does not fit the plan: its sender follows another plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("border message from rank {peer}: {found} words where the cell counts promise {expected}")]
pub struct BorderError {
    /// The sender.
    pub peer: usize,
    /// Words in the message.
    pub found: usize,
    /// Words expected.
    pub expected: usize,
}

/// Bytes of a message with that many migrating particles.
pub fn migrant_bytes(particles: usize) -> usize {
    particles * MIGRANT_WORDS * WORD
}

/// Writes particles one after the other.
pub fn pack_migrants(message: &mut [u64], migrants: &[Particle]) {
    for (words, particle) in message.chunks_exact_mut(MIGRANT_WORDS).zip(migrants) {
        for dim in 0..3 {
            words[dim] = particle.position[dim].to_bits();
            words[3 + dim] = particle.velocity[dim].to_bits();
        }
        words[6] = particle.id;
        words[7] = u64::from(particle.species);
    }
}

/// The particles of a migration message.
pub fn unpack_migrants(message: &[u64]) -> impl Iterator<Item = Particle> + '_ {
    message.chunks_exact(MIGRANT_WORDS).map(|words| Particle {
        position: [0, 1, 2].map(|dim| f64::from_bits(words[dim])),
        velocity: [3, 4, 5].map(|word| f64::from_bits(words[word])),
        id: words[6],
        species: words[7] as u32,
    })
}

/// Bytes of the border message for `exports` holding `particles` particles.
pub fn border_bytes(exports: &[Export], particles: usize) -> usize {
    (exports.len() + particles * GHOST_WORDS) * WORD
}

/// Writes counts per cell, shifted positions, ids and species.
pub fn pack_border(
    message: &mut [u64],
    exports: &[Export],
    selection: &Selection,
    particles: &Particles,
    cells: &LocalCells,
) {
    let (counts, body) = message.split_at_mut(exports.len());
    for (count, export) in counts.iter_mut().zip(exports) {
        *count = cells.count(export.slot as usize) as u64;
    }
    let ghosts = body.len() / GHOST_WORDS;
    let (positions, rest) = body.split_at_mut(3 * ghosts);
    pack_positions(bytemuck::cast_slice_mut(positions), selection, particles);
    let (ids, species) = rest.split_at_mut(ghosts);
    selection.copy(&particles.id, ids);
    selection.copy(&particles.species, species);
}

/// Appends the ghost cells of an edge and their particles. To be called in edge order.
///
/// # Errors
/// The message's length does not match its counts.
pub fn unpack_border(
    message: &[u64],
    edge: &HaloEdge,
    particles: &mut Particles,
    cells: &mut LocalCells,
) -> Result<(), BorderError> {
    let slots = edge.imports.len().min(message.len());
    let (counts, body) = message.split_at(slots);
    let ghosts = counts.iter().sum::<u64>() as usize;
    if slots != edge.imports.len() || body.len() != ghosts * GHOST_WORDS {
        let expected = edge.imports.len() + ghosts * GHOST_WORDS;
        return Err(BorderError { peer: edge.peer, found: message.len(), expected });
    }
    append_cells(counts.iter().map(|&count| count as usize), particles, cells);
    let range = ghost_range(&edge.imports, cells);
    let blocks: Vec<&[u64]> = body.chunks_exact(ghosts.max(1)).collect();
    if let [x, y, z, ids, species] = blocks[..] {
        for (column, block) in particles.position.iter_mut().zip([x, y, z]) {
            column[range.clone()].copy_from_slice(bytemuck::cast_slice(block));
        }
        particles.id[range.clone()].copy_from_slice(ids);
        particles.species[range].copy_from_slice(species);
    }
    Ok(())
}

/// Makes the ghost cells of a stage that are images of cells this rank has.
pub fn copy_images(
    stage: &Stage,
    selection: &Selection,
    particles: &mut Particles,
    (cells, threads): (&mut LocalCells, &Threads),
) {
    let counts: Vec<usize> = stage.images.iter().map(|image| cells.count(image.slot as usize)).collect();
    append_cells(counts.into_iter(), particles, cells);
    super::refresh_images(stage, selection, particles, (cells, threads));
    let images = ghost_range(&stage.image_slots, cells);
    for column in [&mut particles.id, &mut particles.species] {
        let (before, ghosts) = column.split_at_mut(images.start);
        selection.copy(before, &mut ghosts[..images.len()]);
    }
}

/// Lays out ghost cells behind the present particles.
fn append_cells(counts: impl Iterator<Item = usize>, particles: &mut Particles, cells: &mut LocalCells) {
    let mut next = particles.ghost_start() + particles.ghosts();
    for count in counts {
        cells.push_ghost_cell(next, count);
        next += count;
    }
    particles.set_ghosts(next - particles.ghost_start());
}
