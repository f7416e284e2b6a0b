//! The watchdog of calls that block inside the MPI library, where no loop of this crate reads the
//! clock.
//!
//! The thread that calls MPI stores in one atomic word which call it is in; a [`Monitor`] reads the
//! word. If the same call lasts for longer than the limit, the monitor reports it and ends the job.
//! Costs two stores per call.

use std::io::Write;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use super::ffi;
pub(super) use crate::monitor::CallLimit;
use crate::monitor::{CallWord, Monitor, Standstill, call_in, peer_in};
use crate::{CommError, Rank};

/// Exit code of a job that is ended because a call has not returned: the communication has failed.
pub(super) const EXIT_CODE: i32 = 3;
/// Time for the library to end the job, before this process ends by itself and the launcher ends
/// the rest.
const TIME_TO_ABORT: Duration = Duration::from_secs(3);

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
static CURRENT: CallWord = CallWord(AtomicU64::new(0));

/// Makes a call under the watchdog; `peer` is the rank that it concerns, if there is only one.
pub(super) fn watched<T>(call: Call, peer: Option<Rank>, make: impl FnOnce() -> T) -> T {
    CURRENT.enter(call as u8, peer);
    let made = make();
    CURRENT.leave();
    made
}

/// The rank of the watched process, and the number of ranks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Watched {
    pub(super) rank: Rank,
    pub(super) ranks: usize,
}

/// Watches this process's calls until the monitor is dropped.
pub(super) fn start(watched: Watched, limit: &CallLimit) -> Monitor {
    let limit = limit.clone();
    Monitor::start(move || limit.get(), || CURRENT.pulse(), move |standstill| end_job(watched, standstill))
}

/// Returns the error that reports a call which has not returned.
fn late(Watched { rank, ranks }: Watched, Standstill { pulse, waited }: Standstill) -> CommError {
    let context = Call::from_repr(call_in(pulse)).map_or("MPI", Into::into);
    let awaited = match (peer_in(pulse), ranks) {
        (Some(peer), _) => format!("rank {peer}"),
        (None, 1) => "the MPI library".to_owned(),
        (None, _) => "the other ranks".to_owned(),
    };
    CommError::Timeout { context, rank, waited_s: waited.as_secs_f64(), awaited }
}

fn end_job(watched: Watched, standstill: Standstill) {
    let text = format!("error: rank {}: {}\n", watched.rank, late(watched, standstill));
    // If the terminal is gone, the message cannot be printed.
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
    // The library may block in this call as it does in the other.
    let abort = std::thread::Builder::new().spawn(|| ffi::abort_all(EXIT_CODE));
    if abort.is_ok() {
        std::thread::sleep(TIME_TO_ABORT);
    }
    ffi::end_process(EXIT_CODE);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_has_a_pulse_of_its_own() {
        let word = CallWord::default();
        assert_eq!(word.pulse(), None);
        word.enter(Call::MPI_Win_fence as u8, None);
        let first = word.pulse();
        word.leave();
        assert_eq!(word.pulse(), None);
        word.enter(Call::MPI_Win_fence as u8, None);
        assert!(first.is_some() && word.pulse().is_some() && first != word.pulse());
    }

    #[test]
    fn the_report_names_rank_call_peer_and_seconds() {
        let word = CallWord::default();
        let said = |watched, call: Call, peer| {
            word.enter(call as u8, peer);
            let pulse = word.pulse().unwrap();
            word.leave();
            late(watched, Standstill { pulse, waited: Duration::from_secs(60) }).to_string()
        };
        let (of_many, alone) = (Watched { rank: 3, ranks: 4 }, Watched { rank: 0, ranks: 1 });
        let fence = Call::MPI_Win_fence;
        assert_eq!(said(of_many, fence, None), "MPI_Win_fence: rank 3 waited 60 s for the other ranks");
        assert_eq!(said(of_many, Call::MPI_Put, Some(0)), "MPI_Put: rank 3 waited 60 s for rank 0");
        assert_eq!(said(alone, fence, None), "MPI_Win_fence: rank 0 waited 60 s for the MPI library");
    }
}
