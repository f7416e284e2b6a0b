//! One file that all ranks write, each at offsets of its own.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// A file that all ranks have opened for writing. If several ranks write to the same bytes, the
/// file has those of one of them.
///
/// ```
/// use md_comm::local;
/// use std::time::Duration;
///
/// let path = std::env::temp_dir().join(format!("shared-file-{}", std::process::id()));
/// std::fs::write(&path, "")?;
/// let written = local::run(2, Duration::from_secs(60), |world| {
///     let file = world.open_file(&path)?;
///     let (text, at) = [("two ", 0), ("halves", 4)][world.rank()];
///     file.write_at(text.as_bytes(), at)?;
///     file.close()
/// });
/// for rank in written {
///     rank??;
/// }
/// assert_eq!(std::fs::read_to_string(&path)?, "two halves");
/// std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait SharedFile {
    /// Writes all bytes at an offset from the beginning of the file.
    ///
    /// # Errors
    /// Returns the error of the operating system. Other ranks do not receive it.
    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()>;

    /// Flushes what has been written to disk. *Collective.*
    ///
    /// # Errors
    /// Returns the error of the operating system. Other ranks do not receive it.
    fn sync(&self) -> io::Result<()>;

    /// Flushes as [`Self::sync`] does, and closes the file. A file that is dropped instead stays
    /// open until the program ends: closing waits for the other ranks, which may have ended.
    /// *Collective.*
    ///
    /// # Errors
    /// Fails as [`Self::sync`] does.
    fn close(self: Box<Self>) -> io::Result<()>;
}

/// The file of a world without MPI: every rank has a handle of the operating system.
#[derive(Debug)]
pub(crate) struct PlainFile(File);

impl PlainFile {
    /// Opens an existing file.
    ///
    /// # Errors
    /// Returns the error of the operating system.
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
