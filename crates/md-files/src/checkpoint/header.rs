//! The header of a checkpoint: the data that are needed before the particles, as JSON.

use std::fs::File;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::layout::{BLOCK_ROWS, ENTRY, Layout, MAGIC, PREAMBLE, WORD, is_named, read_at};
use crate::store::OutputMark;

/// Largest length of the text in bytes. It is usually short, but scenarios may be long.
const MOST_TEXT: u64 = 64 << 20;

/// Data that are equal on all ranks, and the structure of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Version of md.
    pub version: String,
    /// Number of completed steps.
    pub step: u64,
    /// Simulated time, \[time\].
    pub time: f64,
    /// The present stage of the run.
    pub stage: BegunStage,
    /// Number of particles of the whole system, or of nodes of the grid.
    pub atoms: u64,
    /// Number of species.
    pub species: u64,
    /// Number of ranks that wrote the checkpoint.
    pub ranks: u64,
    /// Number of words per particle or node.
    pub row_words: u64,
    /// Number of rows of a block.
    pub block_rows: u64,
    /// Length of the file.
    pub bytes: u64,
    /// Lower corner and lengths of the box, \[length\].
    pub domain: [[f64; 3]; 2],
    /// Nodes of an application on a grid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<SavedNodes>,
    /// States of the outputs that grow during the run.
    pub outputs: Vec<OutputMark>,
    /// Data that outputs had gathered and write at the end.
    #[serde(default)]
    pub memories: Vec<OutputMemory>,
    /// Words that outputs have at the end of every row, in their order.
    #[serde(default)]
    pub particle_words: Vec<ParticleWords>,
    /// [`md_engine::SavedState::shared`], or [`md_grid::Resumable::shared_words`].
    pub shared: Vec<u64>,
    /// The scenario with all defaults filled in.
    pub scenario: String,
}

/// An application on a grid, and the division of its nodes among the ranks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedNodes {
    /// Kind of the application, as in summary.json.
    pub kind: String,
    /// Nodes along x, y and z.
    pub nodes: [usize; 3],
    /// Ranks along x, y and z.
    pub ranks: [usize; 3],
    /// The obstacle, if a file lists its nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mask: Option<SavedMask>,
}

/// Data by which a mask file is recognised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedMask {
    /// Path as in the scenario.
    pub path: String,
    /// CRC-32 of its solid nodes.
    pub checksum: u32,
}

/// A stage that has begun.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BegunStage {
    /// Number of stages before this one.
    pub number: usize,
    /// Step after which the stage began.
    pub first_step: u64,
}

/// Data that an output had gathered at a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputMemory {
    /// Name of the output.
    pub name: String,
    /// Bits of numbers, in the order of the output.
    pub words: Vec<u64>,
}

/// Data of an output for every particle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParticleWords {
    /// Name of the output.
    pub name: String,
    /// Number of words at the end of every row.
    pub words: u64,
}

impl Header {
    /// Returns the number of words of a row that belong to the engine, or `None` if the words of
    /// outputs leave none.
    pub(super) fn engine_words(&self) -> Option<u64> {
        let of_outputs = self.particle_words.iter().try_fold(0_u64, |sum, own| sum.checked_add(own.words))?;
        self.row_words.checked_sub(of_outputs).filter(|&words| words > 0)
    }

    /// Returns the first bytes of the file: preamble, text and checksum.
    pub(super) fn bytes_of_file(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut text = serde_json::to_vec(self)?;
        text.resize(text.len().next_multiple_of(WORD as usize), b' ');
        let mut bytes = MAGIC.to_vec();
        bytes.extend((text.len() as u64).to_le_bytes());
        bytes.append(&mut text);
        let checksum = u64::from(crc32fast::hash(&bytes));
        bytes.extend(checksum.to_le_bytes());
        Ok(bytes)
    }

    /// Reads the header of an open file, and checks the length of the file against it.
    pub(super) fn read(file: &File, path: &Path) -> Result<(Self, Layout), String> {
        let there = file.metadata().map_err(|error| error.to_string())?;
        if !there.is_file() {
            return Err("it is not a regular file".to_owned());
        }
        let read = |bytes: &mut [u8], at| read_at(file, bytes, at).map_err(|error| error.to_string());
        // The kind of the file is checked first, so that another short file is not reported as
        // truncated.
        let mut begin = [0; MAGIC.len()];
        let begin = &mut begin[..MAGIC.len().min(there.len() as usize)];
        read(begin, 0)?;
        if !MAGIC.starts_with(begin) {
            return Err(foreign(path, begin));
        }
        let mut preamble = [0; PREAMBLE as usize];
        read(&mut preamble, 0)?;
        let length = &preamble[MAGIC.len()..];
        let length = length.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
        if length > MOST_TEXT || !length.is_multiple_of(WORD) {
            return Err("it is damaged: the length of its header is wrong".to_owned());
        }
        let mut bytes = vec![0; (length + WORD) as usize];
        read(&mut bytes, PREAMBLE)?;
        let (text, checksum) = bytes.split_at(length as usize);
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&preamble);
        hasher.update(text);
        if checksum != u64::from(hasher.finalize()).to_le_bytes() {
            return Err("it is damaged: the checksum of its header is wrong".to_owned());
        }
        let header: Self = serde_json::from_slice(text)
            .map_err(|error| format!("its header is not one of this version of md: {error}"))?;
        header.check(there.len(), PREAMBLE + length + WORD)
    }

    /// Checks that the numbers fit the file.
    fn check(self, found: u64, index: u64) -> Result<(Self, Layout), String> {
        let Self { bytes, ranks, row_words, block_rows, .. } = self;
        if block_rows != BLOCK_ROWS {
            return Err(format!(
                "its blocks have {block_rows} rows, those of this version of md {BLOCK_ROWS}"
            ));
        }
        if found < bytes {
            return Err(format!("it is cut: it has {found} of {bytes} bytes"));
        }
        let fits = ranks.checked_mul(ENTRY).is_some_and(|entries| entries <= bytes - index.min(bytes));
        if found > bytes {
            return Err(format!("it is damaged: it has {found} bytes, but its header says {bytes}"));
        }
        if !fits || ranks == 0 || !(1..=bytes / WORD).contains(&row_words) {
            return Err(format!(
                "it is damaged: {ranks} ranks and {row_words} words per row do not fit into {bytes} bytes"
            ));
        }
        if self.engine_words().is_none() {
            return Err(format!("it is damaged: outputs have more than the {row_words} words of a row"));
        }
        Ok((self, Layout { index, ranks, row_words }))
    }
}

fn foreign(path: &Path, begin: &[u8]) -> String {
    let name = path.display().to_string();
    if is_named(begin) {
        let [found, own] = [begin, &MAGIC].map(String::from_utf8_lossy);
        format!("its format is {found:?}, that of this version of md {own:?}")
    } else if name.ends_with(".toml") {
        "it is a scenario, not a checkpoint".to_owned()
    } else {
        "it is not a checkpoint of md".to_owned()
    }
}
