//! The lock on an output directory: one run at a time writes into it.

use std::fmt;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use super::error::OutputError;
use super::identity::FileIdentity;
use super::lease::{self, Renewal};

/// Name of the lock in the directory.
pub(super) const LOCK_FILE: &str = ".md-cli.lock";

/// A lock that is held while a run writes, and removed when it is dropped. The system's lock on the
/// file decides, so that a killed run holds none. The text in the file names the holder, and
/// decides if the file system has no locks or restricts them to one machine. Whether a process on
/// another host is running cannot be checked, so its lock ends when it is no longer renewed.
#[derive(Debug)]
pub(super) struct DirectoryLock {
    file: File,
    path: PathBuf,
    renewal: Option<Renewal>,
}

/// The process that has written a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    host: String,
    process: u32,
}

/// State of the system's lock on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SystemLock {
    Acquired,
    HeldByAnother,
    /// The file system has no locks.
    Unknown,
}

impl DirectoryLock {
    /// Locks a directory. Also returns the process that held the lock before and ended without
    /// unlocking.
    ///
    /// # Errors
    /// [`OutputError::InUse`]; [`OutputError::Create`] if the directory is not writable, or if a
    /// file with the name of the lock was not written by this program.
    pub(super) fn acquire(directory: &Path) -> Result<(Self, Option<Holder>), OutputError> {
        let path = directory.join(LOCK_FILE);
        let failed = |reason| OutputError::Create {
            action: "write to the output directory",
            path: directory.to_owned(),
            reason,
        };
        let (mut file, system) = open_and_lock(&path).map_err(failed)?;
        let holder = Holder::read(&mut file).map_err(failed)?;
        let is_elsewhere = holder.as_ref().is_some_and(|holder| !holder.is_here());
        let is_over = is_elsewhere && lease::is_over(&file, directory).map_err(failed)?;
        if !is_over && is_in_use(system, holder.as_ref()) || system == SystemLock::HeldByAnother {
            return Err(OutputError::InUse { directory: directory.to_owned(), lock: path, holder });
        }
        file.set_len(0).and_then(|()| file.rewind()).map_err(failed)?;
        let text = Holder::own().text();
        file.write_all(text.as_bytes()).map_err(failed)?;
        let renewal = Some(Renewal::start(file.try_clone().map_err(failed)?, text));
        Ok((Self { file, path, renewal }, holder))
    }
}

impl Drop for DirectoryLock {
    fn drop(&mut self) {
        self.renewal = None;
        // A file that another process has put there in the meantime stays. If this fails, the
        // system's lock still ends here.
        let is_there =
            FileIdentity::of(&self.file).is_ok_and(|own| FileIdentity::at(&self.path) == Some(own));
        if is_there && Holder::read(&mut self.file).is_ok() {
            fs::remove_file(&self.path).ok();
        }
    }
}

/// Opens and locks the file that is at the path in the end, because its holder may remove it
/// between opening and locking.
fn open_and_lock(path: &Path) -> io::Result<(File, SystemLock)> {
    loop {
        let file = open(path)?;
        let system = match file.try_lock() {
            Ok(()) => SystemLock::Acquired,
            Err(TryLockError::WouldBlock) => SystemLock::HeldByAnother,
            Err(TryLockError::Error(_)) => SystemLock::Unknown,
        };
        if FileIdentity::at(path) == Some(FileIdentity::of(&file)?) {
            return Ok((file, system));
        }
    }
}

/// Opens or creates a file. A link in its place is removed, not followed, and only a regular file
/// is opened.
fn open(path: &Path) -> io::Result<File> {
    match File::options().read(true).write(true).create_new(true).open(path) {
        Err(reason) if reason.kind() == io::ErrorKind::AlreadyExists => {
            match fs::symlink_metadata(path) {
                Ok(there) if there.is_symlink() => fs::remove_file(path)?,
                Ok(there) if !there.is_file() => {
                    return Err(io::Error::other(format!("`{LOCK_FILE}` in it is not a regular file")));
                }
                // Its holder may have removed it in the meantime.
                Ok(_) | Err(_) => (),
            }
            File::options().read(true).write(true).create(true).truncate(false).open(path)
        }
        opened => opened,
    }
}

/// Returns whether a lock is in use. A lock of a process on this host that has ended is free. A
/// lock of another host may be in use, whatever the system's lock on this host indicates.
fn is_in_use(system: SystemLock, holder: Option<&Holder>) -> bool {
    match (system, holder) {
        (SystemLock::HeldByAnother, _) => true,
        (_, None) => false,
        (SystemLock::Acquired, Some(holder)) => !holder.is_here(),
        (SystemLock::Unknown, Some(holder)) => !holder.is_here() || holder.is_running(),
    }
}

impl Holder {
    fn own() -> Self {
        let host = gethostname::gethostname().to_string_lossy().into_owned();
        Self { host, process: std::process::id() }
    }

    /// Returns the text of a lock, which has two lines.
    fn text(&self) -> String {
        format!("host {}\nprocess {}\n", self.host, self.process)
    }

    /// Reads the holder from a lock. Returns `None` for an empty file, which is left by a run that
    /// ends before it has written.
    ///
    /// # Errors
    /// Returns an error if the file contains anything else, because it is then not a lock of this
    /// program.
    fn read(file: &mut File) -> io::Result<Option<Self>> {
        /// More bytes than host and process need.
        const LONGEST: u64 = 1024;
        let mut text = Vec::new();
        file.rewind()?;
        file.take(LONGEST).read_to_end(&mut text)?;
        let foreign = || io::Error::other(format!("`{LOCK_FILE}` in it is not a lock of md-cli"));
        match Self::parse(&text) {
            None if text.is_empty() => Ok(None),
            None => Err(foreign()),
            holder => Ok(holder),
        }
    }

    fn parse(text: &[u8]) -> Option<Self> {
        let text = str::from_utf8(text).ok()?;
        let (host, process) = text.strip_prefix("host ")?.split_once("\nprocess ")?;
        let holder = Self { host: host.to_owned(), process: process.trim_end().parse().ok()? };
        (holder.text() == text).then_some(holder)
    }

    /// Returns whether the process runs, or ran, on this host.
    pub fn is_here(&self) -> bool {
        self.host == Self::own().host
    }

    fn is_running(&self) -> bool {
        Path::new("/proc").join(self.process.to_string()).exists()
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "process {} on host {}", self.process, self.host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elsewhere() -> Holder {
        Holder { host: "another-host".to_owned(), process: 1 }
    }

    #[test]
    fn one_at_a_time_and_nothing_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let (lock, left_by) = DirectoryLock::acquire(folder.path()).unwrap();
        assert_eq!(left_by, None);
        let error = DirectoryLock::acquire(folder.path()).unwrap_err();
        assert!(
            matches!(&error, OutputError::InUse { holder: Some(holder), .. } if *holder == Holder::own())
        );
        drop(lock);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        DirectoryLock::acquire(folder.path()).unwrap();
    }

    #[test]
    fn the_lock_of_another_host_ends_without_renewal() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(LOCK_FILE);
        fs::write(&path, elsewhere().text()).unwrap();
        let error = DirectoryLock::acquire(folder.path()).unwrap_err();
        assert!(matches!(&error, OutputError::InUse { holder: Some(holder), .. } if *holder == elsewhere()));
        let long_ago = std::time::SystemTime::now() - 2 * lease::LEASE;
        File::options().write(true).open(&path).unwrap().set_modified(long_ago).unwrap();
        let (lock, left_by) = DirectoryLock::acquire(folder.path()).unwrap();
        assert_eq!(left_by, Some(elsewhere()));
        let error = DirectoryLock::acquire(folder.path()).unwrap_err();
        assert!(
            matches!(&error, OutputError::InUse { holder: Some(holder), .. } if *holder == Holder::own())
        );
        drop(lock);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn the_lock_of_somebody_else_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(LOCK_FILE);
        let (lock, _) = DirectoryLock::acquire(folder.path()).unwrap();
        fs::remove_file(&path).unwrap();
        fs::write(&path, "host another-host\nprocess 1\n").unwrap();
        drop(lock);
        assert!(path.exists());
        let error = DirectoryLock::acquire(folder.path()).unwrap_err();
        assert!(matches!(&error, OutputError::InUse { holder: Some(holder), .. } if *holder == elsewhere()));
    }

    #[test]
    fn a_link_in_the_place_of_the_lock_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let precious = folder.path().join("precious");
        fs::write(&precious, "data").unwrap();
        std::os::unix::fs::symlink(&precious, folder.path().join(LOCK_FILE)).unwrap();
        let (lock, _) = DirectoryLock::acquire(folder.path()).unwrap();
        drop(lock);
        assert_eq!(fs::read_to_string(precious).unwrap(), "data");
    }

    #[test]
    fn a_file_that_is_no_lock_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(LOCK_FILE);
        for text in [
            "data",
            "host a\ndata\n",
            "host a\nprocess 1\ndata\n",
            "host a\nprocess 1",
            "host a\nprocess -1\n",
        ] {
            fs::write(&path, text).unwrap();
            let error = DirectoryLock::acquire(folder.path()).unwrap_err();
            assert!(matches!(&error, OutputError::Create { .. }), "{text}: {error}");
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        fs::write(&path, "").unwrap();
        let (lock, left_by) = DirectoryLock::acquire(folder.path()).unwrap();
        assert_eq!(left_by, None);
        fs::write(&path, "data").unwrap();
        drop(lock);
        assert_eq!(fs::read_to_string(&path).unwrap(), "data");
    }

    #[test]
    fn without_locks_of_the_system_the_text_decides() {
        let gone = Holder { process: u32::MAX, ..Holder::own() };
        assert!(is_in_use(SystemLock::Unknown, Some(&Holder::own())));
        assert!(!is_in_use(SystemLock::Unknown, Some(&gone)));
        assert!(is_in_use(SystemLock::Unknown, Some(&elsewhere())));
        assert!(!is_in_use(SystemLock::Unknown, None));
    }
}
