//! Writing of a checkpoint, in which every rank writes at its own place in one file.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use bytemuck::cast_slice;
use md_comm::{CommError, Reduction, SharedFile, World};
use md_engine::SavedState;
use md_grid::Application;

use super::header::{Header, ParticleWords};
use super::kept::ParticleMemory;
use super::layout::{BLOCK_ROWS, Block, Layout, Slab};
use crate::store::{Intact, OutputError};

/// Paths of a checkpoint, on the rank that creates the file.
pub(super) struct Place {
    /// Path until the file is complete.
    pub(super) unfinished: PathBuf,
    /// Path of the complete file.
    pub(super) finished: PathBuf,
}

/// Reason why a checkpoint was not written.
#[derive(Debug, thiserror::Error)]
pub(super) enum WriteError {
    #[error(transparent)]
    Output(#[from] OutputError),
    #[error(transparent)]
    Communication(#[from] CommError),
}

/// The rows of a rank: one per particle, or per node.
pub(super) trait Rows {
    /// Returns the number of words per row.
    fn row_words(&self) -> usize;

    /// Returns the number of rows.
    fn rows(&self) -> usize;

    /// Appends the words of a row.
    fn append_row(&self, index: usize, words: &mut Vec<u64>);

    /// Returns the words at the end of a row that belong to outputs.
    fn particle_words(&self) -> Vec<ParticleWords> {
        Vec::new()
    }
}

/// The particles of a rank, and the data of outputs for them. All ranks have the same outputs.
pub(super) struct ParticleRows<'a> {
    pub(super) state: &'a SavedState<'a>,
    pub(super) memories: &'a [ParticleMemory],
}

impl Rows for ParticleRows<'_> {
    fn row_words(&self) -> usize {
        self.state.row_words() + self.memories.iter().map(|memory| memory.width).sum::<usize>()
    }

    fn rows(&self) -> usize {
        self.state.rows()
    }

    fn append_row(&self, index: usize, words: &mut Vec<u64>) {
        self.state.append_row(index, words);
        for ParticleMemory { width, words: all, .. } in self.memories {
            words.extend(&all[index * width..(index + 1) * width]);
        }
    }

    fn particle_words(&self) -> Vec<ParticleWords> {
        let of = |memory: &ParticleMemory| ParticleWords {
            name: memory.name.to_owned(),
            words: memory.width as u64,
        };
        self.memories.iter().map(of).collect()
    }
}

/// The own nodes of an application on a grid, with z varying fastest.
pub(super) struct NodeRows<'a, A: ?Sized>(pub(super) &'a A);

impl<A: Application + ?Sized> Rows for NodeRows<'_, A> {
    fn row_words(&self) -> usize {
        self.0.words_per_node()
    }

    fn rows(&self) -> usize {
        self.0.layout().own_nodes()
    }

    fn append_row(&self, index: usize, words: &mut Vec<u64>) {
        self.0.append_node(node_of_row(index, self.0.layout().size()), words);
    }
}

/// Returns the node of a row, counted from the first node of its rank.
pub(super) fn node_of_row(row: usize, [_, y, z]: [usize; 3]) -> [usize; 3] {
    [row / (y * z), row / z % y, row % z]
}

/// Number of rows of all ranks and sizes that follow from it. The position of the index is still
/// open.
pub(super) struct Sizes {
    layout: Layout,
    /// Number of bytes of the slabs of lower ranks.
    before: u64,
    /// Number of bytes of all slabs.
    all: u64,
    /// Number of particles or nodes of all ranks.
    pub(super) atoms: u64,
}

impl Sizes {
    /// Determines the sizes. *Collective.*
    pub(super) fn of(state: &dyn Rows, world: &dyn World) -> Result<Self, CommError> {
        let layout = Layout { index: 0, ranks: world.ranks() as u64, row_words: state.row_words() as u64 };
        let rows = state.rows() as u64;
        let own = layout.slab_bytes(rows);
        let mut sums = [own, rows];
        world.reduce(&mut sums, Reduction::Sum)?;
        let [all, atoms] = sums;
        Ok(Self { layout, before: sum_before(own, world)?, all, atoms })
    }

    /// Returns the length of the file if its index begins at `index`.
    pub(super) fn bytes(&self, index: u64) -> u64 {
        Layout { index, ..self.layout }.slabs() + self.all
    }
}

/// Returns the sum over lower ranks, with messages of a size that does not depend on the number of
/// ranks. *Collective.*
pub(crate) fn sum_before(own: u64, world: &dyn World) -> Result<u64, CommError> {
    let (rank, mut sum, mut by) = (world.rank(), own, 1);
    // `sum` is that of the ranks `rank - by + 1 ..= rank`.
    while by < world.ranks() {
        let come = world.shift(by, &sum.to_le_bytes())?;
        if let (true, Ok(come)) = (rank >= by, come.try_into()) {
            sum += u64::from_le_bytes(come);
        }
        by *= 2;
    }
    Ok(sum - own)
}

/// Writes a checkpoint. `root` contains the paths and the header on rank 0. *Collective.*
///
/// # Errors
/// Returns [`OutputError::Write`] on the ranks that failed, or an error of communication.
pub(super) fn write(
    state: &dyn Rows,
    sizes: &Sizes,
    root: Option<(&Place, &Header)>,
    world: &dyn World,
) -> Result<(), WriteError> {
    let begun = root.map(|(place, header)| begin(place, header, sizes)).transpose();
    let mut message = match &begun {
        Ok(Some((index, path))) => [&index.to_le_bytes()[..], path.as_os_str().as_encoded_bytes()].concat(),
        _ => Vec::new(),
    };
    world.broadcast(0, &mut message)?;
    let written = match message.split_first_chunk() {
        Some((index, path)) => {
            let layout = Layout { index: u64::from_le_bytes(*index), ..sizes.layout };
            write_together(state, &layout, sizes.before, world, &path_of(path))
        }
        // Rank 0 has not created the file, and returns the error below.
        None => Ok(Together::NotByAll),
    };
    let is_complete = matches!(written, Ok(Together::ByAll));
    let finished = match root {
        Some((place, _)) if is_complete => finish(place),
        Some((place, _)) => {
            // If this fails, the rest does not have the name of a checkpoint.
            fs::remove_file(&place.unfinished).ok();
            Ok(())
        }
        None => Ok(()),
    };
    begun?;
    written?;
    Ok(finished?)
}

/// Common outcome of all ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Together {
    ByAll,
    /// Failed on at least one rank, which has the reason.
    NotByAll,
}

/// Returns whether all ranks have succeeded. *Collective.*
fn together(world: &dyn World, is_done: bool) -> Result<Together, CommError> {
    let mut failures = [u64::from(!is_done)];
    world.reduce(&mut failures, Reduction::Highest)?;
    Ok(if failures == [0] { Together::ByAll } else { Together::NotByAll })
}

/// Writes the slabs of all ranks into the file that rank 0 has created. *Collective.*
fn write_together(
    state: &dyn Rows,
    layout: &Layout,
    before: u64,
    world: &dyn World,
    path: &Path,
) -> Result<Together, WriteError> {
    let opened = world.open_file(path).map_err(|reason| failed(path, reason));
    // If not all ranks could open the file, the others do not close it, because closing waits for
    // all ranks.
    if together(world, opened.is_ok())? == Together::NotByAll {
        return opened.map(|_| Together::NotByAll).map_err(WriteError::from);
    }
    let file = opened?;
    let written = write_slab(state, layout, before, world.rank() as u64, &*file);
    let written = file.close().and(written).map_err(|reason| failed(path, reason));
    let outcome = together(world, written.is_ok())?;
    written?;
    Ok(outcome)
}

fn path_of(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}

fn failed(path: &Path, reason: io::Error) -> OutputError {
    let reason = match reason.kind() {
        io::ErrorKind::NotFound => io::Error::other(
            "rank 0 has made it, but it is not there: the output directory must be one that all ranks see",
        ),
        _ => reason,
    };
    OutputError::Write { path: path.to_owned(), reason, intact: Intact::EarlierFiles }
}

/// Creates the file with its header. Returns the position of the index and the path.
fn begin(place: &Place, header: &Header, sizes: &Sizes) -> Result<(u64, PathBuf), OutputError> {
    let path = &place.unfinished;
    let make = || {
        let first = complete(header, sizes)?;
        fs::remove_file(path).or_else(|error| match error.kind() {
            io::ErrorKind::NotFound => Ok(()),
            _ => Err(error),
        })?;
        let file = File::options().write(true).create_new(true).open(path)?;
        file.set_len(sizes.bytes(first.len() as u64))?;
        file.write_all_at(&first, 0)?;
        file.sync_all()?;
        Ok((first.len() as u64, std::path::absolute(path)?))
    };
    make().map_err(|reason| OutputError::Write { path: path.clone(), reason, intact: Intact::EarlierFiles })
}

/// Returns the first bytes, which contain the length of the file. If that number gets more digits,
/// one more round is needed.
fn complete(header: &Header, sizes: &Sizes) -> io::Result<Vec<u8>> {
    let mut header = header.clone();
    loop {
        let first = header.bytes_of_file()?;
        let bytes = sizes.bytes(first.len() as u64);
        if header.bytes == bytes {
            return Ok(first);
        }
        header.bytes = bytes;
    }
}

fn write_slab(
    state: &dyn Rows,
    layout: &Layout,
    before: u64,
    rank: u64,
    file: &dyn SharedFile,
) -> io::Result<()> {
    let slab = Slab { at: layout.slabs() + before, rows: state.rows() as u64 };
    file.write_at(&slab.entry(), layout.entry(rank))?;
    let mut words = Vec::new();
    let room = (slab.rows.min(BLOCK_ROWS) * layout.row_words + 1) as usize;
    words.try_reserve_exact(room).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
    for Block { number, at, rows, .. } in layout.blocks(rank, slab) {
        let first = number * BLOCK_ROWS;
        words.clear();
        (first..first + rows).for_each(|row| state.append_row(row as usize, &mut words));
        words.iter_mut().for_each(|word| *word = word.to_le());
        let checksum = u64::from(crc32fast::hash(cast_slice(&words)));
        words.push(checksum.to_le());
        file.write_at(cast_slice(&words), at)?;
    }
    Ok(())
}

/// Renames a complete file to its final name.
fn finish(place: &Place) -> Result<(), OutputError> {
    let Place { unfinished, finished } = place;
    let renamed = File::open(unfinished)
        .and_then(|file| file.sync_all())
        .and_then(|()| fs::rename(unfinished, finished))
        .and_then(|()| File::open(finished.parent().unwrap_or(Path::new(".")))?.sync_all());
    renamed.map_err(|reason| OutputError::Write {
        path: finished.clone(),
        reason,
        intact: Intact::EarlierFiles,
    })
}
