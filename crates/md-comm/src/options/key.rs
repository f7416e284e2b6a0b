//! The keys of `[parallel.rma]`, with the names of their values.

use super::{
    Arrivals, Asserts, BarrierCount, EpochOpening, Notice, Operation, Polling, PutCount, RingForm,
    RmaOptions, WindowCount, WindowKind,
};
use crate::Buffering;

/// One key of `[parallel.rma]`.
///
/// ```
/// use md_comm::RmaKey;
///
/// assert_eq!(RmaKey::Operation.name(), "operation");
/// assert_eq!(RmaKey::Operation.values(), ["put", "get"]);
/// ```
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
    /// [`RmaOptions::epoch`].
    Epoch,
    /// [`RmaOptions::notice`].
    Notice,
    /// [`RmaOptions::barriers`].
    Barriers,
    /// [`RmaOptions::arrivals`].
    Arrivals,
    /// [`RmaOptions::puts`].
    Puts,
}

named!(RmaKey);

impl RmaKey {
    /// Returns the name of the key's value.
    pub(crate) fn value(self, options: &RmaOptions, buffering: Buffering) -> &'static str {
        match self {
            Self::Window => options.window.name(),
            Self::Windows => options.windows.name(),
            Self::Operation => options.operation.name(),
            Self::Slots => buffering.name(),
            Self::Asserts => options.asserts.name(),
            Self::Polling => options.polling.name(),
            Self::Ring => options.ring.name(),
            Self::Epoch => options.epoch.name(),
            Self::Notice => options.notice.name(),
            Self::Barriers => options.barriers.name(),
            Self::Arrivals => options.arrivals.name(),
            Self::Puts => options.puts.name(),
        }
    }

    /// Returns the names of all values, the default first (except for [`Buffering`]).
    pub fn values(self) -> Vec<&'static str> {
        match self {
            Self::Window => names(WindowKind::ALL),
            Self::Windows => names(WindowCount::ALL),
            Self::Operation => names(Operation::ALL),
            Self::Slots => [Buffering::Single, Buffering::Double].map(Buffering::name).to_vec(),
            Self::Asserts => names(Asserts::ALL),
            Self::Polling => names(Polling::ALL),
            Self::Ring => names(RingForm::ALL),
            Self::Epoch => names(EpochOpening::ALL),
            Self::Notice => names(Notice::ALL),
            Self::Barriers => names(BarrierCount::ALL),
            Self::Arrivals => names(Arrivals::ALL),
            Self::Puts => names(PutCount::ALL),
        }
    }

    /// Returns whether the key has another value than its default.
    pub(crate) fn is_set(self, options: &RmaOptions, buffering: Buffering) -> bool {
        self.value(options, buffering) != self.value(&RmaOptions::default(), Buffering::default())
    }
}

fn names<T: Copy + Into<&'static str>>(values: &[T]) -> Vec<&'static str> {
    values.iter().map(|&value| value.into()).collect()
}
