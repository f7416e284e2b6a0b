//! What can go wrong on a grid.

use md_comm::CommError;
use md_core::memory::OutOfMemory;
use md_engine::EngineError;

/// Why a grid could not be set up or go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GridError {
    /// Nodes, ranks and halo do not fit together.
    #[error("{0}")]
    Shape(String),
    /// The state that was restored is what the steps lead to.
    #[error("{0}")]
    NothingLeft(String),
    /// The values are no numbers any more, or an iteration does not converge.
    #[error("step {step}: {problem}")]
    Failed {
        /// The step.
        step: u64,
        /// What is wrong.
        problem: String,
    },
    /// A block of memory that could not be had.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
    /// Communication.
    #[error(transparent)]
    Communication(#[from] CommError),
    /// What is shared with the engine.
    #[error(transparent)]
    Engine(#[from] EngineError),
}
