//! Options of the one-sided backends (`[parallel.rma]` of a scenario; its `slots` are
//! [`crate::Buffering`], part of an [`crate::ExchangeSpec`]). Combinations that cannot be used are
//! in the refusal table, [`crate::Backend::refuses`].

mod key;
mod values;

use crate::Buffering;
pub use key::RmaKey;
pub use values::{
    Arrivals, Asserts, BarrierCount, EpochOpening, Notice, Operation, Polling, PutCount, RingForm,
    WindowCount, WindowKind,
};

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

/// ```
/// use md_comm::{Backend, Buffering, Operation, RmaKey, RmaOptions, WindowKind};
///
/// let get = RmaOptions { operation: Operation::Get, ..RmaOptions::default() };
/// // Receivers can read from the senders after a fence; two-sided messages have no window.
/// assert_eq!(Backend::RmaFence.refuses(&get, Buffering::Double), Ok(()));
/// assert!(Backend::P2p.refuses(&get, Buffering::Double).is_err());
/// // By the names of a scenario; the text has what is not at its default.
/// let created = get.with(RmaKey::Window, "create");
/// assert_eq!(created, Some(RmaOptions { window: WindowKind::Create, ..get }));
/// let text = created.map(|options| options.to_string());
/// assert_eq!(text.as_deref(), Some("window=create operation=get"));
/// ```
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
