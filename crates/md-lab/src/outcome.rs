//! Outcome of work that all ranks do: the ranks agree on it, whatever state the work left behind.

use std::time::Duration;

use md_comm::{CommError, World};
use md_engine::EngineError;
use serde::Serialize;
use strum::VariantArray;

use crate::ROOT;

/// Status of a piece of work, in ascending severity: a rank that fails causes timeouts on other
/// ranks, so the failure is reported rather than the timeouts.
///
/// ```
/// use md_comm::CommError;
/// use md_lab::{Problem, Status};
///
/// // A rank that fails makes others wait, so the failure is the more severe status.
/// let (context, awaited) = ("halo", "rank 1".to_owned());
/// let waited = CommError::Timeout { context, rank: 0, waited_s: 2.0, awaited };
/// assert_eq!(Problem::from(waited).status, Status::Timeout);
/// assert!((Status::Timeout as u8) < Status::Failed as u8);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, strum::VariantArray)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Verified and measured.
    Ok,
    /// Forces, values or messages are wrong: not measured.
    Wrong,
    /// Not possible in this run.
    Unavailable,
    /// A wait or a call took longer than the limit.
    Timeout,
    /// A call failed.
    Failed,
}

/// The reason why work with a strategy failed: on one rank or, once the ranks agree, on all.
///
/// ```
/// use md_lab::{Problem, Status};
///
/// let problem = Problem::new(Status::Failed, "MPI_Put failed:\n    no window");
/// assert_eq!(problem.note, "MPI_Put failed: no window");
/// assert_eq!(Problem::unavailable("several nodes").status, Status::Unavailable);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Severity of the problem.
    pub status: Status,
    /// The reason in one line; after the agreement, on rank 0 only and empty elsewhere.
    pub note: String,
}

impl Problem {
    /// Creates a problem with this text, in which each run of white space becomes one space.
    pub fn new(status: Status, text: impl AsRef<str>) -> Self {
        Self { status, note: text.as_ref().split_whitespace().collect::<Vec<_>>().join(" ") }
    }

    /// Creates the problem of a strategy that cannot be used.
    pub fn unavailable(reason: impl AsRef<str>) -> Self {
        Self::new(Status::Unavailable, reason)
    }

    /// Creates the problem of wrong forces, values or messages.
    pub fn wrong(what: impl AsRef<str>) -> Self {
        Self::new(Status::Wrong, what)
    }

    /// Creates the problem of a call that did not return, so that the job has to be ended.
    pub fn stood_still(limit: Duration) -> Self {
        let what = format!("a call did not come back within {} s; the job was ended", limit.as_secs_f64());
        Self::new(Status::Timeout, what)
    }
}

impl From<&CommError> for Problem {
    fn from(error: &CommError) -> Self {
        match error {
            CommError::Unavailable { reason, .. } => Self::new(Status::Unavailable, reason),
            CommError::Timeout { .. } => Self::new(Status::Timeout, error.to_string()),
            other => Self::new(Status::Failed, other.to_string()),
        }
    }
}

impl From<CommError> for Problem {
    fn from(error: CommError) -> Self {
        (&error).into()
    }
}

impl From<&EngineError> for Problem {
    fn from(error: &EngineError) -> Self {
        match error {
            EngineError::Communication(error) => error.into(),
            other => Self::new(Status::Failed, other.to_string()),
        }
    }
}

impl From<EngineError> for Problem {
    fn from(error: EngineError) -> Self {
        (&error).into()
    }
}

/// Returns each rank's own result if all ranks succeeded, otherwise the problem of the first rank
/// with the highest severity. *Collective* in the agreement's world; the work must not have used
/// it.
///
/// # Errors
/// [`CommError`]: communication in the agreement's world failed, too.
pub(crate) fn agree<T>(
    agreement: &dyn World,
    mine: Result<T, Problem>,
) -> Result<Result<T, Problem>, CommError> {
    let own = mine.as_ref().map_or_else(|problem| problem.status, |_| Status::Ok);
    let mut gravest = [f64::from(own as u8)];
    agreement.max(&mut gravest)?;
    let status = Status::VARIANTS[gravest[0] as usize];
    match mine {
        Ok(result) if status == Status::Ok => Ok(Ok(result)),
        mine => {
            let note = mine.err().filter(|_| own == status).map(|problem| problem.note);
            let notes = agreement.gather(ROOT, note.unwrap_or_default().as_bytes())?;
            let said = notes.iter().position(|note| !note.is_empty());
            let note = said.map(|rank| note_of(rank, &notes[rank], status)).unwrap_or_default();
            Ok(Err(Problem { status, note }))
        }
    }
}

/// Returns the note of all ranks. Only a failure needs the rank: an unavailable strategy is
/// unavailable on all ranks, and the text of a timeout contains its rank.
fn note_of(rank: usize, note: &[u8], status: Status) -> String {
    let note = String::from_utf8_lossy(note);
    if status == Status::Failed { format!("rank {rank}: {note}") } else { note.into_owned() }
}

#[cfg(test)]
mod tests {
    use md_comm::local;

    use super::*;

    fn agreed(errors: &[Option<CommError>; 3]) -> Vec<Result<usize, Problem>> {
        let ended = local::run(3, Duration::from_secs(20), |world| {
            let rank = world.rank();
            let mine = errors[rank].clone().map_or(Ok(rank), |error| Err(error.into()));
            agree(world, mine).unwrap()
        });
        ended.into_iter().map(Result::unwrap).collect()
    }

    fn failed() -> CommError {
        CommError::Mpi { call: "MPI_Put", message: "no\n  window".to_owned() }
    }

    fn timeout() -> CommError {
        CommError::Timeout { context: "positions", rank: 0, waited_s: 2.0, awaited: "rank 1".to_owned() }
    }

    #[test]
    fn a_result_of_all_ranks_is_a_result() {
        assert_eq!(agreed(&[None, None, None]), [Ok(0), Ok(1), Ok(2)]);
    }

    #[test]
    fn one_failure_excludes_the_strategy_on_all_ranks() {
        let agreed = agreed(&[Some(timeout()), None, Some(failed())]);
        let problem = |note: &str| Err(Problem { status: Status::Failed, note: note.to_owned() });
        assert_eq!(agreed, [problem("rank 2: MPI_Put failed: no window"), problem(""), problem("")]);
    }

    #[test]
    fn a_timeout_tells_who_waited_for_whom() {
        let note = agreed(&[Some(timeout()), None, None])[0].clone().unwrap_err().note;
        assert_eq!(note, "positions: rank 0 waited 2 s for rank 1");
    }
}
