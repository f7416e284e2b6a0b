//! What one case has measured.

use crate::statistics::Summary;

/// Samples of one loop.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Series {
    /// Behind the benchmark's name; may be empty.
    pub part: &'static str,
    /// Seconds per iteration.
    pub samples_s: Vec<f64>,
    /// What they say; `None` without any.
    pub summary: Option<Summary>,
    /// Bytes that a rank sends per iteration, those of a round trip over half of it.
    pub bytes_moved: f64,
    /// What else there is to say.
    pub note: String,
}

/// The parts of a case, sampled in turn, which move the same.
pub(super) fn parts(names: &[&'static str], samples_s: Vec<Vec<f64>>, bytes_moved: f64) -> Vec<Series> {
    let part = |(&part, samples_s): (_, Vec<f64>)| {
        let (summary, note) = (Summary::of(&samples_s), String::new());
        Series { part, samples_s, summary, bytes_moved, note }
    };
    names.iter().zip(samples_s).map(part).collect()
}
