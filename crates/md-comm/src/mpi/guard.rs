//! The watchdog of calls that block inside the MPI library, where no loop of this crate reads the
//! clock.
//!
//! The thread that calls MPI stores in one atomic word which call it is in ([`watched`]); a
//! [`Monitor`] reads the word. If the same call lasts for longer than the limit, the monitor
//! reports it and ends the job. Costs two stores per call.
//!
//! [`watched`]: super::watched_calls::watched

use std::io::Write;
use std::time::Duration;

use super::ffi;
use super::watched_calls::{CURRENT, Call, EXIT_CODE};
pub(super) use crate::monitor::CallLimit;
use crate::monitor::{Monitor, Standstill, call_in, peer_in};
use crate::{CommError, Rank};

/// Time for the library to end the job, before this process ends by itself and the launcher ends
/// the rest.
const TIME_TO_ABORT: Duration = Duration::from_secs(3);

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
    use crate::monitor::CallWord;

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
