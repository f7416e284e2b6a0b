//! The ranks of one run, and the small collectives beside the exchanges.

use std::io;
use std::path::Path;
use std::time::Duration;

use crate::shared_file::PlainFile;
use crate::{
    Backend, CommError, Exchange, ExchangeSpec, Platform, Rank, SharedFile, UnexpectedMessages, Unpacked,
    UnpackedSpec, exact_sum,
};

/// All ranks of a run. There is one value per rank; methods marked *collective* are called by all
/// ranks in the same order.
///
/// The results of reductions do not depend on the order of the ranks. They are bit-identical on all
/// ranks and for all transports.
///
/// ```
/// use md_comm::{CommError, local};
/// use std::time::Duration;
///
/// // The sum is rounded once, and does not depend on the order: 0.1 + 0.2 + 0.3 is 0.6, not
/// // 0.6000000000000001.
/// let sums = local::run(3, Duration::from_secs(60), |world| {
///     let mut values = [[0.1, 0.2, 0.3][world.rank()]];
///     world.sum(&mut values)?;
///     Ok::<_, CommError>(values[0])
/// });
/// assert_eq!(sums, [const { Ok(Ok(0.6)) }; 3]);
/// ```
pub trait World {
    /// Returns this rank's number.
    fn rank(&self) -> Rank;

    /// Returns the number of ranks.
    fn ranks(&self) -> usize;

    /// Sets how long this rank may wait for the others from now on.
    fn set_watchdog(&self, _limit: Duration) {}

    /// Opens an exchange context. *Collective.*
    ///
    /// # Errors
    /// Returns [`CommError::Misuse`] if the spec breaks a rule, [`CommError::Unavailable`] if the
    /// transport cannot serve it, or an error of the communication.
    fn open(&self, spec: ExchangeSpec) -> Result<Exchange, CommError>;

    /// Opens a context of messages that are sent without packing. *Collective.*
    ///
    /// # Errors
    /// Fails as [`Self::open`] does; [`CommError::Unavailable`] if the transport has no such
    /// contexts.
    fn open_unpacked(&self, _spec: UnpackedSpec) -> Result<Box<dyn Unpacked>, CommError> {
        let reason = "messages as MPI datatypes need MPI and backend `p2p`".to_owned();
        Err(CommError::Unavailable { backend: Backend::Local.name(), reason })
    }

    /// Opens a context of unexpected messages. *Collective.*
    ///
    /// # Errors
    /// Fails if the communication fails or if this world has no such contexts.
    fn open_unexpected(&self, _name: &'static str) -> Result<Box<dyn UnexpectedMessages>, CommError> {
        Err(CommError::Setup("this world carries no unexpected messages".to_owned()))
    }

    /// Returns another world of the same ranks and the same transport. Messages and collectives of
    /// the two worlds never match each other: a failure in one leaves the other intact, and the
    /// ranks can still agree on what to do. *Collective.*
    ///
    /// # Errors
    /// Fails if the communication fails or if this world cannot be duplicated.
    fn duplicate(&self) -> Result<Box<dyn World + '_>, CommError> {
        Err(CommError::Setup("this world cannot be duplicated".to_owned()))
    }

    /// Opens an existing file that all ranks can see, for writing by all of them. If one rank
    /// cannot open it, that rank returns an error and the others close the file. *Collective.*
    ///
    /// # Errors
    /// Returns the error of the operating system.
    fn open_file(&self, path: &Path) -> io::Result<Box<dyn SharedFile>> {
        Ok(Box::new(PlainFile::open(path)?))
    }

    /// Returns whether all ranks must use their contexts in the same order. This is required by
    /// transports whose exchange is a blocking collective (fence) or has a second round
    /// (neighbourhood collective): the ranks wait for each other in every exchange.
    fn needs_same_order(&self) -> bool {
        false
    }

    /// Returns the bytes of every rank, in rank order. All ranks give the same number of bytes.
    /// *Collective.*
    ///
    /// # Errors
    /// Communication; [`CommError::Misuse`] if the ranks call different collectives.
    fn gather_all(&self, mine: &[u8]) -> Result<Vec<u8>, CommError>;

    /// Replaces `bytes` on every rank by the bytes of `root`, which may have any length.
    /// *Collective.*
    ///
    /// # Errors
    /// Communication.
    fn broadcast(&self, root: Rank, bytes: &mut Vec<u8>) -> Result<(), CommError>;

    /// Returns on `root` the bytes of every rank (of any length each), in rank order; elsewhere an
    /// empty vector. *Collective.*
    ///
    /// # Errors
    /// Communication.
    fn gather(&self, root: Rank, mine: &[u8]) -> Result<Vec<Vec<u8>>, CommError>;

    /// Sends bytes (any number) to the rank `by` places after this one, and returns the bytes from
    /// the rank `by` places before it. The first rank follows the last one. *Collective.*
    ///
    /// # Errors
    /// Communication.
    fn shift(&self, by: usize, mine: &[u8]) -> Result<Vec<u8>, CommError>;

    /// Returns when all ranks have called it. *Collective.*
    ///
    /// # Errors
    /// Communication.
    fn barrier(&self) -> Result<(), CommError>;

    /// Ends all ranks at once because this one has failed. Returns only for transports that end the
    /// other ranks by making their next wait fail ([`CommError::PeerFailed`]); MPI exits the
    /// process with `exit_code`.
    fn abort(&self, exit_code: i32);

    /// Returns what is known of the library and the machine beneath this world.
    fn platform(&self) -> &dyn Platform;

    /// Combines `words` over the ranks, element by element. All ranks have the same number of
    /// words. *Collective.*
    ///
    /// # Errors
    /// Communication.
    fn reduce(&self, words: &mut [u64], how: Reduction) -> Result<(), CommError> {
        let all: Vec<u64> = bytemuck::pod_collect_to_vec(&self.gather_all(bytemuck::cast_slice(words))?);
        let width = words.len();
        for (i, word) in words.iter_mut().enumerate() {
            let of_ranks = all.iter().skip(i).step_by(width).copied();
            *word = match how {
                Reduction::Highest => of_ranks.max().unwrap_or(*word),
                Reduction::Sum => of_ranks.fold(0, u64::wrapping_add),
            };
        }
        Ok(())
    }

    /// Sums `values` over the ranks, element by element. Only the result is rounded, so the order
    /// of the ranks does not matter. Contributions below 2^-126 of the largest value may be lost.
    /// *Collective.*
    ///
    /// # Errors
    /// Communication.
    fn sum(&self, values: &mut [f64]) -> Result<(), CommError> {
        if self.ranks() == 1 {
            return Ok(());
        }
        let mut highest: Vec<u64> = values.iter().copied().map(exact_sum::weight).collect();
        self.reduce(&mut highest, Reduction::Highest)?;
        let mut digits: Vec<_> =
            values.iter().zip(&highest).map(|(&value, &highest)| exact_sum::digits(value, highest)).collect();
        self.reduce(digits.as_flattened_mut(), Reduction::Sum)?;
        for ((value, sums), highest) in values.iter_mut().zip(digits).zip(highest) {
            *value = exact_sum::rounded(sums, highest);
        }
        Ok(())
    }

    /// Computes the element-wise maximum over the ranks. NaN is less than any number. *Collective.*
    ///
    /// # Errors
    /// Communication.
    fn max(&self, values: &mut [f64]) -> Result<(), CommError> {
        let mut words: Vec<u64> = values.iter().copied().map(ordered).collect();
        self.reduce(&mut words, Reduction::Highest)?;
        values.iter_mut().zip(words).for_each(|(value, word)| *value = from_ordered(word));
        Ok(())
    }

    /// Starts [`Self::max`], so that the rank can do other work before `finish_max`; returns at
    /// once where the transport can. Other collectives may come in between, but not a second
    /// `start_max`. *Collective.*
    ///
    /// # Errors
    /// Communication; [`CommError::Misuse`] if a maximum is under way already.
    fn start_max(&self, _values: &[f64]) -> Result<(), CommError> {
        Ok(())
    }

    /// Finishes [`Self::max`]: `values` are those passed to `start_max`, and are replaced by the
    /// maxima. *Collective.*
    ///
    /// # Errors
    /// Communication; [`CommError::Misuse`] if no maximum was started.
    fn finish_max(&self, values: &mut [f64]) -> Result<(), CommError> {
        self.max(values)
    }
}

/// Implements methods of `World` for a world that wraps another one, by calling those of
/// `self.inner`.
#[macro_export]
macro_rules! forward_to_inner {
    ($($method:ident)*) => { $($crate::forward_to_inner!(@ $method);)* };
    (@ rank) => { fn rank(&self) -> $crate::Rank { self.inner.rank() } };
    (@ ranks) => { fn ranks(&self) -> usize { self.inner.ranks() } };
    (@ set_watchdog) => { fn set_watchdog(&self, limit: ::std::time::Duration) { self.inner.set_watchdog(limit); } };
    (@ gather_all) => {
        fn gather_all(&self, mine: &[u8]) -> Result<Vec<u8>, $crate::CommError> { self.inner.gather_all(mine) }
    };
    (@ broadcast) => {
        fn broadcast(&self, root: $crate::Rank, bytes: &mut Vec<u8>) -> Result<(), $crate::CommError> {
            self.inner.broadcast(root, bytes)
        }
    };
    (@ gather) => {
        fn gather(&self, root: $crate::Rank, mine: &[u8]) -> Result<Vec<Vec<u8>>, $crate::CommError> {
            self.inner.gather(root, mine)
        }
    };
    (@ shift) => {
        fn shift(&self, by: usize, mine: &[u8]) -> Result<Vec<u8>, $crate::CommError> { self.inner.shift(by, mine) }
    };
    (@ open_unpacked) => {
        fn open_unpacked(
            &self,
            spec: $crate::UnpackedSpec,
        ) -> Result<Box<dyn $crate::Unpacked>, $crate::CommError> {
            self.inner.open_unpacked(spec)
        }
    };
    (@ open_unexpected) => {
        fn open_unexpected(&self, name: &'static str) -> Result<Box<dyn $crate::UnexpectedMessages>, $crate::CommError> {
            self.inner.open_unexpected(name)
        }
    };
    (@ open_file) => {
        fn open_file(&self, path: &::std::path::Path) -> ::std::io::Result<Box<dyn $crate::SharedFile>> {
            self.inner.open_file(path)
        }
    };
    (@ barrier) => { fn barrier(&self) -> Result<(), $crate::CommError> { self.inner.barrier() } };
    (@ abort) => { fn abort(&self, exit_code: i32) { self.inner.abort(exit_code); } };
    (@ platform) => { fn platform(&self) -> &dyn $crate::Platform { self.inner.platform() } };
}

/// How the words of all ranks are combined into one.
///
/// ```
/// use md_comm::{CommError, Reduction, local};
/// use std::time::Duration;
///
/// let words = local::run(4, Duration::from_secs(60), |world| {
///     let (mut highest, mut sum) = ([world.rank() as u64], [world.rank() as u64]);
///     world.reduce(&mut highest, Reduction::Highest)?;
///     world.reduce(&mut sum, Reduction::Sum)?;
///     Ok::<_, CommError>((highest[0], sum[0]))
/// });
/// assert_eq!(words, [const { Ok(Ok((3, 1 + 2 + 3))) }; 4]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reduction {
    /// The largest word.
    Highest,
    /// The sum, modulo 2^64.
    Sum,
}

const SIGN: u64 = 1 << 63;

/// Maps a number to a word whose order is the order of the numbers. NaN is mapped to the least
/// word, as in `f64::max`.
pub(crate) fn ordered(number: f64) -> u64 {
    let bits = number.to_bits();
    match (number.is_nan(), bits & SIGN) {
        (true, _) => 0,
        (false, 0) => bits | SIGN,
        (false, _) => !bits,
    }
}

pub(crate) fn from_ordered(word: u64) -> f64 {
    f64::from_bits(if word & SIGN == 0 { !word } else { word & !SIGN })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn larger_numbers_are_larger_words() {
        let sorted =
            [f64::NEG_INFINITY, -1e300, -1.0, -1e-310, -0.0, 0.0, 1e-310, 1.0, 1.5, 1e300, f64::INFINITY];
        assert!(sorted.map(ordered).is_sorted_by(|a, b| a < b));
        assert!(sorted.iter().all(|&number| from_ordered(ordered(number)).to_bits() == number.to_bits()));
        assert!(ordered(f64::NAN) < ordered(f64::NEG_INFINITY) && from_ordered(ordered(-f64::NAN)).is_nan());
    }
}
