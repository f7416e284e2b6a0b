//! Everything that can end a command, and how it ends.

use std::collections::BTreeMap;
use std::path::PathBuf;

use md_comm::CommError;
use md_engine::EngineError;
pub use md_engine::Scope;
use md_grid::GridError;
use md_lab::compare::ReferenceError;
use md_lab::trace::TraceError;
use md_lab::{Problem, Status};

use md_lab::machine::MachineError;
use md_lab::predict::PredictError;

use crate::checkpoint::CheckpointError;
use crate::early_end::Signal;
use crate::input::InputError;
use crate::output::OutputError;
use crate::printable::printable;
use crate::scenario::{ScenarioError, ScenarioSource};

/// Exit code: all is done.
pub const DONE: u8 = 0;
/// Exit code: the run failed one of its own checks (docs/reference/exit-codes.md).
pub const RUN_FAILED: u8 = 1;
/// Exit code: a scenario, an option or a file is wrong.
pub const BAD_INPUT: u8 = 2;
/// Exit code: communication could not be set up, or broke.
pub const COMMUNICATION_FAILED: u8 = 3;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The scenario.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The particle file.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A checkpoint that a run cannot go on from.
    #[error(transparent)]
    Checkpoint(CheckpointError),
    /// A checkpoint that cannot be shown.
    #[error("cannot inspect `{}`: {}{}", .0.path.display(), .0.problem, .0.advice.as_ref().map(|advice| format!("\n{advice}")).unwrap_or_default())]
    Inspected(CheckpointError),
    /// A file that cannot be read.
    #[error("cannot read `{path}`: {reason}")]
    Unreadable {
        /// The file.
        path: String,
        /// The system's reason.
        reason: String,
    },
    /// A particle file that there is no memory for.
    #[error("out of memory: there is no room for the particles of `{path}` ({size})")]
    NoRoom {
        /// The file.
        path: String,
        /// Its size, in words.
        size: String,
    },
    /// A timeline that there is no memory for.
    #[error("--trace-events {events} takes {needed} of memory per rank, but there are {there} per rank here")]
    TooManyEvents {
        /// Of each rank.
        events: u64,
        /// In words.
        needed: String,
        /// In words.
        there: String,
    },
    /// An environment variable that names no instruction set of this CPU.
    #[error("{variable} is `{wanted}`, but this CPU has {available}")]
    UnknownSimd {
        /// The variable.
        variable: &'static str,
        /// Its value.
        wanted: String,
        /// What it may be.
        available: String,
    },
    /// A file that is no timeline.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The costs of a machine.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// What cannot be predicted.
    #[error(transparent)]
    Predict(PredictError),
    /// An output.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// Another rank's output failed; that rank says why.
    #[error("rank 0 could not set up the outputs")]
    OutputElsewhere,
    /// Communication.
    #[error(transparent)]
    Communication(#[from] CommError),
    /// The simulation.
    #[error(transparent)]
    Engine(EngineError),
    /// An application on a grid.
    #[error(transparent)]
    Grid(GridError),
    /// An energy that has changed too much, or is not a number any more.
    #[error("{error}; {cause}")]
    Energy {
        /// What has happened.
        error: EngineError,
        /// Why it may have.
        cause: &'static str,
    },
    /// Ranks that were not started alike.
    #[error("{0}")]
    Unlike(String),
    /// Ways to compute what a comparison judges by do not agree.
    #[error("{0}")]
    Reference(String),
    /// A run that had come to its end has nothing to go on with: no failure, so that chains of jobs end well.
    #[error("nothing is left to do after `{}`: {problem}{}", path.display(), advice.as_ref().map(|advice| format!("; {advice}")).unwrap_or_default())]
    NothingLeft {
        /// The checkpoint.
        path: PathBuf,
        /// In what way it is the end.
        problem: String,
        /// What to do for more.
        advice: Option<String>,
    },
    /// A signal has ended the run in order. Everything has been written.
    #[error("ended by {} after {done} of {steps} steps; all files are complete", signal.name)]
    Signalled {
        /// Which.
        signal: Signal,
        /// Steps done.
        done: u64,
        /// Steps that the scenario asks for.
        steps: u64,
    },
    /// A run has ended in order because the box could not follow the pressure. Everything has been written.
    #[error(
        "ended after {done} of {steps} steps, since the barostat asks for a box in which the run cannot go on: {problem}\nall files are complete; --resume goes on from the last checkpoint with other keys"
    )]
    BoxEnded {
        /// Why it cannot.
        problem: String,
        /// Steps done.
        done: u64,
        /// Steps that the scenario asks for.
        steps: u64,
    },
    /// A signal has ended a sweep. What was measured before has been written.
    #[error("ended by {} after {done} of {jobs} jobs; the same command goes on", signal.name)]
    Swept {
        /// Which.
        signal: Signal,
        /// Rows of the table.
        done: u64,
        /// Rows that are wanted.
        jobs: u64,
    },
    /// A comparison or a sweep in which not all went well, or could not begin. Everything has been written.
    #[error("{summary}")]
    Compared {
        /// Who did not do well.
        summary: String,
        /// Exit code of the program.
        exit_code: u8,
        /// What is left in the transport.
        remains: Remains,
    },
}

/// What a failed comparison leaves in the transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remains {
    /// Nothing: every rank can end by itself.
    Nothing,
    /// Messages or calls that would keep the transport from ending in order: all ranks have to be ended.
    Unfinished,
}

/// What became of a measurement.
pub(crate) struct Outcome<'r> {
    /// What was measured.
    pub(crate) name: String,
    /// The backend, or other mechanism, that it was measured with.
    pub(crate) by: &'r str,
    /// What became of it.
    pub(crate) status: Status,
    /// Why.
    pub(crate) note: &'r str,
}

/// All that was said, with those of whom it was said: `shm, p2p: the ranks are threads`.
fn reasons_of(outcomes: &[Outcome]) -> String {
    let mut reasons = BTreeMap::<&str, Vec<&str>>::new();
    for Outcome { by, note, .. } in outcomes {
        let known = reasons.entry(note).or_default();
        if !known.contains(by) {
            known.push(by);
        }
    }
    let one = |(note, by): (&str, Vec<&str>)| format!("{}: {note}", by.join(", "));
    reasons.into_iter().map(one).collect::<Vec<_>>().join("; ")
}

impl From<ReferenceError> for RunError {
    fn from(error: ReferenceError) -> Self {
        match error {
            ReferenceError::Engine(error) => error.into(),
            disagreement @ ReferenceError::Disagreement { .. } => Self::Reference(disagreement.to_string()),
        }
    }
}

/// What a set-up, or an application on a grid, may fail with.
impl From<RunError> for Problem {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Scenario(error) => Self::unavailable(error.to_string()),
            RunError::Communication(error) => error.into(),
            other => Self::new(Status::Failed, other.to_string()),
        }
    }
}

impl From<EngineError> for RunError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Communication(error) => Self::Communication(error),
            // Ours have no other errors.
            EngineError::Observer(error) => match error.downcast() {
                Ok(error) => Self::Output(*error),
                Err(error) => match error.downcast() {
                    Ok(error) => Self::Communication(*error),
                    Err(error) => Self::Engine(EngineError::Observer(error)),
                },
            },
            error => Self::Engine(error),
        }
    }
}

impl From<GridError> for RunError {
    fn from(error: GridError) -> Self {
        match error {
            GridError::Communication(error) => Self::Communication(error),
            GridError::Engine(error) => error.into(),
            error => Self::Grid(error),
        }
    }
}

impl From<PredictError> for RunError {
    fn from(error: PredictError) -> Self {
        match error {
            PredictError::Engine(error) => error.into(),
            error => Self::Predict(error),
        }
    }
}

impl RunError {
    /// What has ended a run; of an energy that was not kept, with the cause.
    pub(crate) fn with_cause(error: EngineError, cause: &'static str) -> Self {
        match error {
            EngineError::Drift { .. } | EngineError::NotFinite { step: 1.., .. } => {
                Self::Energy { error, cause }
            }
            error => error.into(),
        }
    }

    /// The same at the key that names the file, where the system cannot open it: then a reason ends as an [`std::io::Error`] does. What is
    /// wrong in a file is told at its place there.
    pub(crate) fn or_at_key(self, source: &ScenarioSource, key: &str) -> Self {
        match self {
            Self::Unreadable { path, reason } if reason.contains("(os error ") => {
                let message = format!("cannot read `{path}`: {reason}");
                let help = "a path from the folder of the scenario, or from the root (`/`)";
                ScenarioError::at(source, key, message, help).into()
            }
            other => other,
        }
    }

    /// How measurements end; `wrong` is what is said of those that are not right. The reasons are known on rank 0, which says them.
    ///
    /// # Errors
    /// [`Self::Compared`] if one was wrong, failed or timed out, or none was possible.
    pub(crate) fn of_outcomes(outcomes: &[Outcome], wrong: &str, file: &str) -> Result<(), Self> {
        let named = |(what, wanted): (&str, Status)| -> Option<String> {
            let with = outcomes.iter().filter(|outcome| outcome.status == wanted);
            let names: Vec<&str> = with.map(|outcome| outcome.name.as_str()).collect();
            (!names.is_empty()).then(|| format!("{what}: {}", names.join(", ")))
        };
        let kinds = [(wrong, Status::Wrong), ("failed", Status::Failed), ("timed out", Status::Timeout)];
        let faults = kinds.map(named);
        let (is_wrong, is_broken) = (faults[0].is_some(), faults[1].is_some() || faults[2].is_some());
        if is_wrong || is_broken {
            return Err(Self::Compared {
                summary: format!(
                    "{}; see {file}",
                    faults.into_iter().flatten().collect::<Vec<_>>().join("; ")
                ),
                exit_code: if is_wrong { RUN_FAILED } else { COMMUNICATION_FAILED },
                remains: if is_broken { Remains::Unfinished } else { Remains::Nothing },
            });
        }
        if outcomes.iter().any(|outcome| outcome.status == Status::Ok) {
            return Ok(());
        }
        Err(Self::Compared {
            summary: format!("nothing could be measured: {}", reasons_of(outcomes)),
            exit_code: COMMUNICATION_FAILED,
            remains: Remains::Nothing,
        })
    }

    /// The message as it is printed, without colours.
    pub fn shown(&self) -> String {
        match self {
            Self::Scenario(error) => error.render(),
            other => printable(&other.to_string()),
        }
    }

    /// Exit code of the program.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::NothingLeft { .. } => DONE,
            Self::Predict(PredictError::Refused { .. }) => RUN_FAILED,
            Self::Scenario(_)
            | Self::Input(_)
            | Self::Checkpoint(_)
            | Self::Inspected(_)
            | Self::Unreadable { .. }
            | Self::UnknownSimd { .. }
            | Self::TooManyEvents { .. }
            | Self::Unlike(_)
            | Self::Trace(_)
            | Self::Machine(_)
            | Self::Predict(_)
            | Self::Grid(GridError::Shape(_))
            | Self::Engine(
                EngineError::Grid(_)
                | EngineError::Config(_)
                | EngineError::BoxTooLarge(_)
                | EngineError::Particle(_)
                | EngineError::Sum { .. }
                | EngineError::Mass { .. }
                | EngineError::Temperature { .. }
                | EngineError::MixedPrecision(_)
                | EngineError::SinglePrecision
                | EngineError::Replay { .. },
            )
            | Self::Communication(CommError::Environment { .. })
            | Self::OutputElsewhere
            | Self::Output(
                OutputError::Create { .. }
                | OutputError::CreateElsewhere { .. }
                | OutputError::OverwritesInput { .. }
                | OutputError::Taken { .. }
                | OutputError::Unnamed { .. }
                | OutputError::NotContinued { .. }
                | OutputError::InUse { .. },
            ) => BAD_INPUT,
            Self::Engine(_)
            | Self::Grid(_)
            | Self::Energy { .. }
            | Self::Reference(_)
            | Self::NoRoom { .. }
            | Self::BoxEnded { .. }
            | Self::Output(_)
            | Self::Communication(CommError::OutOfMemory { .. } | CommError::OutOfSharedMemory { .. }) => {
                RUN_FAILED
            }
            Self::Communication(_) => COMMUNICATION_FAILED,
            Self::Compared { exit_code, .. } => *exit_code,
            Self::Signalled { signal, .. } | Self::Swept { signal, .. } => signal.exit_code,
        }
    }

    /// Who has this error.
    pub fn scope(&self) -> Scope {
        match self {
            Self::OutputElsewhere | Self::Communication(CommError::PeerFailed { .. }) => Scope::Elsewhere,
            Self::Engine(error) | Self::Energy { error, .. } => error.scope(),
            Self::Compared { .. }
            | Self::NothingLeft { .. }
            | Self::Grid(GridError::Shape(_) | GridError::NothingLeft(_) | GridError::Failed { .. })
            | Self::Unlike(_)
            | Self::Reference(_)
            | Self::Signalled { .. }
            | Self::BoxEnded { .. }
            | Self::Swept { .. }
            | Self::Scenario(_)
            | Self::Input(_)
            | Self::Checkpoint(_)
            | Self::Inspected(_)
            | Self::Unreadable { .. }
            | Self::UnknownSimd { .. }
            | Self::TooManyEvents { .. }
            | Self::Trace(_)
            | Self::Machine(_)
            | Self::Predict(_)
            | Self::Communication(CommError::Unavailable { .. } | CommError::Environment { .. })
            | Self::Output(
                OutputError::Create { .. }
                | OutputError::CreateElsewhere { .. }
                | OutputError::OverwritesInput { .. }
                | OutputError::Taken { .. }
                | OutputError::Unnamed { .. }
                | OutputError::NotContinued { .. }
                | OutputError::InUse { .. },
            ) => Scope::AllRanks,
            Self::Communication(_) | Self::Grid(_) | Self::NoRoom { .. } | Self::Output(_) => Scope::ThisRank,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_buffer_without_memory_is_no_broken_communication() {
        let error = RunError::Communication(CommError::OutOfMemory { bytes: 4096 });
        let text = "out of memory: there is no room for a message buffer of 4096 bytes";
        assert_eq!(
            (error.exit_code(), error.scope(), error.to_string()),
            (1, Scope::ThisRank, text.to_owned())
        );
    }
}
