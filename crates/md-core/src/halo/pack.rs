//! Packing of fields for the exchanges between two rebuilds, in which message sizes are fixed.
//!
//! A message holds a block of numbers for each component of each field, in the order of the edge's
//! cells. The receiver's ghosts of one edge are contiguous, so unpacking copies blocks. The sender
//! adds the periodic shift to positions.

use super::{HaloEdge, Selection, Stage};
use crate::cells::LocalCells;
use crate::fields::Field;
use crate::particles::Particles;
use crate::threads::Threads;
use std::ops::{DerefMut, Range};

/// Returns the number of ghosts that are received along an edge.
pub fn import_count(edge: &HaloEdge, cells: &LocalCells) -> usize {
    ghost_range(&edge.imports, cells).len()
}

/// Returns the ghosts in consecutive ghost cells, as particle indices.
pub(super) fn ghost_range(ghost_cells: &Range<usize>, cells: &LocalCells) -> Range<usize> {
    if ghost_cells.is_empty() {
        0..0
    } else {
        cells.range(ghost_cells.start).start..cells.range(ghost_cells.end - 1).end
    }
}

/// Writes the fields of the selected particles, with shifted positions, into `message` (number of
/// components times number of particles).
pub fn pack_fields(message: &mut [f64], fields: &[Field], selection: &Selection, particles: &Particles) {
    let mut blocks = message.chunks_exact_mut(selection.len().max(1));
    for &field in fields {
        for ((dim, column), block) in particles.components(field).iter().enumerate().zip(&mut blocks) {
            copy_column(selection, field, dim, column, block);
        }
    }
}

/// Copies the selected particles' entries of one column of a field. Positions are shifted.
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

/// Adds a message of [`pack_ghosts`] to those selected particles that lie in `onto`. Must be called
/// in a fixed order of the edges, because the rounding of the sums depends on it.
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

/// The ghosts of a stage that are images of particles on this rank.
#[derive(Debug, Clone, Copy)]
pub struct Images<'a> {
    /// Stage to which the images belong.
    pub stage: &'a Stage,
    /// The particles that have images.
    pub selection: &'a Selection,
    /// Cells that contain the images.
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

    /// Adds the fields of the images to their originals, as far as these lie in `onto`.
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

    /// Calls `work` with the number of each column, its part before the images and its part with
    /// the images.
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
