//! The calls of the MPI library that may wait for other ranks, and the one that this process is in.

use std::sync::atomic::AtomicU64;

use crate::Rank;
use crate::monitor::CallWord;

/// Exit code of a job that is ended because a call has not returned: the communication has failed.
pub(super) const EXIT_CODE: i32 = 3;

/// Calls that may wait for other ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::FromRepr, strum::IntoStaticStr)]
#[repr(u8)]
#[expect(non_camel_case_types, reason = "the names are the standard's")]
pub(super) enum Call {
    MPI_Init_thread = 1,
    MPI_Finalize,
    MPI_Comm_dup,
    MPI_Comm_split,
    MPI_Comm_split_type,
    MPI_Comm_free,
    MPI_Dist_graph_create_adjacent,
    MPI_Win_allocate,
    MPI_Win_create,
    MPI_Win_create_dynamic,
    MPI_Win_allocate_shared,
    MPI_Win_free,
    MPI_Win_fence,
    MPI_Win_post,
    MPI_Win_start,
    MPI_Win_complete,
    MPI_Win_test,
    MPI_Win_lock,
    MPI_Win_unlock,
    MPI_Win_lock_all,
    MPI_Win_unlock_all,
    MPI_Win_flush,
    MPI_Win_flush_all,
    MPI_Win_sync,
    MPI_Put,
    MPI_Get,
    MPI_Accumulate,
    MPI_Fetch_and_op,
    MPI_Mrecv,
    MPI_File_open,
    MPI_File_sync,
    MPI_File_close,
}

/// The current call. One word per process, as there is one MPI per process. Only the thread that
/// calls MPI stores.
pub(super) static CURRENT: CallWord = CallWord(AtomicU64::new(0));

/// Makes a call under the watchdog; `peer` is the rank that it concerns, if there is only one.
pub(super) fn watched<T>(call: Call, peer: Option<Rank>, make: impl FnOnce() -> T) -> T {
    CURRENT.enter(call as u8, peer);
    let made = make();
    CURRENT.leave();
    made
}
