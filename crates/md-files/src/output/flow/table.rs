//! Tables of a flow that grow row by row: `probe.csv` with the state of selected nodes, and
//! `drag.csv` with the forces on obstacles and walls.

use md_scenario::known_file::KnownFile;

use crate::checkpoint::Resumed;
use crate::output::tables::rows;
use crate::store::{OutputDirectory, OutputError, OutputMark, RecordFile};

/// Columns of each node in `probe.csv`. The indices of the node are appended to the names.
const OF_A_NODE: [&str; 4] = ["density", "velocity_x", "velocity_y", "velocity_z"];

/// The first line of `drag.csv`.
pub const DRAG_LINE: &str = "step,obstacle_x,obstacle_y,obstacle_z,walls_x,walls_y,walls_z\n";

/// Returns the first line of `probe.csv`, with four columns for each node.
pub fn probe_line(nodes: &[[usize; 3]]) -> String {
    let of_node = |[x, y, z]: &[usize; 3]| OF_A_NODE.map(|what| format!(",{what}_{x}_{y}_{z}")).concat();
    format!("step{}\n", nodes.iter().map(of_node).collect::<String>())
}

/// Writer of a table. Each row is on disk when [`FlowTable::write`] returns.
#[derive(Debug)]
pub struct FlowTable {
    kind: KnownFile,
    file: RecordFile,
}

impl FlowTable {
    /// Creates the file with its first line, or continues it.
    ///
    /// # Errors
    /// Returns the errors of [`OutputDirectory::open_records`].
    pub fn open(
        directory: &OutputDirectory,
        (kind, first_line): (KnownFile, &str),
        resumed: Option<&Resumed>,
    ) -> Result<Self, OutputError> {
        Ok(Self { kind, file: directory.open_records(kind, first_line.as_bytes(), resumed)? })
    }

    /// Returns the kind of the table.
    pub fn kind(&self) -> KnownFile {
        self.kind
    }

    /// Appends a row. `values` must have as many values as the first line has columns after the
    /// step.
    ///
    /// # Errors
    /// [`OutputError::Encode`], [`OutputError::Write`].
    pub fn write(&mut self, step: u64, values: &[f64]) -> Result<(), OutputError> {
        self.file.append(&rows(self.kind, [(step, values)])?, step)
    }

    /// Returns the current length of the file as a mark for a checkpoint.
    ///
    /// # Errors
    /// [`OutputError::Write`].
    pub fn mark(&self) -> Result<OutputMark, OutputError> {
        self.file.mark()
    }

    /// Checks that all rows have reached the disk.
    ///
    /// # Errors
    /// [`OutputError::Write`].
    pub fn finish(self) -> Result<(), OutputError> {
        self.file.finish()
    }
}
