//! Errors of the communication between ranks.

use crate::{Channel, Rank};

/// An error of the communication layer. Every variant ends the run: the program aborts all ranks.
///
/// ```
/// use md_comm::{Buffering, CommError, Edge, ExchangeSpec, Flow, Sizes, local};
/// use std::time::Duration;
///
/// // There is no rank 1 beside a single rank.
/// let error = local::run(1, Duration::from_secs(60), |world| {
///     let (send_channel, receive_channel, flow, send_capacity) = (0, 0, Flow::Both, 8);
///     let edge = Edge { peer: 1, send_channel, receive_channel, flow, send_capacity };
///     let (sizes, buffering) = (Sizes::Fixed, Buffering::Double);
///     world.open(ExchangeSpec { name: "positions", edges: vec![edge], sizes, buffering }).err()
/// });
/// let what = "edge 0 leads to rank 1 of 1".to_owned();
/// assert_eq!(error, [Ok(Some(CommError::Misuse { context: "positions", what }))]);
/// ```
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CommError {
    /// A message of fixed length that is larger than the edge's capacity.
    #[error("{context}: a message of {bytes} bytes to rank {peer} exceeds the negotiated {capacity} bytes")]
    CapacityExceeded {
        /// Name of the context.
        context: &'static str,
        /// The other end of the edge.
        peer: Rank,
        /// Bytes requested.
        bytes: usize,
        /// Bytes agreed.
        capacity: usize,
    },
    /// The caller violated the contract.
    #[error("{context}: {what}")]
    Misuse {
        /// Name of the context.
        context: &'static str,
        /// The rule that was broken.
        what: String,
    },
    /// A message arrived that the contract does not allow: the two ends of an edge disagree.
    #[error("{context}: the message from rank {peer} (channel {channel}) {what}")]
    Mismatch {
        /// Name of the context.
        context: &'static str,
        /// The sender.
        peer: Rank,
        /// Channel along which it arrived.
        channel: Channel,
        /// What is wrong with it.
        what: String,
    },
    /// An MPI call failed.
    #[error("{call} failed: {message}")]
    Mpi {
        /// Name of the MPI function.
        call: &'static str,
        /// The library's text for the error code.
        message: String,
    },
    /// Another rank failed first (backend `local`).
    #[error("rank {rank} failed; this rank ends too")]
    PeerFailed {
        /// The rank that failed.
        rank: Rank,
    },
    /// The watchdog's limit passed while waiting.
    #[error("{context}: rank {rank} waited {} for {awaited}", in_words(*.waited_s))]
    Timeout {
        /// Name of the context.
        context: &'static str,
        /// The waiting rank.
        rank: Rank,
        /// Seconds waited.
        waited_s: f64,
        /// The edges still awaited, in words.
        awaited: String,
    },
    /// The requested transport cannot be used here.
    #[error("backend `{backend}` is not available: {reason}")]
    Unavailable {
        /// Name as in a scenario.
        backend: &'static str,
        /// Why, and what would help.
        reason: String,
    },
    /// An environment variable has an invalid value.
    #[error("{variable} is {value:?}; {expected}")]
    Environment {
        /// The variable.
        variable: &'static str,
        /// Its value.
        value: String,
        /// The allowed values.
        expected: &'static str,
    },
    /// The system has no memory for messages; for a window, possibly on another rank.
    #[error("out of memory: there is no room for a message buffer of {bytes} bytes")]
    OutOfMemory {
        /// Size of the buffer.
        bytes: usize,
    },
    /// Shared memory is too small for the messages of a node; all ranks return this error.
    #[error(
        "out of shared memory: the messages of a node's ranks need {bytes} bytes, but /dev/shm has {free} free; give it more \
         (`--shm-size` of a container), or take a backend without windows, such as `p2p`"
    )]
    OutOfSharedMemory {
        /// Bytes needed.
        bytes: usize,
        /// Bytes free.
        free: u64,
    },
    /// Communication could not be set up.
    #[error("communication could not be set up: {0}")]
    Setup(String),
}

/// The ranks to which a transport is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// All ranks alike, before anything is in flight.
    Everywhere,
    /// This rank, perhaps alone.
    Here,
    /// Another rank.
    Elsewhere,
}

impl CommError {
    /// Returns the ranks to which this error refuses a transport, if the run can go on without that
    /// transport. Returns `None` if the run must end.
    pub(crate) fn refused(&self) -> Option<Refused> {
        match self {
            Self::Unavailable { .. } => Some(Refused::Everywhere),
            Self::Mpi { .. } | Self::OutOfMemory { .. } | Self::OutOfSharedMemory { .. } => {
                Some(Refused::Here)
            }
            Self::Setup(_) => Some(Refused::Elsewhere),
            Self::CapacityExceeded { .. }
            | Self::Misuse { .. }
            | Self::Mismatch { .. }
            | Self::PeerFailed { .. }
            | Self::Timeout { .. }
            | Self::Environment { .. } => None,
        }
    }
}

/// Formats a time for people, in units that suit it.
fn in_words(seconds: f64) -> String {
    let (number, unit) = match seconds {
        1.0.. => (seconds, "s"),
        1e-3.. => (seconds * 1e3, "ms"),
        _ => (seconds * 1e6, "us"),
    };
    format!("{number:.0} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_sensible_units() {
        assert_eq!([60.2, 1.0, 0.0012, 5e-5].map(in_words), ["60 s", "1 s", "1 ms", "50 us"]);
    }
}
