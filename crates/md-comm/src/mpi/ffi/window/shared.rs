//! Windows in memory that all ranks of a node share.
#![expect(unsafe_code, reason = "raw MPI calls; rules in the parent module")]

use std::ops::Range;
use std::sync::atomic::AtomicU64;

use mpi::ffi;

use super::access::{Place, WORD_BYTES, expect_aligned, refused};
use super::{Made, Window, check, rank_number};
use crate::CommError;
use crate::mpi::ffi::Communicator;
use crate::mpi::ffi::streaming::copy_past_caches;

impl Made {
    /// Queries the addresses of all members' parts. MPI-3.1 section 11.2.3.
    pub(super) fn find_parts(&mut self, on: &Communicator, extent: usize) -> Result<(), CommError> {
        let (_, members) = on.rank_and_ranks()?;
        for member in 0..members {
            let (mut size, mut unit, mut base) = (0, 0, std::ptr::null_mut::<u8>());
            // SAFETY: a valid shared window; three values are written.
            // Test: suite.
            let code = unsafe {
                let (size, unit, base) = (&raw mut size, &raw mut unit, (&raw mut base).cast());
                ffi::MPI_Win_shared_query(self.raw, rank_number(member), size, unit, base)
            };
            check("MPI_Win_shared_query", code)?;
            if size < extent as ffi::MPI_Aint {
                let what = format!("member {member} has {size} bytes instead of {extent}");
                return Err(refused("MPI_Win_shared_query", what));
            }
            self.parts.push(base);
        }
        Ok(())
    }
}

impl Window {
    /// Returns a word of a member's part, polled or set by its owner.
    pub(crate) fn shared_word(&self, at: Place) -> Result<&AtomicU64, CommError> {
        let word = self.shared_address(at, WORD_BYTES)?;
        expect_aligned(word)?;
        // SAFETY: inside the member's part and aligned (both checked), mapped as long as the
        // window, and only ever accessed atomically.
        // Test: rough, model.
        Ok(unsafe { AtomicU64::from_ptr(word.cast()) })
    }

    /// Returns bytes of a member's part to be filled by this rank alone. The caller's protocol
    /// ensures that the owner has released them and does not access them before the flag is raised.
    pub(crate) fn shared_buffer(&mut self, at: Place, length: usize) -> Result<&mut [u8], CommError> {
        let start = self.shared_address(at, length)?;
        // SAFETY: inside the member's part (checked), initialised (zeroed by its owner), and
        // accessed by this rank alone between the buffer's release and the flag (invariant 3); the
        // mutable borrow keeps it from being formed twice.
        // Test: rough, flag first.
        Ok(unsafe { std::slice::from_raw_parts_mut(start, length) })
    }

    /// Copies a piece of an origin buffer into a member's part, past the caches if the CPU supports
    /// it, and completes the copy before any later store. The caller's protocol is that of
    /// [`Self::shared_buffer`].
    pub(crate) fn stream(&mut self, i: usize, piece: Range<usize>, to: Place) -> Result<(), CommError> {
        let start = self.shared_address(to, piece.len())?;
        let bytes = self.origin(i)?.get(piece.clone());
        let from = bytes
            .ok_or_else(|| refused("a streamed copy", format!("origin {i} ends before {}", piece.end)))?;
        // SAFETY: inside the member's part (checked), accessed by this rank alone between the
        // buffer's release and the flag (invariant 3), and no part of an origin buffer.
        // Test: rough.
        unsafe { copy_past_caches(from, start) };
        Ok(())
    }

    fn shared_address(&self, at: Place, length: usize) -> Result<*mut u8, CommError> {
        let (made, offset) = self.locate("a shared access", at, length)?;
        let part = made.parts.get(at.member).copied();
        let part = part.ok_or_else(|| refused("a shared access", "the window is not shared".to_owned()))?;
        // SAFETY: the offset is inside the member's part (just checked).
        // Test: suite, memcheck.
        Ok(unsafe { part.add(offset) })
    }
}
