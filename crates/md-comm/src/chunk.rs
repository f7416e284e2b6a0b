//! Long two-sided messages in pieces.
//!
//! Above a limit of its own (the eager limit) a library sends only after the receiver has answered,
//! and answers and data move only during calls of the library. Pieces below the limit leave at
//! once, and the kernel carries them while the ranks compute.

/// Pieces in which messages of known length are sent, by `p2p` and `p2p-persistent`, which may also
/// be the backend between the nodes of `hybrid` or candidates of `auto`: "off" (whole), a number of
/// bytes, or "auto" (32 KiB between nodes, whole inside a node).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(from = "written::Written", into = "written::Written"))]
pub enum Chunk {
    /// Whole messages.
    Off,
    /// Whole messages inside a node; between nodes pieces of [`Self::BETWEEN_NODES`].
    #[default]
    Auto,
    /// Pieces of this number of bytes, at least 1; the last piece has the rest.
    Bytes(usize),
}

/// ```
/// use md_comm::Chunk;
///
/// /// Number of messages for this many bytes between two nodes.
/// fn messages(chunk: Chunk, bytes: usize) -> usize {
///     match chunk {
///         Chunk::Off => 1,
///         Chunk::Auto => bytes.div_ceil(Chunk::BETWEEN_NODES),
///         Chunk::Bytes(piece) => bytes.div_ceil(piece),
///     }
/// }
/// let of_100_kib = |chunk| messages(chunk, 100 << 10);
/// assert_eq!([Chunk::Off, Chunk::Auto, Chunk::Bytes(8192)].map(of_100_kib), [1, 4, 13]);
/// ```
impl Chunk {
    /// Bytes per piece that "auto" takes between nodes.
    pub const BETWEEN_NODES: usize = 32 << 10;
}

/// The form in a scenario.
#[cfg(feature = "serde")]
mod written {
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    use super::Chunk;

    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(untagged)]
    pub(super) enum Written {
        Bytes(#[schemars(range(min = 1))] usize),
        Name(Name),
    }

    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    pub(super) enum Name {
        Auto,
        Off,
    }

    impl From<Written> for Chunk {
        fn from(written: Written) -> Self {
            match written {
                Written::Bytes(bytes) => Self::Bytes(bytes),
                Written::Name(Name::Auto) => Self::Auto,
                Written::Name(Name::Off) => Self::Off,
            }
        }
    }

    impl From<Chunk> for Written {
        fn from(chunk: Chunk) -> Self {
            match chunk {
                Chunk::Bytes(bytes) => Self::Bytes(bytes),
                Chunk::Auto => Self::Name(Name::Auto),
                Chunk::Off => Self::Name(Name::Off),
            }
        }
    }
}
