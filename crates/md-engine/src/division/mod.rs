//! Division of the system among ranks, and the halo that connects them.

mod decomposition;
pub(crate) mod halo;

pub use decomposition::{Decomposition, Division};
pub use halo::{Flight, FrozenHalo, Halo};
