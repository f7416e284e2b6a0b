//! What a comparison leaves behind: a table on the screen, compare.csv, a bar chart twice, and a recommendation.

mod chart;
mod csv;
mod recommendation;
mod table;

#[cfg(test)]
mod fixtures;

pub use csv::compare_csv;
pub use recommendation::recommendation;
pub use table::table;

use super::directory::{KnownFile, OutputDirectory};
use super::error::OutputError;
use crate::comparison::Comparison;

/// Table and recommendation.
pub fn screen_text(comparison: &Comparison) -> String {
    format!("\n{}\n{}", table(comparison), recommendation(comparison))
}

/// Writes all files, the most precious first.
///
/// # Errors
/// A file that cannot be written.
pub fn write(directory: &OutputDirectory, comparison: &Comparison) -> Result<(), OutputError> {
    directory.write_whole(KnownFile::Compare, &compare_csv(comparison)?)?;
    directory.write_whole(KnownFile::Recommendation, recommendation(comparison).as_bytes())?;
    directory.write_whole(KnownFile::CompareSvg, chart::svg(comparison)?.as_bytes())?;
    directory.write_whole(KnownFile::ComparePng, &chart::png(comparison)?)
}
