//! What became of something that all ranks did: the ranks agree, whatever it left behind.

use md_comm::{CommError, World};
use md_engine::EngineError;
use strum::VariantArray;

use super::comparison::Status;
use crate::ROOT;

/// Why a piece of work with a strategy has failed on this rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    status: Status,
    text: String,
}

impl Problem {
    /// The strategy cannot be.
    pub fn unavailable(reason: String) -> Self {
        Self { status: Status::Unavailable, text: reason }
    }

    /// What came was not what was sent.
    pub fn wrong(what: String) -> Self {
        Self { status: Status::Wrong, text: what }
    }

    /// Something went wrong.
    pub fn failed(reason: String) -> Self {
        Self { status: Status::Failed, text: reason }
    }
}

impl From<&CommError> for Problem {
    fn from(error: &CommError) -> Self {
        match error {
            CommError::Unavailable { reason, .. } => Self::unavailable(reason.clone()),
            CommError::Timeout { .. } => Self { status: Status::Timeout, text: error.to_string() },
            other => Self::failed(other.to_string()),
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
            other => Self::failed(other.to_string()),
        }
    }
}

impl From<EngineError> for Problem {
    fn from(error: EngineError) -> Self {
        (&error).into()
    }
}

/// What kept a strategy from going on; the same on all ranks but for the note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exclusion {
    /// How grave it is.
    pub status: Status,
    /// Why, on rank 0; empty elsewhere.
    pub note: String,
}

impl<'e, E> From<&'e E> for Exclusion
where
    Problem: From<&'e E>,
{
    fn from(error: &'e E) -> Self {
        let Problem { status, text } = error.into();
        Self { status, note: in_one_line(&text) }
    }
}

/// Everybody's result if all ranks have one, else what the first rank with the gravest error says. *Collective* in the
/// agreement's world, which the work itself must not have used.
///
/// # Errors
/// The agreement's world is broken too.
pub fn agree<T>(agreement: &dyn World, mine: Result<T, Problem>) -> Result<Result<T, Exclusion>, CommError> {
    let own = mine.as_ref().map_or_else(|problem| problem.status, |_| Status::Ok);
    let mut gravest = [f64::from(own as u8)];
    agreement.max(&mut gravest)?;
    let status = Status::VARIANTS[gravest[0] as usize];
    match mine {
        Ok(result) if status == Status::Ok => Ok(Ok(result)),
        mine => {
            let text = mine.err().filter(|_| own == status).map(|problem| problem.text);
            let texts = agreement.gather(ROOT, text.unwrap_or_default().as_bytes())?;
            let said = texts.iter().position(|text| !text.is_empty());
            let note = said.map(|rank| note(rank, &texts[rank], status)).unwrap_or_default();
            Ok(Err(Exclusion { status, note }))
        }
    }
}

fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What is unavailable is so on all ranks, and a timeout names its rank itself.
fn note(rank: usize, text: &[u8], status: Status) -> String {
    let text = in_one_line(&String::from_utf8_lossy(text));
    if status == Status::Failed { format!("rank {rank}: {text}") } else { text }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use md_comm::local;

    use super::*;

    fn agreed(errors: &[Option<CommError>; 3]) -> Vec<Result<usize, Exclusion>> {
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
        let exclusion = |note: &str| Err(Exclusion { status: Status::Failed, note: note.to_owned() });
        assert_eq!(agreed, [exclusion("rank 2: MPI_Put failed: no window"), exclusion(""), exclusion("")]);
    }

    #[test]
    fn a_timeout_tells_who_waited_for_whom() {
        let note = agreed(&[Some(timeout()), None, None])[0].clone().unwrap_err().note;
        assert_eq!(note, "positions: rank 0 waited 2 s for rank 1");
    }
}
