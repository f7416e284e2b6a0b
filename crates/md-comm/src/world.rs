//! The ranks of one run and the small collectives beside the exchanges.

use std::time::Duration;

use crate::{CommError, Exchange, ExchangeSpec, Rank};

/// Ranks that the launcher has bound to the same cores of one machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CrowdedCores {
    /// Ranks that can use these cores and no others.
    pub ranks: usize,
    /// Cores.
    pub cores: usize,
}

impl CrowdedCores {
    /// Whether several ranks with so many threads each have to take turns. (Cores that are not known are not crowded.)
    pub fn is_crowded(self, threads: usize) -> bool {
        let Self { ranks, cores } = self;
        ranks > 1 && cores > 0 && ranks * threads > cores
    }
}

/// All ranks of a run. One value per rank; everything marked *collective* is called by all ranks in the same order.
///
/// Collectives reduce in rank order on every rank, so that their results are bit-identical on all ranks and for all
/// transports.
pub trait World {
    /// This rank's number.
    fn rank(&self) -> Rank;

    /// Number of ranks.
    fn ranks(&self) -> usize;

    /// Changes how long this rank may wait for the others from now on.
    fn set_watchdog(&self, _limit: Duration) {}

    /// Opens an exchange context. *Collective.*
    ///
    /// # Errors
    /// [`CommError::Misuse`] if the spec breaks a rule, [`CommError::Unavailable`] if the transport cannot serve it;
    /// communication.
    fn open(&self, spec: ExchangeSpec) -> Result<Exchange, CommError>;

    /// Another world of the same ranks and the same transport, whose messages and collectives never meet this one's:
    /// what breaks in one leaves the other whole, and the ranks can still agree on what to do. *Collective.*
    ///
    /// # Errors
    /// Communication; a world that cannot be duplicated.
    fn duplicate(&self) -> Result<Box<dyn World + '_>, CommError> {
        Err(CommError::Setup("this world cannot be duplicated".to_owned()))
    }

    /// Whether all ranks must use their contexts in the same order: transports whose exchange is a blocking collective
    /// (fence), or has a second round (neighbourhood
    /// collective), wait for each other in every one of them.
    fn needs_same_order(&self) -> bool {
        false
    }

    /// Every rank's bytes, in rank order, the same number from each. *Collective.*
    ///
    /// # Errors
    /// Communication; [`CommError::Misuse`] if the ranks call different collectives.
    fn gather_all(&self, mine: &[u8]) -> Result<Vec<u8>, CommError>;

    /// `root`'s bytes (any length) on every rank; the others' `bytes` are replaced. *Collective.*
    ///
    /// # Errors
    /// Communication.
    fn broadcast(&self, root: Rank, bytes: &mut Vec<u8>) -> Result<(), CommError>;

    /// Every rank's bytes (any length each) on `root`, in rank order; an empty vector elsewhere. *Collective.*
    ///
    /// # Errors
    /// Communication.
    fn gather(&self, root: Rank, mine: &[u8]) -> Result<Vec<Vec<u8>>, CommError>;

    /// Returns when all ranks have called it. *Collective.*
    ///
    /// # Errors
    /// Communication.
    fn barrier(&self) -> Result<(), CommError>;

    /// Ends all ranks at once because this one has failed. Returns only for transports that end the others by making
    /// their next wait fail ([`CommError::PeerFailed`]); MPI exits the process with `exit_code`.
    fn abort(&self, exit_code: i32);

    /// Version line of the MPI library, or `none`.
    fn library(&self) -> String;

    /// The part of the MPI library that moves the data of the window made last on this rank, if one was made.
    fn rma_component(&self) -> Option<String> {
        None
    }

    /// The cores that most ranks of a machine have to share, each with so many threads, if some can only take turns. *Collective.*
    ///
    /// # Errors
    /// Communication.
    fn crowded_cores(&self, _threads: usize) -> Result<Option<CrowdedCores>, CommError> {
        Ok(None)
    }

    /// Sums `values` element by element over the ranks, in rank order. *Collective.*
    ///
    /// # Errors
    /// Communication.
    fn sum(&self, values: &mut [f64]) -> Result<(), CommError> {
        self.reduce(values, |sum, value| sum + value)
    }

    /// Element-wise maximum over the ranks. *Collective.*
    ///
    /// # Errors
    /// Communication.
    fn max(&self, values: &mut [f64]) -> Result<(), CommError> {
        self.reduce(values, f64::max)
    }

    /// Element-wise reduction over the ranks, from rank 0 upwards. *Collective.*
    ///
    /// # Errors
    /// Communication.
    fn reduce(&self, values: &mut [f64], combine: fn(f64, f64) -> f64) -> Result<(), CommError> {
        let all: Vec<f64> = bytemuck::pod_collect_to_vec(&self.gather_all(bytemuck::cast_slice(values))?);
        let width = values.len();
        for (i, value) in values.iter_mut().enumerate() {
            *value = all.iter().skip(i).step_by(width).copied().reduce(combine).unwrap_or(*value);
        }
        Ok(())
    }
}
