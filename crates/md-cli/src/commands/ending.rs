//! Ends of commands other than by a single error: by a signal, by a box that runs away, or with a
//! summary of several errors.

use std::collections::BTreeMap;

use md_engine::EngineError;
use md_lab::Status;
use md_scenario::failure::{COMMUNICATION_FAILED, Failure, RUN_FAILED, Remains, RunError, Scope};

use crate::early_end::Signal;

/// An orderly end before all work was done. All files have been written.
#[derive(Debug, thiserror::Error)]
pub enum Ending {
    /// A signal has ended the run.
    #[error("ended by {} after {done} of {steps} steps; all files are complete", signal.name)]
    Signalled {
        /// The signal.
        signal: Signal,
        /// Number of steps done.
        done: u64,
        /// Number of steps in the scenario.
        steps: u64,
    },
    /// The box could not follow the pressure.
    #[error(
        "ended after {done} of {steps} steps, since the barostat asks for a box in which the run cannot go on: {problem}\nall files are complete; --resume goes on from the last checkpoint with other keys"
    )]
    Box {
        /// Reason why the run cannot continue.
        problem: String,
        /// Number of steps done.
        done: u64,
        /// Number of steps in the scenario.
        steps: u64,
    },
    /// A signal has ended a sweep.
    #[error("ended by {} after {done} of {jobs} jobs; the same command goes on", signal.name)]
    Swept {
        /// The signal.
        signal: Signal,
        /// Number of rows in the table.
        done: u64,
        /// Number of rows of the complete table.
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

/// A summary of errors of a command that partly failed or could not begin. All files have been
/// written.
#[derive(Debug, thiserror::Error)]
#[error("{summary}")]
pub struct Summarised {
    /// Description of the errors.
    pub summary: String,
    /// Exit code of the program.
    pub exit_code: u8,
    /// Unfinished communication in the transport.
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

/// Returns an error with this summary that leaves nothing in the transport.
pub(crate) fn summarised(summary: String, exit_code: u8) -> RunError {
    Summarised { summary, exit_code, remains: Remains::Nothing }.into()
}

/// The output of another rank failed. That rank reports the reason.
#[derive(Debug, thiserror::Error)]
#[error("rank 0 could not set up the outputs")]
pub struct OutputElsewhere;

impl Failure for OutputElsewhere {
    fn scope(&self) -> Scope {
        Scope::Elsewhere
    }
}

/// An energy that has changed too much or is not finite, with its likely cause.
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

/// Returns the error that has ended a run. If the energy was not conserved, it contains the cause.
pub(crate) fn with_cause(error: EngineError, cause: &'static str) -> RunError {
    match error {
        EngineError::Drift { .. } | EngineError::NotFinite { step: 1.., .. } => {
            EnergyError { error, cause }.into()
        }
        error => error.into(),
    }
}

/// Result of a measurement.
pub(crate) struct Outcome<'r> {
    /// Name of the measurement.
    pub(crate) name: String,
    /// Backend or other mechanism that was measured.
    pub(crate) by: &'r str,
    /// Status of the measurement.
    pub(crate) status: Status,
    /// Reason for the status.
    pub(crate) note: &'r str,
}

/// Returns all reasons, each after the mechanisms that it applies to:
/// `shm, p2p: the ranks are threads`.
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

/// Returns the result of a command from the results of its measurements. `wrong` is the message
/// about measurements with wrong results. Reasons are known on rank 0 only, which reports them.
///
/// # Errors
/// Returns [`Summarised`] if a measurement was wrong, failed or timed out, or if none was possible.
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
