//! Tables and pictures of a summary and of a critical path.

use super::{CriticalPath, Summary};
use crate::EncodeError;
use crate::plot::{Bars, Matrix};
use crate::statistics::Interval;
use crate::tables::table;

/// Returns the communication matrix as CSV, with one row per sender and receiver.
///
/// # Errors
/// As [`crate::tables::table`].
pub fn edges_csv(summary: &Summary) -> Result<Vec<u8>, EncodeError> {
    let rows = summary.edges.iter().map(|(ends, edge)| {
        (ends, edge.messages, edge.bytes, [edge.late_s, edge.transfer_s, edge.collective_late_s])
    });
    table(&["from,to,messages,bytes,late_s,transfer_s,collective_late_s"], rows)
}

/// Returns the waiting times of each rank as CSV.
///
/// # Errors
/// As [`crate::tables::table`].
pub fn waits_csv(summary: &Summary) -> Result<Vec<u8>, EncodeError> {
    let row = |(rank, waits): (usize, &super::Waits)| {
        let collective = [waits.collective_late_s, waits.collective_s];
        (rank, waits.late_s, waits.transfer_s, collective, waits.other_s)
    };
    table(
        &["rank,late_s,transfer_s,collective_late_s,collective_s,other_s"],
        summary.waits.iter().enumerate().map(row),
    )
}

/// Returns the number of messages and bytes by message size as CSV.
///
/// # Errors
/// As [`crate::tables::table`].
pub fn sizes_csv(summary: &Summary) -> Result<Vec<u8>, EncodeError> {
    let rows = summary.sizes.iter().map(|(&class, counts)| (bounds(class), counts));
    table(&["from_bytes,below_bytes,messages,bytes"], rows)
}

/// Returns the parts of the critical path as CSV.
///
/// # Errors
/// As [`crate::tables::table`].
pub fn path_csv(path: &CriticalPath) -> Result<Vec<u8>, EncodeError> {
    table(&["rank,phase,seconds"], path.parts.iter().map(|(&(rank, phase), &seconds)| (rank, phase, seconds)))
}

/// Returns a bar chart of the number of messages by size.
pub fn sizes_picture(summary: &Summary) -> Bars {
    let bar = |(&class, &[messages, _]): (&u32, &[u64; 2])| {
        let [from, below] = bounds(class);
        let messages = messages as f64;
        (
            format!("{from} to {} bytes", below - 1),
            Interval { median_s: messages, low_s: messages, high_s: messages },
        )
    };
    let bars = summary.sizes.iter().map(bar).collect();
    Bars { title: "Messages by size".to_owned(), description: "messages".to_owned(), bars, ..Bars::default() }
}

/// Returns a picture of the communication matrix.
pub fn traffic_picture(summary: &Summary) -> Matrix {
    let cells = summary.edges.iter().map(|(&ends, edge)| (ends, edge.bytes as f64)).collect();
    let title = "Bytes from rank (down) to rank (across)".to_owned();
    Matrix { title, size: summary.waits.len(), cells }
}

/// Returns the first size of a class, and the first size above it.
fn bounds(class: u32) -> [u64; 2] {
    let below = 1u64.checked_shl(class).unwrap_or(u64::MAX);
    [if class == 0 { 0 } else { below.div_ceil(2) }, below]
}
