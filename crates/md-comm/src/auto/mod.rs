//! `auto`: times the candidates on the real exchange and keeps the best.
//!
//! Structure: a context begins with `p2p`. At the first negotiation after it has been used, one
//! transport per candidate is opened along the same edges. They take turns, a block of exchanges
//! each, for several rounds. Only the time that moving messages takes counts, including packing and
//! reading in place, not the caller's computation. Turns follow from the number of exchanges alone,
//! so that the ranks need not communicate about them. At the first negotiation after the trial,
//! where all ranks meet and nothing is in flight, they agree: per exchange the time of a rank that
//! did not have to wait for others counts (`waiting`), per block and per candidate the median. The
//! best is kept, the others are ended; if it does not lead in nearly every round, a candidate
//! earlier in the order of preference (`p2p` first) is kept (`decision`). Later negotiations
//! compare bytes and time per exchange with those at the choice, and begin a new trial if the bytes
//! have changed by half or the time has doubled over many exchanges.
//! Relies on: negotiations are collective and are repeated (at neighbour rebuilds; on grids after
//! some exchanges); all backends give the same bits, so that a result does not depend on the
//! choice.
//! Cost: memory and windows of all candidates during a trial, and exchanges with slow ones;
//! afterwards a further virtual call per call, a clock around one block of exchanges in ten, and
//! one small collective per negotiation.
//! Advantage: measures the pattern, sizes and load that matter, where they matter.
//! Disadvantage: a choice is only as good as the machine was quiet during the trial. Contexts of
//! varying lengths (used at rebuilds only) are not worth a trial and use `p2p`.

mod candidates;
mod choosing;
mod decision;
#[cfg(test)]
mod tests;
mod transport;
mod trials;
mod waiting;

use crate::transport::Transport;
use crate::{Backend, Tried};
pub(crate) use candidates::Candidates;
use candidates::Entry;
use trials::TransportClock;
pub use trials::Trials;

/// First in every order of preference, and used where no choice is made.
pub(crate) const PREFERRED: Backend = Backend::P2p;

/// Progress of the choice.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Phase {
    /// The context has not been used. Candidates cost memory and negotiations, so none is opened
    /// yet.
    Unused,
    /// The candidates take turns.
    Trial,
    /// One candidate is left; its bytes and its time at the choice.
    Settled { bytes: f64, median_s: f64 },
}

/// A transport that passes each exchange on to one of others.
pub(crate) struct Auto {
    candidates: Box<dyn Candidates>,
    trials: Trials,
    /// Candidates that are open, in the order of preference; never empty.
    entries: Vec<Entry>,
    /// Number of the entry that has the present exchange.
    current: usize,
    /// Result of each candidate.
    results: Vec<Tried>,
    phase: Phase,
    /// Completed exchanges of this phase.
    exchanges: u64,
    clock: TransportClock,
    /// The backend chosen in the last trial.
    chosen: Option<Backend>,
    /// The reason for the choice, or for another trial.
    reason: String,
    rechecks: u32,
}

impl Auto {
    /// Creates the choice for a context that has been opened with the preferred transport.
    pub(crate) fn new(
        candidates: Box<dyn Candidates>,
        trials: Trials,
        preferred: Box<dyn Transport>,
    ) -> Self {
        Self {
            candidates,
            trials,
            entries: vec![Entry::new(trials, PREFERRED, preferred)],
            current: 0,
            results: Vec::new(),
            phase: Phase::Unused,
            exchanges: 0,
            clock: TransportClock::default(),
            chosen: None,
            reason: String::new(),
            rechecks: 0,
        }
    }
}
