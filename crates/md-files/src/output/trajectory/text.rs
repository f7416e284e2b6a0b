//! Lines of numbers, each with the fewest digits that read back as the same number.

use md_scenario::TrajectoryColumn;

use super::frame::FrameRow;

/// Appends words to the text of a frame, each followed by a blank, until the end of the line.
pub(super) struct Line<'b> {
    bytes: &'b mut Vec<u8>,
}

/// Typical space for a number in a line. Longer numbers are possible; this only avoids frequent
/// growth of the block.
pub(super) const TYPICAL_NUMBER_BYTES: usize = 20;

impl<'b> Line<'b> {
    pub(super) fn new(bytes: &'b mut Vec<u8>) -> Self {
        Self { bytes }
    }

    pub(super) fn word(&mut self, word: &str) {
        self.bytes.extend_from_slice(word.as_bytes());
        self.bytes.push(b' ');
    }

    pub(super) fn integer(&mut self, integer: impl itoa::Integer) {
        self.word(itoa::Buffer::new().format(integer));
    }

    pub(super) fn number(&mut self, number: f64) {
        self.word(zmij::Buffer::new().format(number));
    }

    pub(super) fn vector(&mut self, vector: [f64; 3]) {
        vector.into_iter().for_each(|number| self.number(number));
    }

    /// Appends the columns of a particle.
    pub(super) fn columns(&mut self, columns: &[TrajectoryColumn], row: &FrameRow) {
        for column in columns {
            match column {
                TrajectoryColumn::Velocity => self.vector(row.velocity),
                TrajectoryColumn::Mass => self.number(row.mass),
                TrajectoryColumn::Momentum => self.vector(row.momentum()),
                TrajectoryColumn::Images => row.images.into_iter().for_each(|count| self.integer(count)),
                TrajectoryColumn::Force => self.vector(row.force),
                TrajectoryColumn::Energy => self.number(row.energy),
            }
        }
    }

    /// Ends the line by replacing the blank after the last word.
    pub(super) fn end(self) {
        if let Some(last) = self.bytes.last_mut() {
            *last = b'\n';
        }
    }
}
