//! A communicator of this crate and the collectives on it. All are non-blocking inside, so that the
//! watchdog applies to them.
#![expect(unsafe_code, reason = "raw MPI calls; rules in the parent module")]

use std::ffi::c_int;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::time::Duration;

use mpi::environment::Universe;
use mpi::{ffi, topology};

use super::{Call, blank_status, byte, check, count, guarded, is_over, null_request, word};
use crate::spin_wait::SpinWait;
use crate::{CommError, Rank, Reduction};

/// Time limit of a wait, and the rank for the report.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit {
    pub(crate) watchdog: Duration,
    pub(crate) rank: Rank,
}

/// A duplicate of a communicator of the program. Its messages never match those of other code.
/// Freed by `MPI_Finalize`, because `MPI_Comm_free` is collective and `Drop` also runs when another
/// rank has ended.
#[derive(Debug)]
pub(crate) struct Communicator {
    pub(super) raw: ffi::MPI_Comm,
    /// Handles are plain integers in some libraries; MPI calls are funneled through one thread.
    one_thread: PhantomData<*mut ()>,
}

impl Communicator {
    /// Makes calls that have no communicator of this crate return their errors. MPI-3.1 section
    /// 8.3.1.
    pub(crate) fn return_errors(_running: &Universe) -> Result<(), CommError> {
        // SAFETY: MPI is running (witness); both handles are predefined.
        // Test: suite.
        unsafe {
            for handle in [ffi::RSMPI_COMM_WORLD, ffi::RSMPI_COMM_SELF] {
                let code = ffi::MPI_Comm_set_errhandler(handle, ffi::RSMPI_ERRORS_RETURN);
                check("MPI_Comm_set_errhandler", code)?;
            }
        }
        Ok(())
    }

    /// Returns a communicator created by `make`; calls on it return their errors. MPI-3.1 section
    /// 8.3.1.
    pub(super) fn made(
        call: Call,
        make: impl FnOnce(*mut ffi::MPI_Comm) -> c_int,
    ) -> Result<Self, CommError> {
        // SAFETY: reading constants of the C library; the handler is set on the handle just made.
        // Test: suite.
        unsafe {
            let mut raw = ffi::RSMPI_COMM_NULL;
            guarded(call, || make(&raw mut raw))?;
            check("MPI_Comm_set_errhandler", ffi::MPI_Comm_set_errhandler(raw, ffi::RSMPI_ERRORS_RETURN))?;
            Ok(Self { raw, one_thread: PhantomData })
        }
    }

    /// Duplicates a communicator of the program. *Collective.* MPI-3.1 section 6.4.2.
    pub(crate) fn duplicate_of(original: &impl topology::Communicator) -> Result<Self, CommError> {
        // SAFETY: the handle is valid (witness).
        // Test: embedded.
        Self::made(Call::MPI_Comm_dup, |raw| unsafe { ffi::MPI_Comm_dup(original.as_raw(), raw) })
    }

    /// Duplicates this communicator. *Collective.* MPI-3.1 section 6.4.2.
    pub(crate) fn duplicate(&self) -> Result<Self, CommError> {
        // SAFETY: the handle is valid while MPI runs.
        // Test: suite.
        Self::made(Call::MPI_Comm_dup, |raw| unsafe { ffi::MPI_Comm_dup(self.raw, raw) })
    }

    /// Returns a communicator of the ranks that can share memory with this one, in the order of
    /// their numbers. *Collective.* MPI-3.1 section 6.4.2.
    pub(crate) fn node(&self) -> Result<Self, CommError> {
        let (rank, _) = self.rank_and_ranks()?;
        // SAFETY: the handle is valid while MPI runs.
        // Test: nodes.
        Self::made(Call::MPI_Comm_split_type, |raw| unsafe {
            let kind = ffi::RSMPI_COMM_TYPE_SHARED;
            ffi::MPI_Comm_split_type(self.raw, kind, rank as c_int, ffi::RSMPI_INFO_NULL, raw)
        })
    }

    /// Returns a communicator of the ranks that name the same group, in the order of their numbers.
    /// *Collective.* MPI-3.1 section 6.4.2.
    pub(crate) fn split(&self, group: c_int) -> Result<Self, CommError> {
        let (rank, _) = self.rank_and_ranks()?;
        // SAFETY: the handle is valid while MPI runs.
        // Test: nodes.
        Self::made(Call::MPI_Comm_split, |raw| unsafe {
            ffi::MPI_Comm_split(self.raw, group, rank as c_int, raw)
        })
    }

    /// Lets the library move data, including other ranks' puts to this one: with software progress
    /// these wait for some call of this rank. To be called on a communicator that carries no
    /// messages: if Open MPI finds a message it returns at once and moves nothing, and what the
    /// rank waits for might never arrive. MPI-3.1 sections 3.8.1, 11.7.3.
    pub(crate) fn drive_progress(&self) -> Result<(), CommError> {
        let (mut found, mut status) = (0, blank_status());
        // SAFETY: a valid communicator; an integer and a status are written. Nothing is received.
        // Test: suite.
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

    /// Frees the communicator; the library returns an error from every later call on it.
    /// *Collective.* MPI-3.1 section 6.4.3.
    pub(crate) fn free(&mut self) -> Result<(), CommError> {
        // SAFETY: the handle is valid and becomes the null handle.
        // Test: suite.
        guarded(Call::MPI_Comm_free, || unsafe { ffi::MPI_Comm_free(&raw mut self.raw) })
    }

    /// Returns this process's rank and the number of ranks.
    pub(crate) fn rank_and_ranks(&self) -> Result<(Rank, usize), CommError> {
        let (mut rank, mut ranks) = (0, 0);
        // SAFETY: the handle is valid while MPI runs; each call writes one integer.
        // Test: suite.
        unsafe {
            check("MPI_Comm_rank", ffi::MPI_Comm_rank(self.raw, &raw mut rank))?;
            check("MPI_Comm_size", ffi::MPI_Comm_size(self.raw, &raw mut ranks))?;
        }
        Ok((rank as Rank, ranks as usize))
    }

    /// Returns the largest tag. MPI-3.1 section 8.1.2.
    pub(crate) fn largest_tag(&self) -> Result<i32, CommError> {
        // The attribute is set on the predefined world communicator; a duplicate need not have it.
        let mut value: *const c_int = std::ptr::null();
        let mut found = 0;
        // SAFETY: for this key the library writes a pointer to an integer that lives until
        // finalisation.
        // Test: suite.
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

    /// Gathers the bytes of all ranks. MPI-3.1 section 5.12.5. *Collective.*
    pub(crate) fn gather_all(&self, mine: Vec<u8>, ranks: usize, limit: Limit) -> Result<Vec<u8>, CommError> {
        if mine.is_empty() {
            // Empty vectors share one dangling address, and the library refuses equal buffers.
            return Ok(Vec::new());
        }
        let bytes = count("MPI_Iallgather", mine.len())?;
        let all = vec![0_u8; mine.len() * ranks];
        // SAFETY: `all` has room for every rank's `bytes`.
        // Test: suite, memcheck.
        let kept = collective("MPI_Iallgather", (mine, all), limit, |(mine, all), request| unsafe {
            let (from, to) = (mine.as_ptr().cast(), all.as_mut_ptr().cast());
            ffi::MPI_Iallgather(from, bytes, byte(), to, bytes, byte(), self.raw, request)
        })?;
        Ok(kept.1)
    }

    /// Returns the bytes of `root` on every rank; the length is the same everywhere. MPI-3.1
    /// section 5.12.2. *Collective.*
    pub(crate) fn broadcast(&self, root: Rank, bytes: Vec<u8>, limit: Limit) -> Result<Vec<u8>, CommError> {
        let length = count("MPI_Ibcast", bytes.len())?;
        // SAFETY: the vector has `length` bytes.
        // Test: suite, memcheck.
        collective("MPI_Ibcast", bytes, limit, |bytes, request| unsafe {
            let start = bytes.as_mut_ptr().cast();
            ffi::MPI_Ibcast(start, length, byte(), root as c_int, self.raw, request)
        })
    }

    /// Combines the words of all ranks, element by element; all ranks have the same number of
    /// words. MPI-3.1 section 5.12.8. *Collective.*
    pub(crate) fn reduce(&self, mine: Vec<u64>, how: Reduction, limit: Limit) -> Result<Vec<u64>, CommError> {
        if mine.is_empty() {
            // As in `gather_all`.
            return Ok(mine);
        }
        self.start_reduce(mine, how)?.finish(limit)
    }

    /// Starts [`Self::reduce`] for at least one word. *Collective.*
    pub(crate) fn start_reduce(&self, mine: Vec<u64>, how: Reduction) -> Result<Reducing, CommError> {
        let words = count("MPI_Iallreduce", mine.len())?;
        let all = vec![0; mine.len()];
        // SAFETY: both vectors have the same number of words, which is the count; the constants of
        // the C library are read.
        // Test: suite, memcheck.
        begin("MPI_Iallreduce", (mine, all), |(mine, all), request| unsafe {
            let operation = match how {
                Reduction::Highest => ffi::RSMPI_MAX,
                Reduction::Sum => ffi::RSMPI_SUM,
            };
            let (mine, all) = (mine.as_ptr().cast(), all.as_mut_ptr().cast());
            ffi::MPI_Iallreduce(mine, all, words, word(), operation, self.raw, request)
        })
        .map(Reducing)
    }

    /// Waits until all ranks have entered the barrier. MPI-3.1 section 5.12.1. *Collective.*
    pub(crate) fn barrier(&self, limit: Limit) -> Result<(), CommError> {
        // SAFETY: the call uses no buffer.
        // Test: suite.
        collective("MPI_Ibarrier", (), limit, |(), request| unsafe { ffi::MPI_Ibarrier(self.raw, request) })
    }
}

/// A collective under way and the memory it uses, which is on the heap. If the collective is not
/// waited for, or does not end in time, the memory is leaked: the library may still write to it,
/// and a collective cannot be cancelled.
#[derive(Debug)]
struct UnderWay<T> {
    call: &'static str,
    kept: ManuallyDrop<T>,
    request: ffi::MPI_Request,
}

impl<T> UnderWay<T> {
    /// Waits, and returns the memory that the collective has used.
    fn wait(mut self, Limit { watchdog, rank }: Limit) -> Result<T, CommError> {
        let mut wait = SpinWait::new(watchdog);
        while !is_over(&mut self.request)? {
            wait.pause().map_err(|expired| {
                let (context, awaited) = (self.call, "all ranks".to_owned());
                CommError::Timeout { context, rank, waited_s: expired.waited_s, awaited }
            })?;
        }
        Ok(ManuallyDrop::into_inner(self.kept))
    }
}

fn begin<T>(
    call: &'static str,
    mut kept: T,
    begin: impl FnOnce(&mut T, *mut ffi::MPI_Request) -> c_int,
) -> Result<UnderWay<T>, CommError> {
    let mut request = null_request();
    check(call, begin(&mut kept, &raw mut request))?;
    Ok(UnderWay { call, kept: ManuallyDrop::new(kept), request })
}

fn collective<T>(
    call: &'static str,
    kept: T,
    limit: Limit,
    make: impl FnOnce(&mut T, *mut ffi::MPI_Request) -> c_int,
) -> Result<T, CommError> {
    begin(call, kept, make)?.wait(limit)
}

/// A reduction under way: this rank's words, and the memory for the result.
#[derive(Debug)]
pub(crate) struct Reducing(UnderWay<(Vec<u64>, Vec<u64>)>);

impl Reducing {
    pub(crate) fn finish(self, limit: Limit) -> Result<Vec<u64>, CommError> {
        Ok(self.0.wait(limit)?.1)
    }
}

/// Non-blocking barriers on a communicator of their own. At most one barrier is entered at a time.
/// Collectives match by their order on a communicator; one per context lets ranks use several
/// contexts in different orders.
#[derive(Debug)]
pub(crate) struct Barriers {
    on: Communicator,
    request: ffi::MPI_Request,
}

impl Barriers {
    /// Duplicates the communicator for barriers. *Collective.*
    pub(crate) fn new(of: &Communicator) -> Result<Self, CommError> {
        Ok(Self { on: of.duplicate()?, request: null_request() })
    }

    /// Enters the next barrier; the last one must have been passed. MPI-3.1 section 5.12.1.
    pub(crate) fn enter(&mut self) -> Result<(), CommError> {
        if self.request != null_request() {
            let message = "the last barrier has not been passed".to_owned();
            return Err(CommError::Mpi { call: "MPI_Ibarrier", message });
        }
        // SAFETY: a valid communicator; the call uses no buffer.
        // Test: suite.
        check("MPI_Ibarrier", unsafe { ffi::MPI_Ibarrier(self.on.raw, &raw mut self.request) })
    }

    /// Returns whether all ranks have entered, or no barrier is entered. Never blocks.
    pub(crate) fn passed(&mut self) -> Result<bool, CommError> {
        is_over(&mut self.request)
    }

    /// Frees the communicator, with no barrier entered. *Collective.*
    pub(crate) fn free(&mut self) -> Result<(), CommError> {
        self.on.free()
    }
}
