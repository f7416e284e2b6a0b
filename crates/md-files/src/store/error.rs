//! Errors of outputs, with advice for the user.

use std::path::{Path, PathBuf};
use std::{fmt, io};

use md_engine::ObserverError;
use md_scenario::failure::{BAD_INPUT, Failure, RUN_FAILED, RunError, Scope};
use md_scenario::known_file::KnownFile;
use thiserror::Error;

use super::lock::Holder;

/// A failed output. [`OutputError::Create`] occurs before the run and depends on what the user
/// requested; the others occur during or after the run.
#[derive(Debug, Error)]
pub enum OutputError {
    /// The directory or a file could not be set up before the run.
    #[error("cannot {action} `{}`: {reason}\n{}", path.display(), advice(reason))]
    Create {
        /// What was attempted, in the form of "cannot ...".
        action: &'static str,
        /// The path.
        path: PathBuf,
        /// Reason given by the operating system.
        reason: io::Error,
    },
    /// A file at a place given by an option of its own could not be created.
    #[error("cannot {action} `{}`: {reason}\nchoose another place for it", path.display())]
    CreateElsewhere {
        /// What was attempted, in the form of "cannot ...".
        action: &'static str,
        /// The path.
        path: PathBuf,
        /// Reason given by the operating system.
        reason: io::Error,
    },
    /// A file could not be written during the run, e.g. because the disk is full.
    #[error("cannot write `{}`: {reason}; {intact}", path.display())]
    Write {
        /// Path of the file.
        path: PathBuf,
        /// Reason given by the operating system.
        reason: io::Error,
        /// Part of the file that can still be used.
        intact: Intact,
    },
    /// A file would overwrite an input of the run.
    #[error(
        "`{}` is an input of this run and would be overwritten\nchoose another output directory with --output DIR",
        path.display()
    )]
    OverwritesInput {
        /// Path of the input.
        path: PathBuf,
    },
    /// A file at a place that the user chose would replace a result.
    #[error("`{}` is the place of another output of this command\nchoose another name", path.display())]
    Taken {
        /// The path as the user gave it.
        path: PathBuf,
    },
    /// The effective scenario cannot contain the path of the particle file.
    #[error("scenario.toml cannot name the particle file `{}`: {reason}", path.display())]
    Unnamed {
        /// Path of the particle file.
        path: PathBuf,
        /// The reason.
        reason: io::Error,
    },
    /// An output that is to be continued differs from its state at the checkpoint.
    #[error(
        "`{}` does not go on from the checkpoint: {reason}\n\
         choose another output directory with --output DIR, where the outputs begin at the checkpoint's step", path.display()
    )]
    NotContinued {
        /// Path of the file.
        path: PathBuf,
        /// The difference.
        reason: String,
    },
    /// Another run writes into the directory.
    #[error("{}", describe_use(directory, lock, holder.as_ref()))]
    InUse {
        /// The output directory.
        directory: PathBuf,
        /// Path of the lock.
        lock: PathBuf,
        /// Holder of the lock, if it is known.
        holder: Option<Holder>,
    },
    /// A file that was written during the run is no longer at its place.
    #[error("`{}` was removed or replaced during the run: what was written to it is lost", path.display())]
    Vanished {
        /// Path of the file.
        path: PathBuf,
    },
    /// A file was truncated, or written to by another program, during the run.
    #[error(
        "`{}` was {} during the run: it holds {found} bytes, but {written} were written to it by the run",
        path.display(),
        if found < written { "cut" } else { "written to by somebody else" }
    )]
    Altered {
        /// Path of the file.
        path: PathBuf,
        /// Length that was found, in bytes.
        found: u64,
        /// Length that it should have, in bytes.
        written: u64,
    },
    /// A number that cannot be expressed in JSON.
    #[error("cannot write `{file}`: `{key}` is not a finite number")]
    NotFinite {
        /// Name of the file.
        file: &'static str,
        /// Full key, e.g. `phases.force.avg_s`.
        key: String,
    },
    /// Data that do not fit the format of the file.
    #[error("cannot write `{file}`: {reason}")]
    Encode {
        /// Name of the file.
        file: String,
        /// Description of what does not fit.
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
pub fn kept_whole(error: ObserverError) -> ObserverError {
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

    /// Creates the error for data that do not fit the format of `file`.
    pub fn encode(file: KnownFile, reason: &dyn fmt::Display) -> Self {
        Self::Encode { file: file.name().to_owned(), reason: reason.to_string() }
    }

    /// Converts the error to that of a file outside of the output directory.
    pub fn elsewhere(self) -> Self {
        match self {
            Self::Create { action, path, reason } => Self::CreateElsewhere { action, path, reason },
            other => other,
        }
    }

    /// Converts the error to that before the run, when no results can be lost and the user can
    /// change the request.
    pub(super) fn before_the_run(self) -> Self {
        match self {
            Self::Write { path, reason, .. } => Self::Create { action: "write", path, reason },
            other => other,
        }
    }
}

/// Part of the output that remains if writing a file failed.
///
/// ```
/// use md_files::store::Intact;
///
/// let text = Intact::UpToStep(100).to_string();
/// assert_eq!(text, "what it holds up to step 100 is intact and readable");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intact {
    /// No record had been written.
    Nothing,
    /// All records up to this step.
    UpToStep(u64),
    /// The frames before the one that was being written.
    EarlierFrames,
    /// The file is written in one piece and does not exist; the files written before it do.
    EarlierFiles,
    /// All files; only text on the screen is lost.
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

/// Describes the holder of the directory and what the user can do.
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

/// Returns what a user can do about a directory or file that cannot be created.
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
