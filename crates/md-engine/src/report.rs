//! What a simulation tells about itself: plain data for observers and files.

use bytemuck::{Pod, Zeroable};
use md_core::ImageCounts;

use crate::clock::{Phase, PhaseTime};

/// The thermodynamic state, by LAMMPS's definitions (`units lj`, `thermo_modify norm yes`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thermo {
    /// Step number, 0 is the initial state.
    pub step: u64,
    /// Simulated time, \[time\].
    pub time: f64,
    /// Over 3N-3 (2N-2) degrees of freedom.
    pub temperature: f64,
    /// Potential energy per atom, tail correction included where asked for.
    pub potential_per_atom: f64,
    /// Kinetic energy per atom.
    pub kinetic_per_atom: f64,
    /// Total energy per atom.
    pub total_per_atom: f64,
    /// Virial pressure.
    pub pressure: f64,
}

/// What one rank measured over the step loop.
#[derive(Debug, Clone, Copy, Default, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct RankTiming {
    /// Indexed by `Phase as usize`.
    pub phases: [PhaseTime; Phase::ALL.len()],
    /// Messages sent.
    pub messages: u64,
    /// Payload bytes sent.
    pub bytes: u64,
    /// Owned particles at the end.
    pub owned: u64,
    /// Ghost particles at the end.
    pub ghosts: u64,
}

/// Totals of one force evaluation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ForceTotals {
    /// Total potential energy, tail included.
    pub potential_energy: f64,
    /// Sum of r . f over pairs.
    pub virial: f64,
    /// Tail correction of the energy.
    pub tail_energy: f64,
    /// Pressure.
    pub pressure: f64,
}

/// Which vector a particle's row carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowVector {
    /// Velocity.
    Velocity,
    /// Force.
    Force,
}

/// A particle as it appears in files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct ParticleRow {
    /// Global id, from 1.
    pub id: u64,
    /// Type number, from 1.
    pub kind: u32,
    /// How often it has crossed the periodic faces.
    pub images: ImageCounts,
    /// Position, inside the box.
    pub position: [f64; 3],
    /// Velocity or force ([`RowVector`]).
    pub vector: [f64; 3],
}
