//! Creation and end of one MPI window of a set.
#![expect(unsafe_code, reason = "raw MPI calls; rules in the parent module")]

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::time::Duration;

use mpi::ffi;

use super::access::refused;
use super::{Call, Memory, Window, check, constants, guarded};
use crate::mpi::ffi::{Communicator, Limit};
use crate::{ALIGNMENT, AlignedBuffer, CommError, Rank, Reduction};

/// Alignment of this program's memory, which begins on a page like the library's.
const PAGE_BYTES: usize = 4096;

/// One MPI window as seen from this rank. Dropping it frees this program's memory but not the
/// window; it must be dropped only after [`Self::free`].
#[derive(Debug)]
pub(super) struct Made {
    pub(super) raw: ffi::MPI_Win,
    pub(super) base: *mut u8,
    pub(super) unified: bool,
    /// The members' parts, for shared memory only.
    pub(super) parts: Vec<*mut u8>,
    /// Addresses of attached memory, of this rank and of those that have sent theirs.
    pub(super) addresses: BTreeMap<Rank, ffi::MPI_Aint>,
    /// Whether `post` has been called and `test` has not succeeded.
    pub(super) exposed: bool,
    pub(super) memory: Memory,
    /// Memory of this program.
    _backing: AlignedBuffer,
}

impl Made {
    /// Makes a window of `extent` zero bytes on every rank. An error on one rank is an error on
    /// all, so that no rank goes on to the next collective alone. *Collective.*
    pub(super) fn new(
        on: &Communicator,
        memory: Memory,
        extent: usize,
        limit: Limit,
    ) -> Result<Self, CommError> {
        let mut backing = AlignedBuffer::default();
        if memory.is_ours() {
            together(on, backing.set_length(extent + PAGE_BYTES), limit)?;
        }
        let ours = page_of(&mut backing);
        let (raw, base) = match together(on, make(on, memory, extent, ours), limit) {
            Ok(made) => made,
            Err(error) => {
                // The library may have made a window of it on this rank.
                std::mem::forget(backing);
                return Err(error);
            }
        };
        let (parts, addresses, exposed) = (Vec::new(), BTreeMap::new(), false);
        let mut made =
            Self { raw, base, unified: false, parts, addresses, exposed, memory, _backing: backing };
        let settled = made.settle(on, extent);
        match together(on, settled, limit) {
            Ok(()) => Ok(made),
            Err(error) => {
                std::mem::forget(made);
                Err(error)
            }
        }
    }

    /// Sets up a new window, as far as each rank can alone.
    fn settle(&mut self, on: &Communicator, extent: usize) -> Result<(), CommError> {
        // SAFETY: a valid window; the handler is predefined.
        // Test: suite.
        let code = unsafe { ffi::MPI_Win_set_errhandler(self.raw, ffi::RSMPI_ERRORS_RETURN) };
        check("MPI_Win_set_errhandler", code)?;
        let (code, unified) = constants::is_unified(self.raw);
        check("MPI_Win_get_attr", code)?;
        self.unified = unified;
        // SAFETY: the part has `extent` bytes, and no other rank has the window's layout yet.
        // Test: paths.
        unsafe { self.base.write_bytes(0, extent) };
        match self.memory {
            Memory::Shared => self.find_parts(on, extent),
            Memory::Attached => self.attach(on, extent),
            Memory::Allocated | Memory::Created => Ok(()),
        }
    }

    /// Attaches the memory and records its address. MPI-3.1 section 11.2.4.
    pub(super) fn attach(&mut self, on: &Communicator, extent: usize) -> Result<(), CommError> {
        let mut address: ffi::MPI_Aint = 0;
        // SAFETY: the memory has `extent` bytes and is kept by the owner until the window is freed.
        // Test: options.
        unsafe {
            let code = ffi::MPI_Win_attach(self.raw, self.base.cast(), extent as ffi::MPI_Aint);
            check("MPI_Win_attach", code)?;
            check("MPI_Get_address", ffi::MPI_Get_address(self.base.cast(), &raw mut address))?;
        }
        let (rank, _) = on.rank_and_ranks()?;
        self.addresses.insert(rank, address);
        Ok(())
    }

    /// Returns the base of a member's displacements.
    pub(super) fn start_of(&self, member: Rank) -> Result<ffi::MPI_Aint, CommError> {
        if self.memory != Memory::Attached {
            return Ok(0);
        }
        let known = self.addresses.get(&member).copied();
        known.ok_or_else(|| refused("an access", format!("rank {member} has not told where its memory is")))
    }

    /// Frees the window, outside of any epoch; no rank accesses it any more. *Collective.* MPI-3.1
    /// section 11.2.5.
    pub(super) fn free(mut self) -> Result<(), CommError> {
        let raw = &raw mut self.raw;
        // SAFETY: the window is valid, and its schemes end their epochs before; attached memory is
        // still there.
        // Test: growth.
        let outcome = unsafe {
            let detached = if self.memory == Memory::Attached {
                check("MPI_Win_detach", ffi::MPI_Win_detach(*raw, self.base.cast_const().cast()))
            } else {
                Ok(())
            };
            detached.and(guarded(Call::MPI_Win_free, || ffi::MPI_Win_free(raw)))
        };
        if outcome.is_err() {
            // The library may go on using the memory.
            std::mem::forget(self);
        }
        outcome
    }
}

impl Window {
    /// Returns the address at which this rank has attached the memory of a window of the set, or
    /// `None` for windows that are addressed otherwise.
    pub(crate) fn address(&self, number: usize, own: Rank) -> Option<usize> {
        self.made.get(number)?.addresses.get(&own).map(|&address| address as usize)
    }

    /// Stores the address that a peer has sent.
    pub(crate) fn learn_address(&mut self, number: usize, of: Rank, address: usize) {
        if let Some(made) = self.made.get_mut(number) {
            made.addresses.insert(of, address as ffi::MPI_Aint);
        }
    }
}

/// Assumptions that the library may make. Flags are single words written by one rank each, so no
/// order among accumulates is needed; parts of a shared window on pages of their own can lie next
/// to the rank that reads them.
pub(super) struct Hints(pub(super) ffi::MPI_Info);

impl Hints {
    pub(super) fn new(memory: Memory) -> Result<Self, CommError> {
        const SAME_SIZE: (&CStr, &CStr) = (c"same_size", c"true");
        const FOR_ALL: [(&CStr, &CStr); 2] =
            [(c"same_disp_unit", c"true"), (c"accumulate_ordering", c"none")];
        let pairs: &[(&CStr, &CStr)] = match memory {
            Memory::Allocated | Memory::Created => &[FOR_ALL[0], FOR_ALL[1], SAME_SIZE],
            Memory::Attached => &FOR_ALL,
            Memory::Shared => &[(c"alloc_shared_noncontig", c"true")],
        };
        // SAFETY: reading a constant of the C library; the calls copy terminated strings.
        // Test: suite.
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
        // Test: none.
        unsafe { ffi::MPI_Info_free(&raw mut self.0) };
    }
}

/// Time that a rank without a window waits for the others' answer: they may never return from the
/// call in which it has failed.
const LONGEST_DOUBT: Duration = Duration::from_secs(5);

/// Returns this rank's result if all ranks have one. *Collective.*
///
/// # Errors
/// This rank's error, or [`CommError::Setup`] if only another rank has failed.
fn together<T>(on: &Communicator, mine: Result<T, CommError>, limit: Limit) -> Result<T, CommError> {
    let watchdog = if mine.is_err() { limit.watchdog.min(LONGEST_DOUBT) } else { limit.watchdog };
    let answer = on.reduce(vec![mine.is_err().into()], Reduction::Highest, Limit { watchdog, ..limit });
    let failed = match (answer, &mine) {
        (Err(CommError::Timeout { context, rank, waited_s, awaited }), Err(reason)) => {
            let awaited =
                format!("{awaited}, which have not come out of the call that failed here: {reason}");
            return Err(CommError::Timeout { context, rank, waited_s, awaited });
        }
        (answer, _) => answer?,
    };
    match mine {
        Ok(_) if failed != [0] => Err(CommError::Setup("another rank could not make its window".to_owned())),
        mine => mine,
    }
}

/// Returns the first page inside a buffer that is one page longer than needed.
fn page_of(backing: &mut AlignedBuffer) -> *mut u8 {
    let bytes = backing.bytes_mut();
    let start = bytes.as_mut_ptr() as usize;
    let shift = start.next_multiple_of(PAGE_BYTES) - start;
    debug_assert!(shift.is_multiple_of(ALIGNMENT));
    bytes.get_mut(shift..).unwrap_or_default().as_mut_ptr()
}

/// Makes the window and returns it with this rank's part; `ours` is the memory to use if the
/// library does not allocate it.
fn make(
    on: &Communicator,
    memory: Memory,
    extent: usize,
    ours: *mut u8,
) -> Result<(ffi::MPI_Win, *mut u8), CommError> {
    let size = extent as ffi::MPI_Aint;
    let mut base = ours;
    let (unit, place) = (1, (&raw mut base).cast());
    let hints = Hints::new(memory)?;
    let call = match memory {
        Memory::Allocated => Call::MPI_Win_allocate,
        Memory::Created => Call::MPI_Win_create,
        Memory::Attached => Call::MPI_Win_create_dynamic,
        Memory::Shared => Call::MPI_Win_allocate_shared,
    };
    // SAFETY: reading a constant of the C library.
    // Test: suite.
    let mut raw = unsafe { ffi::RSMPI_WIN_NULL };
    let window = &raw mut raw;
    // SAFETY: the communicator is valid while MPI runs; `place` receives the address of `extent`
    // bytes, or `ours` is memory of `extent` bytes that the window's owner keeps.
    // Test: suite, memcheck.
    let made = guarded(call, || unsafe {
        match memory {
            Memory::Allocated => ffi::MPI_Win_allocate(size, unit, hints.0, on.raw, place, window),
            Memory::Created => ffi::MPI_Win_create(ours.cast(), size, unit, hints.0, on.raw, window),
            Memory::Attached => ffi::MPI_Win_create_dynamic(hints.0, on.raw, window),
            Memory::Shared => ffi::MPI_Win_allocate_shared(size, unit, hints.0, on.raw, place, window),
        }
    });
    made.map_err(|error| explained(on, memory, extent, error))?;
    Ok((raw, base))
}

/// Adds to an error what the library does not report by itself.
fn explained(on: &Communicator, memory: Memory, extent: usize, error: CommError) -> CommError {
    let CommError::Mpi { call, message } = error else { return error };
    let (free, ranks) = (constants::free_shared_memory(), on.rank_and_ranks().map_or(1, |(_, ranks)| ranks));
    let why = if memory.is_ours() {
        "Open MPI's osc/sm has only windows that it allocates, osc/rdma none of a single rank; try `window = \"allocate\"`, \
         or another component with `--mca osc`"
            .to_owned()
    } else if free < extent.saturating_mul(ranks) as u64 {
        format!("/dev/shm has only {free} bytes free; give it more, by `--shm-size` of a container")
    } else {
        return CommError::Mpi { call, message };
    };
    CommError::Mpi { call, message: format!("{message} ({why})") }
}
