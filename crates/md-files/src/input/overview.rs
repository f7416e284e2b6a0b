//! Results of a pass over all lines of a particle file: a fingerprint of the text, and whether it
//! is complete.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::error::{InputError, Position, Problem};

/// 2^64 divided by the golden ratio. Its multiples are spread evenly for any steps between the
/// factors.
pub(super) const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Fingerprint of a text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Fingerprint {
    /// Number of lines.
    pub(super) lines: usize,
    pub(super) bytes: usize,
    /// Blocks in which the text was read.
    pub(super) pieces: Vec<Piece>,
    /// Whether the text ended because its compressed file is cut off.
    pub(super) is_cut: bool,
}

/// A block of a text, which consists of whole lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Piece {
    /// Number of the first line.
    pub(super) first: usize,
    /// Number of the line after the block.
    pub(super) end: usize,
    /// Number of bytes before the block.
    pub(super) at: u64,
    /// Number of bytes in the block.
    pub(super) bytes: usize,
    checksum: u64,
}

impl Piece {
    /// Returns whether the block has these bytes.
    pub(super) fn is(&self, bytes: &[u8]) -> bool {
        (bytes.len(), checksum(bytes)) == (self.bytes, self.checksum)
    }

    /// Returns whether the block contains any of the lines.
    pub(super) fn has_any(&self, lines: &Range<usize>) -> bool {
        lines.start < self.end && self.first < lines.end
    }
}

/// Returns a checksum. If a single word changes, the checksum always changes.
fn checksum(bytes: &[u8]) -> u64 {
    let mix = |sum: u64, word: u64| (sum ^ word).wrapping_mul(GOLDEN).rotate_left(29);
    let (words, rest) = bytes.as_chunks();
    let sum = words.iter().fold(0, |sum, word| mix(sum, u64::from_le_bytes(*word)));
    rest.iter().fold(sum, |sum, byte| mix(sum, u64::from(*byte)))
}

impl Fingerprint {
    /// Adds the next block. Returns its lines, with their numbers.
    pub(super) fn note<'b>(&mut self, block: &'b str) -> impl Iterator<Item = (usize, &'b str)> + use<'b> {
        let (first, at) = (self.lines + 1, self.bytes as u64);
        let lines = block.as_bytes().iter().filter(|&&byte| byte == b'\n').count();
        self.lines += lines + usize::from(!block.is_empty() && !block.ends_with('\n'));
        self.bytes += block.len();
        let (end, checksum) = (self.lines + 1, checksum(block.as_bytes()));
        self.pieces.push(Piece { first, end, at, bytes: block.len(), checksum });
        (first..).zip(block.split_inclusive('\n'))
    }

    /// Returns the size in words, compared with that of an earlier fingerprint.
    pub(super) fn size_beside(&self, before: &Self) -> String {
        let is_as_long = (self.lines, self.bytes) == (before.lines, before.bytes);
        if is_as_long { "as many others".to_owned() } else { self.size() }
    }

    pub(super) fn size(&self) -> String {
        format!("{} lines ({} bytes)", self.lines, self.bytes)
    }
}

/// Results of a pass over all lines of a text.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Overview {
    /// Fingerprint that a second pass must reproduce. It is known when all lines have been read.
    pub(super) text: Fingerprint,
    /// Whether there is anything except white space.
    pub(super) has_words: bool,
    /// The last line, if it has no newline.
    unfinished: String,
}

impl Overview {
    /// Adds the next line.
    pub(super) fn note(&mut self, line: &str) {
        self.has_words = self.has_words || !line.trim().is_empty();
        if !line.ends_with('\n') {
            line.clone_into(&mut self.unfinished);
        }
    }

    /// Checks that the text is not empty, and that the frame that was found is the wanted one, or
    /// else the last of `count`.
    pub(super) fn expect_frame(
        &self,
        whole: Position<'_>,
        found: u64,
        wanted: Option<u64>,
        count: u64,
    ) -> Result<(), InputError> {
        let number = wanted.unwrap_or(count);
        match self.has_words {
            false => Err(whole.error(Problem::Empty)),
            true if number == 0 || found != number => Err(whole.error(Problem::NoFrame { number, count })),
            true => Ok(()),
        }
    }

    /// Returns an error if the text is known to be cut off, unless one of its whole frames is
    /// wanted by number. The number of the last frame is unknown.
    pub(super) fn expect_uncut(&self, file: &str, wanted: Option<u64>, whole: u64) -> Result<(), InputError> {
        match (self.text.is_cut, wanted) {
            (true, None) => Err(Position { file, line: None }.error(Problem::CutGzip { whole })),
            _ => Ok(()),
        }
    }

    /// Checks the end of a frame, since the last number of the last of `count` frames may be cut
    /// off.
    pub(super) fn check_end_of_frame(&self, file: &str, number: u64, count: u64) -> Result<(), InputError> {
        if number < count {
            return Ok(());
        }
        let otherwise = match number {
            1 => String::new(),
            _ => format!(
                ", else frame {number} is cut: `system.file.frame = {}` is the last whole one",
                number - 1
            ),
        };
        self.check_end(file, otherwise)
    }

    /// Returns an error if the last field of a text may be cut off. `otherwise` is advice for this
    /// case, at the end of the message.
    pub(super) fn check_end(&self, file: &str, otherwise: String) -> Result<(), InputError> {
        let last = &self.unfinished;
        let Some(field) = last.split_whitespace().last() else { return Ok(()) };
        if last.ends_with(char::is_whitespace) || last.contains('#') {
            return Ok(());
        }
        let problem = Problem::NoNewline { field: field.to_owned(), otherwise };
        Err(InputError { file: file.to_owned(), line: Some(self.text.lines), problem })
    }
}
