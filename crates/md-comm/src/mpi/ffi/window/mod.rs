//! Memory that other ranks write to: windows, their epochs, and what may be done to them.
//!
//! Invariants that make the functions safe:
//! 1. every rank's part of a window has the same length (`extent`), so that one number bounds every access, local or
//!    remote; neither MPI nor the network checks it;
//! 2. what a put or accumulate reads lives in the window object (`origins`, `words`) and is neither handed out nor
//!    moved until a call that completes it; it is leaked if the window is dropped before;
//! 3. window memory is looked at as bytes only where the caller's protocol says that nobody writes: between a
//!    message's arrival and its release. Words that are polled are only ever accessed atomically;
//! 4. `MPI_Win_free` is collective: a window that is merely dropped, for instance after an error, stays allocated.
#![expect(unsafe_code, reason = "raw MPI calls; rules in the parent module")]

mod access;
mod epochs;
mod identity;
mod shared;

use std::ffi::{CStr, c_int};
use std::marker::PhantomData;

use mpi::ffi;

pub(in crate::mpi) use access::Place;
pub(in crate::mpi) use epochs::After;

use super::{Communicator, byte, check, constants};
use crate::{AlignedBuffer, CommError};

/// Where a window's memory comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::mpi) enum Memory {
    /// `MPI_Win_allocate`: the library chooses memory it can reach fastest.
    Allocated,
    /// `MPI_Win_create` over memory of ours.
    Created,
    /// `MPI_Win_allocate_shared`: the peers' parts can be stored to directly. Only on a node's communicator.
    Shared,
}

/// What a window is for.
#[derive(Debug, Clone, Copy)]
pub(in crate::mpi) struct Request {
    pub(in crate::mpi) memory: Memory,
    /// Bytes of every rank's part; the same number on all ranks.
    pub(in crate::mpi) extent: usize,
    /// Number of buffers to put from.
    pub(in crate::mpi) origins: usize,
    /// Number of words to accumulate from.
    pub(in crate::mpi) words: usize,
}

/// One window over all ranks of a communicator.
#[derive(Debug)]
pub(in crate::mpi) struct Window {
    raw: ffi::MPI_Win,
    base: *mut u8,
    extent: usize,
    members: usize,
    unified: bool,
    /// The members' parts, for shared memory only.
    parts: Vec<*mut u8>,
    origins: Vec<AlignedBuffer>,
    origin_busy: Vec<bool>,
    words: Vec<u64>,
    word_busy: Vec<bool>,
    /// Memory of a created window.
    backing: AlignedBuffer,
    freed: bool,
    one_thread: PhantomData<*mut ()>,
}

impl Window {
    /// Makes a window, zeroed. *Collective.* MPI-3.1 sections 11.2.1 to 11.2.3.
    pub(in crate::mpi) fn new(on: &Communicator, request: Request) -> Result<Self, CommError> {
        let Request { memory, extent, origins, words } = request;
        let (_, members) = on.rank_and_ranks()?;
        let backing = if memory == Memory::Created { extent } else { 0 };
        let mut backing = AlignedBuffer::new(backing);
        let (raw, base) = make(on, memory, extent, backing.bytes_mut().as_mut_ptr())?;
        // SAFETY: a valid window; the handler is predefined.
        let code = unsafe { ffi::MPI_Win_set_errhandler(raw, ffi::RSMPI_ERRORS_RETURN) };
        check("MPI_Win_set_errhandler", code)?;
        let (code, unified) = constants::is_unified(raw);
        check("MPI_Win_get_attr", code)?;
        // SAFETY: the part has `extent` bytes, and no other rank knows the window's layout yet.
        unsafe { base.write_bytes(0, extent) };
        let mut window = Self {
            raw,
            base,
            extent,
            members,
            unified,
            parts: Vec::new(),
            origins: vec![AlignedBuffer::default(); origins],
            origin_busy: vec![false; origins],
            words: vec![0; words],
            word_busy: vec![false; words],
            backing,
            freed: false,
            one_thread: PhantomData,
        };
        if memory == Memory::Shared {
            window.find_parts()?;
        }
        Ok(window)
    }

    /// Whether public and private copy are one memory.
    pub(in crate::mpi) fn is_unified(&self) -> bool {
        self.unified
    }

    /// Ends the window, outside of any epoch. *Collective.* MPI-3.1 section 11.2.5.
    pub(in crate::mpi) fn free(&mut self) -> Result<(), CommError> {
        // Whatever happens now, the memory is gone: nothing may look at it again.
        (self.extent, self.freed) = (0, true);
        let raw = &raw mut self.raw;
        // SAFETY: the window is valid, and its schemes end their epochs before.
        check("MPI_Win_free", unsafe { ffi::MPI_Win_free(raw) })
    }
}

fn make(
    on: &Communicator,
    memory: Memory,
    extent: usize,
    backing: *mut u8,
) -> Result<(ffi::MPI_Win, *mut u8), CommError> {
    let size = extent as ffi::MPI_Aint;
    let mut base = backing;
    let (unit, place) = (1, (&raw mut base).cast());
    let hints = Hints::new(memory)?;
    // SAFETY: the communicator is valid while MPI runs; `place` receives the address of `extent` bytes, or is the
    // memory of `extent` bytes that the window's owner keeps.
    unsafe {
        let mut raw = ffi::RSMPI_WIN_NULL;
        let window = &raw mut raw;
        let (call, code) = match memory {
            Memory::Allocated => {
                ("MPI_Win_allocate", ffi::MPI_Win_allocate(size, unit, hints.0, on.raw, place, window))
            }
            Memory::Created => {
                ("MPI_Win_create", ffi::MPI_Win_create(backing.cast(), size, unit, hints.0, on.raw, window))
            }
            Memory::Shared => (
                "MPI_Win_allocate_shared",
                ffi::MPI_Win_allocate_shared(size, unit, hints.0, on.raw, place, window),
            ),
        };
        check(call, code)?;
        Ok((raw, base))
    }
}

/// What the library may assume. Flags are single words written by one rank each, so no order among accumulates is
/// needed; parts of a shared window on pages of their own can lie next to the rank that reads them.
struct Hints(ffi::MPI_Info);

impl Hints {
    fn new(memory: Memory) -> Result<Self, CommError> {
        let for_all: [(&CStr, &CStr); 2] = [(c"same_disp_unit", c"true"), (c"accumulate_ordering", c"none")];
        let for_shared: [(&CStr, &CStr); 1] = [(c"alloc_shared_noncontig", c"true")];
        let pairs: &[(&CStr, &CStr)] = if memory == Memory::Shared { &for_shared } else { &for_all };
        // SAFETY: reading a constant of the C library; the calls copy terminated strings.
        unsafe {
            let mut info = ffi::RSMPI_INFO_NULL;
            check("MPI_Info_create", ffi::MPI_Info_create(&raw mut info))?;
            let hints = Self(info);
            for (key, value) in pairs {
                check("MPI_Info_set", ffi::MPI_Info_set(hints.0, key.as_ptr(), value.as_ptr()))?;
            }
            Ok(hints)
        }
    }
}

impl Drop for Hints {
    fn drop(&mut self) {
        // SAFETY: made by `new` and not freed yet; the call is local, and windows keep copies.
        unsafe { ffi::MPI_Info_free(&raw mut self.0) };
    }
}

impl Drop for Window {
    /// Leaks what the library may still read or write.
    fn drop(&mut self) {
        if !self.freed {
            std::mem::forget(std::mem::take(&mut self.origins));
            std::mem::forget(std::mem::take(&mut self.words));
            std::mem::forget(std::mem::take(&mut self.backing));
        }
    }
}

/// A rank as MPI's `int`.
fn rank_number(rank: usize) -> c_int {
    rank as c_int
}
