//! How commands end other than by an error of a part: by a signal, by a box that runs away, or with a summary of what went wrong.

use std::collections::BTreeMap;

use md_comm::CommError;
use md_engine::EngineError;
use md_lab::compare::ReferenceError;
use md_lab::machine::MachineError;
use md_lab::predict::PredictError;
use md_lab::trace::TraceError;
use md_lab::{Problem, Status};

use crate::early_end::Signal;
use crate::error::{BAD_INPUT, COMMUNICATION_FAILED, Failure, RUN_FAILED, Remains, RunError, Scope};
use crate::scenario::ScenarioError;

/// An end in order before all was done. Everything has been written.
#[derive(Debug, thiserror::Error)]
pub enum Ending {
    /// A signal has ended the run.
    #[error("ended by {} after {done} of {steps} steps; all files are complete", signal.name)]
    Signalled {
        /// The signal.
        signal: Signal,
        /// Steps done.
        done: u64,
        /// Steps that the scenario asks for.
        steps: u64,
    },
    /// The box could not follow the pressure.
    #[error(
        "ended after {done} of {steps} steps, since the barostat asks for a box in which the run cannot go on: {problem}\nall files are complete; --resume goes on from the last checkpoint with other keys"
    )]
    Box {
        /// Why it cannot.
        problem: String,
        /// Steps done.
        done: u64,
        /// Steps that the scenario asks for.
        steps: u64,
    },
    /// A signal has ended a sweep.
    #[error("ended by {} after {done} of {jobs} jobs; the same command goes on", signal.name)]
    Swept {
        /// The signal.
        signal: Signal,
        /// Rows of the table.
        done: u64,
        /// Rows that are wanted.
        jobs: u64,
    },
}

impl Failure for Ending {
    fn exit_code(&self) -> u8 {
        match self {
            Self::Signalled { signal, .. } | Self::Swept { signal, .. } => signal.exit_code,
            Self::Box { .. } => RUN_FAILED,
        }
    }
}

/// A command in which not all went well, or that could not begin. Everything has been written.
#[derive(Debug, thiserror::Error)]
#[error("{summary}")]
pub struct Summarised {
    /// What went wrong.
    pub summary: String,
    /// Exit code of the program.
    pub exit_code: u8,
    /// What is left in the transport.
    pub remains: Remains,
}

impl Failure for Summarised {
    fn exit_code(&self) -> u8 {
        self.exit_code
    }

    fn remains(&self) -> Remains {
        self.remains
    }
}

/// An error that says all in a summary and leaves nothing in the transport.
pub(crate) fn summarised(summary: String, exit_code: u8) -> RunError {
    Summarised { summary, exit_code, remains: Remains::Nothing }.into()
}

/// Another rank's output failed; that rank says why.
#[derive(Debug, thiserror::Error)]
#[error("rank 0 could not set up the outputs")]
pub struct OutputElsewhere;

impl Failure for OutputElsewhere {
    fn scope(&self) -> Scope {
        Scope::Elsewhere
    }
}

/// An energy that has changed too much, or is not a number any more, with a cause that is likely.
#[derive(Debug, thiserror::Error)]
#[error("{error}; {cause}")]
struct EnergyError {
    error: EngineError,
    cause: &'static str,
}

impl Failure for EnergyError {
    fn exit_code(&self) -> u8 {
        RUN_FAILED
    }

    fn scope(&self) -> Scope {
        self.error.scope()
    }
}

/// What has ended a run; of an energy that was not kept, with the cause.
pub(crate) fn with_cause(error: EngineError, cause: &'static str) -> RunError {
    match error {
        EngineError::Drift { .. } | EngineError::NotFinite { step: 1.., .. } => {
            EnergyError { error, cause }.into()
        }
        error => error.into(),
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

/// What a set-up, or an application on a grid, may fail with.
impl From<RunError> for Problem {
    fn from(error: RunError) -> Self {
        if error.find::<ScenarioError>().is_some() {
            return Self::unavailable(error.to_string());
        }
        match error.downcast::<CommError>() {
            Ok(error) => error.into(),
            Err(error) => Self::new(Status::Failed, error.to_string()),
        }
    }
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

/// All reasons, each after the names that have it: `shm, p2p: the ranks are threads`.
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

/// How measurements end; `wrong` is what is said of those that are not right. The reasons are known on rank 0, which says them.
///
/// # Errors
/// [`Summarised`] if one was wrong, failed or timed out, or none was possible.
pub(crate) fn of_outcomes(outcomes: &[Outcome], wrong: &str, file: &str) -> Result<(), RunError> {
    let named = |(what, wanted): (&str, Status)| -> Option<String> {
        let with = outcomes.iter().filter(|outcome| outcome.status == wanted);
        let names: Vec<&str> = with.map(|outcome| outcome.name.as_str()).collect();
        (!names.is_empty()).then(|| format!("{what}: {}", names.join(", ")))
    };
    let kinds = [(wrong, Status::Wrong), ("failed", Status::Failed), ("timed out", Status::Timeout)];
    let faults = kinds.map(named);
    let (is_wrong, is_broken) = (faults[0].is_some(), faults[1].is_some() || faults[2].is_some());
    if is_wrong || is_broken {
        let faults = faults.into_iter().flatten().collect::<Vec<_>>().join("; ");
        return Err(Summarised {
            summary: format!("{faults}; see {file}"),
            exit_code: if is_wrong { RUN_FAILED } else { COMMUNICATION_FAILED },
            remains: if is_broken { Remains::Unfinished } else { Remains::Nothing },
        }
        .into());
    }
    if outcomes.iter().any(|outcome| outcome.status == Status::Ok) {
        return Ok(());
    }
    Err(summarised(format!("nothing could be measured: {}", reasons_of(outcomes)), COMMUNICATION_FAILED))
}
