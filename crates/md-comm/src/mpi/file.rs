//! The implementation of [`SharedFile`] by MPI-IO.

use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::CommError;
use crate::mpi::ffi::OpenFile;
use crate::mpi::world_state::WorldState;
use crate::shared_file::{PlainFile, SharedFile};

/// A file that all ranks of a world have opened.
#[derive(Debug)]
pub(crate) struct MpiFile {
    file: OpenFile,
    path: PathBuf,
    /// Keeps MPI running.
    _world: Rc<WorldState>,
}

impl MpiFile {
    /// Opens the file. *Collective.*
    pub(crate) fn open(world: Rc<WorldState>, path: &Path) -> io::Result<Self> {
        match OpenFile::open(&world.communicator, path) {
            Ok(file) => Ok(Self { file, path: path.to_owned(), _world: world }),
            // The library distinguishes fewer reasons than the operating system.
            Err(error) => Err(PlainFile::open(path).err().unwrap_or_else(|| other(&error))),
        }
    }
}

impl SharedFile for MpiFile {
    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        let mut done = 0;
        while done < bytes.len() {
            let (left, place) = (&bytes[done..], at + done as u64);
            match self.file.write_at(left, place) {
                Ok(written) if written > 0 => done += written,
                // The operating system returns the reason, or succeeds.
                Ok(_) | Err(_) => {
                    let file = PlainFile::open(&self.path)?;
                    return file.write_at(left, place).and_then(|()| file.sync());
                }
            }
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync().map_err(|error| other(&error))
    }

    fn close(self: Box<Self>) -> io::Result<()> {
        let synced = self.sync();
        self.file.close().map_err(|error| other(&error))?;
        synced
    }
}

fn other(error: &CommError) -> io::Error {
    io::Error::other(error.to_string())
}
