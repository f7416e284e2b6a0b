//! One file that all ranks write, each at places of its own.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// A file that all ranks have opened for writing. Where they write the same bytes it holds those of one of them.
pub trait SharedFile {
    /// Writes all bytes at a place of the file, counted from its beginning.
    ///
    /// # Errors
    /// What the system says. Other ranks do not learn it.
    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()>;

    /// What has been written is on disk. *Collective.*
    ///
    /// # Errors
    /// What the system says. Other ranks do not learn it.
    fn sync(&self) -> io::Result<()>;

    /// The same, and nothing will be written any more. A file that is dropped instead stays open until the program ends: closing waits for the
    /// other ranks, which may be gone. *Collective.*
    ///
    /// # Errors
    /// As [`Self::sync`].
    fn close(self: Box<Self>) -> io::Result<()>;
}

/// For ranks without MPI: every rank has a handle of the system's.
#[derive(Debug)]
pub(crate) struct PlainFile(File);

impl PlainFile {
    /// Opens a file that is there.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(File::options().write(true).open(path)?))
    }
}

impl SharedFile for PlainFile {
    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        self.0.write_all_at(bytes, at)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn close(self: Box<Self>) -> io::Result<()> {
        self.0.sync_all()
    }
}
