//! The report of a context that chooses its transport by itself.

use crate::Backend;

/// The state of a choice, the same on all ranks.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// Name of the context.
    pub context: String,
    /// The backend that won the last trial; `None` before the first one is over.
    pub chosen: Option<Backend>,
    /// All candidates in the order of preference, with the times of the last trial.
    pub candidates: Vec<Tried>,
    /// The reason for this choice, or for having none yet.
    pub reason: String,
    /// Number of trials after the first.
    pub rechecks: u32,
}

/// One candidate.
#[derive(Debug, Clone, PartialEq)]
pub struct Tried {
    /// The backend.
    pub backend: Backend,
    /// Result of the trial.
    pub outcome: Outcome,
}

/// Result of a trial for one candidate.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The candidate took part.
    Timed {
        /// Seconds per exchange inside the transport, for a rank that did not have to wait for
        /// others; median over the blocks of the trial.
        median_s: f64,
    },
    /// The candidate did not take part, or not yet.
    NotTimed {
        /// The reason.
        why: String,
    },
}
