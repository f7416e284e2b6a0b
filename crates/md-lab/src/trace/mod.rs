//! Timelines: the activities of each rank over time, and the waits between ranks.
//!
//! A [`TracedWorld`] keeps the last events of each rank in memory: phases, reported by the engine's
//! clock, with the shares of the rank's threads; messages, reported by the contexts opened in this
//! world; and collectives that wait for all ranks. After the run, rank 0 collects the events rank
//! by rank and writes them as Chrome trace JSON, an event per line, with times on its own clock.
//! [`Timeline::read`] reads such a file; [`Summary`] and [`CriticalPath`] evaluate it.

mod clocks;
mod csv;
mod path;
mod read;
mod recorder;
mod summary;
mod world;
mod write;

pub use csv::{edges_csv, path_csv, sizes_csv, sizes_picture, traffic_picture, waits_csv};
pub use path::CriticalPath;
pub use read::{Timeline, TraceError};
pub use summary::{EdgeSummary, Summary, Waits};
pub use world::TracedWorld;
pub use write::Written;

/// Bytes of memory that an event takes.
pub const EVENT_BYTES: usize = size_of::<recorder::Event>();

/// Default number of events that a rank keeps: 10 MB.
pub const EVENTS: usize = 1 << 18;

#[cfg(test)]
mod tests;
