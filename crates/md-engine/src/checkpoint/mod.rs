//! Checkpoints: everything on which later steps depend, as words that a file can hold.
//!
//! A checkpoint can be taken at any step and does not change the run. Between two rebuilds, a step
//! depends on more than the particles: on their order in memory, and on the pair lists, which were
//! built for positions of reference ([`md_core::rebuild`]). The row of a particle therefore also
//! contains its position of reference. It contains the force too, which would otherwise have to be
//! computed a second time:
//!
//! ```text
//! row     position, velocity, id, species, image counts, registered fields
//!         | position of reference | force
//! shared  step, time, box now and at the last rebuild, instruction set,
//!         history of the neighbourhood, of the energy and of the box,
//!         division of the work and its history, memory of the integrator
//! ```
//!
//! [`Continuation::Identical`] places every particle at its position of reference and rebuilds,
//! which reproduces the order of the particles, the ghosts and the lists. It then moves the
//! particles to their positions at the checkpoint, in the box as the barostat has changed it since.
//! From there on all bits are those of the uninterrupted run. [`Continuation::Anew`] sends every
//! particle to its owner in the present decomposition and recomputes the forces: the results agree
//! to rounding.

pub(crate) mod division;
mod restored;
mod shared;

use md_core::Particles;

pub(crate) use restored::AtCheckpoint;
pub(crate) use shared::Shared;

/// Words of a row after those that move with a particle: position at the last rebuild, force.
const WORDS_BEHIND: usize = 6;
/// Position in a row; the id and the species follow.
const POSITION: std::ops::Range<usize> = 0..3;
const ID: usize = 6;
const SPECIES: usize = 7;

/// State of this rank from which a checkpoint is written.
#[derive(Debug, Clone, Copy)]
pub struct SavedState<'a> {
    /// Words that are the same on all ranks.
    pub shared: &'a [u64],
    pub(crate) particles: &'a Particles,
    pub(crate) reference: &'a [Vec<f64>; 3],
}

impl SavedState<'_> {
    /// Returns the number of words per particle.
    pub fn row_words(&self) -> usize {
        self.particles.moving_words() + WORDS_BEHIND
    }

    /// Returns the number of particles of this rank.
    pub fn rows(&self) -> usize {
        self.particles.owned()
    }

    /// Appends the row of the particle at `index`; floating-point numbers by their bits.
    pub fn append_row(&self, index: usize, words: &mut Vec<u64>) {
        self.particles.append_to(words, index);
        words.extend(self.reference.iter().map(|column| column[index].to_bits()));
        words.extend(self.particles.force_of(index).map(f64::to_bits));
    }
}

/// Returns the id of the particle in a row.
pub fn id_of_row(row: &[u64]) -> u64 {
    row.get(ID).copied().unwrap_or_default()
}

/// How a run continues from a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Continuation {
    /// To the last bit: every rank has the rows that it saved, in their order, and the
    /// configuration differs only in ways that do not affect the bits. If rows turn out to belong
    /// to other ranks now, the run continues as with [`Self::Anew`].
    Identical,
    /// From the same positions and velocities, with any configuration. Every row is on one rank.
    Anew,
}

/// Whether a quantity of the checkpoint's run is carried over, or begins anew because what it
/// refers to has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carried {
    /// Carried over.
    Over,
    /// Begins anew.
    Anew,
}

/// Contents of a checkpoint as read on this rank.
#[derive(Debug, Clone)]
pub struct Restored {
    /// Words of [`SavedState::shared`].
    pub shared: Vec<u64>,
    /// Words per particle.
    pub row_words: usize,
    /// Rows, one after the other.
    pub rows: Vec<u64>,
    /// How the run continues.
    pub continuation: Continuation,
    /// Memory of the integrator, such as the variables of a thermostat.
    pub integrator_memory: Carried,
    /// Initial conserved energy, from which the drift is measured.
    pub energy_reference: Carried,
}
