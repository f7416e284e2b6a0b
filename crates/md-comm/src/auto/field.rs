//! The candidates of one context: opening them, and who takes part.

use super::trials::Trials;
use crate::{Backend, CommError, Exchange, ExchangeSpec, Outcome, Tried, World};

/// Where candidates come from.
pub(crate) trait Market: Clone + 'static {
    /// The ranks.
    fn world(&self) -> &dyn World;

    /// What to choose from, in the order of preference; the same on all ranks. *Collective.*
    fn candidates(&self) -> Result<Vec<Backend>, CommError>;

    /// Opens a context with one of them. *Collective.*
    fn open_candidate(&self, backend: Backend, spec: ExchangeSpec) -> Result<Box<dyn Exchange>, CommError>;
}

/// A candidate that takes part, or has won.
pub(super) struct Runner {
    pub(super) backend: Backend,
    pub(super) exchange: Box<dyn Exchange>,
    /// Seconds that this rank has spent in each timed exchange.
    pub(super) times_s: Vec<f64>,
}

impl Runner {
    fn new(trials: Trials, backend: Backend, exchange: Box<dyn Exchange>) -> Self {
        Self { backend, exchange, times_s: Vec::with_capacity(trials.most_times()) }
    }
}

/// All candidates.
pub(super) struct Field {
    /// Those that take part, in the order of preference; never empty.
    pub(super) runners: Vec<Runner>,
    /// What is known of each.
    pub(super) tried: Vec<Tried>,
}

impl Field {
    /// One that need not compete.
    pub(super) fn alone(trials: Trials, (backend, exchange): (Backend, Box<dyn Exchange>)) -> Self {
        Self { runners: vec![Runner::new(trials, backend, exchange)], tried: Vec::new() }
    }

    /// Opens all candidates beside the one that is open already, with the capacities it has now. *Collective.*
    pub(super) fn open(
        market: &impl Market,
        trials: Trials,
        (backend, exchange): (Backend, Box<dyn Exchange>),
    ) -> Result<Self, CommError> {
        let spec = exchange.spec().clone();
        let mut kept = Some(exchange);
        let mut field = Self { runners: Vec::new(), tried: Vec::new() };
        for candidate in market.candidates()? {
            let opened = match kept.take_if(|_| candidate == backend) {
                Some(exchange) => Ok(exchange),
                None => open_everywhere(market, candidate, spec.clone())?,
            };
            let why = match opened {
                Ok(exchange) => {
                    field.runners.push(Runner::new(trials, candidate, exchange));
                    "the trial is not over".to_owned()
                }
                Err(reason) => reason,
            };
            field.tried.push(Tried { backend: candidate, outcome: Outcome::NotTimed { why } });
        }
        // The market may not offer what was opened first.
        field.runners.extend(kept.map(|exchange| Runner::new(trials, backend, exchange)));
        Ok(field)
    }
}

/// Opens a candidate; if it is refused on some ranks, the reason of the first of them. *Collective.*
fn open_everywhere(
    market: &impl Market,
    backend: Backend,
    spec: ExchangeSpec,
) -> Result<Result<Box<dyn Exchange>, String>, CommError> {
    let opened = match market.open_candidate(backend, spec) {
        Ok(exchange) => Ok(exchange),
        Err(CommError::Unavailable { reason, .. }) => Err(reason),
        // The library cannot do it, for instance make a window.
        Err(error @ (CommError::Mpi { .. } | CommError::Setup(_))) => Err(error.to_string()),
        Err(error) => return Err(error),
    };
    let refused = market.world().gather_all(&[u8::from(opened.is_err())])?;
    let Some(speaker) = refused.iter().position(|&refused| refused != 0) else { return Ok(opened) };
    // What some ranks have opened without the others cannot be ended collectively; it is dropped.
    let mut reason = opened.err().unwrap_or_default().into_bytes();
    market.world().broadcast(speaker, &mut reason)?;
    Ok(Err(String::from_utf8_lossy(&reason).into_owned()))
}
