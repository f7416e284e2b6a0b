//! Forces: their interface, the list that adds them up, and one file for each kind.

mod context;
mod force;
mod list;
mod model;
mod pair;
mod particle_shares;
mod protocol;
mod sutton_chen;
mod walls;

pub use context::ForceContext;
pub(crate) use context::GhostPositions;
pub use force::{Force, NearPairs};
pub use list::ForceList;
pub use model::{ForceModel, Forces};
pub use pair::PairForces;
pub use sutton_chen::SuttonChen;
