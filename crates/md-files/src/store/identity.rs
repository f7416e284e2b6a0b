//! Identity of files by device and inode, which is the same under every name and behind every link.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::error::OutputError;

/// Identity of a file, whatever its names.
///
/// ```
/// use md_files::store::FileIdentity;
/// use std::path::Path;
///
/// // Two names of one directory.
/// let root = FileIdentity::behind(Path::new("/"));
/// assert!(root.is_some());
/// assert_eq!(root, FileIdentity::behind(Path::new("/../")));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileIdentity {
    device: u64,
    inode: u64,
}

impl FileIdentity {
    /// Returns the identity of an open file.
    pub(super) fn of(file: &File) -> io::Result<Self> {
        Ok(Self::from(&file.metadata()?))
    }

    /// Returns the identity of what is at a path. A link is not followed.
    pub(super) fn at(path: &Path) -> Option<Self> {
        Some(Self::from(&fs::symlink_metadata(path).ok()?))
    }

    /// Returns the identity of what a path leads to. A link is followed.
    pub fn behind(path: &Path) -> Option<Self> {
        Some(Self::from(&fs::metadata(path).ok()?))
    }

    /// Checks that this file is still at a path, with exactly the length `written` if it is given.
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

/// Removes the file or link in the place of an output, but never the target of a link.
///
/// # Errors
/// Returns the errors of [`expect_room`], and an error if the file cannot be removed.
pub(super) fn make_room(path: &Path) -> Result<(), OutputError> {
    remove_old(path).map_err(|reason| in_the_way(path, reason))
}

/// Removes a file or link like `make_room`, and returns the reason of the operating system if
/// that fails.
pub(super) fn remove_old(path: &Path) -> io::Result<()> {
    if occupied(path)? { fs::remove_file(path) } else { Ok(()) }
}

/// Checks that [`make_room`] will find nothing that it refuses, before anything is removed.
///
/// # Errors
/// [`OutputError::Create`] for a directory, a pipe or a device.
pub(super) fn expect_room(path: &Path) -> Result<(), OutputError> {
    occupied(path).map(drop).map_err(|reason| in_the_way(path, reason))
}

fn in_the_way(path: &Path, reason: io::Error) -> OutputError {
    OutputError::Create { action: "remove the old file", path: path.into(), reason }
}

/// Returns whether there is something at the path that may be removed.
fn occupied(path: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        Err(reason) if reason.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(reason) => Err(reason),
        Ok(there) if there.is_file() || there.is_symlink() => Ok(true),
        // The operating system refuses to remove a directory like a file, and returns the reason.
        Ok(there) if there.is_dir() => fs::remove_file(path).map(|()| false),
        Ok(_) => Err(io::Error::other("it is a pipe or a device")),
    }
}
