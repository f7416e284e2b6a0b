//! Data of outputs in a checkpoint.

use super::header::OutputMemory;
use crate::store::OutputMark;

/// Data of an output in a checkpoint.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OutputState {
    /// State of a file that grows.
    pub mark: Option<OutputMark>,
    /// Data that an output has gathered and writes at the end.
    pub memory: Option<OutputMemory>,
}

/// Data of an output for the particles of this rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParticleMemory {
    /// Name of the output.
    pub name: String,
    /// Number of words per particle.
    pub width: usize,
    /// Words of all owned particles, in the order of the particles.
    pub words: Vec<u64>,
}
