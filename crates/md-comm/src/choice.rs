//! What a context that chooses its transport by itself tells about it.

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
    /// Why this one, or why none yet.
    pub reason: String,
    /// Trials beside the first.
    pub rechecks: u32,
}

/// One candidate.
#[derive(Debug, Clone, PartialEq)]
pub struct Tried {
    /// The backend.
    pub backend: Backend,
    /// What the trial found.
    pub outcome: Outcome,
}

/// What a trial found out about a candidate.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It took part.
    Timed {
        /// Seconds per exchange inside the transport, of a rank that did not have to wait for others; median over the
        /// blocks of the trial.
        median_s: f64,
    },
    /// It did not, or not yet.
    NotTimed {
        /// Why.
        why: String,
    },
}
