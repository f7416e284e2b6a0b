//! Windows in memory that all ranks of a node see.
#![expect(unsafe_code, reason = "raw MPI calls; rules in the parent module")]

use std::ops::Range;
use std::sync::atomic::AtomicU64;

use mpi::ffi;

use super::access::{Place, WORD_BYTES, expect_aligned, refused};
use super::{Made, Window, check, rank_number};
use crate::CommError;
use crate::mpi::ffi::Communicator;

impl Made {
    /// Asks for the addresses of all members' parts. MPI-3.1 section 11.2.3.
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
    /// A word of a member's part, polled or set by its owner.
    pub(crate) fn shared_word(&self, at: Place) -> Result<&AtomicU64, CommError> {
        let word = self.shared_address(at, WORD_BYTES)?;
        expect_aligned(word)?;
        // SAFETY: inside the member's part and aligned (both checked), mapped as long as the window, and only ever
        // accessed atomically.
        // Test: rough, model.
        Ok(unsafe { AtomicU64::from_ptr(word.cast()) })
    }

    /// Bytes of a member's part to be filled by this rank alone: the caller's protocol makes sure that the owner has
    /// released them and does not look at them before the flag is raised.
    pub(crate) fn shared_buffer(&mut self, at: Place, length: usize) -> Result<&mut [u8], CommError> {
        let start = self.shared_address(at, length)?;
        // SAFETY: inside the member's part (checked), initialised (zeroed by its owner), and ours alone between the
        // buffer's release and the flag (invariant 3); the mutable borrow keeps it from being formed twice.
        // Test: rough, flag first.
        Ok(unsafe { std::slice::from_raw_parts_mut(start, length) })
    }

    /// Copies a piece of an origin buffer into a member's part, past the caches where the CPU can, and completes it before
    /// any later store. The caller's protocol is that of [`Self::shared_buffer`].
    pub(crate) fn stream(&mut self, i: usize, piece: Range<usize>, to: Place) -> Result<(), CommError> {
        let start = self.shared_address(to, piece.len())?;
        let bytes = self.origin(i)?.get(piece.clone());
        let from = bytes
            .ok_or_else(|| refused("a streamed copy", format!("origin {i} ends before {}", piece.end)))?;
        // SAFETY: inside the member's part (checked), ours alone between the buffer's release and the flag (invariant
        // 3), and no part of an origin buffer.
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

/// Copies as much of `from` as `to` has room for, past the caches where the CPU can.
pub(crate) fn copy_streaming(from: &[u8], to: &mut [u8]) {
    let from = &from[..from.len().min(to.len())];
    // SAFETY: `to` has room for so many bytes, and nobody else has it.
    // Test: plain.
    unsafe { copy_past_caches(from, to.as_mut_ptr()) };
}

/// Copies `from` to `to` with streaming stores.
///
/// # Safety
/// `to` is valid for writes of `from.len()` bytes, which nobody else accesses meanwhile.
#[cfg(target_arch = "x86_64")]
unsafe fn copy_past_caches(from: &[u8], to: *mut u8) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};
    const UNIT: usize = size_of::<__m128i>();
    let streamed = if to.addr().is_multiple_of(UNIT) { from.len() / UNIT * UNIT } else { 0 };
    for offset in (0..streamed).step_by(UNIT) {
        // SAFETY: both ends hold `offset + UNIT` bytes; `to + offset` is aligned to UNIT. SSE2 is in every x86-64.
        // Test: rough.
        unsafe { _mm_stream_si128(to.add(offset).cast(), _mm_loadu_si128(from.as_ptr().add(offset).cast())) };
    }
    let rest = &from[streamed..];
    // SAFETY: the rest of both.
    // Test: rough.
    unsafe { std::ptr::copy_nonoverlapping(rest.as_ptr(), to.add(streamed), rest.len()) };
    // Streaming stores keep no order of their own: without the fence the flag could be seen first.
    // SAFETY: SSE is in every x86-64.
    // Test: none.
    unsafe { _mm_sfence() };
}

/// Where no streaming stores are at hand: an ordinary copy.
///
/// # Safety
/// `to` is valid for writes of `from.len()` bytes, which nobody else accesses meanwhile.
#[cfg(not(target_arch = "x86_64"))]
unsafe fn copy_past_caches(from: &[u8], to: *mut u8) {
    // SAFETY: as the caller promises.
    // Test: other.
    unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to, from.len()) };
}
