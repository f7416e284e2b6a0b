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

named!(WindowKind, WindowCount, Operation, Asserts, Polling, RingForm);

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
}

impl RmaOptions {
    /// Every combination of values; many backends take few of them ([`crate::Backend::refuses`]).
    pub fn combinations() -> Vec<Self> {
        let mut all = vec![Self::default()];
        let mut vary = |set: &dyn Fn(Self) -> Vec<Self>| {
            all = all.iter().flat_map(|&options| set(options)).collect();
        };
        vary(&|options| WindowKind::ALL.iter().map(|&window| Self { window, ..options }).collect());
        vary(&|options| WindowCount::ALL.iter().map(|&windows| Self { windows, ..options }).collect());
        vary(&|options| Operation::ALL.iter().map(|&operation| Self { operation, ..options }).collect());
        vary(&|options| Asserts::ALL.iter().map(|&asserts| Self { asserts, ..options }).collect());
        vary(&|options| Polling::ALL.iter().map(|&polling| Self { polling, ..options }).collect());
        vary(&|options| RingForm::ALL.iter().map(|&ring| Self { ring, ..options }).collect());
        all
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
