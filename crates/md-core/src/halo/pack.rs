//! Packing of positions and forces: the fixed-size refresh between two rebuilds.
//!
//! A message holds three blocks, x of all particles, then y, then z, in the order of the edge's cells. The receiver's
//! ghosts of one edge are contiguous, so unpacking is three copies. The sender adds the periodic shift.

use super::{HaloEdge, Selection, Stage};
use crate::cells::LocalCells;
use crate::particles::Particles;
use crate::threads::Threads;
use std::ops::Range;

/// Number of ghosts that come along an edge.
pub fn import_count(edge: &HaloEdge, cells: &LocalCells) -> usize {
    ghost_range(&edge.imports, cells).len()
}

/// Ghosts of a run of ghost slots, as particle indices.
pub(super) fn ghost_range(slots: &Range<usize>, cells: &LocalCells) -> Range<usize> {
    if slots.is_empty() { 0..0 } else { cells.range(slots.start).start..cells.range(slots.end - 1).end }
}

/// Writes the shifted positions of the selected particles into `message` (3 x particles numbers).
pub fn pack_positions(message: &mut [f64], selection: &Selection, particles: &Particles) {
    for (dim, block) in message.chunks_exact_mut(selection.len().max(1)).enumerate() {
        selection.copy_shifted(dim, &particles.position[dim], block);
    }
}

/// Reads the positions of an edge's ghosts from `message`.
pub fn unpack_positions(message: &[f64], edge: &HaloEdge, particles: &mut Particles, cells: &LocalCells) {
    let ghosts = ghost_range(&edge.imports, cells);
    for (column, block) in particles.position.iter_mut().zip(message.chunks_exact(ghosts.len().max(1))) {
        column[ghosts.clone()].copy_from_slice(block);
    }
}

/// Writes the forces on an edge's ghosts into `message`.
pub fn pack_forces(message: &mut [f64], edge: &HaloEdge, particles: &Particles, cells: &LocalCells) {
    let ghosts = ghost_range(&edge.imports, cells);
    for (column, block) in particles.force.iter().zip(message.chunks_exact_mut(ghosts.len().max(1))) {
        block.copy_from_slice(&column[ghosts.clone()]);
    }
}

/// Adds returned forces to the selected particles. To be called in fixed edge order: the sum's rounding depends on it.
pub fn add_returned_forces(message: &[f64], selection: &Selection, particles: &mut Particles) {
    for (column, block) in particles.force.iter_mut().zip(message.chunks_exact(selection.len().max(1))) {
        selection.add(block, column);
    }
}

/// Copies particles to the images of their cells.
pub fn refresh_images(
    stage: &Stage,
    selection: &Selection,
    particles: &mut Particles,
    (cells, threads): (&LocalCells, &Threads),
) {
    let images = ghost_range(&stage.image_slots, cells);
    if images.is_empty() {
        return;
    }
    threads.each_dimension(particles.position.each_mut(), |dim, column| {
        let (before, ghosts) = column.split_at_mut(images.start);
        selection.copy_shifted(dim, before, &mut ghosts[..images.len()]);
    });
}

/// Adds the forces on images to the particles they are images of.
pub fn add_returned_image_forces(
    stage: &Stage,
    selection: &Selection,
    particles: &mut Particles,
    (cells, threads): (&LocalCells, &Threads),
) {
    let images = ghost_range(&stage.image_slots, cells);
    if images.is_empty() {
        return;
    }
    threads.each_dimension(particles.force.each_mut(), |_, column| {
        let (before, ghosts) = column.split_at_mut(images.start);
        selection.add(&ghosts[..images.len()], before);
    });
}
