//! Errors of applications on a grid.

use md_comm::CommError;
use md_core::memory::OutOfMemory;
use md_engine::EngineError;

/// Reason why a grid could not be set up or continued.
///
/// ```
/// use md_grid::{Decomposition, Edges, GridError};
///
/// let error = Decomposition::new([4, 1, 1], 5, None, [Edges::Periodic; 3]);
/// assert!(matches!(error, Err(GridError::Shape(text)) if text.contains("5 ranks")));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GridError {
    /// Nodes, ranks and halo do not fit together.
    #[error("{0}")]
    Shape(String),
    /// The restored state is already the final state of the steps.
    #[error("{0}")]
    NothingLeft(String),
    /// The values are no longer finite, or an iteration does not converge.
    #[error("step {step}: {problem}")]
    Failed {
        /// The step.
        step: u64,
        /// Description of the problem.
        problem: String,
    },
    /// A block of memory could not be allocated.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
    /// Communication error.
    #[error(transparent)]
    Communication(#[from] CommError),
    /// Error shared with the engine.
    #[error(transparent)]
    Engine(#[from] EngineError),
}
