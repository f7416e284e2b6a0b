//! Particle files: every reader returns the same thing.
//!
//! Readers work on text, not on files, since under MPI only rank 0 reads.

mod error;
pub mod extxyz;
mod fields;
pub mod lammps_data;

pub use error::{InputError, Problem};

/// Particles as a file gives them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InputParticles {
    /// Lower corner of the box.
    pub origin: [f64; 3],
    /// Edge lengths of the box.
    pub lengths: [f64; 3],
    /// Masses from the file by type number - 1; empty when the file has none (then the scenario's species give them).
    pub masses: Vec<f64>,
    /// Global ids (from 1, unique, sorted ascending).
    pub ids: Vec<u64>,
    /// Type numbers from 1, per particle.
    pub types: Vec<u32>,
    /// Positions per particle.
    pub positions: Vec<[f64; 3]>,
    /// Velocities per particle; empty when the file has none.
    pub velocities: Vec<[f64; 3]>,
}
