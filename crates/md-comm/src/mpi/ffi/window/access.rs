//! Reading and writing windows: puts, flags, and the own part.
#![expect(unsafe_code, reason = "raw MPI calls; rules in the parent module")]

use std::ffi::c_int;
use std::ops::Range;
use std::sync::atomic::AtomicU64;

use mpi::ffi;

use super::super::{count, word};
use super::{Window, byte, check, constants, rank_number};
use crate::{ALIGNMENT, CommError, Rank};

pub(super) const WORD_BYTES: usize = size_of::<u64>();

/// A byte that no message consists of, in four bits each.
const POISON: u8 = 0xA5;

/// A place in a member's part of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::mpi) struct Place {
    pub(in crate::mpi) member: Rank,
    pub(in crate::mpi) offset: usize,
}

impl Window {
    /// Distance from the part's first byte to the first aligned one.
    pub(in crate::mpi) fn misalignment(&self) -> usize {
        (self.base as usize).next_multiple_of(ALIGNMENT) - self.base as usize
    }

    /// A buffer to put from, with so many bytes; refused while a put of it is under way.
    pub(in crate::mpi) fn origin_mut(&mut self, i: usize, length: usize) -> Result<&mut [u8], CommError> {
        if self.origin_busy[i] {
            return Err(refused("a buffer access", format!("buffer {i} is used by a pending put")));
        }
        self.origins[i].set_length(length);
        Ok(self.origins[i].bytes_mut())
    }

    /// A buffer to put from, as it is.
    pub(in crate::mpi) fn origin(&self, i: usize) -> &[u8] {
        self.origins[i].bytes()
    }

    /// Puts a piece of an origin buffer; it has arrived after the epoch or a flush. MPI-3.1 section 11.3.1.
    pub(in crate::mpi) fn put(&mut self, i: usize, piece: Range<usize>, to: Place) -> Result<(), CommError> {
        let Range { start, end } = piece;
        let length = end.saturating_sub(start);
        self.expect_inside("MPI_Put", to, length)?;
        let bytes = self.origins[i].bytes().get(start..end);
        let from =
            bytes.ok_or_else(|| refused("MPI_Put", format!("origin {i} is shorter than {end}")))?.as_ptr();
        let length = count("MPI_Put", length)?;
        self.origin_busy[i] = true;
        let (member, offset) = (rank_number(to.member), to.offset as ffi::MPI_Aint);
        // SAFETY: source and target have `length` bytes; the source stays untouched until the put is complete
        // (`origin_busy`); the target is the receiver's slot, which it does not look at before the arrival.
        let code =
            unsafe { ffi::MPI_Put(from.cast(), length, byte(), member, offset, length, byte(), self.raw) };
        check("MPI_Put", code)
    }

    /// Atomically replaces a word of a member's part. MPI-3.1 section 11.3.4.
    pub(in crate::mpi) fn replace(&mut self, i: usize, value: u64, at: Place) -> Result<(), CommError> {
        self.expect_inside("MPI_Accumulate", at, WORD_BYTES)?;
        if self.word_busy[i] {
            return Err(refused("MPI_Accumulate", format!("word {i} is used by a pending call")));
        }
        self.word_busy[i] = true;
        self.words[i] = value;
        let from = (&raw const self.words[i]).cast();
        let (member, offset) = (rank_number(at.member), at.offset as ffi::MPI_Aint);
        let one: c_int = 1;
        // SAFETY: one word is read from `words`, which stays untouched until the call is complete (`word_busy`), and
        // one aligned word inside the window is replaced.
        let code = unsafe {
            let operation = constants::replace();
            ffi::MPI_Accumulate(from, one, word(), member, offset, one, word(), operation, self.raw)
        };
        check("MPI_Accumulate", code)
    }

    /// Reads a word by MPI's own means; for polling that relies on nothing but the standard. Inside a passive epoch.
    /// MPI-3.1 section 11.3.4.
    pub(in crate::mpi) fn fetch(&self, at: Place) -> Result<u64, CommError> {
        self.expect_inside("MPI_Fetch_and_op", at, WORD_BYTES)?;
        let (unused, mut result) = (0_u64, 0_u64);
        let (member, offset) = (rank_number(at.member), at.offset as ffi::MPI_Aint);
        // SAFETY: one aligned word inside the window is read; both locals live until the flush, which completes it.
        unsafe {
            let (from, to) = ((&raw const unused).cast(), (&raw mut result).cast());
            let operation = constants::no_op();
            let code = ffi::MPI_Fetch_and_op(from, to, word(), member, offset, operation, self.raw);
            check("MPI_Fetch_and_op", code)?;
            check("MPI_Win_flush", ffi::MPI_Win_flush(member, self.raw))?;
        }
        Ok(result)
    }

    /// A word of the own part that others replace.
    pub(in crate::mpi) fn own_word(&self, offset: usize) -> Result<&AtomicU64, CommError> {
        self.expect_inside("a flag access", Place { member: 0, offset }, WORD_BYTES)?;
        // SAFETY: the sum stays inside the part (just checked).
        let word = unsafe { self.base.add(offset) };
        expect_aligned(word)?;
        // SAFETY: inside the part (checked), aligned (checked), alive as long as the window, and only ever accessed
        // atomically: by us through this type, by others through accumulates or the same type.
        Ok(unsafe { AtomicU64::from_ptr(word.cast()) })
    }

    /// Bytes of the own part that have arrived. The caller's protocol makes sure that nobody writes to them before they
    /// are released, which borrows the window mutably.
    pub(in crate::mpi) fn arrived(&self, offset: usize, length: usize) -> Result<&[u8], CommError> {
        self.expect_inside("an arrival", Place { member: 0, offset }, length)?;
        // SAFETY: inside the part (checked), initialised (zeroed when made), and not written by anybody between the
        // arrival and the release of the slot (invariant 3).
        Ok(unsafe { std::slice::from_raw_parts(self.base.add(offset), length) })
    }

    /// Overwrites bytes of the own part that have arrived and not been released yet; for tests.
    pub(in crate::mpi) fn poison(&mut self, offset: usize, length: usize) -> Result<(), CommError> {
        self.expect_inside("a slot to be poisoned", Place { member: 0, offset }, length)?;
        // SAFETY: inside the part (checked), not written by anybody else between the arrival and the release of the slot
        // (invariant 3), and not borrowed: `arrived` borrows the window.
        unsafe { self.base.add(offset).write_bytes(POISON, length) };
        Ok(())
    }

    /// Invariant 1.
    pub(super) fn expect_inside(
        &self,
        call: &'static str,
        at: Place,
        length: usize,
    ) -> Result<(), CommError> {
        let inside = at.offset.checked_add(length).is_some_and(|end| end <= self.extent);
        if inside && at.member < self.members {
            return Ok(());
        }
        let Place { member, offset } = at;
        let what = format!("{length} bytes at {offset} of member {member} are outside of the window");
        Err(refused(call, what))
    }
}

pub(super) fn expect_aligned(word: *const u8) -> Result<(), CommError> {
    if (word as usize).is_multiple_of(align_of::<AtomicU64>()) {
        return Ok(());
    }
    Err(refused("a flag access", "the word is not aligned".to_owned()))
}

pub(super) fn refused(call: &'static str, message: String) -> CommError {
    CommError::Mpi { call, message }
}
