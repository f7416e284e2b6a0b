//! What can go wrong with outputs, said so that a user knows what to do.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use md_engine::ObserverError;
use thiserror::Error;

use super::known_file::KnownFile;
use super::lock::Holder;
use crate::error::{BAD_INPUT, Failure, RUN_FAILED, RunError, Scope};

/// A failed output. [`OutputError::Create`] happens before the run and is a matter of what the user asked for; the
/// others happen in or after it.
#[derive(Debug, Error)]
pub enum OutputError {
    /// The directory or a file could not be set up before the run.
    #[error("cannot {action} `{}`: {reason}\n{}", path.display(), advice(reason))]
    Create {
        /// What was tried, as in "cannot ...".
        action: &'static str,
        /// On which path.
        path: PathBuf,
        /// The system's reason.
        reason: io::Error,
    },
    /// The same of a file at a place that an option of its own names.
    #[error("cannot {action} `{}`: {reason}\nchoose another place for it", path.display())]
    CreateElsewhere {
        /// What was tried, as in "cannot ...".
        action: &'static str,
        /// On which path.
        path: PathBuf,
        /// The system's reason.
        reason: io::Error,
    },
    /// A file could not be written once the run was under way, e.g. because the disk is full.
    #[error("cannot write `{}`: {reason}; {intact}", path.display())]
    Write {
        /// Which file.
        path: PathBuf,
        /// The system's reason.
        reason: io::Error,
        /// What of the file can still be used.
        intact: Intact,
    },
    /// A file would overwrite what the run was started from.
    #[error(
        "`{}` is an input of this run and would be overwritten\nchoose another output directory with --output DIR",
        path.display()
    )]
    OverwritesInput {
        /// The input.
        path: PathBuf,
    },
    /// A file of the user's choice would stand in the place of a result.
    #[error("`{}` is the place of another output of this command\nchoose another name", path.display())]
    Taken {
        /// The file, as typed.
        path: PathBuf,
    },
    /// The effective scenario cannot say where the particles are.
    #[error("scenario.toml cannot name the particle file `{}`: {reason}", path.display())]
    Unnamed {
        /// The particle file.
        path: PathBuf,
        /// Why not.
        reason: io::Error,
    },
    /// An output that should go on is not the one it was at the checkpoint.
    #[error(
        "`{}` does not go on from the checkpoint: {reason}\n\
         choose another output directory with --output DIR, where the outputs begin at the checkpoint's step", path.display()
    )]
    NotContinued {
        /// The file.
        path: PathBuf,
        /// In what it differs.
        reason: String,
    },
    /// Another run writes into the directory.
    #[error("{}", describe_use(directory, lock, holder.as_ref()))]
    InUse {
        /// The output directory.
        directory: PathBuf,
        /// Its lock.
        lock: PathBuf,
        /// Who holds it, where that is known.
        holder: Option<Holder>,
    },
    /// A file that was written during the run does not stand at its place any more.
    #[error("`{}` was removed or replaced during the run: what was written to it is lost", path.display())]
    Vanished {
        /// Which file.
        path: PathBuf,
    },
    /// Somebody has cut a file, or written to it, during the run.
    #[error(
        "`{}` was {} during the run: it holds {found} bytes, but {written} were written to it by the run",
        path.display(),
        if found < written { "cut" } else { "written to by somebody else" }
    )]
    Altered {
        /// Which file.
        path: PathBuf,
        /// Its bytes.
        found: u64,
        /// Bytes that it should hold.
        written: u64,
    },
    /// A number that JSON cannot express.
    #[error("cannot write `{file}`: `{key}` is not a finite number")]
    NotFinite {
        /// Name of the file.
        file: &'static str,
        /// Full key, e.g. `phases.force.avg_s`.
        key: String,
    },
    /// Data that does not fit the file's format.
    #[error("cannot write `{file}`: {reason}")]
    Encode {
        /// Name of the file.
        file: String,
        /// What does not fit.
        reason: String,
    },
}

impl Failure for OutputError {
    fn exit_code(&self) -> u8 {
        if self.is_before_the_run() { BAD_INPUT } else { RUN_FAILED }
    }

    fn scope(&self) -> Scope {
        if self.is_before_the_run() { Scope::AllRanks } else { Scope::ThisRank }
    }
}

/// An observer's error that keeps its exit code on the way through the engine.
pub(crate) fn kept_whole(error: ObserverError) -> ObserverError {
    match error.downcast::<OutputError>() {
        Ok(error) => Box::new(RunError::from(*error)),
        Err(error) => error,
    }
}

impl OutputError {
    /// Whether it is a matter of what the user asked for, found before the first step.
    fn is_before_the_run(&self) -> bool {
        match self {
            Self::Create { .. }
            | Self::CreateElsewhere { .. }
            | Self::OverwritesInput { .. }
            | Self::Taken { .. }
            | Self::Unnamed { .. }
            | Self::NotContinued { .. }
            | Self::InUse { .. } => true,
            Self::Write { .. }
            | Self::Vanished { .. }
            | Self::Altered { .. }
            | Self::NotFinite { .. }
            | Self::Encode { .. } => false,
        }
    }

    /// Data that does not fit the format of `file`.
    pub(crate) fn encode(file: KnownFile, reason: &dyn fmt::Display) -> Self {
        Self::Encode { file: file.name().to_owned(), reason: reason.to_string() }
    }

    /// The same of a file that does not go into the output directory.
    pub(super) fn elsewhere(self) -> Self {
        match self {
            Self::Create { action, path, reason } => Self::CreateElsewhere { action, path, reason },
            other => other,
        }
    }

    /// The same failure where the run has not begun: there is nothing to save, but something to change.
    pub(super) fn before_the_run(self) -> Self {
        match self {
            Self::Write { path, reason, .. } => Self::Create { action: "write", path, reason },
            Self::Create { .. }
            | Self::CreateElsewhere { .. }
            | Self::OverwritesInput { .. }
            | Self::Taken { .. }
            | Self::NotContinued { .. }
            | Self::InUse { .. }
            | Self::Vanished { .. }
            | Self::Altered { .. }
            | Self::NotFinite { .. }
            | Self::Unnamed { .. }
            | Self::Encode { .. } => self,
        }
    }
}

/// What is left of a file whose writing failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intact {
    /// No record was written yet.
    Nothing,
    /// All records up to this step.
    UpToStep(u64),
    /// The frames before the one that was being written.
    EarlierFrames,
    /// The file is written in one piece and does not exist now; those written before it do.
    EarlierFiles,
    /// Only what was to be shown is lost.
    AllFiles,
}

impl fmt::Display for Intact {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => write!(formatter, "nothing of it was written"),
            Self::UpToStep(step) => {
                write!(formatter, "what it holds up to step {step} is intact and readable")
            }
            Self::EarlierFrames => write!(formatter, "the frames before it are intact and readable"),
            Self::EarlierFiles => write!(formatter, "files written before it are intact and readable"),
            Self::AllFiles => write!(formatter, "all files are complete"),
        }
    }
}

/// Who uses the directory, and what to do.
fn describe_use(directory: &Path, lock: &Path, holder: Option<&Holder>) -> String {
    let (directory, lock) = (directory.display(), lock.display());
    let by = holder.map_or_else(|| "another run".to_owned(), Holder::to_string);
    let wait = match holder {
        Some(holder) if !holder.is_here() => {
            "if this run has ended without removing that file, try again two minutes after its last renewal, or remove it; \
             else wait for the end of the run"
        }
        _ => "wait for its end",
    };
    format!(
        "the output directory `{directory}` is in use by {by} (`{lock}`)\n\
         {wait}, or choose another directory with --output DIR"
    )
}

/// What a user can do about a directory or file that cannot be created.
fn advice(reason: &io::Error) -> &'static str {
    match reason.kind() {
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
            "a file stands where a directory is needed: move it, or choose another directory with --output DIR"
        }
        io::ErrorKind::IsADirectory => {
            "a directory stands where a file is needed: move it, or choose another directory with --output DIR"
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some space, or choose a directory on another disk with --output DIR"
        }
        _ => "choose a directory you may write to with --output DIR, or set output.directory in the scenario",
    }
}
