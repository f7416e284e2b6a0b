//! `auto`: times the candidates on the real exchange and keeps the best.
//!
//! Structure: a context begins with `p2p`. At the first negotiation after it has been used, one context per candidate is
//! opened along the same edges. The candidates take turns, a block of exchanges each, for several rounds; only the time
//! that moving messages takes counts, packing and reading in place included, not the caller's computation. Turns follow
//! from the number of exchanges alone, so that the ranks need not talk about them. At the first negotiation after the
//! trial, where all ranks meet and nothing is in flight, they agree: per exchange the time of a rank that did not have
//! to wait for others counts (`waiting`), per block and per candidate the median. The best is kept, the others are
//! ended; if it does not lead in nearly every round, a candidate that comes earlier in the market's order of preference
//! (`p2p` first) is kept (`verdict`). Later negotiations compare bytes and time per exchange with those at the choice,
//! and begin a new trial if the bytes have changed by half or the time has doubled over many exchanges.
//! Relies on: negotiations are collective and come again and again (neighbour rebuilds); all backends give the same
//! bits, so that a result does not depend on the choice.
//! Cost: memory and windows of all candidates during a trial, and exchanges with slow ones; afterwards a branch per call,
//! a clock around one block of exchanges in ten, and one small collective per negotiation.
//! Advantage: measures the very pattern, sizes and load that matter, where they matter. Disadvantage: a choice is only
//! as good as the quiet of the machine during the trial. Contexts of varying lengths (used at rebuilds only) are not
//! worth a trial: `p2p`.

mod choosing;
mod clock;
mod exchange;
mod field;
#[cfg(test)]
mod tests;
mod trials;
mod verdict;
mod waiting;

use crate::{Backend, CommError, Exchange, ExchangeSpec, Sizes, Traffic};
use clock::TransportClock;
use field::Field;
pub(crate) use field::Market;
pub use trials::Trials;

/// First in every order of preference, and used where no choice is made.
const PREFERRED: Backend = Backend::P2p;

/// How far the choice has come.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Stage {
    /// Candidates cost memory and negotiations: none is opened for a context that nobody uses.
    Unused,
    /// The candidates take turns.
    Trial,
    /// One is left; what it had to do, and how long it took, at the choice.
    Settled { bytes: f64, median_s: f64 },
}

/// A context that chooses its transport by itself.
struct Auto<M> {
    market: M,
    trials: Trials,
    field: Field,
    /// The runner that has the present exchange.
    current: usize,
    stage: Stage,
    /// Exchanges of this stage that are complete.
    exchanges: u64,
    clock: TransportClock,
    /// Winner of the last trial.
    chosen: Option<Backend>,
    /// Why it won, or why there is another trial.
    reason: String,
    rechecks: u32,
    /// What the candidates that were ended have sent.
    ended: Traffic,
}

/// Opens a context with the best of the market's candidates. *Collective.*
pub(crate) fn open<M: Market>(
    market: &M,
    trials: Trials,
    spec: ExchangeSpec,
) -> Result<Box<dyn Exchange>, CommError> {
    let sizes = spec.sizes;
    let first = market.open_candidate(PREFERRED, spec)?;
    match sizes {
        Sizes::Variable => Ok(first),
        Sizes::Fixed => Ok(Box::new(Auto::unused(market.clone(), trials, (PREFERRED, first)))),
    }
}

impl<M: Market> Auto<M> {
    /// With the preferred transport for now.
    fn unused(market: M, trials: Trials, first: (Backend, Box<dyn Exchange>)) -> Self {
        Self {
            market,
            trials,
            field: Field::alone(trials, first),
            current: 0,
            stage: Stage::Unused,
            exchanges: 0,
            clock: TransportClock::default(),
            chosen: None,
            reason: String::new(),
            rechecks: 0,
            ended: Traffic::default(),
        }
    }
}
