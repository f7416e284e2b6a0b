//! Results of one case.

use crate::statistics::Summary;

/// Samples of one loop.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Series {
    /// Suffix to the benchmark's name; may be empty.
    pub part: &'static str,
    /// Seconds per iteration.
    pub samples_s: Vec<f64>,
    /// Statistics of the samples; `None` without any.
    pub summary: Option<Summary>,
    /// Bytes per iteration, from which the bandwidth follows: those that a rank sends, or twice the
    /// message for a round trip, which takes two messages.
    pub bytes_moved: f64,
    /// Remark; may be empty.
    pub note: String,
}

/// Returns the series of a case whose parts were sampled in turn and move equal amounts.
pub(super) fn parts(names: &[&'static str], samples_s: Vec<Vec<f64>>, bytes_moved: f64) -> Vec<Series> {
    let part = |(&part, samples_s): (_, Vec<f64>)| {
        let (summary, note) = (Summary::of(&samples_s), String::new());
        Series { part, samples_s, summary, bytes_moved, note }
    };
    names.iter().zip(samples_s).map(part).collect()
}
