//! Memory that other ranks write to: windows, their epochs, and access to them.
//!
//! A [`Window`] is one MPI window or several used as one: they are made alike, every epoch and
//! every flush covers all of them, and their parts are addressed consecutively (offset = number of
//! the window times `extent`, plus the offset inside).
//!
//! Invariants that make the functions safe:
//! 1. every rank's part of a window has the same length (`extent`), so that one number bounds every
//!    access, local or remote; neither MPI nor the network checks it;
//! 2. what a put or accumulate reads, and what a get writes, lives in the window object (`origins`,
//!    `words`) and is neither handed out nor moved until a call that completes it; it is leaked if
//!    the window is dropped before;
//! 3. window memory is accessed as bytes only while, by the caller's protocol, no other rank
//!    writes: between a message's arrival and its release, or between the release and the notice of
//!    a buffer that other ranks get from. Words that are polled are only ever accessed atomically;
//! 4. `MPI_Win_free` is collective: a window that is merely dropped, for instance after an error,
//!    stays allocated.
mod access;
mod epochs;
mod making;
mod plain;
mod shared;

use std::ffi::c_int;
use std::iter::repeat_with;
use std::marker::PhantomData;

pub(crate) use access::Place;
pub(crate) use epochs::{Assertion, Group, RANKS_PER_FLUSH};
pub(crate) use plain::Vector;

use super::{Call, Communicator, Limit, byte, check, constants, guarded};
use crate::{AlignedBuffer, Asserts, CommError, Rank};
use making::Made;

/// Origin of a window's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Memory {
    /// `MPI_Win_allocate`: the library chooses memory it can reach fastest.
    Allocated,
    /// `MPI_Win_create` over memory of this program.
    Created,
    /// `MPI_Win_create_dynamic`, with memory of this program attached; targets are absolute
    /// addresses.
    Attached,
    /// `MPI_Win_allocate_shared`: this rank can store directly to the peers' parts. Only on a
    /// node's communicator.
    Shared,
}

impl Memory {
    /// Returns whether this program allocates it.
    fn is_ours(self) -> bool {
        match self {
            Self::Created | Self::Attached => true,
            Self::Allocated | Self::Shared => false,
        }
    }
}

/// Description of a window to be made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request {
    pub(crate) memory: Memory,
    /// Number of MPI windows; the same on all ranks.
    pub(crate) windows: usize,
    /// Bytes of every rank's part of each of them; the same number on all ranks.
    pub(crate) extent: usize,
    /// Number of buffers to put from or get into.
    pub(crate) origins: usize,
    /// Number of words to accumulate from.
    pub(crate) words: usize,
    /// Whether assertions and info keys are passed to the library.
    pub(crate) asserts: Asserts,
    pub(crate) limit: Limit,
}

/// One window over all ranks of a communicator, or several used as one.
#[derive(Debug)]
pub(crate) struct Window {
    made: Vec<Made>,
    extent: usize,
    members: usize,
    unified: bool,
    asserts: Asserts,
    origins: Vec<AlignedBuffer>,
    origin_busy: Vec<bool>,
    words: Vec<u64>,
    word_busy: Vec<bool>,
    /// Number of the window in the set and member, for accesses under way.
    touched: Vec<(usize, Rank)>,
    ranks_per_flush: usize,
    freed: bool,
    one_thread: PhantomData<*mut ()>,
}

impl Window {
    /// Makes a window, zeroed. An error on one rank is an error on all. *Collective.* MPI-3.1
    /// sections 11.2.1 to 11.2.4.
    pub(crate) fn new(on: &Communicator, request: Request) -> Result<Self, CommError> {
        let Request { memory, windows, extent, origins, words, asserts, limit } = request;
        let (_, members) = on.rank_and_ranks()?;
        let mut made = Vec::with_capacity(windows);
        for _ in 0..windows {
            match Made::new(on, memory, extent, limit) {
                Ok(window) => made.push(window),
                Err(error) => {
                    // The library goes on using the memory of windows that are not freed.
                    std::mem::forget(made);
                    return Err(error);
                }
            }
        }
        let unified = made.iter().all(|made| made.unified);
        Ok(Self {
            made,
            extent,
            members,
            unified,
            asserts,
            origins: repeat_with(AlignedBuffer::default).take(origins).collect(),
            origin_busy: vec![false; origins],
            words: vec![0; words],
            word_busy: vec![false; words],
            touched: Vec::with_capacity(origins + words),
            ranks_per_flush: RANKS_PER_FLUSH,
            freed: false,
            one_thread: PhantomData,
        })
    }

    /// Returns the number of windows in the set.
    pub(crate) fn many(&self) -> usize {
        self.made.len()
    }

    /// Returns whether the public and the private copy are the same memory.
    pub(crate) fn is_unified(&self) -> bool {
        self.unified
    }

    /// Frees the windows, outside of any epoch. *Collective.* MPI-3.1 section 11.2.5.
    pub(crate) fn free(&mut self) -> Result<(), CommError> {
        // Whatever happens now, the memory is gone and must not be accessed again.
        (self.extent, self.freed) = (0, true);
        std::mem::take(&mut self.made).into_iter().try_for_each(Made::free)
    }
}

impl Drop for Window {
    /// Leaks what the library may still read or write.
    fn drop(&mut self) {
        if !self.freed {
            std::mem::forget(std::mem::take(&mut self.origins));
            std::mem::forget(std::mem::take(&mut self.words));
            std::mem::forget(std::mem::take(&mut self.made));
        }
    }
}

/// Converts a rank to MPI's `int`.
fn rank_number(rank: usize) -> c_int {
    rank as c_int
}
