//! The refusal table: which backend takes which option, and why not.
//!
//! An option that a backend would silently ignore is refused, unless it is left at its default. `asserts` is taken by all
//! backends over windows, also by those whose only synchronisation asserts what is true in any case: it is not ignored.

use crate::{Backend, Buffering, RingForm, RmaOptions};

/// One key of `[parallel.rma]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum RmaKey {
    /// [`RmaOptions::window`].
    Window,
    /// [`RmaOptions::windows`].
    Windows,
    /// [`RmaOptions::operation`].
    Operation,
    /// [`Buffering`].
    Slots,
    /// [`RmaOptions::asserts`].
    Asserts,
    /// [`RmaOptions::polling`].
    Polling,
    /// [`RmaOptions::ring`].
    Ring,
}

named!(RmaKey);

impl RmaKey {
    /// The name of its value.
    pub(crate) fn value(self, options: &RmaOptions, buffering: Buffering) -> &'static str {
        match self {
            Self::Window => options.window.name(),
            Self::Windows => options.windows.name(),
            Self::Operation => options.operation.name(),
            Self::Slots => buffering.name(),
            Self::Asserts => options.asserts.name(),
            Self::Polling => options.polling.name(),
            Self::Ring => options.ring.name(),
        }
    }

    /// Whether the key has another value than its default.
    pub(crate) fn is_set(self, options: &RmaOptions, buffering: Buffering) -> bool {
        self.value(options, buffering) != self.value(&RmaOptions::default(), Buffering::default())
    }
}

/// An option that a backend does not take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The option.
    pub key: RmaKey,
    /// What forbids it, and what would be right.
    pub reason: String,
}

const NO_GET_BETWEEN_POST_AND_WAIT: &str = "its epochs admit the senders of messages; a get would have to admit the \
    receivers, once more after the data are packed; `rma-fence` and `rma-lock` can get";
const NO_GET_AFTER_UNLOCK: &str = "its epoch has ended when the receiver is told, and a get needs an open one; \
    `rma-fence` and `rma-lock` can get";
const NO_GET_BEHIND_BARRIER: &str = "its barrier comes after the data have moved; a get needs one before; `rma-fence` \
    and `rma-lock` can get";
const NO_GET_BEHIND_FLAG: &str = "its flag says that data have arrived, and a get moves nothing to the receiver by \
    itself; `rma-fence` and `rma-lock` can get";

impl Backend {
    /// The first option that the backend does not take, with the reason; `None` if it takes all.
    pub fn refusal(self, options: &RmaOptions, buffering: Buffering) -> Option<Refusal> {
        let refused = |&key: &RmaKey| {
            let reason = self.reason_against(key, options)?;
            key.is_set(options, buffering).then(|| Refusal { key, reason: reason.to_owned() })
        };
        RmaKey::ALL.iter().find_map(refused)
    }

    /// Whether the backend takes the options.
    ///
    /// # Errors
    /// [`Refusal::reason`].
    pub fn refuses(self, options: &RmaOptions, buffering: Buffering) -> Result<(), String> {
        self.refusal(options, buffering).map_or(Ok(()), |refusal| Err(refusal.reason))
    }

    /// Why a key must be left at its default; `None` if it may have any value.
    fn reason_against(self, key: RmaKey, options: &RmaOptions) -> Option<&'static str> {
        match self {
            // They are those of its backend between nodes, which is asked itself.
            Self::Hybrid => None,
            Self::Auto => {
                against_all_but_buffers(key, "the backends it chooses from are compared with their defaults")
            }
            Self::Local => {
                against_all_but_buffers(key, "the ranks are threads that pass buffers: there is no window")
            }
            Self::P2p | Self::P2pPersistent => {
                against_all_but_buffers(key, "the backend is two-sided: there is no window")
            }
            Self::NeighborCollective => {
                Some("the library keeps the buffers of a collective: there is no window")
            }
            Self::Shm => against_shared_memory(key),
            Self::RmaFence | Self::RmaLock => against_window(key, None),
            Self::RmaPscw => against_window(key, Some(NO_GET_BETWEEN_POST_AND_WAIT)),
            Self::RmaLockEpoch => against_window(key, Some(NO_GET_AFTER_UNLOCK)),
            Self::RmaBarrier => against_window(key, Some(NO_GET_BEHIND_BARRIER)),
            Self::RmaNotify => against_flags(key),
            Self::RmaRing => against_ring(key, options.ring),
        }
    }
}

/// For backends that own their buffers, but no window.
fn against_all_but_buffers(key: RmaKey, reason: &'static str) -> Option<&'static str> {
    (key != RmaKey::Slots).then_some(reason)
}

/// For backends over windows. A get needs a synchronisation between packing and reading, and one after it.
fn against_window(key: RmaKey, against_get: Option<&'static str>) -> Option<&'static str> {
    match key {
        RmaKey::Window | RmaKey::Windows | RmaKey::Slots | RmaKey::Asserts => None,
        RmaKey::Operation => against_get,
        RmaKey::Polling => Some("no flags are polled; `rma-notify` does"),
        RmaKey::Ring => Some("there is no circular buffer; `rma-ring` has one"),
    }
}

/// For those of them whose messages are announced by flags.
fn against_flags(key: RmaKey) -> Option<&'static str> {
    if key == RmaKey::Polling { None } else { against_window(key, Some(NO_GET_BEHIND_FLAG)) }
}

fn against_ring(key: RmaKey, ring: RingForm) -> Option<&'static str> {
    match (key, ring) {
        (RmaKey::Windows, RingForm::Shared) => {
            Some("all edges share one ring, so that there is nothing to divide among windows")
        }
        (RmaKey::Polling, _) => {
            Some("tickets and flags of a ring are polled in memory; `rma-notify` can be strict")
        }
        (RmaKey::Ring, _) => None,
        (key, _) => against_flags(key),
    }
}

fn against_shared_memory(key: RmaKey) -> Option<&'static str> {
    match key {
        RmaKey::Slots => None,
        RmaKey::Window => {
            Some("only MPI_Win_allocate_shared makes memory that all ranks of a node can store to")
        }
        RmaKey::Windows => Some("a store needs no epoch, so that further windows would change nothing"),
        RmaKey::Operation => {
            Some("messages are packed straight into the receiver's buffer: nothing is left to get")
        }
        RmaKey::Asserts => Some("no call that takes assertions is made in an exchange"),
        RmaKey::Polling => {
            Some("flags are stored and loaded without MPI: there is no stricter way to read them")
        }
        RmaKey::Ring => Some("there is no circular buffer; `rma-ring` has one"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Asserts, Operation, Polling, WindowCount, WindowKind};

    /// Every option alone at every other value, in the order of [`RmaKey::ALL`].
    fn changed() -> Vec<(RmaKey, RmaOptions, Buffering)> {
        let default = RmaOptions::default();
        vec![
            (RmaKey::Window, RmaOptions { window: WindowKind::Create, ..default }, Buffering::Double),
            (RmaKey::Window, RmaOptions { window: WindowKind::Dynamic, ..default }, Buffering::Double),
            (RmaKey::Windows, RmaOptions { windows: WindowCount::PerEdge, ..default }, Buffering::Double),
            (RmaKey::Operation, RmaOptions { operation: Operation::Get, ..default }, Buffering::Double),
            (RmaKey::Slots, default, Buffering::Single),
            (RmaKey::Asserts, RmaOptions { asserts: Asserts::On, ..default }, Buffering::Double),
            (RmaKey::Polling, RmaOptions { polling: Polling::Strict, ..default }, Buffering::Double),
            (RmaKey::Ring, RmaOptions { ring: RingForm::Shared, ..default }, Buffering::Double),
        ]
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
        assert_eq!(taken(Backend::RmaFence), "window windows operation slots asserts");
        assert_eq!(taken(Backend::RmaPscw), "window windows slots asserts");
        assert_eq!(taken(Backend::RmaLock), "window windows operation slots asserts");
        assert_eq!(taken(Backend::RmaNotify), "window windows slots asserts polling");
        assert_eq!(taken(Backend::RmaRing), "window windows slots asserts ring");
    }

    #[test]
    fn one_ring_is_not_divided_among_windows() {
        let options =
            RmaOptions { ring: RingForm::Shared, windows: WindowCount::PerEdge, ..RmaOptions::default() };
        let refusal = Backend::RmaRing.refusal(&options, Buffering::Double);
        assert_eq!(refusal.map(|refusal| refusal.key), Some(RmaKey::Windows));
    }
}
