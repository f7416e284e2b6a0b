//! Raw MPI calls behind safe functions: the unsafe code of the crate, but for one piece of advice
//! to the system about its buffers.
//!
//! Structure: [`Communicator`] for calls on a communicator, [`Transfers`] for point-to-point
//! requests together with the buffers they use, [`lend`] for messages from and to memory of the
//! caller's, [`Window`] for memory that other ranks write to. The rules that make the wrappers
//! safe:
//! 1. every function needs a value that exists only between `MPI_Init` and `MPI_Finalize` (rsmpi's
//!    `Universe`, or something made from it and kept by the same owner); a program that has
//!    initialised MPI itself promises to drop what it got from `start_with` before it finalises
//!    MPI;
//! 2. a buffer passed to a non-blocking call lives in the same object as its request, is neither
//!    moved nor accessed while the request is active, and is leaked, not freed, if the request
//!    cannot be ended (memory of the caller's cannot be leaked: there, the job is ended);
//! 3. every return code is checked; handles return errors instead of aborting;
//! 4. no message is longer than the receive posted for it: senders check against a capacity that
//!    the receiver has received from them before it posts, and announce longer messages, for which
//!    receives of their own are posted. The library's truncation error is no protection: Open MPI
//!    4.1.4 reports it, but its single-copy path (1562 bytes to the rank itself, 5000 bytes to a
//!    neighbour on the node) writes the whole message past the end of the buffer.
//!
//! Advantage over rsmpi's scoped requests: `initiate` and `complete` can be two methods of one
//! object. Disadvantage: this module must keep the rules itself; hence no other file of `mpi` may
//! be unsafe.
#![expect(unsafe_code, reason = "MPI is a C interface; the rules are in the module's documentation")]

mod communicator;
mod constants;
mod file;
mod lent;
mod neighbours;
mod probe;
mod streaming;
mod transfers;
mod window;

use std::ffi::{CStr, c_char, c_int};
use std::time::Duration;

use mpi::ffi;

use super::watched_calls::{Call, watched};
use crate::{CommError, Rank};
pub(super) use communicator::{Barriers, Communicator, Limit, Reducing};
pub(super) use constants::free_shared_memory;
pub(super) use file::OpenFile;
pub(super) use lent::{Lent, Scattered, lend};
pub(super) use neighbours::{Neighbours, Side};
pub(super) use streaming::copy_streaming;
pub use streaming::{PastCaches, write_past_caches};
pub(super) use transfers::{Cancelled, Transfers, Way};
pub(super) use window::{Assertion, Group, Memory, Place, RANKS_PER_FLUSH, Request, Vector, Window};

/// Turns a return code into a result with the library's text (MPI-3.1 section 8.3).
#[inline]
fn check(call: &'static str, code: c_int) -> Result<(), CommError> {
    if code == ffi::MPI_SUCCESS as c_int { Ok(()) } else { Err(failure(call, code)) }
}

/// Checks a call that may wait for other ranks, under the watchdog.
fn guarded(call: Call, make: impl FnOnce() -> c_int) -> Result<(), CommError> {
    check(call.into(), watched(call, None, make))
}

/// Checks a call that waits for one rank, under the watchdog.
fn guarded_to(call: Call, peer: Rank, make: impl FnOnce() -> c_int) -> Result<(), CommError> {
    check(call.into(), watched(call, Some(peer), make))
}

#[cold]
fn failure(call: &'static str, code: c_int) -> CommError {
    CommError::Mpi { call, message: error_text(code) }
}

fn error_text(code: c_int) -> String {
    // SAFETY: the buffer has the size that the standard requires.
    // Test: error text.
    let text = text(ffi::MPI_MAX_ERROR_STRING as usize, |text, length| unsafe {
        ffi::MPI_Error_string(code, text, length)
    });
    text.unwrap_or_else(|_| format!("error code {code}"))
}

/// Returns the version line of the library (MPI-3.1 section 8.1.1). May be called at any time.
pub(super) fn library_version() -> Result<String, CommError> {
    // SAFETY: reading a constant of the C library.
    // Test: library.
    let size = unsafe { ffi::RSMPI_MAX_LIBRARY_VERSION_STRING } as usize;
    // SAFETY: the buffer has the size that the standard requires.
    // Test: library.
    text(size, |text, length| unsafe { ffi::MPI_Get_library_version(text, length) })
        .map_err(|code| failure("MPI_Get_library_version", code))
}

/// Returns what a call writes into a buffer of `size` bytes, up to the first zero byte, or the code
/// of the call if it fails.
fn text(size: usize, write: impl FnOnce(*mut c_char, *mut c_int) -> c_int) -> Result<String, c_int> {
    // The last byte stays zero, as a terminator.
    let (mut text, mut length) = (vec![0_u8; size + 1], 0);
    let code = write(text.as_mut_ptr().cast(), &raw mut length);
    if code != ffi::MPI_SUCCESS as c_int {
        return Err(code);
    }
    let text = CStr::from_bytes_until_nul(&text).map(CStr::to_string_lossy).unwrap_or_default();
    Ok(text.trim_end().to_owned())
}

/// Returns whether MPI calls are possible now (MPI-3.1 section 8.7). May be called at any time,
/// from any thread.
fn is_running() -> bool {
    let (mut initialised, mut finalised) = (0, 0);
    // SAFETY: both calls are allowed at any time and write one integer.
    // Test: embedded.
    let codes =
        unsafe { [ffi::MPI_Initialized(&raw mut initialised), ffi::MPI_Finalized(&raw mut finalised)] };
    codes == [ffi::MPI_SUCCESS as c_int; 2] && initialised != 0 && finalised == 0
}

/// Time for the launcher to forward what ranks print. MPICH's launcher has been seen to drop output
/// that it had not read yet when a rank aborted, and that output is the reason of the abort.
const TIME_TO_FORWARD: Duration = Duration::from_millis(200);

/// Ends all ranks (MPI-3.1 section 8.7), after what has been printed is forwarded. Returns only if
/// MPI is not running here.
pub(super) fn abort_all(exit_code: i32) {
    if is_running() {
        std::thread::sleep(TIME_TO_FORWARD);
        // SAFETY: MPI is initialised and not finalised; the call does not return. From a panic hook
        // it may come from another thread than the funneled one: the process ends either way.
        // Test: abort.
        unsafe { ffi::MPI_Abort(ffi::RSMPI_COMM_WORLD, exit_code) };
    }
}

mod raw {
    // SAFETY: the signature is that of POSIX.
    // Test: blocked.
    unsafe extern "C" {
        /// Ends the process at once, without exit handlers that might wait for the library.
        pub(crate) safe fn _exit(code: super::c_int) -> !;
    }
}

/// Ends this process without another call of the library.
pub(super) fn end_process(exit_code: i32) -> ! {
    raw::_exit(exit_code)
}

/// Converts a length to MPI's `int`.
#[inline]
fn count(call: &'static str, bytes: usize) -> Result<c_int, CommError> {
    c_int::try_from(bytes).map_err(|_| too_long(call, bytes))
}

#[cold]
fn too_long(call: &'static str, bytes: usize) -> CommError {
    CommError::Mpi { call, message: format!("a message of {bytes} bytes is longer than 2 GiB") }
}

/// Returns a request without a pending operation.
fn null_request() -> ffi::MPI_Request {
    // SAFETY: reading a constant of the C library.
    // Test: suite.
    unsafe { ffi::RSMPI_REQUEST_NULL }
}

/// Returns whether no operation is pending on a request, which is then null or inactive. Never
/// blocks. MPI-3.1 section 3.7.3. The memory that the request uses obeys its owner's invariant.
fn is_over(request: &mut ffi::MPI_Request) -> Result<bool, CommError> {
    if *request == null_request() {
        return Ok(true);
    }
    let mut done = 0;
    // SAFETY: a request that its owner alone has; an integer is written.
    // Test: suite, dropped.
    check("MPI_Test", unsafe { ffi::MPI_Test(&raw mut *request, &raw mut done, ignored_status()) })?;
    Ok(done != 0)
}

fn byte() -> ffi::MPI_Datatype {
    // SAFETY: reading a constant of the C library. (`MPI_BYTE` itself is a macro that bindgen
    // cannot see; an 8-bit unsigned integer is moved unchanged between ranks of one architecture.)
    // Test: suite.
    unsafe { ffi::RSMPI_UINT8_T }
}

fn word() -> ffi::MPI_Datatype {
    // SAFETY: reading a constant of the C library.
    // Test: suite.
    unsafe { ffi::RSMPI_UINT64_T }
}

fn blank_status() -> ffi::MPI_Status {
    // SAFETY: a C struct of integers, for which zero is a value; MPI overwrites it.
    // Test: suite.
    unsafe { std::mem::zeroed() }
}

/// Returns the status argument of calls whose status is not needed: the library does not fill it
/// in.
#[inline]
fn ignored_status() -> *mut ffi::MPI_Status {
    // SAFETY: reading a constant of the C library.
    // Test: suite.
    unsafe { ffi::RSMPI_STATUS_IGNORE }
}
