//! Reading and writing windows: puts, flags, and the own part.
#![expect(unsafe_code, reason = "raw MPI calls; rules in the parent module")]

use std::ffi::c_int;
use std::ops::Range;
use std::sync::atomic::AtomicU64;

use mpi::ffi;

use super::super::{Call, count, failure, guarded_to, text, word};
use super::{Made, Window, byte, constants, rank_number};
use crate::{ALIGNMENT, CommError, Rank};

pub(super) const WORD_BYTES: usize = size_of::<u64>();

/// A byte that no message consists of (the upper and the lower four bits).
const POISON: u8 = 0xA5;

/// A place in a member's part of a window; in a set of windows the offset also selects the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) member: Rank,
    pub(crate) offset: usize,
}

impl Window {
    /// Returns the distance from the first byte of the own part of a window to the first aligned
    /// one.
    pub(crate) fn misalignment(&self, number: usize) -> usize {
        let start = self.made.get(number).map_or(0, |made| made.base as usize);
        start.next_multiple_of(ALIGNMENT) - start
    }

    /// Returns a buffer to put from, with `length` bytes. Fails while an access with it is under
    /// way.
    pub(crate) fn origin_mut(&mut self, i: usize, length: usize) -> Result<&mut [u8], CommError> {
        self.expect_idle(i)?;
        self.origins[i].set_length(length)?;
        Ok(self.origins[i].bytes_mut())
    }

    /// Returns a buffer to put from or get into, as it is. Fails while an access with it is under
    /// way.
    pub(crate) fn origin(&self, i: usize) -> Result<&[u8], CommError> {
        self.expect_idle(i)?;
        Ok(self.origins[i].bytes())
    }

    fn expect_idle(&self, i: usize) -> Result<(), CommError> {
        if self.origin_busy[i] {
            return Err(refused("a buffer access", format!("buffer {i} is used by a pending put or get")));
        }
        Ok(())
    }

    /// Puts a piece of an origin buffer; it has arrived after the epoch or a flush. MPI-3.1 section
    /// 11.3.1.
    pub(crate) fn put(&mut self, i: usize, piece: Range<usize>, to: Place) -> Result<(), CommError> {
        let Range { start, end } = piece;
        let length = end.saturating_sub(start);
        let target = self.target("MPI_Put", to, length)?;
        let bytes = self.origins[i].bytes().get(start..end);
        let from =
            bytes.ok_or_else(|| refused("MPI_Put", format!("origin {i} is shorter than {end}")))?.as_ptr();
        let length = count("MPI_Put", length)?;
        self.origin_busy[i] = true;
        let Target { raw, number, member, at } = target;
        self.touch(number, to.member);
        // SAFETY: source and target have `length` bytes; the source stays untouched until the put
        // is complete (`origin_busy`); the target is the receiver's buffer, which the receiver does
        // not access before the arrival.
        // Test: rough, memcheck.
        guarded_to(Call::MPI_Put, to.member, || unsafe {
            ffi::MPI_Put(from.cast(), length, byte(), member, at, length, byte(), raw)
        })
    }

    /// Gets a piece of a member's part into a piece of a buffer; it has arrived after the epoch or
    /// a flush. MPI-3.1 section 11.3.2.
    pub(crate) fn get(&mut self, i: usize, piece: Range<usize>, from: Place) -> Result<(), CommError> {
        let Range { start, end } = piece;
        let length = end.saturating_sub(start);
        let Target { raw, number, member, at } = self.target("MPI_Get", from, length)?;
        let bytes = self.origin_mut(i, end)?.get_mut(start..);
        let to = bytes.ok_or_else(|| refused("MPI_Get", format!("{start} is behind {end}")))?.as_mut_ptr();
        let length = count("MPI_Get", length)?;
        self.origin_busy[i] = true;
        self.touch(number, from.member);
        // SAFETY: source and target have `length` bytes; the target is not accessed until the get
        // is complete (`origin_busy`); the source is a buffer to which its owner does not write
        // until it is released.
        // Test: rough, memcheck.
        guarded_to(Call::MPI_Get, from.member, || unsafe {
            ffi::MPI_Get(to.cast(), length, byte(), member, at, length, byte(), raw)
        })
    }

    /// Gets `bytes` in each of several calls, at consecutive places in both memories, from the
    /// beginning of a buffer on.
    pub(crate) fn get_many(
        &mut self,
        i: usize,
        bytes: usize,
        calls: usize,
        from: Place,
    ) -> Result<(), CommError> {
        let whole = bytes.saturating_mul(calls);
        let Target { raw, number, member, at } = self.target("MPI_Get", from, whole)?;
        let to = self.origin_mut(i, whole)?.as_mut_ptr();
        let length = count("MPI_Get", bytes)?;
        self.origin_busy[i] = true;
        self.touch(number, from.member);
        for start in (0..calls).map(|call| call * bytes) {
            let (to, at) = (to.wrapping_add(start), at + start as ffi::MPI_Aint);
            // SAFETY: as in `get`, for a piece of each.
            // Test: rough, memcheck.
            guarded_to(Call::MPI_Get, from.member, || unsafe {
                ffi::MPI_Get(to.cast(), length, byte(), member, at, length, byte(), raw)
            })?;
        }
        Ok(())
    }

    /// Atomically replaces a word of a member's part. MPI-3.1 section 11.3.4.
    pub(crate) fn replace(&mut self, i: usize, value: u64, at: Place) -> Result<(), CommError> {
        let peer = at.member;
        let Target { raw, number, member, at } = self.target("MPI_Accumulate", at, WORD_BYTES)?;
        if self.word_busy[i] {
            return Err(refused("MPI_Accumulate", format!("word {i} is used by a pending call")));
        }
        self.word_busy[i] = true;
        self.words[i] = value;
        self.touch(number, peer);
        let from = (&raw const self.words[i]).cast();
        let one: c_int = 1;
        // SAFETY: one word is read from `words`, which stays untouched until the call is complete
        // (`word_busy`), and one aligned word inside the window is replaced.
        // Test: rough.
        guarded_to(Call::MPI_Accumulate, peer, || unsafe {
            let operation = constants::replace();
            ffi::MPI_Accumulate(from, one, word(), member, at, one, word(), operation, raw)
        })
    }

    /// Reads a word with MPI calls, for polling that relies on nothing but the standard. Inside a
    /// passive epoch. MPI-3.1 section 11.3.4.
    pub(crate) fn fetch(&self, at: Place) -> Result<u64, CommError> {
        self.fetch_and(constants::no_op(), 0, at)
    }

    /// Atomically adds to a word and returns the previous value. Inside a passive epoch. MPI-3.1
    /// section 11.3.4.
    pub(crate) fn fetch_and_add(&self, value: u64, at: Place) -> Result<u64, CommError> {
        // SAFETY: reading a constant of the C library.
        // Test: rough.
        self.fetch_and(unsafe { ffi::RSMPI_SUM }, value, at)
    }

    fn fetch_and(&self, operation: ffi::MPI_Op, value: u64, at: Place) -> Result<u64, CommError> {
        let peer = at.member;
        let Target { raw, member, at, .. } = self.target("MPI_Fetch_and_op", at, WORD_BYTES)?;
        let mut result = 0_u64;
        let (from, to) = ((&raw const value).cast(), (&raw mut result).cast());
        // SAFETY: one aligned word inside the window is accessed; both locals live until the flush,
        // which completes it.
        // Test: rough.
        guarded_to(Call::MPI_Fetch_and_op, peer, || unsafe {
            ffi::MPI_Fetch_and_op(from, to, word(), member, at, operation, raw)
        })?;
        // SAFETY: a valid window.
        // Test: none.
        guarded_to(Call::MPI_Win_flush, peer, || unsafe { ffi::MPI_Win_flush(member, raw) })?;
        Ok(result)
    }

    /// Returns a word of the own part that other ranks replace.
    pub(crate) fn own_word(&self, offset: usize) -> Result<&AtomicU64, CommError> {
        let word = self.own("a flag access", offset, WORD_BYTES)?;
        expect_aligned(word)?;
        // SAFETY: inside the part (checked), aligned (checked), alive as long as the window, and
        // only ever accessed atomically: by this rank through this type, by others through
        // accumulates or the same type.
        // Test: rough, model.
        Ok(unsafe { AtomicU64::from_ptr(word.cast()) })
    }

    /// Returns bytes of the own part that have arrived. The caller's protocol ensures that no rank
    /// writes to them before they are released, which borrows the window mutably.
    pub(crate) fn arrived(&self, offset: usize, length: usize) -> Result<&[u8], CommError> {
        let start = self.own("an arrival", offset, length)?;
        // SAFETY: inside the part (checked), initialised (zeroed when made), and not written by any
        // rank between the arrival and the release of the buffer (invariant 3).
        // Test: rough, memcheck.
        Ok(unsafe { std::slice::from_raw_parts(start, length) })
    }

    /// Overwrites bytes of the own part that have arrived and not been released yet; for tests.
    pub(crate) fn poison(&mut self, offset: usize, length: usize) -> Result<(), CommError> {
        let start = self.own("a buffer to be poisoned", offset, length)?;
        // SAFETY: inside the part (checked), not written by any other rank between the arrival and
        // the release of the buffer (invariant 3), and not borrowed: `arrived` borrows the window.
        // Test: rough.
        unsafe { start.write_bytes(POISON, length) };
        Ok(())
    }

    /// Returns bytes of the own part to be filled, for other ranks to get. The caller's protocol
    /// ensures that these have released them and do not read them before their arrival is
    /// announced.
    pub(crate) fn own_buffer(&mut self, offset: usize, length: usize) -> Result<&mut [u8], CommError> {
        let start = self.own("a buffer access", offset, length)?;
        // SAFETY: inside the part (checked), initialised (zeroed when made), and accessed by this
        // rank alone between the buffer's release and the notice (invariant 3); the mutable borrow
        // keeps it from being formed twice.
        // Test: rough, memcheck.
        Ok(unsafe { std::slice::from_raw_parts_mut(start, length) })
    }

    /// Returns the address of `length` bytes of the own part.
    fn own(&self, call: &'static str, offset: usize, length: usize) -> Result<*mut u8, CommError> {
        let (made, offset) = self.locate(call, Place { member: 0, offset }, length)?;
        // SAFETY: the sum stays inside the part (just checked).
        // Test: suite, memcheck.
        Ok(unsafe { made.base.add(offset) })
    }

    /// Returns the target of an access in MPI's terms.
    pub(super) fn target(&self, call: &'static str, at: Place, length: usize) -> Result<Target, CommError> {
        let (made, offset) = self.locate(call, at, length)?;
        let start = made.start_of(at.member)?;
        let (raw, number, member) = (made.raw, self.number_of(at), rank_number(at.member));
        Ok(Target { raw, number, member, at: start + offset as ffi::MPI_Aint })
    }

    /// Records that an access to a member is under way.
    pub(super) fn touch(&mut self, number: usize, member: Rank) {
        // There are at most as many entries as neighbours.
        if !self.touched.contains(&(number, member)) {
            self.touched.push((number, member));
        }
    }

    /// Returns the number of the window of the set that contains a place.
    fn number_of(&self, at: Place) -> usize {
        // Nearly always there is one window, and the division is not needed.
        if self.made.len() == 1 { 0 } else { at.offset.checked_div(self.extent).unwrap_or(0) }
    }

    /// Returns the MPI window of a place and the offset in it; invariant 1.
    pub(super) fn locate(
        &self,
        call: &'static str,
        at: Place,
        length: usize,
    ) -> Result<(&Made, usize), CommError> {
        let number = self.number_of(at);
        let offset = at.offset - number * self.extent;
        let inside = offset.checked_add(length).is_some_and(|end| end <= self.extent);
        match self.made.get(number) {
            Some(made) if inside && at.member < self.members => Ok((made, offset)),
            _ => {
                let Place { member, offset } = at;
                let what = format!("{length} bytes at {offset} of member {member} are outside of the window");
                Err(refused(call, what))
            }
        }
    }

    /// Returns the name that the library has given the window, which is often empty. Open MPI's
    /// components name their windows after themselves. MPI-3.1 section 6.8.
    pub(crate) fn name(&self) -> Result<String, CommError> {
        let Some(made) = self.made.first() else { return Ok(String::new()) };
        // SAFETY: a valid window; the buffer has the size that the standard requires.
        // Test: component.
        let name = text(ffi::MPI_MAX_OBJECT_NAME as usize, |text, length| unsafe {
            ffi::MPI_Win_get_name(made.raw, text, length)
        });
        name.map_err(|code| failure("MPI_Win_get_name", code))
    }
}

/// The target of an access.
pub(super) struct Target {
    pub(super) raw: ffi::MPI_Win,
    /// Number of the window in its set.
    pub(super) number: usize,
    pub(super) member: c_int,
    /// Displacement.
    pub(super) at: ffi::MPI_Aint,
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
