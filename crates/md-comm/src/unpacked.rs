//! Messages that nobody packs: a rank says where in its memory they lie, and the library collects them there and spreads out what comes.
//!
//! An [`crate::Exchange`] hands out one contiguous buffer per message, which the caller fills and empties. Here a message is a list of
//! [`Subarray`]s, a derived datatype of MPI (MPI-3.1 section 4.1), at both ends. Advantage: no copy of the caller's, and no buffers.
//! Disadvantage: the memory is the caller's, so that it is lent for the whole exchange and nothing can be computed meanwhile; and
//! the library copies row by row all the same where it cannot hand rows to the network.

use crate::{Channel, CommError, MessageObserver, Rank, Traffic};

/// Rows of bytes at equal distances in two directions, as a box of a grid's nodes lies in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subarray {
    /// Which part of the memory it is in, such as a component of a field.
    pub part: usize,
    /// Bytes from the part's beginning to the first row.
    pub offset: usize,
    /// Bytes of a row.
    pub row_bytes: usize,
    /// Rows in each direction, slowest first.
    pub rows: [usize; 2],
    /// Bytes from the beginning of a row to that of the next in each direction.
    pub strides: [usize; 2],
}

impl Subarray {
    /// Bytes of all rows.
    pub fn bytes(&self) -> usize {
        self.row_bytes.saturating_mul(self.rows[0]).saturating_mul(self.rows[1])
    }

    /// Bytes from the part's beginning to behind the last row; `None` where that is more than can be counted, or rows overlap.
    #[cfg(any(feature = "mpi", test))]
    pub(crate) fn end(&self) -> Option<usize> {
        let Self { offset, row_bytes, rows, strides, .. } = *self;
        let last = |way: usize| rows[way].saturating_sub(1).checked_mul(strides[way]);
        let fast = last(1)?.checked_add(row_bytes)?;
        if (rows[1] > 1 && strides[1] < row_bytes) || (rows[0] > 1 && strides[0] < fast) {
            return None;
        }
        offset.checked_add(last(0)?)?.checked_add(fast)
    }
}

/// An edge as seen from this rank: what goes to a peer, and what comes from it. Without subarrays, nothing does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnpackedEdge {
    /// The other end; not this rank.
    pub peer: Rank,
    /// Channel of the message that leaves here.
    pub send_channel: Channel,
    /// Channel of the message that arrives here.
    pub receive_channel: Channel,
    /// What is read, in this order.
    pub sends: Vec<Subarray>,
    /// What is written, in this order: as many bytes as the peer sends. It overlaps with nothing that is sent or received.
    pub receives: Vec<Subarray>,
}

/// What a context of unpacked messages is opened from. Collective, as [`crate::ExchangeSpec`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnpackedSpec {
    /// Name in errors and reports.
    pub name: &'static str,
    /// All edges of this rank.
    pub edges: Vec<UnpackedEdge>,
}

/// A context of unpacked messages, made once and used many times. Opened by [`crate::World::open_unpacked`].
pub trait Unpacked: std::fmt::Debug {
    /// Sends from `memory`, and returns when all that is sent has left and all that comes has been written to it. `starts[part]` is where
    /// a part begins, in bytes; memory whose parts begin elsewhere than before is described to the library anew. *Collective* among
    /// neighbours.
    ///
    /// # Errors
    /// [`CommError::Misuse`] for a subarray that is not inside the memory, or whose rows overlap; [`CommError::Timeout`] names the edges still
    /// awaited; [`CommError::Mpi`]. Where messages are still under way then and do not end (a long one that nobody receives), the memory cannot be
    /// given back: the error is printed, and the job ends with exit code 3.
    fn exchange(&mut self, memory: &mut [u8], starts: &[usize]) -> Result<(), CommError>;

    /// What this rank has sent so far.
    fn traffic(&self) -> Traffic;

    /// Is told about the messages from now on.
    fn observe(&mut self, observer: Box<dyn MessageObserver>);

    /// Closes the context. *Collective.*
    ///
    /// # Errors
    /// Communication.
    fn finalise(self: Box<Self>) -> Result<(), CommError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subarray_ends_behind_its_last_row() {
        let of = |rows, strides| Subarray { part: 0, offset: 16, row_bytes: 8, rows, strides };
        assert_eq!(of([1, 1], [0, 0]).end(), Some(24));
        assert_eq!(of([3, 2], [100, 10]).end(), Some(16 + 200 + 10 + 8));
        assert_eq!(of([3, 2], [usize::MAX / 2, 10]).end(), None);
        assert_eq!(
            [of([1, 2], [0, 7]), of([2, 2], [17, 10])].map(|overlapping| overlapping.end()),
            [None; 2]
        );
        assert_eq!(of([3, 2], [100, 10]).bytes(), 48);
    }
}
