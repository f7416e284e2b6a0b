//! The part of the window that all senders of a rank share: two counters and a ring.

use super::arena::{Ends, RingPlace, WORD_STRIDE};
use crate::mpi::edge_words::Along;
use crate::mpi::ffi::Place;
use crate::{ALIGNMENT, CommError, Rank};

/// The word before a ring that tells up to which ticket its owner has read.
pub(super) const READ: usize = 0;
/// The word before it that tells how many tickets have been given out.
pub(super) const WRITTEN: usize = 1;

/// Where the rings are: of this rank, and per edge of its peer.
#[derive(Debug)]
pub(super) struct SharedPart {
    pub(super) here: RingPlace,
    pub(super) there: Vec<RingPlace>,
}

impl SharedPart {
    /// A ring behind `end`, for `buffers` messages of each of these lengths; also the new end.
    pub(super) fn lay_out(end: usize, buffers: usize, rooms: impl Iterator<Item = usize>) -> (Self, usize) {
        let size: usize = rooms.map(|room| buffers * room.max(1).next_multiple_of(ALIGNMENT)).sum();
        let start = Place { member: 0, offset: end + 2 * WORD_STRIDE };
        let here = RingPlace { start, size: size as u64 };
        (Self { here, there: Vec::new() }, start.offset + size)
    }

    /// The window begins here; the peers tell where theirs do. *Collective.*
    pub(super) fn settle(
        &mut self,
        begin: usize,
        ends: &Ends<'_, impl Fn(Rank) -> Rank>,
    ) -> Result<(), CommError> {
        self.here.start.member = (ends.member)(ends.world.rank);
        self.here.start.offset += begin;
        let edges = ends.spec().edges.len();
        let starts = ends.tell_places(Along::Backward, &vec![self.here.start.offset; edges])?;
        let sizes = ends.tell(Along::Backward, &vec![self.here.size as usize; edges])?;
        let ring = |(start, size): (Place, usize)| RingPlace { start, size: size as u64 };
        self.there = starts.into_iter().zip(sizes).map(ring).collect();
        Ok(())
    }
}
