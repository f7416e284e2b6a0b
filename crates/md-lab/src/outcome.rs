//! What became of something that all ranks did: the ranks agree, whatever it left behind.

use std::time::Duration;

use md_comm::{CommError, World};
use md_engine::EngineError;
use serde::Serialize;
use strum::VariantArray;

use crate::ROOT;

/// How a piece of work fared, from harmless to grave: a rank that fails makes others time out, so its failure is what is
/// reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, strum::VariantArray)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Checked and measured.
    Ok,
    /// Its forces, values or messages are not what they have to be: not measured.
    Wrong,
    /// Not possible here.
    Unavailable,
    /// A wait or a call took longer than the limit.
    Timeout,
    /// A call failed.
    Failed,
}

/// Why a piece of work with a strategy has failed: on one rank, or, once the ranks agree, on all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// How grave it is.
    pub status: Status,
    /// Why, in one line; once agreed, on rank 0 only and empty elsewhere.
    pub note: String,
}

impl Problem {
    /// With this text, in which runs of white space become one blank.
    pub fn new(status: Status, text: impl AsRef<str>) -> Self {
        Self { status, note: text.as_ref().split_whitespace().collect::<Vec<_>>().join(" ") }
    }

    /// The strategy cannot be.
    pub fn unavailable(reason: impl AsRef<str>) -> Self {
        Self::new(Status::Unavailable, reason)
    }

    /// What came was not what was sent.
    pub fn wrong(what: impl AsRef<str>) -> Self {
        Self::new(Status::Wrong, what)
    }

    /// A call did not return, and the job has to be ended.
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

/// Everybody's result if all ranks have one, else what the first rank with the gravest error says. *Collective* in the
/// agreement's world, which the work itself must not have used.
///
/// # Errors
/// The agreement's world is broken too.
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

/// What is unavailable is so on all ranks, and a timeout names its rank itself.
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
