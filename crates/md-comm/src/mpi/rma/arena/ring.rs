//! The buffers of an edge taken together as a ring.

use super::{Arena, WORD_STRIDE};
use crate::mpi::ffi::Place;

impl Arena {
    pub(crate) fn ring_size_there(&self, i: usize) -> u64 {
        self.buffers * self.stride_there[i] as u64
    }

    pub(crate) fn ring_size_here(&self, i: usize) -> u64 {
        self.buffers * self.stride_here[i] as u64
    }

    pub(crate) fn ring_there(&self, i: usize, position: usize) -> Place {
        let Place { member, offset } = self.there[i];
        Place { member, offset: offset + position }
    }

    pub(crate) fn ring_here(&self, i: usize, position: usize) -> usize {
        self.here[i] + position
    }

    pub(crate) fn ring_flag_there(&self, i: usize, line: usize) -> Place {
        let Place { member, offset } = self.there[i];
        Place { member, offset: offset - (line + 1) * WORD_STRIDE }
    }

    pub(crate) fn ring_flag_here(&self, i: usize, line: usize) -> usize {
        self.here[i] - (line + 1) * WORD_STRIDE
    }

    pub(crate) fn ring_credit_there(&self, i: usize) -> Place {
        self.credits_there[i]
    }

    pub(crate) fn ring_credit_here(&self, i: usize) -> usize {
        self.credits_here[i]
    }
}
