//! Lattice Boltzmann method: a fluid as populations that stream from node to node and collide
//! there.
//!
//! ```text
//! f[i](x + e[i], t + 1)  =  f[i](x, t) + collision(f(x, t))[i]     i = 0 .. 18 (lattice D3Q19)
//!
//! density = sum of f[i]      momentum = sum of e[i] f[i]
//! pressure = density / 3     viscosity = (tau - 1/2) / 3
//! ```
//!
//! All quantities are in lattice units: the node spacing and the time step are 1. The flow
//! satisfies the Navier-Stokes equations to second order in the node spacing if it is slow compared
//! with sound (speed 0.577 nodes per step).
//!
//! Suggested reading order: `d3q19` (the lattice), `collision`, `kernel` (loops over nodes, in two
//! patterns), `stores` (writes to the second of two grids), `rows` (populations beyond the ends of
//! rows), `walls` (bounce-back), `drag` (forces on walls), `crossing` (exchange between ranks),
//! `solver` (the time step).

mod collision;
mod crossing;
mod d3q19;
mod drag;
mod kernel;
mod lanes;
mod nodes;
mod options;
mod rows;
mod run;
mod solver;
mod stores;
mod totals;
mod walls;

pub use collision::{Collision, FlowState, MAGIC_OF_PLATES, Moments, Rates};
pub use crossing::Crossing;
pub use d3q19::{POPULATIONS, SOUND_SPEED_SQUARED, VELOCITIES};
pub use drag::Forces;
pub use lanes::LaneReal;
pub use nodes::Overlap;
pub use options::{FlowOptions, Pattern};
pub use run::FlowRun;
pub use solver::Flow;
pub use stores::Stores;
pub use totals::Totals;
pub use walls::{Face, Mask, WallVelocities};

#[cfg(test)]
mod tests;
