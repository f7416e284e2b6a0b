//! The refusal table: the options that each backend takes, and the reasons for refusing the others.
//!
//! A backend refuses an option that it would silently ignore, unless the option is left at its
//! default. `asserts` is taken by all backends over windows, also by those whose only
//! synchronisation asserts what is true in any case: these do not ignore it.

use crate::backend::{NO_GET_BEHIND_BARRIER, Taken};
use crate::{Backend, Buffering, Notice, Operation, RingForm, RmaKey, RmaOptions};

/// The reason why a key must be left at its default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Against {
    /// No value of the key would change anything.
    NoUse(&'static str),
    /// The requested behaviour is impossible.
    Impossible(&'static str),
}

/// An option that a backend does not take.
///
/// ```
/// use md_comm::{Backend, Buffering, Polling, RmaKey, RmaOptions};
///
/// // A fence tells of arrivals, so that there are no flags to poll.
/// let strict = RmaOptions { polling: Polling::Strict, ..RmaOptions::default() };
/// let refusal = Backend::RmaFence.refusal(&strict, Buffering::Double);
/// assert_eq!(refusal.map(|refusal| refusal.key), Some(RmaKey::Polling));
/// assert_eq!(Backend::RmaNotify.refusal(&strict, Buffering::Double), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The option.
    pub key: RmaKey,
    /// What forbids it, and what would be right.
    pub reason: String,
}

const NOTHING_TO_OPEN_OR_COPY: &str =
    "a get begins when its message has been packed, and brings it into memory beside the window";
const NOTHING_TO_PUT: &str = "messages are got, and as a whole";
const NO_RING: &str = "there is no circular buffer; `rma-ring` has one";

impl Backend {
    /// Returns the first option that the backend does not take, with the reason. Returns `None` if
    /// it takes all.
    pub fn refusal(self, options: &RmaOptions, buffering: Buffering) -> Option<Refusal> {
        let refused = |&key: &RmaKey| {
            let (Against::NoUse(reason) | Against::Impossible(reason)) = self.against(key, options)?;
            key.is_set(options, buffering).then(|| Refusal { key, reason: reason.to_owned() })
        };
        RmaKey::ALL.iter().find_map(refused)
    }

    /// Checks whether the backend takes the options.
    ///
    /// # Errors
    /// Returns [`Refusal::reason`].
    pub fn refuses(self, options: &RmaOptions, buffering: Buffering) -> Result<(), String> {
        self.refusal(options, buffering).map_or(Ok(()), |refusal| Err(refusal.reason))
    }

    /// Returns whether the key has a meaning for the backend, beside these other options, even if
    /// what it means is impossible.
    pub fn has_use_for(self, key: RmaKey, options: &RmaOptions) -> bool {
        !matches!(self.against(key, options), Some(Against::NoUse(_)))
    }

    /// Returns why a key must be left at its default, or `None` if it may have any value.
    fn against(self, key: RmaKey, options: &RmaOptions) -> Option<Against> {
        match self.takes() {
            Taken::TheOthers => None,
            Taken::Nothing(reason) => Some(Against::NoUse(reason)),
            Taken::Buffers(reason) => (key != RmaKey::Slots).then_some(Against::NoUse(reason)),
            Taken::Stores => against_stores(key),
            Taken::Window { against_get, own } => {
                let gets = against_get.is_none() && options.operation == Operation::Get;
                let no_use = if gets { useless_beside_get(key) } else { None };
                let no_use =
                    no_use.or_else(|| useless_in_ring(key, own.contains(&RmaKey::Ring), options.ring));
                if let Some(reason) = no_use {
                    return Some(Against::NoUse(reason));
                }
                let barrier = options.notice == Notice::NeighborBarrier && own.contains(&RmaKey::Notice);
                let against_get = against_get.or(barrier.then_some(NO_GET_BEHIND_BARRIER));
                against_window(key, against_get, own)
            }
        }
    }
}

/// Returns why a key means nothing where receivers read from the senders' windows.
fn useless_beside_get(key: RmaKey) -> Option<&'static str> {
    if matches!(key, RmaKey::Epoch | RmaKey::Arrivals) {
        return Some(NOTHING_TO_OPEN_OR_COPY);
    }
    (key == RmaKey::Puts).then_some(NOTHING_TO_PUT)
}

/// Returns refusals for backends over windows. A get needs a synchronisation between packing and
/// reading, and one after it. `own` are the keys that not all of them take.
fn against_window(key: RmaKey, against_get: Option<&'static str>, own: &[RmaKey]) -> Option<Against> {
    if own.contains(&key) {
        return None;
    }
    let no_use = match key {
        RmaKey::Window
        | RmaKey::Windows
        | RmaKey::Slots
        | RmaKey::Asserts
        | RmaKey::Arrivals
        | RmaKey::Puts => return None,
        RmaKey::Operation => return against_get.map(Against::Impossible),
        RmaKey::Polling => "no flags are polled; `rma-notify` does",
        RmaKey::Ring => NO_RING,
        RmaKey::Epoch => {
            "one epoch lasts as long as the window; `rma-fence`, `rma-pscw` and `rma-lock-epoch` have one per exchange"
        }
        RmaKey::Notice => {
            "its synchronisation tells of arrivals; `rma-lock` and `rma-lock-epoch` need a notice"
        }
        RmaKey::Barriers => "there are no barriers; `rma-barrier` has them",
    };
    Some(Against::NoUse(no_use))
}

/// Returns why a key means nothing for a circular buffer of this form.
fn useless_in_ring(key: RmaKey, is_ring: bool, form: RingForm) -> Option<&'static str> {
    if !is_ring {
        return None;
    }
    Some(match (key, form) {
        (RmaKey::Windows, RingForm::Shared) => {
            "all edges share one ring, so that there is nothing to divide among windows"
        }
        (RmaKey::Arrivals, RingForm::Shared) => "messages are copied out of a shared ring in any case",
        (RmaKey::Puts, RingForm::Shared) => "messages are cut where a shared ring ends, and only there",
        (RmaKey::Polling, _) => {
            "tickets and flags of a ring are polled in memory; `rma-notify` can be strict"
        }
        _ => return None,
    })
}

/// Returns refusals for backends that store into shared memory.
fn against_stores(key: RmaKey) -> Option<Against> {
    let no_use = match key {
        RmaKey::Slots => return None,
        RmaKey::Window => "only MPI_Win_allocate_shared makes memory that all ranks of a node can store to",
        RmaKey::Windows => "a store needs no epoch, so that further windows would change nothing",
        RmaKey::Operation => {
            "messages are packed straight into the receiver's buffer: nothing is left to get"
        }
        RmaKey::Asserts => "no call that takes assertions is made in an exchange",
        RmaKey::Polling => "flags are stored and loaded without MPI: there is no stricter way to read them",
        RmaKey::Ring => NO_RING,
        RmaKey::Epoch | RmaKey::Notice | RmaKey::Barriers => {
            "a store needs no epoch, and its flag tells of it without MPI"
        }
        RmaKey::Arrivals => "it is the transport without a copy",
        RmaKey::Puts => "messages are packed straight into the receiver's buffer: nothing is put",
    };
    Some(Against::NoUse(no_use))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WindowCount;

    /// Returns every option alone at every other value, in the order of [`RmaKey::ALL`].
    fn changed() -> Vec<(RmaKey, RmaOptions, Buffering)> {
        let default = RmaOptions::default();
        let others = |&key: &RmaKey| {
            let values = key.values().into_iter().filter_map(move |name| match default.with(key, name) {
                None if name == Buffering::Single.name() => Some((key, default, Buffering::Single)),
                options => Some((key, options?, Buffering::Double)),
            });
            values.filter(|(key, options, buffering)| key.is_set(options, *buffering))
        };
        RmaKey::ALL.iter().flat_map(others).collect()
    }

    #[test]
    fn defaults_suit_every_backend() {
        for &backend in Backend::ALL {
            assert_eq!(backend.refusal(&RmaOptions::default(), Buffering::Double), None, "{backend:?}");
        }
    }

    #[test]
    fn a_refusal_names_the_option_that_was_set() {
        for &backend in Backend::ALL {
            for (key, options, buffering) in changed() {
                let named = backend.refusal(&options, buffering).map(|refusal| refusal.key);
                assert!(named.is_none_or(|named| named == key), "{backend:?} {key:?}");
            }
        }
    }

    #[test]
    fn each_backend_takes_what_it_can_use() {
        let taken = |backend: Backend| {
            let mut keys: Vec<&str> = changed()
                .into_iter()
                .filter(|(_, options, buffering)| backend.refuses(options, *buffering).is_ok())
                .map(|(key, ..)| key.name())
                .collect();
            keys.dedup();
            keys.join(" ")
        };
        assert_eq!(taken(Backend::P2p), "slots");
        assert_eq!(taken(Backend::NeighborCollective), "");
        assert_eq!(taken(Backend::Shm), "slots");
        assert_eq!(taken(Backend::RmaFence), "window windows operation slots asserts epoch arrivals puts");
        assert_eq!(taken(Backend::RmaPscw), "window windows slots asserts epoch arrivals puts");
        assert_eq!(taken(Backend::RmaLock), "window windows operation slots asserts notice arrivals puts");
        assert_eq!(taken(Backend::RmaLockEpoch), "window windows slots asserts epoch notice arrivals puts");
        assert_eq!(taken(Backend::RmaBarrier), "window windows slots asserts barriers arrivals puts");
        assert_eq!(taken(Backend::RmaNotify), "window windows slots asserts polling arrivals puts");
        assert_eq!(taken(Backend::RmaRing), "window windows slots asserts ring arrivals puts");
    }

    /// A get is impossible for `rma-pscw`; it would change nothing for `p2p`.
    #[test]
    fn what_cannot_be_is_told_from_what_means_nothing() {
        let get = RmaOptions { operation: Operation::Get, ..RmaOptions::default() };
        let has_use = |backend: Backend| backend.has_use_for(RmaKey::Operation, &get);
        assert_eq!(
            [Backend::RmaFence, Backend::RmaPscw, Backend::P2p, Backend::Shm].map(has_use),
            [true, true, false, false]
        );
        assert!(!Backend::RmaFence.has_use_for(RmaKey::Epoch, &get));
        assert!(Backend::RmaFence.has_use_for(RmaKey::Epoch, &RmaOptions::default()));
        let barrier = RmaOptions { notice: Notice::NeighborBarrier, ..get };
        let refusal = Backend::RmaLock.refusal(&barrier, Buffering::Double);
        assert_eq!(refusal.map(|refusal| refusal.key), Some(RmaKey::Operation));
    }

    #[test]
    fn one_ring_is_not_divided_among_windows() {
        let options =
            RmaOptions { ring: RingForm::Shared, windows: WindowCount::PerEdge, ..RmaOptions::default() };
        let refusal = Backend::RmaRing.refusal(&options, Buffering::Double);
        assert_eq!(refusal.map(|refusal| refusal.key), Some(RmaKey::Windows));
    }
}
