//! The part of the window that all senders of a rank share: two counters and a ring.

use super::super::edge_words::Along;
use super::super::ffi::Place;
use super::arena::{Arena, WORD_STRIDE};
use crate::{ALIGNMENT, CommError, Rank};

/// Where the rings are.
#[derive(Debug, Default)]
pub(super) struct SharedPart {
    here: usize,
    size_here: u64,
    there: Vec<Place>,
    size_there: Vec<u64>,
}

impl SharedPart {
    /// A ring behind `end`, for `buffers` messages of each of these lengths; also the new end.
    pub(super) fn lay_out(end: usize, buffers: usize, rooms: impl Iterator<Item = usize>) -> (Self, usize) {
        let size: usize = rooms.map(|room| buffers * room.max(1).next_multiple_of(ALIGNMENT)).sum();
        let here = end + 2 * WORD_STRIDE;
        (Self { here, size_here: size as u64, ..Self::default() }, here + size)
    }

    /// The window begins here; `tell` learns from the peers where theirs do.
    pub(super) fn settle(
        &mut self,
        begin: usize,
        tell: impl Fn(Along, &dyn Fn(usize) -> usize) -> Result<Vec<usize>, CommError>,
        places: impl Fn(Vec<usize>) -> Vec<Place>,
    ) -> Result<(), CommError> {
        self.here += begin;
        self.there = places(tell(Along::Backward, &|_| self.here)?);
        let sizes = tell(Along::Backward, &|_| self.size_here as usize)?;
        self.size_there = sizes.into_iter().map(|size| size as u64).collect();
        Ok(())
    }
}

fn before(Place { member, offset }: Place, words: usize) -> Place {
    Place { member, offset: offset - words * WORD_STRIDE }
}

impl Arena {
    pub(super) fn shared_here(&self) -> usize {
        self.shared.here
    }

    pub(super) fn shared_size_here(&self) -> u64 {
        self.shared.size_here
    }

    pub(super) fn shared_size_there(&self, i: usize) -> u64 {
        self.shared.size_there[i]
    }

    pub(super) fn shared_there(&self, i: usize, position: usize) -> Place {
        let Place { member, offset } = self.shared.there[i];
        Place { member, offset: offset + position }
    }

    /// Up to which ticket the owner has read.
    pub(super) fn shared_read_there(&self, i: usize) -> Place {
        before(self.shared.there[i], 1)
    }

    pub(super) fn shared_read_here(&self, member: Rank) -> Place {
        before(Place { member, offset: self.shared.here }, 1)
    }

    /// Tickets given out so far.
    pub(super) fn shared_written_there(&self, i: usize) -> Place {
        before(self.shared.there[i], 2)
    }

    pub(super) fn shared_written_here(&self, member: Rank) -> Place {
        before(Place { member, offset: self.shared.here }, 2)
    }
}
