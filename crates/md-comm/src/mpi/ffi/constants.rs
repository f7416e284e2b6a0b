//! Constants that bindgen cannot see, through the C shim.
#![expect(unsafe_code, reason = "raw MPI calls; rules in the parent module")]

use std::ffi::c_int;

use mpi::ffi;

mod raw {
    use super::{c_int, ffi};

    // SAFETY: the signatures are those of `mdcomm_shim.c`; handle types are transparent.
    // Test: rough.
    unsafe extern "C" {
        /// `MPI_REPLACE`.
        pub(crate) safe fn mdc_replace() -> ffi::MPI_Op;
        /// `MPI_NO_OP`.
        pub(crate) safe fn mdc_no_op() -> ffi::MPI_Op;
        /// `MPI_MODE_NOCHECK`. Never for post and start: Open MPI's osc/sm then lets `MPI_Win_wait`
        /// return early.
        pub(crate) safe fn mdc_mode_nocheck() -> c_int;
        /// `MPI_MODE_NOSUCCEED`.
        pub(crate) safe fn mdc_mode_nosucceed() -> c_int;
        /// `MPI_MODE_NOPRECEDE`.
        pub(crate) safe fn mdc_mode_noprecede() -> c_int;
        /// `MPI_MODE_NOSTORE`.
        pub(crate) safe fn mdc_mode_nostore() -> c_int;
        /// `MPI_LOCK_EXCLUSIVE`.
        pub(crate) safe fn mdc_lock_exclusive() -> c_int;
        /// `MPI_MODE_NOPUT`.
        pub(crate) safe fn mdc_mode_noput() -> c_int;
        /// Returns the free bytes in `/dev/shm`, or the highest number if there is no such folder.
        pub(crate) safe fn mdc_free_shared_memory() -> u64;
        pub(super) fn mdc_is_unified(window: ffi::MPI_Win, unified: *mut c_int) -> c_int;
    }
}

pub(in crate::mpi) use raw::mdc_free_shared_memory as free_shared_memory;
pub(super) use raw::{
    mdc_lock_exclusive as lock_exclusive, mdc_mode_nocheck as mode_nocheck,
    mdc_mode_noprecede as mode_noprecede, mdc_mode_noput as mode_noput, mdc_mode_nostore as mode_nostore,
    mdc_mode_nosucceed as mode_nosucceed, mdc_no_op as no_op, mdc_replace as replace,
};

/// Returns the return code, and whether the window's public and private copies are the same memory
/// (MPI-3.1 section 11.4).
pub(super) fn is_unified(window: ffi::MPI_Win) -> (c_int, bool) {
    let mut unified = 0;
    // SAFETY: the window is a valid handle of its owner; one integer is written.
    // Test: suite.
    let code = unsafe { raw::mdc_is_unified(window, &raw mut unified) };
    (code, unified != 0)
}
