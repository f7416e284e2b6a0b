//! Particles that are made, not read: besides the lattices of `md-core`, several lattices in parts of the box, and a random gas. Every
//! rank makes those near its own cells, the same on any number of ranks.

mod gas;
mod regions;

pub use gas::{GasKeys, RandomGas};
pub use regions::{LatticeRegion, LatticeRegions};

/// A particle that has been placed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Site {
    /// Different for all, from 1.
    pub(crate) id: u64,
    /// \[length\].
    pub(crate) position: [f64; 3],
    /// Drawn by [`crate::Config::shares`] where it is not given.
    pub(crate) species: Option<u32>,
}
