//! What a comparison leaves behind: a table on the screen, compare.csv, a bar chart twice, and a recommendation.

mod chart;
mod recommendation;
mod table;

#[cfg(test)]
pub(in crate::output) mod fixtures;

pub use recommendation::recommendation;
pub use table::table;

use super::directory::{KnownFile, OutputDirectory};
use super::error::OutputError;
use super::tables::compare_csv;
use crate::comparison::{Comparison, RankedBy};
use md_lab::plot::Picture;
use md_lab::significant;
use md_lab::statistics::Interval;

/// A unit of time.
#[derive(Clone, Copy)]
struct Unit {
    per_second: f64,
    symbol: &'static str,
}

const MICROSECONDS: Unit = Unit { per_second: 1e6, symbol: "us" };
const MILLISECONDS: Unit = Unit { per_second: 1e3, symbol: "ms" };

impl Unit {
    /// Median and bounds with so many significant digits.
    fn bounds(self, interval: &Interval, digits: usize) -> [String; 3] {
        let &Interval { median_s, low_s, high_s } = interval;
        [median_s, low_s, high_s].map(|time_s| significant(time_s * self.per_second, digits))
    }
}

/// Exchanges take microseconds, steps milliseconds.
fn unit_of(by: RankedBy) -> Unit {
    match by {
        RankedBy::Exchange => MICROSECONDS,
        RankedBy::Step | RankedBy::WholeStep => MILLISECONDS,
    }
}

/// Table and recommendation.
pub fn screen_text(comparison: &Comparison) -> String {
    format!("\n{}\n{}", table(comparison), recommendation(comparison))
}

/// Writes all files, the most precious first.
///
/// # Errors
/// A file that cannot be written.
pub fn write(directory: &OutputDirectory, comparison: &Comparison) -> Result<(), OutputError> {
    directory.write_whole(KnownFile::COMPARE, &compare_csv(comparison)?)?;
    directory.write_whole(KnownFile::RECOMMENDATION, recommendation(comparison).as_bytes())?;
    let chart = chart::chart(comparison);
    let svg = chart.svg().map_err(|reason| OutputError::encode(KnownFile::COMPARE_SVG, &reason))?;
    directory.write_whole(KnownFile::COMPARE_SVG, svg.as_bytes())?;
    let png = chart.png().map_err(|reason| OutputError::encode(KnownFile::COMPARE_PNG, &reason))?;
    directory.write_whole(KnownFile::COMPARE_PNG, &png)?;
    directory.finish()
}
