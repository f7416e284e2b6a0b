//! Messages directly from and to memory that is lent for as long as they are under way.
//!
//! Invariant: a [`Lent`] borrows the memory exclusively and does not access it; every datatype
//! passed to it stays inside the memory. [`lend`] returns only when no request is active any more,
//! or it ends the job: memory of the caller's cannot be leaked to the library.
#![expect(unsafe_code, reason = "raw MPI calls; rules in the parent module")]

use std::ffi::c_int;
use std::io::Write;
use std::marker::PhantomData;
use std::time::Duration;

use mpi::ffi;

use crate::mpi::ffi::transfers::Way;
use crate::mpi::ffi::{
    Communicator, abort_all, blank_status, byte, check, count, end_process, is_running, null_request,
};
use crate::mpi::watched_calls::EXIT_CODE;
use crate::spin_wait::SpinWait;
use crate::{CommError, Rank, Subarray};

/// Time limit for requests to end when the exchange has failed.
const END_LIMIT: Duration = Duration::from_secs(1);

/// Rows of bytes as one datatype, relative to the beginning of the memory. MPI-3.1 section 4.1.
#[derive(Debug)]
pub(crate) struct Scattered {
    raw: ffi::MPI_Datatype,
    /// Bytes from the memory's beginning to the end of the last row.
    end: usize,
}

impl Scattered {
    /// Describes the subarrays, of parts that start at `starts`, in turn.
    pub(crate) fn new(subarrays: &[Subarray], starts: &[usize]) -> Result<Self, CommError> {
        let call = "MPI_Type_create_struct";
        let too_far = || CommError::Mpi { call, message: "a subarray ends beyond all memory".to_owned() };
        let mut end = 0;
        let (mut pieces, mut places) = (Vec::new(), Vec::new());
        for subarray in subarrays {
            let start = starts.get(subarray.part).copied().ok_or_else(too_far)?;
            end = end.max(subarray.end().and_then(|own| own.checked_add(start)).ok_or_else(too_far)?);
            pieces.push(Datatype::of_rows(subarray)?);
            places.push(ffi::MPI_Aint::try_from(start + subarray.offset).map_err(|_| too_far())?);
        }
        let raw: Vec<_> = pieces.iter().map(|piece| piece.0).collect();
        let made = Datatype::make(call, |new| {
            let (many, ones) = (raw.len() as c_int, vec![1; raw.len()]);
            // SAFETY: the arrays have as many entries as are named; the types are valid, and the
            // new one outlives them (MPI-3.1 section 4.1.9).
            // Test: unpacked.
            unsafe { ffi::MPI_Type_create_struct(many, ones.as_ptr(), places.as_ptr(), raw.as_ptr(), new) }
        })?;
        let mut datatype = made.0;
        // SAFETY: a valid type that is not committed yet.
        // Test: unpacked.
        check("MPI_Type_commit", unsafe { ffi::MPI_Type_commit(&raw mut datatype) })?;
        std::mem::forget(made);
        Ok(Self { raw: datatype, end })
    }
}

impl Drop for Scattered {
    fn drop(&mut self) {
        drop(Datatype(self.raw));
    }
}

/// A type that is freed when it is dropped.
struct Datatype(ffi::MPI_Datatype);

impl Datatype {
    fn make(
        call: &'static str,
        create: impl FnOnce(*mut ffi::MPI_Datatype) -> c_int,
    ) -> Result<Self, CommError> {
        // SAFETY: reading a constant of the C library.
        // Test: unpacked.
        let mut raw = unsafe { ffi::RSMPI_DATATYPE_NULL };
        check(call, create(&raw mut raw))?;
        Ok(Self(raw))
    }

    /// Makes a vector of vectors of rows.
    fn of_rows(subarray: &Subarray) -> Result<Self, CommError> {
        let call = "MPI_Type_create_hvector";
        let Subarray { row_bytes, rows, strides, .. } = *subarray;
        let [slow, fast, row] = [rows[0], rows[1], row_bytes].map(|number| count(call, number));
        let (slow, fast, row) = (slow?, fast?, row?);
        let [wide, narrow] = strides.map(|stride| stride as ffi::MPI_Aint);
        let of_fast = Self::make(call, |new| {
            // SAFETY: the call writes a handle, of bytes that only communication accesses.
            // Test: unpacked.
            unsafe { ffi::MPI_Type_create_hvector(fast, row, narrow, byte(), new) }
        })?;
        Self::make(call, |new| {
            // SAFETY: as above; the inner type is valid, and the new one outlives it (MPI-3.1
            // section 4.1.9).
            // Test: unpacked.
            unsafe { ffi::MPI_Type_create_hvector(slow, 1, wide, of_fast.0, new) }
        })
    }
}

impl Drop for Datatype {
    fn drop(&mut self) {
        if is_running() {
            // SAFETY: made by a call and not freed yet; messages under way keep what they need
            // (MPI-3.1 section 4.1.9).
            // Test: unpacked.
            unsafe { ffi::MPI_Type_free(&raw mut self.0) };
        }
    }
}

/// Memory with messages under way from it and to it.
pub(crate) struct Lent<'m> {
    memory: *mut u8,
    bytes: usize,
    requests: Vec<ffi::MPI_Request>,
    ways: Vec<Way>,
    finished: Vec<c_int>,
    statuses: Vec<ffi::MPI_Status>,
    active: usize,
    borrowed: PhantomData<&'m mut [u8]>,
}

/// Lends memory for `work` of this rank, with at most `messages` messages. Messages that are still
/// under way after it are ended; if one does not end, the error is printed and the job ends.
pub(crate) fn lend(
    memory: &mut [u8],
    messages: usize,
    rank: Rank,
    work: impl FnOnce(&mut Lent<'_>) -> Result<(), CommError>,
) -> Result<(), CommError> {
    let mut lent = Lent::new(memory, messages);
    let outcome = work(&mut lent);
    if !lent.has_ended() {
        let reason = outcome.as_ref().err().map_or_else(
            || "messages from and to the memory of fields do not end".to_owned(),
            CommError::to_string,
        );
        // If the terminal is gone, the message cannot be printed.
        let _ = std::io::stderr().lock().write_all(format!("error: rank {rank}: {reason}\n").as_bytes());
    }
    outcome
}

impl<'m> Lent<'m> {
    fn new(memory: &'m mut [u8], messages: usize) -> Self {
        Self {
            memory: memory.as_mut_ptr(),
            bytes: memory.len(),
            requests: Vec::with_capacity(messages),
            ways: Vec::with_capacity(messages),
            finished: vec![0; messages],
            statuses: vec![blank_status(); messages],
            active: 0,
            borrowed: PhantomData,
        }
    }

    /// Sends what lies at these places, or receives into them; the sender has promised as many
    /// bytes. MPI-3.1 section 3.7.2.
    pub(crate) fn begin(
        &mut self,
        way: Way,
        what: &Scattered,
        on: &Communicator,
        peer: Rank,
        tag: c_int,
    ) -> Result<(), CommError> {
        let call = if way == Way::Out { "MPI_Isend" } else { "MPI_Irecv" };
        if what.end > self.bytes {
            let message = format!("a message from or to byte {} of {}", what.end, self.bytes);
            return Err(CommError::Mpi { call, message });
        }
        let (start, mut request) = (self.memory.cast(), null_request());
        let (peer, on, datatype) = (peer as c_int, on.raw, what.raw);
        // SAFETY: the memory obeys this type's invariant until the request is over, and the
        // datatype ends inside it.
        // Test: unpacked, memcheck.
        let code = unsafe {
            match way {
                Way::Out => ffi::MPI_Isend(start, 1, datatype, peer, tag, on, &raw mut request),
                Way::In => ffi::MPI_Irecv(start, 1, datatype, peer, tag, on, &raw mut request),
            }
        };
        check(call, code)?;
        self.requests.push(request);
        self.ways.push(way);
        // More messages than announced are not an error, but testing them needs room.
        self.finished.resize(self.finished.len().max(self.requests.len()), 0);
        self.statuses.resize(self.finished.len(), blank_status());
        self.active += 1;
        Ok(())
    }

    /// Lets MPI work and passes the numbers of finished messages, in the order in which they were
    /// begun, to `done`. Returns whether all are over. Never blocks. MPI-3.1 section 3.7.5.
    pub(crate) fn poll(&mut self, mut done: impl FnMut(usize)) -> Result<bool, CommError> {
        if self.active == 0 {
            return Ok(true);
        }
        let mut many = 0;
        let Self { requests, finished, statuses, .. } = &mut *self;
        // SAFETY: all arrays have at least as many entries as there are requests.
        // Test: unpacked, memcheck.
        let code = unsafe {
            ffi::MPI_Testsome(
                requests.len() as c_int,
                requests.as_mut_ptr(),
                &raw mut many,
                finished.as_mut_ptr(),
                statuses.as_mut_ptr(),
            )
        };
        check("MPI_Testsome", code)?;
        let many = usize::try_from(many).unwrap_or(0).min(finished.len());
        self.active -= many;
        self.finished[..many].iter().for_each(|&number| done(number as usize));
        Ok(self.active == 0)
    }

    /// Returns whether the message with this number is still under way.
    pub(crate) fn is_active(&self, number: usize) -> bool {
        self.requests.get(number).is_some_and(|&request| request != null_request())
    }

    /// Ends what is under way. Returns whether the library has released the memory within a short
    /// time.
    fn has_ended(&mut self) -> bool {
        if self.active == 0 || !is_running() {
            return true;
        }
        self.cancel();
        let mut wait = SpinWait::new(END_LIMIT);
        while !matches!(self.poll(|_| ()), Ok(true)) {
            if wait.pause().is_err() {
                return false;
            }
        }
        true
    }

    /// Cancels the receives; sends end by themselves or never.
    fn cancel(&mut self) {
        for (request, _) in self.requests.iter_mut().zip(&self.ways).filter(|(_, way)| **way == Way::In) {
            if *request != null_request() {
                // SAFETY: an active request of this value. The return code is not needed: the
                // request is tested until it is over.
                // Test: unpacked.
                unsafe { ffi::MPI_Cancel(request) };
            }
        }
    }
}

impl Drop for Lent<'_> {
    /// Returns only when the library has released the memory.
    fn drop(&mut self) {
        if !self.has_ended() {
            abort_all(EXIT_CODE);
            end_process(EXIT_CODE);
        }
    }
}
