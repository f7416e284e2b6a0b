//! The candidates of a trial: where they come from, and how they are opened.

use crate::auto::trials::Trials;
use crate::ledger::Ledger;
use crate::transport::Transport;
use crate::{Backend, CommError, Outcome, Reduction, Tried, World};

/// A source of candidates.
pub(crate) trait Candidates {
    /// Returns the world.
    fn world(&self) -> &dyn World;

    /// Returns the candidates in the order of preference, the same on all ranks. *Collective.*
    fn list(&self) -> Result<Vec<Backend>, CommError>;

    /// Opens a transport. *Collective.*
    fn open(&self, backend: Backend, ledger: &mut Ledger) -> Result<Box<dyn Transport>, CommError>;
}

/// A candidate that is open.
pub(super) struct Entry {
    pub(super) backend: Backend,
    pub(super) transport: Box<dyn Transport>,
    /// Seconds that this rank has spent in each timed exchange.
    pub(super) times_s: Vec<f64>,
}

impl Entry {
    pub(super) fn new(trials: Trials, backend: Backend, transport: Box<dyn Transport>) -> Self {
        Self { backend, transport, times_s: Vec::with_capacity(trials.most_times()) }
    }

    /// Ends the candidate. *Collective.*
    pub(super) fn finalise(self) -> Result<(), CommError> {
        self.transport.finalise()
    }
}

/// The candidates beside the one that is open already.
pub(super) struct Others {
    /// Those that were opened, in the order of preference.
    pub(super) entries: Vec<Entry>,
    /// Place among them of the one that was open already.
    pub(super) place_of_opened: usize,
    /// A result for each candidate.
    pub(super) results: Vec<Tried>,
}

/// Opens all candidates except the one that is open already and those that were refused `before`;
/// another attempt at these would only leak once more what some ranks have opened. *Collective.*
pub(super) fn open_others(
    candidates: &dyn Candidates,
    trials: Trials,
    opened: Backend,
    before: &[Tried],
    ledger: &Ledger,
) -> Result<Others, CommError> {
    let (mut entries, mut results, mut place_of_opened) = (Vec::new(), Vec::new(), None);
    for backend in candidates.list()? {
        let is_refused = |tried: &&Tried| match tried.outcome {
            Outcome::NotTimed { .. } => tried.backend == backend,
            Outcome::Timed { .. } => false,
        };
        if let Some(refused) = before.iter().find(is_refused) {
            results.push(refused.clone());
            continue;
        }
        let mut why = "the trial is not over".to_owned();
        if backend == opened {
            place_of_opened = Some(entries.len());
        } else {
            match everywhere(candidates.world(), candidates.open(backend, &mut ledger.clone()))? {
                Ok(transport) => entries.push(Entry::new(trials, backend, transport)),
                Err(reason) => why = reason,
            }
        }
        results.push(Tried { backend, outcome: Outcome::NotTimed { why } });
    }
    // The backend that was opened first need not be on the list.
    let place_of_opened = place_of_opened.unwrap_or(entries.len());
    Ok(Others { entries, place_of_opened, results })
}

/// Returns the result of a candidate on this rank or, if it is refused on some ranks, the reason of
/// the first of them. *Collective.*
pub(super) fn everywhere<T>(
    world: &dyn World,
    mine: Result<T, CommError>,
) -> Result<Result<T, String>, CommError> {
    let mine = match mine {
        Err(CommError::Unavailable { reason, .. }) => Err(reason),
        Err(error) if error.refused().is_none() => return Err(error),
        mine => mine.map_err(|error| error.to_string()),
    };
    // The lowest rank that refuses has the highest number.
    let mut refuses = [if mine.is_err() { (world.ranks() - world.rank()) as u64 } else { 0 }];
    world.reduce(&mut refuses, Reduction::Highest)?;
    if refuses == [0] {
        return Ok(mine);
    }
    let first = world.ranks() - refuses[0] as usize;
    // What some ranks have opened without the others cannot be ended collectively; it is dropped.
    let mut reason = mine.err().unwrap_or_default().into_bytes();
    world.broadcast(first, &mut reason)?;
    Ok(Err(String::from_utf8_lossy(&reason).into_owned()))
}
