//! `probe.csv`: the state of some nodes of a flow over time.

use crate::checkpoint::{OutputMark, Resumed};
use crate::output::directory::OutputDirectory;
use crate::output::error::OutputError;
use crate::output::known_file::KnownFile;
use crate::output::record_file::RecordFile;
use crate::output::tables::rows;

/// Of each node; after them stands which.
const COLUMNS: [&str; 4] = ["density", "velocity_x", "velocity_y", "velocity_z"];

/// Writes a row at a time; each is on disk when [`ProbeWriter::write`] returns.
#[derive(Debug)]
pub struct ProbeWriter {
    file: RecordFile,
}

impl ProbeWriter {
    /// Creates the file and writes the column names: four for each probed node; or goes on with it.
    ///
    /// # Errors
    /// As [`OutputDirectory::open_records`].
    pub fn open(
        directory: &OutputDirectory,
        nodes: &[[usize; 3]],
        resumed: Option<&Resumed>,
    ) -> Result<Self, OutputError> {
        let header = Self::first_line(nodes);
        Ok(Self { file: directory.open_records(KnownFile::PROBE, header.as_bytes(), resumed)? })
    }

    /// Names of the columns.
    pub fn first_line(nodes: &[[usize; 3]]) -> String {
        let of_node = |[x, y, z]: &[usize; 3]| COLUMNS.map(|what| format!(",{what}_{x}_{y}_{z}")).concat();
        format!("step{}\n", nodes.iter().map(of_node).collect::<String>())
    }

    /// Appends a row; `values` are density and velocity of the nodes, one after the other.
    ///
    /// # Errors
    /// [`OutputError::Encode`], [`OutputError::Write`].
    pub fn write(&mut self, step: u64, values: &[f64]) -> Result<(), OutputError> {
        self.file.append(&rows(KnownFile::PROBE, [(step, values)])?, step)
    }

    /// How far it has come.
    ///
    /// # Errors
    /// [`OutputError::Write`].
    pub fn mark(&self) -> Result<OutputMark, OutputError> {
        self.file.mark()
    }

    /// Makes sure that all rows have reached the disk.
    ///
    /// # Errors
    /// [`OutputError::Write`].
    pub fn finish(self) -> Result<(), OutputError> {
        self.file.finish()
    }
}
