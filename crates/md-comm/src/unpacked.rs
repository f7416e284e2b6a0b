//! Messages without packing: a rank describes where they lie in its memory. The library collects
//! them there, and scatters what arrives.
//!
//! An [`crate::Exchange`] hands out one contiguous buffer per message, which the caller fills and
//! empties. Here a message is a list of [`Subarray`]s, a derived datatype of MPI (MPI-3.1 section
//! 4.1), at both ends.
//! Advantage: no copy by the caller, and no buffers.
//! Disadvantage: the memory is the caller's. It is lent for the whole exchange, so that nothing can
//! be computed meanwhile; and the library copies row by row all the same if it cannot pass rows to
//! the network.

use crate::{Channel, CommError, MessageObserver, Rank, Traffic};

/// Rows of bytes at equal distances in two directions: a box of a grid's nodes as it lies in
/// memory.
///
/// ```
/// use md_comm::Subarray;
///
/// // The upper z face of 4 x 5 x 6 numbers, of which z lies next to each other: every number is a
/// // row of its own.
/// let [nx, ny, nz] = [4, 5, 6];
/// let (offset, rows, strides) = ((nz - 1) * 8, [nx, ny], [ny * nz * 8, nz * 8]);
/// let face = Subarray { part: 0, offset, row_bytes: 8, rows, strides };
/// assert_eq!(face.bytes(), 4 * 5 * 8);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subarray {
    /// The part of the memory that has it, such as a component of a field.
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
    /// Returns the bytes of all rows.
    pub fn bytes(&self) -> usize {
        self.row_bytes.saturating_mul(self.rows[0]).saturating_mul(self.rows[1])
    }

    /// Returns the bytes from the part's beginning to the end of the last row. Returns `None` if
    /// that number overflows or rows overlap.
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

/// An edge as seen from this rank: the data sent to a peer, and the data received from it. Without
/// subarrays there are none.
///
/// See [`Unpacked`] for an example.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnpackedEdge {
    /// The other end; not this rank.
    pub peer: Rank,
    /// Channel of the message that leaves here.
    pub send_channel: Channel,
    /// Channel of the message that arrives here.
    pub receive_channel: Channel,
    /// Bytes to read, in this order.
    pub sends: Vec<Subarray>,
    /// Places to write, in this order: as many bytes as the peer sends. They overlap with nothing
    /// that is sent or received.
    pub receives: Vec<Subarray>,
}

/// The description from which a context of unpacked messages is opened. Collective, as
/// [`crate::ExchangeSpec`].
///
/// See [`Unpacked`] for an example.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnpackedSpec {
    /// Name in errors and reports.
    pub name: &'static str,
    /// All edges of this rank.
    pub edges: Vec<UnpackedEdge>,
}

/// A context of unpacked messages, made once and used many times. Opened by
/// [`crate::World::open_unpacked`].
///
/// ```
/// use md_comm::{CommError, Subarray, UnpackedEdge, UnpackedSpec, local};
/// use std::time::Duration;
///
/// // Eight bytes of the memory are sent, the next eight received. Threads have no MPI datatypes.
/// let refused = local::run(2, Duration::from_secs(60), |world| {
///     let eight = |offset| {
///         vec![Subarray { part: 0, offset, row_bytes: 8, rows: [1; 2], strides: [0; 2] }]
///     };
///     let (peer, sends, receives) = (1 - world.rank(), eight(0), eight(8));
///     let edge = UnpackedEdge { peer, send_channel: 0, receive_channel: 0, sends, receives };
///     let mut context = world.open_unpacked(UnpackedSpec { name: "words", edges: vec![edge] })?;
///     context.exchange(&mut [1; 16], &[0])?;
///     context.finalise()
/// });
/// assert!(matches!(refused[0], Ok(Err(CommError::Unavailable { .. }))));
/// ```
pub trait Unpacked: std::fmt::Debug {
    /// Sends from `memory`, and returns when everything sent has left and everything received has
    /// been written to it. `starts[part]` is the offset of a part in bytes. If parts begin
    /// elsewhere than before, the memory is described to the library anew. *Collective* among
    /// neighbours.
    ///
    /// # Errors
    /// [`CommError::Misuse`] for a subarray that is not inside the memory, or whose rows overlap;
    /// [`CommError::Timeout`] with the edges still awaited; [`CommError::Mpi`]. If messages are
    /// then still under way and do not end (for instance a long message that no rank receives), the
    /// memory cannot be given back: the error is printed, and the job ends with exit code 3.
    fn exchange(&mut self, memory: &mut [u8], starts: &[usize]) -> Result<(), CommError>;

    /// Returns what this rank has sent so far.
    fn traffic(&self) -> Traffic;

    /// Attaches an observer of the messages from now on.
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
