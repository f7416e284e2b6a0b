//! Analysis of particles that are spread over ranks, without gathering them: what observers are made of.

mod distances;
mod tracks;

pub use distances::{DistanceCount, PairsByDistance};
pub use tracks::{Quantity, Rows, Tracks};
