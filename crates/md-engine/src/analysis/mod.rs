//! Analysis of particles that are spread over ranks, without gathering them: what observers are made of.

mod distances;
mod slabs;
mod tracks;
mod windows;

pub use distances::{DistanceCount, PairsByDistance};
pub use slabs::{SlabSums, Slabs};
pub use tracks::{Quantity, Rows, Tracks};
pub use windows::Windows;
