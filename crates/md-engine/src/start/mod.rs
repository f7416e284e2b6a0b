//! Particles at the start of a simulation, and their checks.

pub(crate) mod initial;
pub(crate) mod placement;
