//! The part of a window that all senders of a rank share.

use super::ends::Ends;
use super::{RingPlace, WORD_STRIDE};
use crate::mpi::edge_words::Along;
use crate::mpi::ffi::Place;
use crate::{ALIGNMENT, CommError, Rank};

/// Places of the rings that all senders of a rank share, behind two counters each: of this rank's
/// ring, and of that of the peer of each edge.
#[derive(Debug)]
pub(in crate::mpi::rma) struct SharedRingPlaces {
    pub(in crate::mpi::rma) here: RingPlace,
    pub(in crate::mpi::rma) there: Vec<RingPlace>,
}

impl SharedRingPlaces {
    /// Lays out a ring behind `end`, for `buffers` messages of each of these lengths. Also returns
    /// the new end.
    pub(super) fn lay_out(end: usize, buffers: usize, rooms: impl Iterator<Item = usize>) -> (Self, usize) {
        let size: usize = rooms.map(|room| buffers * room.max(1).next_multiple_of(ALIGNMENT)).sum();
        let start = Place { member: 0, offset: end + 2 * WORD_STRIDE };
        let here = RingPlace { start, size: size as u64 };
        (Self { here, there: Vec::new() }, start.offset + size)
    }

    /// Sets where this rank's ring begins, and receives where the peers' rings begin. *Collective.*
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
