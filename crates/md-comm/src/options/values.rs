//! The values of the options of one-sided backends.

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
///
/// ```
/// use md_comm::Asserts;
///
/// assert_eq!([true, false].map(Asserts::from), [Asserts::On, Asserts::Off]);
/// ```
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
