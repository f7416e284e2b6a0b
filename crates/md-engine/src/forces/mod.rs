//! Forces: the interface of an interaction, pair forces with ghosts or by other protocols, and
//! references to compare with.

pub(crate) mod interaction;
pub(crate) mod near_pairs;
mod particle_shares;
mod protocol;
mod reference;

pub use interaction::{ForceContext, Interaction, PairForces};
pub use near_pairs::NearPairs;
pub use reference::{forces_by_direct_sum, forces_without_halo};
