//! The physics of `md`: particles, cells, forces and integration. This crate uses no MPI, does no
//! input or output and contains no unsafe code.
//!
//! The modules in the order of a time step: [`Particles`] (structure of arrays) live in a
//! [`Domain`], which is divided into a [`CellGrid`]. A [`Partition`] assigns each cell to a rank,
//! and partition and [`Shell`] determine the [`HaloPlan`]. [`LocalCells`] keep the particles
//! sorted, a [`Method`] adds up pair forces from a [`PairPotential`], and [`integrate`] moves the
//! particles.
//!
//! ```
//! use md_core::potential::{LennardJones, Mixing, Morse, MorsePair, PairPotential, Shift, SpeciesPair, Well};
//!
//! let well = Well { epsilon: 1.0, sigma: 1.0 };
//! let lennard_jones = LennardJones::new(&[well], Mixing::LorentzBerthelot, &[], 2.5, Shift::Energy)?;
//! let parameters = MorsePair { depth: 1.0, alpha: 5.0, r0: 2f64.powf(1.0 / 6.0) };
//! let morse = Morse::new(1, &[SpeciesPair { species: [0, 0], parameters }], 2.5, Shift::Energy)?;
//! for potential in [&lennard_jones as &dyn PairPotential, &morse] {
//!     let at_minimum = potential.term(0, 0, 2f64.powf(1.0 / 3.0));
//!     assert!(at_minimum.energy < -0.9 && at_minimum.force_over_r.abs() < 1e-12);
//! }
//! # Ok::<(), md_core::potential::PotentialError>(())
//! ```
//!
//! To add a potential, implement [`PairPotential`] with a kernel (see [`potential`]). This crate
//! has everything that takes, including [`simd::Simd`].
//!
//! All quantities are in reduced Lennard-Jones units: mass m, length sigma, energy epsilon, time
//! tau = sigma sqrt(m / epsilon), `k_B` = 1.
#![forbid(unsafe_code)]

pub mod aligned;
pub mod analysis;
pub mod cells;
mod curve;
pub mod diagnose;
mod displacement;
pub mod domain;
pub mod exact_sum;
pub mod fields;
pub mod force;
pub mod grid;
pub mod halo;
pub mod integrate;
pub mod lattice;
pub mod memory;
pub mod migrate;
pub mod momentum;
pub mod noise;
pub mod observables;
pub mod particles;
pub mod partition;
pub mod potential;
pub mod prediction;
pub mod quantum;
pub mod random;
pub mod rebuild;
pub mod shell;
pub mod simd;
pub mod state_hash;
pub mod tensor;
pub mod thinned;
pub mod threads;
pub mod velocities;
pub mod words;

pub use cells::LocalCells;
pub use domain::{Boundary, Dimension, Domain};
pub use fields::{Field, FieldSpec, ImageCounts, OnGhosts, OnMigration};
pub use force::{Evaluation, Method, PairLoop, PairSums, Region};
pub use grid::CellGrid;
pub use halo::{ExchangePattern, HaloPlan};
pub use momentum::{ConservedMomentum, TotalMomentum};
pub use particles::{Particle, Particles};
pub use partition::{Partition, PartitionKind};
pub use potential::PairPotential;
pub use shell::Shell;
pub use simd::SimdLevel;
pub use tensor::SymmetricTensor;
pub use threads::Threads;
