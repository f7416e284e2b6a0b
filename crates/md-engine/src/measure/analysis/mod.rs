//! Building blocks of observers: analysis of distributed particles without gathering them.

mod distances;
mod slabs;
mod tracks;
mod windows;

pub use distances::{DistanceCount, PairsByDistance};
pub use slabs::{SlabSums, Slabs};
pub use tracks::{Quantity, Rows, Tracks};
pub use windows::Windows;
