//! CSV rows as bytes. Floats come out in the shortest form that reads back exactly.

use csv::{Writer, WriterBuilder};
use serde::Serialize;

use super::directory::KnownFile;
use super::error::OutputError;

/// The line of column names.
pub(super) fn header_line(file: KnownFile, columns: &[&str]) -> Result<Vec<u8>, OutputError> {
    rows(file, [columns])
}

/// Rows without column names. A row is a tuple; tuples within it are laid out flat.
pub(super) fn rows<R: Serialize>(
    file: KnownFile,
    rows: impl IntoIterator<Item = R>,
) -> Result<Vec<u8>, OutputError> {
    let mut writer = WriterBuilder::new().has_headers(false).from_writer(Vec::new());
    for row in rows {
        writer.serialize(row).map_err(|reason| encode_error(file, &reason))?;
    }
    finish(file, writer)
}

fn finish(file: KnownFile, writer: Writer<Vec<u8>>) -> Result<Vec<u8>, OutputError> {
    writer.into_inner().map_err(|reason| encode_error(file, &reason))
}

fn encode_error(file: KnownFile, reason: &dyn std::error::Error) -> OutputError {
    OutputError::Encode { file: file.name().to_owned(), reason: reason.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_read_back_exactly_and_commas_are_quoted() {
        let values = [0.1 + 0.2, 1e-7, 1.0, f64::MAX, -0.0];
        let bytes = rows(KnownFile::Timing, [(values, "Open MPI v4.1.4, package: Debian")]).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert_eq!(
            text,
            "0.30000000000000004,1e-7,1.0,1.7976931348623157e308,-0.0,\"Open MPI v4.1.4, package: Debian\"\n"
        );
        for (field, value) in text.split(',').zip(values) {
            assert_eq!(field.parse::<f64>().unwrap().to_bits(), value.to_bits());
        }
    }
}
