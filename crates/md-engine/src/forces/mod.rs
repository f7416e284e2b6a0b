//! Forces: the interface of an interaction, pair forces with ghosts or by other protocols, and
//! references to compare with.

mod context;
mod interaction;
mod pair;
mod particle_shares;
mod protocol;
mod reference;

pub use context::ForceContext;
pub(crate) use context::GhostPositions;
pub use interaction::{Interaction, NearPairs};
pub use pair::PairForces;
pub use reference::{forces_by_direct_sum, forces_without_halo};
