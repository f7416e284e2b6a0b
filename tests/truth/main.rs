//! The physics against reference data, brute force and conservation laws, and against the same
//! program with other divisions of the work.

mod backends;
mod brute_force;
mod configs;
mod energy;
mod ensembles;
mod equilibrium;
mod generators;
mod identity;
mod lammps_runs;
mod lattice;
mod mixed;
mod morse;
mod nist;
mod random;
mod ranks;
mod reproducible;
mod simd;
mod stated_errors;
mod structure;
#[path = "../support/mod.rs"]
mod support;
mod threads;
mod transport;
mod walls;

/// Calls use the library.
const STARTS_PROGRAM: bool = false;

/// Passes at once, unless this process was started as a worker for another one
/// (support/workers.rs).
#[test]
fn serve_as_a_worker() {
    support::serve_if_asked();
}
