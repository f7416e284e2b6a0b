//! A communicator of our own and the collectives on it, all non-blocking inside, so that the watchdog sees them.
#![expect(unsafe_code, reason = "raw MPI calls; rules in the parent module")]

use std::ffi::c_int;
use std::marker::PhantomData;
use std::time::Duration;

use mpi::environment::Universe;
use mpi::{ffi, topology};

use super::{blank_status, byte, check, count, null_request, word};
use crate::spin_wait::SpinWait;
use crate::{CommError, Rank};

/// How long to wait, and for whom to report it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit {
    pub(crate) watchdog: Duration,
    pub(crate) rank: Rank,
}

/// A duplicate of a communicator of the program: its messages never match anybody else's. Freed by `MPI_Finalize`, because
/// `MPI_Comm_free` is collective and `Drop` also runs when another rank is gone.
#[derive(Debug)]
pub(crate) struct Communicator {
    pub(super) raw: ffi::MPI_Comm,
    /// Handles are plain integers in some libraries; MPI calls are funneled through one thread.
    one_thread: PhantomData<*mut ()>,
}

impl Communicator {
    /// Makes errors come back from calls that have no communicator of ours. MPI-3.1 section 8.3.1.
    pub(crate) fn return_errors(_running: &Universe) -> Result<(), CommError> {
        // SAFETY: MPI is running (witness); both handles are predefined.
        unsafe {
            for handle in [ffi::RSMPI_COMM_WORLD, ffi::RSMPI_COMM_SELF] {
                let code = ffi::MPI_Comm_set_errhandler(handle, ffi::RSMPI_ERRORS_RETURN);
                check("MPI_Comm_set_errhandler", code)?;
            }
        }
        Ok(())
    }

    /// Duplicates a communicator; errors come back from calls on the duplicate. *Collective.* MPI-3.1 sections 6.4.2,
    /// 8.3.1.
    pub(crate) fn duplicate_of(original: &impl topology::Communicator) -> Result<Self, CommError> {
        // SAFETY: the handle is valid (witness); `raw` receives the new one.
        let raw = unsafe {
            let mut raw = ffi::RSMPI_COMM_NULL;
            check("MPI_Comm_dup", ffi::MPI_Comm_dup(original.as_raw(), &raw mut raw))?;
            check("MPI_Comm_set_errhandler", ffi::MPI_Comm_set_errhandler(raw, ffi::RSMPI_ERRORS_RETURN))?;
            raw
        };
        Ok(Self { raw, one_thread: PhantomData })
    }

    /// The ranks that can share memory with this one, in the order of their numbers. *Collective.* MPI-3.1 section 6.4.2.
    pub(crate) fn node(&self) -> Result<Self, CommError> {
        let (rank, _) = self.rank_and_ranks()?;
        // SAFETY: the handle is valid while MPI runs; `raw` receives the new one.
        let raw = unsafe {
            let mut raw = ffi::RSMPI_COMM_NULL;
            let kind = ffi::RSMPI_COMM_TYPE_SHARED;
            let code =
                ffi::MPI_Comm_split_type(self.raw, kind, rank as c_int, ffi::RSMPI_INFO_NULL, &raw mut raw);
            check("MPI_Comm_split_type", code)?;
            check("MPI_Comm_set_errhandler", ffi::MPI_Comm_set_errhandler(raw, ffi::RSMPI_ERRORS_RETURN))?;
            raw
        };
        Ok(Self { raw, one_thread: PhantomData })
    }

    /// The ranks of this communicator that name the same group, in the order of their numbers. *Collective.* MPI-3.1
    /// section 6.4.2.
    pub(crate) fn split(&self, group: c_int) -> Result<Self, CommError> {
        let (rank, _) = self.rank_and_ranks()?;
        // SAFETY: the handle is valid while MPI runs; `raw` receives the new one, which inherits the error handler.
        let raw = unsafe {
            let mut raw = ffi::RSMPI_COMM_NULL;
            check("MPI_Comm_split", ffi::MPI_Comm_split(self.raw, group, rank as c_int, &raw mut raw))?;
            raw
        };
        Ok(Self { raw, one_thread: PhantomData })
    }

    /// Lets the library move data, also other ranks' puts to this one: with software progress they wait for some call
    /// of ours. To be called on a communicator that carries no messages: where Open MPI finds a message it returns at once
    /// and moves nothing, and what the rank waits for might never come. MPI-3.1 sections 3.8.1, 11.7.3.
    pub(crate) fn drive_progress(&self) -> Result<(), CommError> {
        let (mut found, mut status) = (0, blank_status());
        // SAFETY: a valid communicator; an integer and a status are written. Nothing is received.
        let code = unsafe {
            ffi::MPI_Iprobe(
                ffi::RSMPI_ANY_SOURCE,
                ffi::RSMPI_ANY_TAG,
                self.raw,
                &raw mut found,
                &raw mut status,
            )
        };
        check("MPI_Iprobe", code)
    }

    /// Takes over a handle that was just made and has its error handler.
    pub(super) fn owned(raw: ffi::MPI_Comm) -> Self {
        Self { raw, one_thread: PhantomData }
    }

    /// Another communicator over the same ranks. *Collective.* MPI-3.1 section 6.4.2.
    pub(crate) fn duplicate(&self) -> Result<Self, CommError> {
        // SAFETY: the handle is valid while MPI runs; `raw` receives the new one, which inherits the error handler.
        let raw = unsafe {
            let mut raw = ffi::RSMPI_COMM_NULL;
            check("MPI_Comm_dup", ffi::MPI_Comm_dup(self.raw, &raw mut raw))?;
            raw
        };
        Ok(Self { raw, one_thread: PhantomData })
    }

    /// Ends the communicator: every later call on it is an error of the library's. *Collective.* MPI-3.1 section 6.4.3.
    pub(crate) fn free(&mut self) -> Result<(), CommError> {
        // SAFETY: the handle is valid and becomes the null handle.
        check("MPI_Comm_free", unsafe { ffi::MPI_Comm_free(&raw mut self.raw) })
    }

    /// This process's rank and the number of ranks.
    pub(crate) fn rank_and_ranks(&self) -> Result<(Rank, usize), CommError> {
        let (mut rank, mut ranks) = (0, 0);
        // SAFETY: the handle is valid while MPI runs; each call writes one integer.
        unsafe {
            check("MPI_Comm_rank", ffi::MPI_Comm_rank(self.raw, &raw mut rank))?;
            check("MPI_Comm_size", ffi::MPI_Comm_size(self.raw, &raw mut ranks))?;
        }
        Ok((rank as Rank, ranks as usize))
    }

    /// Largest tag. MPI-3.1 section 8.1.2.
    pub(crate) fn largest_tag(&self) -> Result<i32, CommError> {
        // The attribute is set on the predefined world communicator; a duplicate need not have it.
        let mut value: *const c_int = std::ptr::null();
        let mut found = 0;
        // SAFETY: for this key the library writes a pointer to an integer that lives until finalisation.
        unsafe {
            let code = ffi::MPI_Comm_get_attr(
                ffi::RSMPI_COMM_WORLD,
                ffi::MPI_TAG_UB as c_int,
                (&raw mut value).cast(),
                &raw mut found,
            );
            check("MPI_Comm_get_attr", code)?;
            if found == 0 || value.is_null() {
                return Err(CommError::Setup("the MPI library names no largest tag".to_owned()));
            }
            Ok(*value)
        }
    }

    /// MPI-3.1 section 5.12.5. *Collective.*
    pub(crate) fn gather_all(&self, mine: Vec<u8>, ranks: usize, limit: Limit) -> Result<Vec<u8>, CommError> {
        if mine.is_empty() {
            // Empty vectors share one dangling address, and the library refuses equal buffers.
            return Ok(Vec::new());
        }
        let bytes = count("MPI_Iallgather", mine.len())?;
        let mut all = vec![0_u8; mine.len() * ranks];
        let mut request = null_request();
        // SAFETY: `all` has room for every rank's `bytes`; both vectors are kept by `finish` until the call is over.
        let code = unsafe {
            let (from, to) = (mine.as_ptr().cast(), all.as_mut_ptr().cast());
            ffi::MPI_Iallgather(from, bytes, byte(), to, bytes, byte(), self.raw, &raw mut request)
        };
        check("MPI_Iallgather", code)?;
        finish("MPI_Iallgather", request, (mine, all), limit).map(|(_, all)| all)
    }

    /// `root`'s bytes on every rank; the same length everywhere. MPI-3.1 section 5.12.2. *Collective.*
    pub(crate) fn broadcast(
        &self,
        root: Rank,
        mut bytes: Vec<u8>,
        limit: Limit,
    ) -> Result<Vec<u8>, CommError> {
        let length = count("MPI_Ibcast", bytes.len())?;
        let mut request = null_request();
        // SAFETY: the vector has `length` bytes and is kept by `finish` until the call is over.
        let code = unsafe {
            let start = bytes.as_mut_ptr().cast();
            ffi::MPI_Ibcast(start, length, byte(), root as c_int, self.raw, &raw mut request)
        };
        check("MPI_Ibcast", code)?;
        finish("MPI_Ibcast", request, bytes, limit)
    }

    /// The largest value of all ranks. MPI-3.1 section 5.12.8. *Collective.*
    pub(crate) fn highest(&self, value: u64, limit: Limit) -> Result<u64, CommError> {
        let mut values = Box::new([value, 0]);
        let mut request = null_request();
        let [mine, result] = &mut *values;
        let (mine, result) = ((&raw const *mine).cast(), (&raw mut *result).cast());
        // SAFETY: both values are in one heap block, kept by `finish` until the call is over.
        let code = unsafe {
            ffi::MPI_Iallreduce(mine, result, 1, word(), ffi::RSMPI_MAX, self.raw, &raw mut request)
        };
        check("MPI_Iallreduce", code)?;
        finish("MPI_Iallreduce", request, values, limit).map(|values| values[1])
    }

    /// MPI-3.1 section 5.12.1. *Collective.*
    pub(crate) fn barrier(&self, limit: Limit) -> Result<(), CommError> {
        let mut request = null_request();
        // SAFETY: the call uses no buffer; `finish` ends the request.
        check("MPI_Ibarrier", unsafe { ffi::MPI_Ibarrier(self.raw, &raw mut request) })?;
        finish("MPI_Ibarrier", request, (), limit)
    }
}

/// Waits for a collective and gives back the buffers it used. If it does not end in time they are leaked: the library
/// may still write to them, and a collective cannot be cancelled.
fn finish<T>(
    call: &'static str,
    mut request: ffi::MPI_Request,
    kept: T,
    Limit { watchdog, rank }: Limit,
) -> Result<T, CommError> {
    let mut wait = SpinWait::new(watchdog);
    loop {
        let (mut done, mut status) = (0, blank_status());
        // SAFETY: the request is active and ours alone; its buffers are in `kept`.
        let code = unsafe { ffi::MPI_Test(&raw mut request, &raw mut done, &raw mut status) };
        if let Err(error) = check(call, code) {
            std::mem::forget(kept);
            return Err(error);
        }
        if done != 0 {
            return Ok(kept);
        }
        if let Err(expired) = wait.pause() {
            std::mem::forget(kept);
            let awaited = "all ranks".to_owned();
            return Err(CommError::Timeout { context: call, rank, waited_s: expired.waited_s, awaited });
        }
    }
}
