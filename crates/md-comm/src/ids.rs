//! Numbers of ranks, channels and edges.

/// Number of a rank in the world, from 0.
pub type Rank = usize;

/// Distinguishes several edges between the same two ranks; at most [`MAX_CHANNEL`].
pub type Channel = u16;

/// Largest channel number a spec may use (MPI tags carry it next to the context's number): room for
/// a message per field and neighbour of a grid's halo, 29 x 8, even if all neighbours are one rank.
pub const MAX_CHANNEL: Channel = 255;

/// Index of an edge in [`crate::ExchangeSpec::edges`].
///
/// See [`Edge`](crate::Edge) for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EdgeId(pub usize);
