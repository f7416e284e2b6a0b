//! The description of an exchange: edges, capacities, buffering.
//!
//! An edge is a pair (peer rank, channel), never a direction in space: transports do not use
//! geometry. A message that rank A sends on its edge with `peer: B, send_channel: c` arrives at B
//! on its edge with `peer: A, receive_channel: c`. Two ranks may share several edges, which differ
//! in their channels, and an edge may lead to the rank itself.

use std::collections::HashSet;

use crate::{Channel, CommError, MAX_CHANNEL, Rank};

/// Which way messages flow along an edge in every exchange of the context.
///
/// ```
/// use md_comm::Flow;
///
/// // Forces return along the edges by which positions came.
/// let (positions, forces) = (Flow::SendOnly, Flow::SendOnly.reversed());
/// assert!(positions.sends() && !positions.receives());
/// assert!(!forces.sends() && forces.receives());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// One message each way (possibly of zero bytes).
    Both,
    /// This rank only sends.
    SendOnly,
    /// This rank only receives.
    ReceiveOnly,
}

impl Flow {
    /// Returns whether this rank sends a message along the edge in every exchange.
    pub fn sends(self) -> bool {
        self != Self::ReceiveOnly
    }

    /// Returns whether this rank receives a message along the edge in every exchange.
    pub fn receives(self) -> bool {
        self != Self::SendOnly
    }

    /// Returns the flow of the same edge in the reverse context.
    pub fn reversed(self) -> Self {
        match self {
            Self::Both => Self::Both,
            Self::SendOnly => Self::ReceiveOnly,
            Self::ReceiveOnly => Self::SendOnly,
        }
    }
}

/// One edge of an exchange, as seen from this rank.
///
/// ```
/// use md_comm::{Buffering, CommError, Edge, EdgeId, ExchangeSpec, Flow, Sizes, local};
/// use std::time::Duration;
///
/// // A periodic box on one rank: what leaves through the upper face (channel 1) arrives at the
/// // lower one, and the reverse.
/// let arrived = local::run(1, Duration::from_secs(60), |world| {
///     let edge = |send_channel, receive_channel| {
///         Edge { peer: 0, send_channel, receive_channel, flow: Flow::Both, send_capacity: 1 }
///     };
///     let edges = vec![edge(0, 1), edge(1, 0)];
///     let (sizes, buffering) = (Sizes::Fixed, Buffering::Double);
///     let mut faces = world.open(ExchangeSpec { name: "faces", edges, sizes, buffering })?;
///     for (edge, number) in [(EdgeId(0), 10), (EdgeId(1), 11)] {
///         faces.send_buffer(edge, 1)?[0] = number;
///         faces.start(edge)?;
///     }
///     faces.initiate()?;
///     let mut arrived = [0; 2];
///     while let Some(arrival) = faces.next()? {
///         arrived[arrival.edge.0] = arrival.bytes[0];
///     }
///     faces.complete()?;
///     Ok::<_, CommError>(arrived)
/// });
/// assert_eq!(arrived, [Ok(Ok([11, 10]))]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edge {
    /// The other end; may be this rank itself.
    pub peer: Rank,
    /// Channel of the messages that leave here.
    pub send_channel: Channel,
    /// Channel of the messages that arrive here.
    pub receive_channel: Channel,
    /// Which way messages flow.
    pub flow: Flow,
    /// Largest outgoing message in bytes for which the transport is prepared. The peer receives the
    /// number when the context is opened. Grows by [`crate::Exchange::negotiate`]. Ignored (0) for
    /// `ReceiveOnly`.
    pub send_capacity: usize,
}

/// Whether the length of a message may change from one exchange to the next.
///
/// ```
/// use md_comm::{Buffering, CommError, Edge, EdgeId, ExchangeSpec, Flow, Sizes, local};
/// use std::time::Duration;
///
/// /// Packs ten bytes for an edge with a capacity of eight.
/// fn pack_ten(sizes: Sizes) -> Option<CommError> {
///     let ended = local::run(1, Duration::from_secs(60), |world| {
///         let (flow, send_capacity) = (Flow::Both, 8);
///         let edge = Edge { peer: 0, send_channel: 0, receive_channel: 0, flow, send_capacity };
///         let (edges, buffering) = (vec![edge], Buffering::Double);
///         let mut context = world.open(ExchangeSpec { name: "ten", edges, sizes, buffering })?;
///         context.send_buffer(EdgeId(0), 10).map(drop)
///     });
///     ended.into_iter().flatten().find_map(Result::err)
/// }
///
/// assert_eq!(pack_ten(Sizes::Variable), None);
/// let error = pack_ten(Sizes::Fixed);
/// assert!(matches!(error, Some(CommError::CapacityExceeded { capacity: 8, .. })));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sizes {
    /// Every message has exactly its edge's capacity as of the last negotiation (positions, forces,
    /// stencil faces). Window backends need no length beside the payload.
    Fixed,
    /// A message may have any length (migration, border). A message longer than the capacity takes
    /// more time.
    Variable,
}

/// Number of messages per edge that may be under way before the receiver must have released the
/// first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(try_from = "u8", into = "u8"))]
#[cfg_attr(feature = "serde", schemars(with = "u8", extend("minimum" = 1, "maximum" = 2)))]
pub enum Buffering {
    /// One buffer per edge: uses little memory, but the sender waits for the receiver.
    Single,
    /// Two buffers per edge, used alternately.
    #[default]
    Double,
}

/// ```
/// use md_comm::Buffering;
///
/// assert_eq!(Buffering::Double.count(), 2);
/// assert_eq!(Buffering::try_from(1), Ok(Buffering::Single));
/// assert!(Buffering::try_from(3).is_err());
/// ```
impl Buffering {
    /// Returns the number of buffers per edge.
    pub fn count(self) -> usize {
        u8::from(self).into()
    }

    /// Returns the number as it is written in configuration files and tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Single => "1",
            Self::Double => "2",
        }
    }
}

impl From<Buffering> for u8 {
    fn from(buffering: Buffering) -> Self {
        match buffering {
            Buffering::Single => 1,
            Buffering::Double => 2,
        }
    }
}

/// Reads the number of buffers as it is written in configuration files.
impl TryFrom<u8> for Buffering {
    type Error = String;

    fn try_from(count: u8) -> Result<Self, String> {
        match count {
            1 => Ok(Self::Single),
            2 => Ok(Self::Double),
            _ => Err(format!("there are 1 or 2 buffers per edge, not {count}")),
        }
    }
}

/// The description from which a context is opened. Collective: every rank opens the same contexts
/// in the same order, and edges match pairwise.
///
/// ```
/// use md_comm::{Buffering, Edge, ExchangeSpec, Flow, Rank, Sizes};
///
/// /// Messages to the next rank of a ring. The receiver knows the length, as it is fixed.
/// fn along_ring(rank: Rank, ranks: usize, bytes: usize) -> ExchangeSpec {
///     let edge = |peer, flow, send_capacity| {
///         Edge { peer, send_channel: 0, receive_channel: 0, flow, send_capacity }
///     };
///     let after = edge((rank + 1) % ranks, Flow::SendOnly, bytes);
///     let before = edge((rank + ranks - 1) % ranks, Flow::ReceiveOnly, 0);
///     let (edges, sizes, buffering) = (vec![after, before], Sizes::Fixed, Buffering::Double);
///     ExchangeSpec { name: "ring", edges, sizes, buffering }
/// }
///
/// let peers = along_ring(0, 5, 64).edges.into_iter().map(|edge| edge.peer);
/// assert!(peers.eq([1, 4]));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExchangeSpec {
    /// Name in errors and watchdog reports, e.g. `positions`.
    pub name: &'static str,
    /// All edges of this rank.
    pub edges: Vec<Edge>,
    /// Fixed or variable message lengths.
    pub sizes: Sizes,
    /// Buffers per edge.
    pub buffering: Buffering,
}

impl ExchangeSpec {
    /// Checks the rules that one rank can check: peers exist, channels are small enough, and no two
    /// messages of one exchange share peer and channel.
    ///
    /// # Errors
    /// [`CommError::Misuse`] naming the edge.
    pub(crate) fn check(&self, ranks: usize) -> Result<(), CommError> {
        let misuse = |what: String| CommError::Misuse { context: self.name, what };
        let mut sent = HashSet::new();
        let mut received = HashSet::new();
        for (i, edge) in self.edges.iter().enumerate() {
            if edge.peer >= ranks {
                return Err(misuse(format!("edge {i} leads to rank {} of {ranks}", edge.peer)));
            }
            if edge.send_channel.max(edge.receive_channel) > MAX_CHANNEL {
                return Err(misuse(format!("edge {i} has a channel above {MAX_CHANNEL}")));
            }
            let clash = (edge.flow.sends() && !sent.insert((edge.peer, edge.send_channel)))
                || (edge.flow.receives() && !received.insert((edge.peer, edge.receive_channel)));
            if clash {
                return Err(misuse(format!("edge {i} shares peer {} and channel with another", edge.peer)));
            }
        }
        Ok(())
    }
}
