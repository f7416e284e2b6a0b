//! Tables as CSV. Floats are written in the shortest form that reads back exactly.

use std::io::{self, Write};

use csv::WriterBuilder;
use serde::Serialize;

use crate::EncodeError;

/// Columns of [`crate::RunContext`].
pub const CONTEXT_COLUMNS: &str =
    "backend,shell,exchange,partition,grid,ranks,threads,precision,atoms,steps,seed,mpi_library,host,version";

/// Returns names of columns as [`table`] takes them: separated by commas, in quotes if necessary.
///
/// # Errors
/// [`EncodeError`]: out of memory.
pub fn header(names: &[String]) -> Result<String, EncodeError> {
    let mut writer = WriterBuilder::new().from_writer(Text(Vec::new()));
    writer.write_record(names).map_err(EncodeError::new)?;
    let bytes = writer.into_inner().map_err(|error| EncodeError::new(error.error()))?.0;
    Ok(String::from_utf8_lossy(&bytes).trim_end().to_owned())
}

/// Returns a whole table: the line of column names, then the rows.
///
/// # Errors
/// [`EncodeError`]: a row cannot be written as CSV, or memory is exhausted.
pub fn table<R: Serialize>(
    columns: &[&str],
    entries: impl IntoIterator<Item = R>,
) -> Result<Vec<u8>, EncodeError> {
    append(format!("{}\n", columns.join(",")).into_bytes(), entries)
}

/// Returns rows without column names. A row is a tuple or a struct; nested ones are flattened.
///
/// # Errors
/// [`EncodeError`]: a row cannot be written as CSV, or memory is exhausted.
pub fn rows<R: Serialize>(rows: impl IntoIterator<Item = R>) -> Result<Vec<u8>, EncodeError> {
    append(Vec::new(), rows)
}

fn append<R: Serialize>(text: Vec<u8>, rows: impl IntoIterator<Item = R>) -> Result<Vec<u8>, EncodeError> {
    let mut writer = WriterBuilder::new().has_headers(false).from_writer(Text(text));
    rows.into_iter().try_for_each(|row| writer.serialize(row)).map_err(EncodeError::new)?;
    Ok(writer.into_inner().map_err(|error| EncodeError::new(error.error()))?.0)
}

/// A buffer that reports an error when memory is exhausted.
struct Text(Vec<u8>);

impl Write for Text {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_reserve(bytes.len()).map_err(|_| {
            let length = self.0.len() + bytes.len();
            io::Error::other(format!(
                "out of memory: there is no room for a table of more than {length} bytes"
            ))
        })?;
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Formats columns with the width of their longest cell, right-aligned.
pub(crate) fn aligned(lines: &[Vec<String>]) -> String {
    padded(lines, |cell, width| format!("{cell:>width$}"))
}

/// Formats columns with the width of their longest cell, left-aligned, without spaces at the ends
/// of lines.
pub(crate) fn left_aligned(lines: &[impl AsRef<[String]>]) -> String {
    let text = padded(lines, |cell, width| format!("{cell:width$}"));
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

fn padded(lines: &[impl AsRef<[String]>], pad: impl Fn(&str, usize) -> String) -> String {
    let lines: Vec<&[String]> = lines.iter().map(AsRef::as_ref).collect();
    let width = |column: usize| lines.iter().map(|line| line[column].len()).max().unwrap_or(0);
    let padded = |line: &&[String]| {
        let cells = line.iter().enumerate().map(|(column, cell)| pad(cell, width(column)));
        cells.collect::<Vec<_>>().join("  ") + "\n"
    };
    lines.iter().map(padded).collect()
}
