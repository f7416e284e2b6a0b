//! Packing of fields for the exchanges between two rebuilds, whose sizes are fixed.
//!
//! A message holds a block of numbers for every component of every field, in the order of the edge's cells. The
//! receiver's ghosts of one edge are contiguous, so unpacking copies blocks. The sender adds the periodic shift to
//! positions.

use super::{HaloEdge, Selection, Stage};
use crate::cells::LocalCells;
use crate::fields::Field;
use crate::particles::Particles;
use crate::threads::Threads;
use std::ops::Range;

/// Number of ghosts that come along an edge.
pub fn import_count(edge: &HaloEdge, cells: &LocalCells) -> usize {
    ghost_range(&edge.imports, cells).len()
}

/// Ghosts of a run of ghost cells, as particle indices.
pub(super) fn ghost_range(ghost_cells: &Range<usize>, cells: &LocalCells) -> Range<usize> {
    if ghost_cells.is_empty() {
        0..0
    } else {
        cells.range(ghost_cells.start).start..cells.range(ghost_cells.end - 1).end
    }
}

/// Writes the fields of the selected particles, positions shifted, into `message` (their width x particles numbers).
pub fn pack_fields(message: &mut [f64], fields: &[Field], selection: &Selection, particles: &Particles) {
    let mut blocks = message.chunks_exact_mut(selection.len().max(1));
    for &field in fields {
        for ((dim, column), block) in particles.components(field).iter().enumerate().zip(&mut blocks) {
            copy_component(selection, (field, dim), column, block);
        }
    }
}

fn copy_component(selection: &Selection, (field, dim): (Field, usize), column: &[f64], to: &mut [f64]) {
    if field == Field::POSITION {
        selection.copy_shifted(dim, column, to);
    } else {
        selection.copy(column, to);
    }
}

/// Reads the fields of an edge's ghosts from `message`.
pub fn unpack_fields(
    message: &[f64],
    fields: &[Field],
    edge: &HaloEdge,
    particles: &mut Particles,
    cells: &LocalCells,
) {
    let ghosts = ghost_range(&edge.imports, cells);
    let mut blocks = message.chunks_exact(ghosts.len().max(1));
    for &field in fields {
        for (column, block) in particles.components_mut(field).iter_mut().zip(&mut blocks) {
            column[ghosts.clone()].copy_from_slice(block);
        }
    }
}

/// Writes the fields of an edge's ghosts into `message`.
pub fn pack_ghosts(
    message: &mut [f64],
    fields: &[Field],
    edge: &HaloEdge,
    particles: &Particles,
    cells: &LocalCells,
) {
    let ghosts = ghost_range(&edge.imports, cells);
    let mut blocks = message.chunks_exact_mut(ghosts.len().max(1));
    for &field in fields {
        for (column, block) in particles.components(field).iter().zip(&mut blocks) {
            block.copy_from_slice(&column[ghosts.clone()]);
        }
    }
}

/// Adds a message of [`pack_ghosts`] to the selected particles. To be called in fixed edge order: the sum's rounding
/// depends on it.
pub fn add_fields(message: &[f64], fields: &[Field], selection: &Selection, particles: &mut Particles) {
    let mut blocks = message.chunks_exact(selection.len().max(1));
    for &field in fields {
        for (column, block) in particles.components_mut(field).iter_mut().zip(&mut blocks) {
            selection.add(block, column);
        }
    }
}

/// Copies fields to the images of their cells.
pub fn gather_images(
    stage: &Stage,
    fields: &[Field],
    selection: &Selection,
    particles: &mut Particles,
    (cells, threads): (&LocalCells, &Threads),
) {
    let images = ghost_range(&stage.image_cells, cells);
    if images.is_empty() {
        return;
    }
    for &field in fields {
        threads.each_column(particles.components_mut(field), |dim, column| {
            let (before, ghosts) = column.split_at_mut(images.start);
            copy_component(selection, (field, dim), before, &mut ghosts[..images.len()]);
        });
    }
}

/// Adds the fields of images to the particles they are images of.
pub fn scatter_add_images(
    stage: &Stage,
    fields: &[Field],
    selection: &Selection,
    particles: &mut Particles,
    (cells, threads): (&LocalCells, &Threads),
) {
    let images = ghost_range(&stage.image_cells, cells);
    if images.is_empty() {
        return;
    }
    for &field in fields {
        threads.each_column(particles.components_mut(field), |_, column| {
            let (before, ghosts) = column.split_at_mut(images.start);
            selection.add(&ghosts[..images.len()], before);
        });
    }
}
