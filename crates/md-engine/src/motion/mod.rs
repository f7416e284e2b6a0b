//! Motion of the particles and of the box: integrators, thermostats and barostats.

pub mod barostat;
pub mod integrator;
pub(crate) mod thermal;
