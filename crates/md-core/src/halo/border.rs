//! The border: the first filling of the ghost cells after a rebuild.
//!
//! A message starts with the number of particles in each exported cell, from which the receiver
//! lays out its ghost cells. Blocks of 8-byte numbers follow, one per column of the fields that are
//! copied to ghosts ([`crate::fields`]).

use super::pack::{copy_column, ghost_range};
use super::{Export, HaloEdge, Images, Selection, Stage};
use crate::cells::LocalCells;
use crate::fields::Field;
use crate::particles::Particles;
use crate::threads::Threads;

/// A border message does not match the plan, because its sender uses another plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("border message from rank {peer}: {found} words where the cell counts promise {expected}")]
pub struct BorderError {
    /// The sender.
    pub peer: usize,
    /// Words in the message.
    pub found: usize,
    /// Expected number of words.
    pub expected: usize,
}

fn words_per_ghost(particles: &Particles) -> usize {
    particles.width(particles.copied())
}

/// Returns the size in bytes of the border message for `exports` with these particles.
pub fn border_bytes(exports: &[Export], selection: &Selection, particles: &Particles) -> usize {
    (exports.len() + selection.len() * words_per_ghost(particles)) * size_of::<u64>()
}

/// Writes the number of particles per cell and the copied fields, with shifted positions.
pub fn pack_border(
    message: &mut [u64],
    exports: &[Export],
    selection: &Selection,
    particles: &Particles,
    cells: &LocalCells,
) {
    let (counts, body) = message.split_at_mut(exports.len());
    for (count, export) in counts.iter_mut().zip(exports) {
        *count = cells.count(export.cell as usize) as u64;
    }
    let mut blocks = body.chunks_exact_mut(selection.len().max(1));
    for field in particles.copied() {
        for ((dim, column), block) in particles.columns(field).iter().enumerate().zip(&mut blocks) {
            copy_column(selection, field, dim, column, block);
        }
    }
}

/// Appends the ghost cells of an edge and their particles. Must be called in the order of the
/// edges.
///
/// # Errors
/// The length of the message does not match its particle counts.
pub fn unpack_border(
    message: &[u64],
    edge: &HaloEdge,
    particles: &mut Particles,
    cells: &mut LocalCells,
) -> Result<(), BorderError> {
    let split = edge.imports.len().min(message.len());
    let (counts, body) = message.split_at(split);
    let ghosts = counts.iter().sum::<u64>() as usize;
    let words = ghosts * words_per_ghost(particles);
    if split != edge.imports.len() || body.len() != words {
        let expected = edge.imports.len() + words;
        return Err(BorderError { peer: edge.peer, found: message.len(), expected });
    }
    append_cells(counts.iter().map(|&count| count as usize), particles, cells);
    let range = ghost_range(&edge.imports, cells);
    let mut blocks = body.chunks_exact(ghosts.max(1));
    let copied: Vec<Field> = particles.copied().collect();
    for field in copied {
        for (column, block) in particles.columns_mut(field).iter_mut().zip(&mut blocks) {
            column[range.clone()].copy_from_slice(block);
        }
    }
    Ok(())
}

/// Creates the ghost cells of a stage that are images of cells on this rank.
pub fn copy_images(
    stage: &Stage,
    selection: &Selection,
    particles: &mut Particles,
    cells: &mut LocalCells,
    threads: &Threads,
) {
    let counts: Vec<usize> = stage.images.iter().map(|image| cells.count(image.cell as usize)).collect();
    append_cells(counts.into_iter(), particles, cells);
    let images = Images { stage, selection, cells };
    let copied: Vec<Field> = particles.copied().collect();
    for field in copied {
        images.copy_field(field, particles.columns_mut(field), threads);
    }
}

/// Lays out ghost cells after the existing particles.
fn append_cells(counts: impl Iterator<Item = usize>, particles: &mut Particles, cells: &mut LocalCells) {
    let mut next = particles.ghost_start() + particles.ghosts();
    for count in counts {
        cells.push_ghost_cell(next, count);
        next += count;
    }
    particles.set_ghosts(next - particles.ghost_start());
}
