//! What one look at all lines of a particle file tells: what it is known again by, and whether it has come to its end.

use serde::{Deserialize, Serialize};

use super::error::{Here, InputError, Problem};

/// 2^64 over the golden ratio: multiples of it lie evenly whatever the steps between numbers are.
pub(super) const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// What tells a text from others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Fingerprint {
    /// Number of lines.
    pub(super) lines: usize,
    pub(super) bytes: usize,
    checksum: u64,
    /// Whether it has come to an end because its compressed file is cut.
    pub(super) is_cut: bool,
}

impl Fingerprint {
    /// Takes down the next block. Gives its lines, with their numbers.
    pub(super) fn note<'b>(&mut self, block: &'b str) -> impl Iterator<Item = (usize, &'b str)> {
        // One word that is another always makes another sum.
        let mix = |sum: u64, word: u64| (sum ^ word).wrapping_mul(GOLDEN).rotate_left(29);
        let (words, rest) = block.as_bytes().as_chunks();
        let sum = words.iter().fold(self.checksum, |sum, word| mix(sum, u64::from_le_bytes(*word)));
        self.checksum = rest.iter().fold(sum, |sum, byte| mix(sum, u64::from(*byte)));
        self.bytes += block.len();
        block.split_inclusive('\n').map(|line| {
            self.lines += 1;
            (self.lines, line)
        })
    }

    /// How long it is, beside one from before.
    pub(super) fn size_beside(&self, before: Self) -> String {
        let is_as_long = (self.lines, self.bytes) == (before.lines, before.bytes);
        if is_as_long { "as many others".to_owned() } else { self.size() }
    }

    pub(super) fn size(&self) -> String {
        format!("{} lines ({} bytes)", self.lines, self.bytes)
    }
}

/// What one look at all lines tells of a text.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Overview {
    /// What a second look must find again; known when all lines have been seen.
    pub(super) text: Fingerprint,
    /// Whether there is anything but white space.
    pub(super) has_words: bool,
    /// The last line if it has no end.
    unfinished: String,
}

impl Overview {
    /// Takes down the next line.
    pub(super) fn note(&mut self, line: &str) {
        self.has_words = self.has_words || !line.trim().is_empty();
        if !line.ends_with('\n') {
            line.clone_into(&mut self.unfinished);
        }
    }

    /// Makes sure that there is something, and that the frame which was found is the one that is wanted, or else the last of so many.
    pub(super) fn expect_frame(
        &self,
        whole: Here<'_>,
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

    /// Refuses a text of which more is known to have been there, unless one of its whole frames is wanted by number: nobody can tell
    /// which one was the last.
    pub(super) fn expect_uncut(&self, file: &str, wanted: Option<u64>, whole: u64) -> Result<(), InputError> {
        match (self.text.is_cut, wanted) {
            (true, None) => Err(Here { file, line: None }.error(Problem::CutGzip { whole })),
            _ => Ok(()),
        }
    }

    /// The last number of the last of so many frames may be cut.
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

    /// Refuses a text whose last field may be cut; what to do if it is follows the message.
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
