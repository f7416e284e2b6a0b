//! Particles at the start of a simulation, their checks, and the division by their number.

pub(crate) mod initial;
pub(crate) mod walls;
mod weighted;
