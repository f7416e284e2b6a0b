//! Errors that can end a command: the message of each, its exit code, and which ranks have it.
//!
//! Every error type implements [`Failure`] where it is defined. Functions that fail in several ways
//! return [`RunError`], which holds any of them.

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::ops::Deref;

use md_comm::CommError;
use md_engine::EngineError;
pub use md_engine::Scope;
use md_grid::GridError;
use md_lab::compare::ReferenceError;
use md_lab::machine::MachineError;
use md_lab::predict::PredictError;
use md_lab::trace::TraceError;

use crate::printable::printable;

/// Exit code: success.
pub const DONE: u8 = 0;
/// Exit code: the run failed one of its own checks (docs/reference/exit-codes.md).
pub const RUN_FAILED: u8 = 1;
/// Exit code: a scenario, an option or a file is wrong.
pub const BAD_INPUT: u8 = 2;
/// Exit code: communication could not be set up, or broke.
pub const COMMUNICATION_FAILED: u8 = 3;

/// State in which an error leaves the transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remains {
    /// Nothing is pending: every rank can end by itself.
    Nothing,
    /// Messages or calls are pending that would keep the transport from ending in order: all ranks
    /// have to be ended.
    Unfinished,
}

/// An error that can end a command. By default all ranks have it, and the user's input is the
/// cause.
pub trait Failure: Error + Any + Send + Sync {
    /// Returns the exit code of the program.
    fn exit_code(&self) -> u8 {
        BAD_INPUT
    }

    /// Returns which ranks have this error.
    fn scope(&self) -> Scope {
        Scope::AllRanks
    }

    /// Returns the state in which the error leaves the transport.
    fn remains(&self) -> Remains {
        Remains::Nothing
    }

    /// Returns the message as it is printed, without colours.
    fn shown(&self) -> String {
        printable(&self.to_string())
    }

    /// Returns the message as it is printed on a terminal with colours.
    fn shown_in_colour(&self) -> String {
        self.shown()
    }

    /// Returns the error itself, or the one that it wraps and that determines how the command ends.
    fn into_cause(self) -> Box<dyn Failure>
    where
        Self: Sized,
    {
        Box::new(self)
    }
}

/// The reason why a command failed: any [`Failure`].
///
/// ```
/// use md_scenario::failure::{RunError, Unreadable};
///
/// let (path, reason) = ("melt.toml".to_owned(), "no such file".to_owned());
/// let error = RunError::from(Unreadable { path, reason });
/// assert_eq!(error.exit_code(), 2);
/// assert_eq!(error.to_string(), "cannot read `melt.toml`: no such file");
/// assert!(error.find::<Unreadable>().is_some());
/// ```
#[derive(Debug)]
pub struct RunError(Box<dyn Failure>);

impl<F: Failure> From<F> for RunError {
    fn from(failure: F) -> Self {
        Self(failure.into_cause())
    }
}

impl Deref for RunError {
    type Target = dyn Failure;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl Error for RunError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}

impl RunError {
    /// Returns the error, if it is of type `F`.
    pub fn find<F: Failure>(&self) -> Option<&F> {
        let failure: &dyn Any = &*self.0;
        failure.downcast_ref()
    }

    /// Returns the error itself, if it is of type `F`.
    ///
    /// # Errors
    /// This error, if it is of another type.
    pub fn downcast<F: Failure>(self) -> Result<F, Self> {
        if self.find::<F>().is_none() {
            return Err(self);
        }
        let failure: Box<dyn Any> = self.0;
        // The type has just been checked.
        failure.downcast().map_or_else(|_| unreachable!("a type that was checked"), |failure| Ok(*failure))
    }

    /// Returns the error of a file that cannot be read.
    pub fn unreadable(path: impl Into<String>, reason: impl Into<String>) -> Self {
        Unreadable { path: path.into(), reason: reason.into() }.into()
    }
}

/// A file that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot read `{path}`: {reason}")]
pub struct Unreadable {
    /// Path of the file.
    pub path: String,
    /// Reason given by the system.
    pub reason: String,
}

impl Failure for Unreadable {}

/// The ranks were not started alike.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unlike(pub String);

impl Failure for Unlike {}

impl Failure for CommError {
    fn exit_code(&self) -> u8 {
        match self {
            Self::Environment { .. } => BAD_INPUT,
            Self::OutOfMemory { .. } | Self::OutOfSharedMemory { .. } => RUN_FAILED,
            _ => COMMUNICATION_FAILED,
        }
    }

    fn scope(&self) -> Scope {
        match self {
            Self::PeerFailed { .. } => Scope::Elsewhere,
            Self::Unavailable { .. } | Self::Environment { .. } => Scope::AllRanks,
            _ => Scope::ThisRank,
        }
    }
}

impl Failure for EngineError {
    fn exit_code(&self) -> u8 {
        match self {
            Self::Grid(_)
            | Self::Config(_)
            | Self::BoxTooLarge(_)
            | Self::Particle(_)
            | Self::Sum { .. }
            | Self::Mass { .. }
            | Self::Temperature { .. }
            | Self::MixedPrecision(_)
            | Self::SinglePrecision
            | Self::NotReproducible(_)
            | Self::NotReversible(_)
            | Self::Replay { .. } => BAD_INPUT,
            _ => RUN_FAILED,
        }
    }

    fn scope(&self) -> Scope {
        Self::scope(self)
    }

    fn into_cause(self) -> Box<dyn Failure> {
        match self {
            Self::Communication(error) => Box::new(error),
            Self::Observer(error) => match error.downcast::<RunError>() {
                Ok(error) => error.0,
                Err(error) => match error.downcast::<CommError>() {
                    Ok(error) => error,
                    Err(error) => Box::new(Self::Observer(error)),
                },
            },
            error => Box::new(error),
        }
    }
}

impl Failure for GridError {
    fn exit_code(&self) -> u8 {
        if matches!(self, Self::Shape(_)) { BAD_INPUT } else { RUN_FAILED }
    }

    fn scope(&self) -> Scope {
        match self {
            Self::Shape(_) | Self::NothingLeft(_) | Self::Failed { .. } => Scope::AllRanks,
            _ => Scope::ThisRank,
        }
    }

    fn into_cause(self) -> Box<dyn Failure> {
        match self {
            Self::Communication(error) => Box::new(error),
            Self::Engine(error) => error.into_cause(),
            error => Box::new(error),
        }
    }
}

impl Failure for TraceError {}

impl Failure for MachineError {}

impl Failure for PredictError {
    fn exit_code(&self) -> u8 {
        if matches!(self, Self::Refused { .. }) { RUN_FAILED } else { BAD_INPUT }
    }

    fn into_cause(self) -> Box<dyn Failure> {
        match self {
            Self::Engine(error) => error.into_cause(),
            error => Box::new(error),
        }
    }
}

impl Failure for ReferenceError {
    fn exit_code(&self) -> u8 {
        RUN_FAILED
    }

    fn into_cause(self) -> Box<dyn Failure> {
        match self {
            Self::Engine(error) => error.into_cause(),
            error => Box::new(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_buffer_without_memory_is_no_broken_communication() {
        let error = RunError::from(CommError::OutOfMemory { bytes: 4096 });
        let text = "out of memory: there is no room for a message buffer of 4096 bytes";
        assert_eq!(
            (error.exit_code(), error.scope(), error.to_string()),
            (1, Scope::ThisRank, text.to_owned())
        );
    }

    #[test]
    fn the_cause_of_a_wrapped_error_decides() {
        let lost = || CommError::PeerFailed { rank: 1 };
        let observer = EngineError::Observer(Box::new(RunError::from(Unlike("alike".to_owned()))));
        assert!(RunError::from(observer).find::<Unlike>().is_some());
        let engine = GridError::Engine(EngineError::Communication(lost()));
        assert_eq!(RunError::from(engine).scope(), Scope::Elsewhere);
        assert!(RunError::from(lost()).downcast::<Unreadable>().is_err());
    }
}
