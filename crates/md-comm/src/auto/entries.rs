//! The candidates of one context: where they come from, and those that are open.

use super::trials::Trials;
use crate::ledger::Ledger;
use crate::transport::Transport;
use crate::{Backend, CommError, Outcome, Tried, World};

/// Where candidates come from.
pub(crate) trait Candidates {
    /// The ranks.
    fn world(&self) -> &dyn World;

    /// What to choose from, in the order of preference; the same on all ranks. *Collective.*
    fn list(&self) -> Result<Vec<Backend>, CommError>;

    /// Opens a transport. *Collective.*
    fn open(&self, backend: Backend, ledger: &mut Ledger) -> Result<Box<dyn Transport>, CommError>;
}

/// A candidate that is open.
pub(super) struct Entry {
    pub(super) backend: Backend,
    /// Its transport while another entry has the exchange.
    pub(super) waiting: Option<Box<dyn Transport>>,
    /// Seconds that this rank has spent in each timed exchange.
    pub(super) times_s: Vec<f64>,
}

impl Entry {
    pub(super) fn new(trials: Trials, backend: Backend, waiting: Option<Box<dyn Transport>>) -> Self {
        Self { backend, waiting, times_s: Vec::with_capacity(trials.most_times()) }
    }
}

/// Opens all candidates but the one that is open already. *Collective.*
pub(super) fn open_all(
    candidates: &dyn Candidates,
    trials: Trials,
    opened: Backend,
    ledger: &Ledger,
) -> Result<(Vec<Entry>, Vec<Tried>), CommError> {
    let (mut entries, mut results) = (Vec::new(), Vec::new());
    for backend in candidates.list()? {
        let waiting = if backend == opened {
            Ok(None)
        } else {
            open_everywhere(candidates, backend, ledger)?.map(Some)
        };
        let why = match waiting {
            Ok(waiting) => {
                entries.push(Entry::new(trials, backend, waiting));
                "the trial is not over".to_owned()
            }
            Err(reason) => reason,
        };
        results.push(Tried { backend, outcome: Outcome::NotTimed { why } });
    }
    // What was opened first need not be on the list.
    if entries.iter().all(|entry| entry.backend != opened) {
        entries.push(Entry::new(trials, opened, None));
    }
    Ok((entries, results))
}

/// Opens a candidate; if it is refused on some ranks, the reason of the first of them. *Collective.*
fn open_everywhere(
    candidates: &dyn Candidates,
    backend: Backend,
    ledger: &Ledger,
) -> Result<Result<Box<dyn Transport>, String>, CommError> {
    let opened = match candidates.open(backend, &mut ledger.clone()) {
        Ok(transport) => Ok(transport),
        Err(CommError::Unavailable { reason, .. }) => Err(reason),
        // The library cannot do it, for instance make a window.
        Err(error @ (CommError::Mpi { .. } | CommError::Setup(_))) => Err(error.to_string()),
        Err(error) => return Err(error),
    };
    let refused = candidates.world().gather_all(&[u8::from(opened.is_err())])?;
    let Some(first) = refused.iter().position(|&refused| refused != 0) else { return Ok(opened) };
    // What some ranks have opened without the others cannot be ended collectively; it is dropped.
    let mut reason = opened.err().unwrap_or_default().into_bytes();
    candidates.world().broadcast(first, &mut reason)?;
    Ok(Err(String::from_utf8_lossy(&reason).into_owned()))
}
