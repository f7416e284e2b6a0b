//! Layout of a checkpoint. All numbers are little-endian words of eight bytes.
//!
//! ```text
//! 0          MAGIC
//! 8          length of the text in bytes, a multiple of 8
//! 16         text (JSON, padded with blanks): the header
//!            checksum of all bytes before it
//! index      for each rank: position of its slab, number of its particles, checksum of the two
//! slabs      for each rank, in order: blocks of up to BLOCK_ROWS rows, a checksum after each
//! ```
//!
//! A checksum is a CRC-32 in a word of eight bytes. Sizes follow from the numbers of particles, so
//! that a rank can find its place without data of other ranks.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// First bytes of a checkpoint: name and version of the format.
pub(super) const MAGIC: [u8; 8] = *b"md-ckpt3";

/// Length of the name in bytes.
const NAME: usize = 7;

/// Returns whether a file with this beginning is a checkpoint, of this version of the format or
/// another one.
pub(super) fn is_named(begin: &[u8]) -> bool {
    begin.starts_with(&MAGIC[..NAME])
}

/// Number of bytes before the text.
pub(super) const PREAMBLE: u64 = 16;

/// Number of bytes of a word.
pub(super) const WORD: u64 = 8;

/// Number of bytes of the entry of a rank in the index.
pub(super) const ENTRY: u64 = 3 * WORD;

/// Number of rows of a block. The bytes of a block, half a megabyte, are written by one call.
pub(super) const BLOCK_ROWS: u64 = 4096;

/// Sizes of a file: position of its index, number of ranks, words per row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) index: u64,
    pub(super) ranks: u64,
    pub(super) row_words: u64,
}

/// The entry of a rank in the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slab {
    /// Position of the slab in the file.
    pub(super) at: u64,
    /// Number of particles or nodes.
    pub(super) rows: u64,
}

/// A block of rows of a slab.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Block {
    /// Rank with the slab; then the number of the block in it.
    pub(super) rank: u64,
    pub(super) number: u64,
    /// Position of the block in the file; then the number of its rows.
    pub(super) at: u64,
    pub(super) rows: u64,
}

impl Layout {
    /// Returns the position of the first slab.
    pub(super) fn slabs(&self) -> u64 {
        self.index + self.ranks * ENTRY
    }

    /// Returns the number of bytes of a slab of `rows` rows.
    pub(super) fn slab_bytes(&self, rows: u64) -> u64 {
        rows * self.row_bytes() + rows.div_ceil(BLOCK_ROWS) * WORD
    }

    fn row_bytes(&self) -> u64 {
        self.row_words * WORD
    }

    /// Returns the number of bytes of the rows of a block.
    pub(super) fn bytes_of(&self, block: Block) -> u64 {
        block.rows * self.row_bytes()
    }

    /// Returns the blocks of the slab of a rank.
    pub(super) fn blocks(&self, rank: u64, slab: Slab) -> impl Iterator<Item = Block> + use<> {
        let stride = BLOCK_ROWS * self.row_bytes() + WORD;
        (0..slab.rows.div_ceil(BLOCK_ROWS)).map(move |number| Block {
            rank,
            number,
            at: slab.at + number * stride,
            rows: (slab.rows - number * BLOCK_ROWS).min(BLOCK_ROWS),
        })
    }

    /// Returns the position of the entry of a rank in the index.
    pub(super) fn entry(&self, rank: u64) -> u64 {
        self.index + rank * ENTRY
    }

    /// Reads the entry of a rank in the index. Returns an error message if it is not valid.
    pub(super) fn read_slab(&self, file: &File, rank: u64) -> Result<Slab, String> {
        let mut bytes = [0; ENTRY as usize];
        read_at(file, &mut bytes, self.entry(rank)).map_err(|error| error.to_string())?;
        let [at, rows, checksum] = words(&bytes);
        if checksum != u64::from(crc32fast::hash(&bytes[..2 * WORD as usize])) {
            return Err(format!("it is damaged: the checksum of the index of rank {rank} is wrong"));
        }
        let there = file.metadata().map_err(|error| error.to_string())?.len();
        let room = there.saturating_sub(at);
        // The second condition prevents an overflow of the product in the third one.
        let fits = at >= self.slabs() && rows <= room / self.row_bytes() && self.slab_bytes(rows) <= room;
        if !fits {
            return Err(format!("it is damaged: {rows} rows of rank {rank} do not fit at byte {at}"));
        }
        Ok(Slab { at, rows })
    }
}

impl Slab {
    /// Returns the bytes of the entry in the index.
    pub(super) fn entry(self) -> [u8; ENTRY as usize] {
        let mut entry = [0; ENTRY as usize];
        entry[..8].copy_from_slice(&self.at.to_le_bytes());
        entry[8..16].copy_from_slice(&self.rows.to_le_bytes());
        let checksum = u64::from(crc32fast::hash(&entry[..16]));
        entry[16..].copy_from_slice(&checksum.to_le_bytes());
        entry
    }
}

fn words(bytes: &[u8; ENTRY as usize]) -> [u64; 3] {
    [0, 8, 16].map(|at| u64::from_le_bytes([0, 1, 2, 3, 4, 5, 6, 7].map(|byte| bytes[at + byte])))
}

/// Fills `bytes` from the position `at`. If the file ends before, it is reported as truncated.
pub(super) fn read_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    file.read_exact_at(bytes, at).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => {
            io::Error::other(format!("it is cut: it ends before byte {}", at + bytes.len() as u64))
        }
        _ => error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_fill_their_slab() {
        let layout = Layout { index: 104, ranks: 2, row_words: 15 };
        for rows in [0, 1, BLOCK_ROWS - 1, BLOCK_ROWS, BLOCK_ROWS + 1, 5 * BLOCK_ROWS + 7] {
            let mut end = 1000;
            let mut found = 0;
            for block in layout.blocks(1, Slab { at: 1000, rows }) {
                assert_eq!(block.at, end, "{rows} rows");
                end += layout.bytes_of(block) + WORD;
                found += block.rows;
            }
            assert_eq!((end, found), (1000 + layout.slab_bytes(rows), rows));
        }
    }
}
