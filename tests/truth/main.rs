//! The physics against truth: reference data, brute force, conservation laws, and itself divided in other ways.

mod backends;
mod brute_force;
mod configs;
mod energy;
mod equilibrium;
mod identity;
mod lammps_runs;
mod lattice;
mod mixed;
mod morse;
mod nist;
mod random;
mod ranks;
mod simd;
mod structure;
#[path = "../support/mod.rs"]
mod support;
mod threads;
