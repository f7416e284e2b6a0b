//! Which file is which: device and inode, the same under every name and behind every link.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::error::OutputError;

/// A file, whatever its names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileIdentity {
    device: u64,
    inode: u64,
}

impl FileIdentity {
    /// An open file.
    pub(super) fn of(file: &File) -> io::Result<Self> {
        Ok(Self::from(&file.metadata()?))
    }

    /// What stands at a path; a link is itself, not what it leads to.
    pub(super) fn at(path: &Path) -> Option<Self> {
        Some(Self::from(&fs::symlink_metadata(path).ok()?))
    }

    /// What a path leads to.
    pub(super) fn behind(path: &Path) -> Option<Self> {
        Some(Self::from(&fs::metadata(path).ok()?))
    }

    /// Whether this file still stands at a path, with the bytes that were written to it, where any were, and no others.
    ///
    /// # Errors
    /// [`OutputError::Vanished`], [`OutputError::Altered`].
    pub(super) fn expect_at(self, path: &Path, written: Option<u64>) -> Result<(), OutputError> {
        match fs::symlink_metadata(path) {
            Ok(there) if Self::from(&there) != self => Err(OutputError::Vanished { path: path.into() }),
            Ok(there) => match written.filter(|&written| written != there.len()) {
                Some(written) => Err(OutputError::Altered { path: path.into(), found: there.len(), written }),
                None => Ok(()),
            },
            Err(_) => Err(OutputError::Vanished { path: path.into() }),
        }
    }
}

impl From<&Metadata> for FileIdentity {
    fn from(metadata: &Metadata) -> Self {
        Self { device: metadata.dev(), inode: metadata.ino() }
    }
}

/// Removes the file or link in the place of an output, never what a link leads to; says whether there was one.
///
/// # Errors
/// As [`expect_room`], and where nobody can remove anything.
pub(super) fn make_room(path: &Path) -> Result<bool, OutputError> {
    remove_old(path).map_err(|reason| in_the_way(path, reason))
}

/// The same with the system's reason.
pub(super) fn remove_old(path: &Path) -> io::Result<bool> {
    let is_there = occupied(path)?;
    if is_there { fs::remove_file(path).map(|()| true) } else { Ok(false) }
}

/// Makes sure that [`make_room`] has nothing to refuse, before anything is removed.
///
/// # Errors
/// [`OutputError::Create`] for a directory, a pipe or a device.
pub(super) fn expect_room(path: &Path) -> Result<(), OutputError> {
    occupied(path).map(drop).map_err(|reason| in_the_way(path, reason))
}

fn in_the_way(path: &Path, reason: io::Error) -> OutputError {
    OutputError::Create { action: "remove the old file", path: path.into(), reason }
}

/// Whether there is something that may be removed.
fn occupied(path: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        Err(reason) if reason.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(reason) => Err(reason),
        Ok(there) if there.is_file() || there.is_symlink() => Ok(true),
        // The system refuses to remove a directory like a file, and says why.
        Ok(there) if there.is_dir() => fs::remove_file(path).map(|()| false),
        Ok(_) => Err(io::Error::other("it is a pipe or a device")),
    }
}
