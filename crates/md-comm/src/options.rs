//! Options of the one-sided backends (`[parallel.rma]` of a scenario; its `slots` are
//! [`crate::Buffering`], part of an [`crate::ExchangeSpec`]). Combinations that cannot be used are
//! in the refusal table, [`crate::Backend::refuses`].

use crate::{Buffering, RmaKey};

/// Origin of a window's memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum WindowKind {
    /// `MPI_Win_allocate`: the library chooses the memory that it can reach fastest.
    #[default]
    Allocate,
    /// `MPI_Win_create` over memory of this program.
    Create,
    /// `MPI_Win_create_dynamic`: memory is attached, and targets are absolute addresses.
    Dynamic,
}

/// Number of windows of a context.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum WindowCount {
    /// One window for all edges.
    #[default]
    Single,
    /// One window per edge; every epoch and flush covers all of them.
    PerEdge,
}

/// Direction in which data are moved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Operation {
    /// The sender writes into the receiver's buffer.
    #[default]
    Put,
    /// The receiver reads the sender's buffer.
    Get,
}

/// Whether the synchronisation calls of an exchange pass assertions to the library (MPI-3.1 section
/// 11.5.5). A lock that is held for the life of a window always does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(from = "bool", into = "bool"))]
pub enum Asserts {
    /// Nothing is asserted.
    #[default]
    Off,
    /// Every assertion that is true.
    On,
}

/// How a flag in window memory is read by its owner.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Polling {
    /// By atomic loads. Relies on an accumulate of 8 bytes being stored whole, in order or in
    /// halves.
    #[default]
    Fast,
    /// By `MPI_Fetch_and_op`. Relies on nothing but the standard.
    Strict,
}

/// Messages that share a circular buffer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum RingForm {
    /// One ring per edge: a single sender, which has all tickets.
    #[default]
    PerEdge,
    /// One ring per receiving rank: senders reserve tickets by an atomic fetch-and-add.
    Shared,
}

/// When the epoch of the next exchange is opened, if every exchange has one of its own (Brown et
/// al. 2020).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum EpochOpening {
    /// At the end of the last exchange, so that no rank waits for it when the next exchange begins.
    #[default]
    Complete,
    /// When the exchange begins.
    Initiate,
}

/// How receivers are notified that puts under a lock have arrived.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Notice {
    /// By an empty message along each edge.
    #[default]
    Message,
    /// By a barrier among neighbours, for all edges together.
    NeighborBarrier,
}

/// Number of barriers around puts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum BarrierCount {
    /// One after all puts of an exchange; with one buffer, another after all reading.
    #[default]
    PerExchange,
    /// One before and one after each put.
    PerMessage,
}

/// Where messages that were put into a window are read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Arrivals {
    /// In the window.
    #[default]
    InPlace,
    /// In a buffer to which they are copied first.
    Copied,
}

/// Number of puts that move a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum PutCount {
    /// One.
    #[default]
    One,
    /// Three puts of a third each (fewer for messages of fewer than three numbers), as in codes
    /// that put x, y and z of positions one by one.
    Three,
}

named!(WindowKind, WindowCount, Operation, Asserts, Polling, RingForm);
named!(EpochOpening, Notice, BarrierCount, Arrivals, PutCount);

/// Converts the value of a configuration file.
impl From<bool> for Asserts {
    fn from(on: bool) -> Self {
        if on { Self::On } else { Self::Off }
    }
}

impl From<Asserts> for bool {
    fn from(asserts: Asserts) -> Self {
        asserts == Asserts::On
    }
}

/// Options of the one-sided backends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(default))]
pub struct RmaOptions {
    /// Origin of the windows' memory.
    pub window: WindowKind,
    /// Number of windows.
    pub windows: WindowCount,
    /// Put or get.
    pub operation: Operation,
    /// Assertions passed to the library.
    pub asserts: Asserts,
    /// How flags are polled.
    pub polling: Polling,
    /// Form of the circular buffer.
    pub ring: RingForm,
    /// When epochs are opened.
    pub epoch: EpochOpening,
    /// How arrivals are announced.
    pub notice: Notice,
    /// Barriers around puts.
    pub barriers: BarrierCount,
    /// Where messages are read.
    pub arrivals: Arrivals,
    /// Puts per message.
    pub puts: PutCount,
}

impl RmaOptions {
    /// Returns every combination of values. Many backends take few of them
    /// ([`crate::Backend::refuses`]).
    pub fn combinations() -> Vec<Self> {
        let vary = |all: Vec<Self>, key: &RmaKey| {
            let names = key.values();
            let each =
                all.iter().flat_map(|options| names.iter().filter_map(|name| options.with(*key, name)));
            each.collect()
        };
        let keys = RmaKey::ALL.iter().filter(|key| **key != RmaKey::Slots);
        keys.fold(vec![Self::default()], vary)
    }

    /// Returns these options with another value of one key. Returns `None` if the key has no value
    /// of this name, and for [`RmaKey::Slots`], which is not an option of a backend.
    #[must_use]
    pub fn with(self, key: RmaKey, name: &str) -> Option<Self> {
        Some(match key {
            RmaKey::Window => Self { window: WindowKind::from_name(name)?, ..self },
            RmaKey::Windows => Self { windows: WindowCount::from_name(name)?, ..self },
            RmaKey::Operation => Self { operation: Operation::from_name(name)?, ..self },
            RmaKey::Slots => return None,
            RmaKey::Asserts => Self { asserts: Asserts::from_name(name)?, ..self },
            RmaKey::Polling => Self { polling: Polling::from_name(name)?, ..self },
            RmaKey::Ring => Self { ring: RingForm::from_name(name)?, ..self },
            RmaKey::Epoch => Self { epoch: EpochOpening::from_name(name)?, ..self },
            RmaKey::Notice => Self { notice: Notice::from_name(name)?, ..self },
            RmaKey::Barriers => Self { barriers: BarrierCount::from_name(name)?, ..self },
            RmaKey::Arrivals => Self { arrivals: Arrivals::from_name(name)?, ..self },
            RmaKey::Puts => Self { puts: PutCount::from_name(name)?, ..self },
        })
    }
}

impl std::fmt::Display for RmaOptions {
    /// Writes the options that are not at their defaults, as in `window=create asserts=on`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let buffering = Buffering::default();
        let set = RmaKey::ALL.iter().filter(|key| key.is_set(self, buffering));
        let texts: Vec<_> = set.map(|key| format!("{}={}", key.name(), key.value(self, buffering))).collect();
        f.write_str(&texts.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combinations_have_every_value_of_every_key() {
        let all = RmaOptions::combinations();
        let different: std::collections::HashSet<_> = all.iter().copied().collect();
        assert_eq!((all.len(), different.len()), (3 * 2_usize.pow(10), all.len()));
        for &key in RmaKey::ALL.iter().filter(|key| **key != RmaKey::Slots) {
            for name in key.values() {
                assert!(
                    all.iter().any(|options| key.value(options, Buffering::Double) == name),
                    "{key:?} {name}"
                );
            }
        }
    }

    #[test]
    fn names_round_trip_and_the_first_value_is_the_default() {
        macro_rules! check {
            ($($option:ident),+) => {$(
                assert_eq!($option::ALL[0], $option::default());
                for &value in $option::ALL {
                    assert_eq!($option::from_name(value.name()), Some(value));
                }
                assert_eq!($option::from_name("pigeon"), None);
            )+};
        }
        check!(WindowKind, WindowCount, Operation, Asserts, Polling, RingForm);
        check!(EpochOpening, Notice, BarrierCount, Arrivals, PutCount);
    }
}

#[cfg(all(test, feature = "serde"))]
mod serde_tests {
    use super::*;
    use crate::{Backend, Buffering};

    #[test]
    fn configuration_files_have_the_same_names() {
        for &backend in Backend::ALL {
            assert_eq!(serde_json::to_value(backend).ok(), Some(backend.name().into()));
        }
        let text = r#"{"window":"create","asserts":true,"ring":"per-edge"}"#;
        let expected =
            RmaOptions { window: WindowKind::Create, asserts: Asserts::On, ..RmaOptions::default() };
        assert_eq!(serde_json::from_str::<RmaOptions>(text).ok(), Some(expected));
        assert_eq!(
            serde_json::to_value(expected).ok().map(|value| value["asserts"].clone()),
            Some(true.into())
        );
        assert_eq!(serde_json::from_str::<Buffering>("1").ok(), Some(Buffering::Single));
        assert!(serde_json::from_str::<Buffering>("3").is_err());
    }

    #[test]
    fn schemas_describe_what_is_read() {
        let schema = schemars::schema_for!(RmaOptions);
        assert_eq!(schema.pointer("/$defs/Asserts/type"), Some(&"boolean".into()), "{schema:?}");
        let schema = schemars::schema_for!(Buffering);
        assert_eq!(schema.get("maximum"), Some(&2.into()), "{schema:?}");
    }
}
