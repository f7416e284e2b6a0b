//! Measurements of a run: observers, analyses of the particles, and timings.

pub mod analysis;
mod observer;
mod timing;

pub use observer::{Every, Needs, Observer, ObserverError, RunsOn, Snapshot, every};
pub use timing::{PhaseSpread, RankTiming, Spread, Timings};
