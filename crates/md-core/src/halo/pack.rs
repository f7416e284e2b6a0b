//! Packing of positions and forces: the fixed-size refresh between two rebuilds.
//!
//! A message holds three blocks, x of all particles, then y, then z, in the order of the edge's cells. The receiver's
//! ghosts of one edge are contiguous, so unpacking is three copies. The sender adds the periodic shift.

use super::{Export, HaloEdge, Stage};
use crate::cells::LocalCells;
use crate::domain::Domain;
use crate::particles::Particles;
use std::ops::Range;

/// Number of particles in the exported cells.
pub fn export_count(exports: &[Export], cells: &LocalCells) -> usize {
    exports.iter().map(|export| cells.count(export.slot as usize)).sum()
}

/// Number of ghosts that come along an edge.
pub fn import_count(edge: &HaloEdge, cells: &LocalCells) -> usize {
    ghost_range(&edge.imports, cells).len()
}

/// Ghosts of a run of ghost slots, as particle indices.
pub(super) fn ghost_range(slots: &Range<usize>, cells: &LocalCells) -> Range<usize> {
    if slots.is_empty() { 0..0 } else { cells.range(slots.start).start..cells.range(slots.end - 1).end }
}

/// Writes the shifted positions of the exported cells into `message` (3 x particles numbers).
pub fn pack_positions(
    message: &mut [f64],
    exports: &[Export],
    particles: &Particles,
    cells: &LocalCells,
    domain: &Domain,
) {
    let count = message.len() / 3;
    for (dim, block) in message.chunks_exact_mut(count.max(1)).enumerate() {
        copy_shifted(block, exports, &particles.position[dim], cells, dim, domain);
    }
}

fn copy_shifted(
    block: &mut [f64],
    exports: &[Export],
    column: &[f64],
    cells: &LocalCells,
    dim: usize,
    domain: &Domain,
) {
    let mut rest = block;
    for export in exports {
        let range = cells.range(export.slot as usize);
        let shift = f64::from(export.shift[dim]) * domain.lengths[dim];
        let (here, after) = rest.split_at_mut(range.len());
        for (to, from) in here.iter_mut().zip(&column[range]) {
            *to = from + shift;
        }
        rest = after;
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

/// Adds returned forces to the particles of the exported cells. To be called in fixed edge order: the sum's rounding
/// depends on it.
pub fn add_returned_forces(message: &[f64], edge: &HaloEdge, particles: &mut Particles, cells: &LocalCells) {
    let count = message.len() / 3;
    for (column, block) in particles.force.iter_mut().zip(message.chunks_exact(count.max(1))) {
        let mut rest = block;
        for export in &edge.exports {
            let range = cells.range(export.slot as usize);
            let (here, after) = rest.split_at(range.len());
            for (to, from) in column[range].iter_mut().zip(here) {
                *to += from;
            }
            rest = after;
        }
    }
}

/// Copies particles to the images of their cells.
pub fn refresh_images(stage: &Stage, particles: &mut Particles, cells: &LocalCells, domain: &Domain) {
    let images = ghost_range(&stage.image_slots, cells);
    for (dim, column) in particles.position.iter_mut().enumerate() {
        let (before, ghosts) = column.split_at_mut(images.start);
        copy_shifted(ghosts, &stage.images, before, cells, dim, domain);
    }
}

/// Adds the forces on images to the particles they are images of.
pub fn add_returned_image_forces(stage: &Stage, particles: &mut Particles, cells: &LocalCells) {
    let images = ghost_range(&stage.image_slots, cells);
    for column in &mut particles.force {
        let (before, mut ghosts) = column.split_at_mut(images.start);
        for image in &stage.images {
            let range = cells.range(image.slot as usize);
            let (here, after) = ghosts.split_at_mut(range.len());
            for (to, from) in before[range].iter_mut().zip(&*here) {
                *to += from;
            }
            ghosts = after;
        }
    }
}
