//! CSV tables with names of columns.

use md_scenario::known_file::KnownFile;
use serde::Serialize;

use crate::store::OutputError;

/// Returns a whole table: the line of column names, then the rows.
pub fn table<R: Serialize>(
    file: KnownFile,
    columns: &[&str],
    entries: impl IntoIterator<Item = R>,
) -> Result<Vec<u8>, OutputError> {
    md_lab::tables::table(columns, entries).map_err(|reason| OutputError::encode(file, &reason))
}

/// Returns a whole table with column names that contain names of species.
pub fn named_table<R: Serialize>(
    file: KnownFile,
    columns: &[String],
    entries: impl IntoIterator<Item = R>,
) -> Result<Vec<u8>, OutputError> {
    let header = md_lab::tables::header(columns).map_err(|reason| OutputError::encode(file, &reason))?;
    table(file, &[&header], entries)
}

/// Returns rows without column names. A row is a tuple or a struct; nested ones are flattened.
pub fn rows<R: Serialize>(
    file: KnownFile,
    rows: impl IntoIterator<Item = R>,
) -> Result<Vec<u8>, OutputError> {
    md_lab::tables::rows(rows).map_err(|reason| OutputError::encode(file, &reason))
}
