//! Checkpoints: files from which a run can be resumed.
//!
//! The engine defines the contents of a checkpoint ([`md_engine::SavedState`],
//! [`md_grid::Resumable`]): words that are equal on all ranks, and rows of words, one per particle
//! or node, in the order of each rank. This module writes them to a file and reads them back:
//!
//! | file | |
//! | --- | --- |
//! | `layout` | positions of the parts of the file |
//! | `header` | the part that is text |
//! | `observer` | when a checkpoint is written, and which older ones are kept |
//! | `write` | all ranks write into one file |
//! | `read` | all ranks read it, whichever ranks wrote it |
//! | `grid` | reading the nodes of a grid |
//! | `choice` | the file that `--resume` stands for |
//! | `differences` | differences from the scenario of the checkpoint |
//!
//! **Written in parallel.** Every rank writes its slab at its own place in one file
//! ([`md_comm::SharedFile`]: by MPI-IO, or by system calls if ranks are threads). The folder must
//! therefore be on a file system that all ranks can access. The writes are independent and not
//! collective: pieces have half a megabyte already, so collective buffering would gain nothing.
//!
//! **Atomically.** The file is written under another name and synchronised to the disk before it
//! receives its own name; then the folder is synchronised. A file with the name of a checkpoint is
//! therefore complete, whenever the run is killed.
//!
//! **Checked.** Header, index and every block of particles have a CRC-32.

pub use md_engine::analysis::Rows as ParticleRows;

mod choice;
mod differences;
mod grid;
mod header;
mod kept;
mod layout;
mod observer;
mod read;
mod write;

use std::path::PathBuf;

use md_scenario::failure::{DONE, Failure};

pub use differences::Differences;
pub use grid::read_nodes;
pub use header::{BegunStage, Header, OutputMemory, ParticleWords, SavedMask, SavedNodes};
pub use kept::{OutputState, ParticleMemory};
pub use observer::{Checkpoints, Root};
pub use read::{Resumed, folders_of_stages, inspect, read, skin_at};

pub(crate) use choice::{file_name, is_own, step_of};
pub(crate) use write::sum_before;

/// A checkpoint that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot go on from `{}`: {problem}{}", path.display(), advice.as_ref().map(|advice| format!("\n{advice}")).unwrap_or_default())]
pub struct CheckpointError {
    /// The file or folder.
    pub path: PathBuf,
    /// Description of the problem.
    pub problem: String,
    /// Advice for the user.
    pub advice: Option<String>,
}

impl Failure for CheckpointError {}

/// A checkpoint that cannot be shown.
#[derive(Debug, thiserror::Error)]
#[error("cannot inspect `{}`: {}{}", .0.path.display(), .0.problem, .0.advice.as_ref().map(|advice| format!("\n{advice}")).unwrap_or_default())]
pub struct Inspected(pub CheckpointError);

impl Failure for Inspected {}

/// A run that had come to its end has nothing to go on with: no failure, so that chains of jobs end
/// well.
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
