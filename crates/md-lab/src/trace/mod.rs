//! Timelines: what every rank did when, and who waited for whom.
//!
//! A [`TracedWorld`] keeps every rank's last events in memory: phases, which the engine's clock tells it of, with the shares of the rank's threads, messages, which the
//! contexts that it has opened tell it of, and collectives that wait for all ranks. After the run they go rank by rank to rank 0, which writes them as Chrome trace JSON, an event per line, on rank 0's clock. [`Timeline::read`] reads such a file, and
//! [`Summary`] and [`CriticalPath`] say what came of it.

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

/// Memory that an event takes.
pub const EVENT_BYTES: usize = size_of::<recorder::Event>();

/// Events that a rank keeps unless told otherwise: 10 MB.
pub const EVENTS: usize = 1 << 18;

#[cfg(test)]
mod tests;
