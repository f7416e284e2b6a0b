//! Generated particles: in addition to the lattices of `md-core`, several lattices in parts of the
//! box, and a random gas. Every rank generates those near its own cells; the result does not depend
//! on the number of ranks.

mod gas;
mod regions;

pub use gas::{GasKeys, RandomGas};
pub use regions::{LatticeRegion, LatticeRegions};

/// A generated particle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Site {
    /// Unique number, from 1.
    pub(crate) id: u64,
    /// Position, \[length\].
    pub(crate) position: [f64; 3],
    /// Species; drawn by [`crate::Config::shares`] if not given.
    pub(crate) species: Option<u32>,
}
