//! State of a file that grows, at a checkpoint.

use serde::{Deserialize, Serialize};

/// State of an output at a checkpoint.
///
/// See [`RecordFile`](super::RecordFile) for an example.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputMark {
    /// Name in the output directory.
    pub file: String,
    /// Length of the file in bytes.
    pub bytes: u64,
    /// Number of bytes before this length that the checksum covers: all bytes, or all bytes after a
    /// head that changes.
    pub checked_bytes: u64,
    /// CRC-32 of these bytes.
    #[serde(alias = "checksum_of_end")]
    pub checksum: u32,
    /// End of the file after this length, which the next record replaces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub end: Vec<u8>,
}
