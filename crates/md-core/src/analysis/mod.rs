//! Analyses: structure and motion of particles, computed only from their positions and velocities,
//! on one rank.
//!
//! The analyses need no forces, cells or ghosts of a run, so they also work on the frames of a
//! trajectory.

mod batches;
mod blocking;
mod correlation;
mod distances;
mod origins;
mod radial;
mod sorted;

pub use batches::Batches;
pub use blocking::{Blocking, Estimate};
pub use correlation::{Correlated, Correlation};
pub use distances::{DistanceBins, PairCounts, count_across, count_within};
pub use origins::{AtLag, Look, MOST_LAGS, Origins, error_of_mean, mean};
pub use radial::{neighbours, radial_distribution};
pub use sorted::{Extent, Points, Raster};
