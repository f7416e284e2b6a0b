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
use std::ops::{DerefMut, Range};

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
            copy_column(selection, field, dim, column, block);
        }
    }
}

/// Copies the selected particles' entries of one of a field's columns; those of positions are shifted.
pub(super) fn copy_column<T: bytemuck::Pod>(
    selection: &Selection,
    field: Field,
    dim: usize,
    column: &[T],
    to: &mut [T],
) {
    if field == Field::POSITION {
        selection.copy_shifted(dim, bytemuck::cast_slice(column), bytemuck::cast_slice_mut(to));
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

/// Adds a message of [`pack_ghosts`] to the selected particles among `onto`. To be called in fixed edge order: the sum's
/// rounding depends on it.
pub fn add_fields(
    message: &[f64],
    fields: &[Field],
    selection: &Selection,
    onto: &Range<usize>,
    particles: &mut Particles,
) {
    let mut blocks = message.chunks_exact(selection.len().max(1));
    for &field in fields {
        for (column, block) in particles.components_mut(field).iter_mut().zip(&mut blocks) {
            selection.add(block, column, onto);
        }
    }
}

/// The ghosts of a stage that are images of particles of this rank.
#[derive(Debug, Clone, Copy)]
pub struct Images<'a> {
    /// Whose images they are.
    pub stage: &'a Stage,
    /// The particles that have images.
    pub selection: &'a Selection,
    /// Where the images are.
    pub cells: &'a LocalCells,
}

impl Images<'_> {
    /// Copies fields to the images.
    pub fn gather(&self, fields: &[Field], particles: &mut Particles, threads: &Threads) {
        for &field in fields {
            self.copy_field(field, particles.components_mut(field), threads);
        }
    }

    /// Copies the columns of a field to the images.
    pub(super) fn copy_field<T: bytemuck::Pod>(
        &self,
        field: Field,
        columns: &mut [impl DerefMut<Target = [T]> + Send],
        threads: &Threads,
    ) {
        self.each_column(columns, threads, |dim, before, images| {
            copy_column(self.selection, field, dim, before, images);
        });
    }

    /// Adds the fields of the images to the particles among `onto` that they are images of.
    pub fn scatter_add(
        &self,
        fields: &[Field],
        onto: &Range<usize>,
        particles: &mut Particles,
        threads: &Threads,
    ) {
        for &field in fields {
            let columns = particles.components_mut(field);
            self.each_column(columns, threads, |_, before, images| self.selection.add(images, before, onto));
        }
    }

    /// `work` on the part of each column before the images and on theirs; with the column's number.
    fn each_column<T: bytemuck::Pod>(
        &self,
        columns: &mut [impl DerefMut<Target = [T]> + Send],
        threads: &Threads,
        work: impl Fn(usize, &mut [T], &mut [T]) + Sync,
    ) {
        let images = ghost_range(&self.stage.image_cells, self.cells);
        if !images.is_empty() {
            threads.each_column(columns, |dim, column| {
                let (before, ghosts) = column.split_at_mut(images.start);
                work(dim, before, &mut ghosts[..images.len()]);
            });
        }
    }
}
