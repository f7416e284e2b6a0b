//! The report of a context that chooses its transport by itself.

use crate::Backend;

/// The state of a choice, the same on all ranks.
///
/// ```
/// use md_comm::{Backend, Choice, Outcome, Tried};
///
/// let tried = |backend, median_s| Tried { backend, outcome: Outcome::Timed { median_s } };
/// let choice = Choice {
///     context: "positions".to_owned(),
///     chosen: Some(Backend::Shm),
///     candidates: vec![tried(Backend::P2p, 12e-6), tried(Backend::Shm, 3e-6)],
///     reason: "the fastest in every round".to_owned(),
///     rechecks: 0,
/// };
/// let of_chosen = choice.candidates.iter().find(|tried| Some(tried.backend) == choice.chosen);
/// assert_eq!(of_chosen, Some(&tried(Backend::Shm, 3e-6)));
/// ```
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
///
/// See [`Choice`] for an example.
#[derive(Debug, Clone, PartialEq)]
pub struct Tried {
    /// The backend.
    pub backend: Backend,
    /// Result of the trial.
    pub outcome: Outcome,
}

/// Result of a trial for one candidate.
///
/// ```
/// use md_comm::Outcome;
///
/// let text = |outcome: &Outcome| match outcome {
///     Outcome::Timed { median_s } => format!("{:.1} us", median_s * 1e6),
///     Outcome::NotTimed { why } => format!("not timed: {why}"),
/// };
/// assert_eq!(text(&Outcome::Timed { median_s: 3e-6 }), "3.0 us");
/// let why = "the ranks are on several nodes".to_owned();
/// assert_eq!(text(&Outcome::NotTimed { why }), "not timed: the ranks are on several nodes");
/// ```
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
