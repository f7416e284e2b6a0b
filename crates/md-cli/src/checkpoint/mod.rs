//! Checkpoints: files from which a run goes on.
//!
//! What a checkpoint has to hold is the engine's matter ([`md_engine::SavedState`], [`md_grid::Resumable`]): words that all ranks have alike, and
//! rows of words, one per particle or node, in each rank's order. Here they become a file and come back:
//!
//! | file | |
//! | --- | --- |
//! | `layout` | what stands where |
//! | `header` | the part that is text |
//! | `observer` | when a checkpoint is written, and which older ones stay |
//! | `write` | all ranks write into one file |
//! | `read` | all ranks read it, whoever wrote it |
//! | `grid` | the same for the nodes of a grid |
//! | `choice` | which file `--resume` means |
//! | `differences` | what of the scenario is not as it was |
//!
//! **Written in parallel.** Every rank writes its slab at its own place in one file ([`md_comm::SharedFile`]: by MPI-IO, or by writes of the system where
//! ranks are threads), so the folder has to be on a file system that all ranks see. Each writes by itself and not collectively: pieces are half a
//! megabyte already, so there is nothing for the library's buffers to gather.
//!
//! **Atomically.** The file is written under another name, reaches the disk, and only then gets its own name; then the folder reaches the disk. So a
//! file with the name of a checkpoint is whole, whenever the run is killed.
//!
//! **Checked.** Header, index and every block of particles carry a CRC-32.

pub use md_engine::analysis::Rows as ParticleRows;

mod choice;
mod differences;
mod grid;
mod header;
mod layout;
mod observer;
mod read;
mod write;

use std::path::PathBuf;

use crate::error::{DONE, Failure};

pub use differences::Differences;
pub use grid::read_nodes;
pub use header::{BegunStage, Header, OutputMark, OutputMemory, ParticleWords, SavedMask, SavedNodes};
pub use observer::{Checkpoints, Root};
pub use read::{Resumed, folders_of_stages, inspect, read};

pub(crate) use choice::{file_name, is_own, step_of};
pub(crate) use write::sum_before;

/// A checkpoint that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot go on from `{}`: {problem}{}", path.display(), advice.as_ref().map(|advice| format!("\n{advice}")).unwrap_or_default())]
pub struct CheckpointError {
    /// The file or folder.
    pub path: PathBuf,
    /// What is wrong with it.
    pub problem: String,
    /// What to do.
    pub advice: Option<String>,
}

impl Failure for CheckpointError {}

/// A checkpoint that cannot be shown.
#[derive(Debug, thiserror::Error)]
#[error("cannot inspect `{}`: {}{}", .0.path.display(), .0.problem, .0.advice.as_ref().map(|advice| format!("\n{advice}")).unwrap_or_default())]
pub struct Inspected(pub CheckpointError);

impl Failure for Inspected {}

/// A run that had come to its end has nothing to go on with: no failure, so that chains of jobs end well.
#[derive(Debug, thiserror::Error)]
#[error("nothing is left to do after `{}`: {problem}{}", path.display(), advice.as_ref().map(|advice| format!("; {advice}")).unwrap_or_default())]
pub struct NothingLeft {
    /// The checkpoint.
    pub path: PathBuf,
    /// In what way it is the end.
    pub problem: String,
    /// What to do for more.
    pub advice: Option<String>,
}

impl Failure for NothingLeft {
    fn exit_code(&self) -> u8 {
        DONE
    }
}

impl CheckpointError {
    fn new(path: impl Into<PathBuf>, problem: impl Into<String>) -> Self {
        Self { path: path.into(), problem: problem.into(), advice: None }
    }
}
