//! The physics of `md`: particles, cells, forces, integration. No MPI, no input or output, no unsafe code.
//!
//! In the order of a time step: [`Particles`] (structure of arrays) live in a [`Domain`] divided into a [`CellGrid`];
//! a [`Partition`] says which rank owns which cell; a [`HaloPlan`] follows from partition and [`Shell`]; [`LocalCells`]
//! keep the particles sorted; a [`Method`] adds pair forces from a [`Potential`]; [`integrate`] moves the particles.
//!
//! Reduced Lennard-Jones units throughout: mass m, length sigma, energy epsilon, time tau = sigma sqrt(m / epsilon),
//! `k_B` = 1.
#![forbid(unsafe_code)]

pub mod aligned;
pub mod cells;
mod curve;
pub mod diagnose;
pub mod domain;
pub mod exact_sum;
pub mod fields;
pub mod force;
pub mod grid;
pub mod halo;
pub mod integrate;
pub mod lattice;
pub mod migrate;
pub mod observables;
pub mod particles;
pub mod partition;
pub mod potential;
pub mod random;
pub mod rebuild;
pub mod shell;
pub mod simd;
pub mod threads;
pub mod velocities;

pub use cells::LocalCells;
pub use domain::{Boundary, Dimension, Domain};
pub use fields::{Field, FieldSpec, ImageCounts, OnGhosts, OnMigration};
pub use force::{Evaluation, Method, PairSums, Region};
pub use grid::CellGrid;
pub use halo::{ExchangePattern, HaloPlan};
pub use particles::{Particle, Particles};
pub use partition::{Partition, PartitionKind};
pub use potential::{PairPotential, Potential};
pub use shell::Shell;
pub use simd::SimdLevel;
pub use threads::Threads;
