//! Options of the one-sided backends (`[parallel.rma]` of a scenario; its `slots` are [`crate::Buffering`],
//! part of an [`crate::ExchangeSpec`]). What does not go together is in the refusal table, [`crate::Backend::refuses`].

use crate::{Buffering, RmaKey};

/// Where a window's memory comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum WindowKind {
    /// `MPI_Win_allocate`: the library chooses memory that it can reach fastest.
    #[default]
    Allocate,
    /// `MPI_Win_create` over memory of ours.
    Create,
    /// `MPI_Win_create_dynamic`; memory is attached, targets are absolute addresses.
    Dynamic,
}

/// How many windows a context has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum WindowCount {
    /// One for all edges.
    #[default]
    Single,
    /// One per edge; every epoch and flush goes over all of them.
    PerEdge,
}

/// Which way data are moved.
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

/// Whether synchronisation calls of an exchange tell the library what they may assume (MPI-3.1 section 11.5.5). A lock that
/// is held for the life of a window always does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(from = "bool", into = "bool"))]
pub enum Asserts {
    /// Nothing is asserted.
    #[default]
    Off,
    /// Whatever is true.
    On,
}

/// How a flag in window memory is read by its owner.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Polling {
    /// By atomic loads: relies on an accumulate of 8 bytes being stored whole, in order or in halves.
    #[default]
    Fast,
    /// By `MPI_Fetch_and_op`: relies on nothing but the standard.
    Strict,
}

/// Whose messages share a circular buffer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum RingForm {
    /// One ring per edge: a single sender, which knows all tickets.
    #[default]
    PerEdge,
    /// One ring per receiving rank: senders reserve tickets by an atomic fetch-and-add.
    Shared,
}

/// When the epoch of the next exchange is opened, where every exchange has one of its own (Brown et al. 2020).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum EpochOpening {
    /// At the end of the last exchange: nobody waits for it when the next one begins.
    #[default]
    Complete,
    /// When the exchange begins.
    Initiate,
}

/// How receivers learn that puts under a lock have arrived.
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

/// How many barriers there are around puts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum BarrierCount {
    /// One behind all puts of an exchange; with one buffer, another behind all reading.
    #[default]
    PerExchange,
    /// One before and one behind each put.
    PerMessage,
}

/// Where messages are read that were put into a window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Arrivals {
    /// In the window.
    #[default]
    InPlace,
    /// In a buffer that they are copied to first.
    Copied,
}

/// How many puts move a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum PutCount {
    /// One.
    #[default]
    One,
    /// Three, of a third each (of less than three numbers, as many): as where a code puts x, y and z of positions one by one.
    Three,
}

named!(WindowKind, WindowCount, Operation, Asserts, Polling, RingForm);
named!(EpochOpening, Notice, BarrierCount, Arrivals, PutCount);

/// As in configuration files.
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
    /// Where windows come from.
    pub window: WindowKind,
    /// How many there are.
    pub windows: WindowCount,
    /// Put or get.
    pub operation: Operation,
    /// Promises to the library.
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
    /// Puts of a message.
    pub puts: PutCount,
}

impl RmaOptions {
    /// Every combination of values; many backends take few of them ([`crate::Backend::refuses`]).
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

    /// The same with another value of one key; `None` if the key has no value of this name, and of
    /// [`RmaKey::Slots`], which are no option of a backend.
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
    /// `window=create asserts=on`: the options that are not at their defaults.
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
