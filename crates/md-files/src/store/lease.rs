//! Lease of the lock of a process on another host. Whether that process is still running cannot be
//! checked here, so its lock holds as long as it is renewed.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Time between two renewals.
const PAUSE: Duration = Duration::from_secs(20);
/// Time without renewal after which a lock ends. A network file system may be unavailable for
/// several pauses.
pub(super) const LEASE: Duration = Duration::from_secs(120);

/// The thread that renews a lock. It ends when this is dropped. If no thread can be started, the
/// lock is not renewed.
#[derive(Debug)]
pub(super) struct Renewal {
    /// Nothing is sent through it. The thread ends when it is dropped.
    ending: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Renewal {
    /// Renews a lock that contains `text`, until another process has written its own text.
    pub(super) fn start(file: File, text: String) -> Self {
        let (ending, ended) = mpsc::channel();
        let renew_often = move || {
            while ended.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout) {
                // A failure now may be followed by a success after the next pause.
                if renew(&file, &text).is_ok_and(|renewed| renewed == Renewed::TakenOver) {
                    return;
                }
            }
        };
        let thread = Builder::new().name("lock".to_owned()).spawn(renew_often).ok();
        Self { ending: Some(ending), thread }
    }
}

impl Drop for Renewal {
    fn drop(&mut self) {
        self.ending = None;
        if let Some(thread) = self.thread.take() {
            // A failed renewal no longer matters, because the lock ends.
            let _ = thread.join();
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Renewed {
    Own,
    TakenOver,
}

/// Writes the same text again, which sets the modification time of the file to the current time of
/// its file system.
fn renew(file: &File, text: &str) -> io::Result<Renewed> {
    let mut there = vec![0; text.len()];
    match file.read_exact_at(&mut there, 0) {
        Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => return Err(error),
        Ok(()) if there == text.as_bytes() => (),
        _ => return Ok(Renewed::TakenOver),
    }
    file.write_all_at(text.as_bytes(), 0)?;
    file.sync_data()?;
    Ok(Renewed::Own)
}

/// Returns whether a lock has ended because it was not renewed. Both times are those of the file
/// system, because the clocks of hosts may differ.
///
/// # Errors
/// Returns an error if the directory cannot be written to.
pub(super) fn is_over(lock: &File, directory: &Path) -> io::Result<bool> {
    let renewed = lock.metadata()?.modified()?;
    let probe = directory.join(format!("{}.{}", super::lock::LOCK_FILE, std::process::id()));
    let created = File::create(&probe).and_then(|file| file.metadata()?.modified());
    fs::remove_file(&probe).ok();
    Ok(created?.duration_since(renewed).is_ok_and(|age| age >= LEASE))
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn a_lock_ends_where_it_is_not_renewed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        fs::write(&path, "own\n").unwrap();
        let file = File::options().read(true).write(true).open(&path).unwrap();
        assert!(!is_over(&file, folder.path()).unwrap());
        file.set_modified(SystemTime::now() - 2 * LEASE).unwrap();
        assert!(is_over(&file, folder.path()).unwrap());
        assert_eq!(renew(&file, "own\n").unwrap(), Renewed::Own);
        assert!(!is_over(&file, folder.path()).unwrap());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left");
    }

    #[test]
    fn the_lock_of_another_process_is_not_renewed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        for other in ["other\n", "", "ow"] {
            fs::write(&path, other).unwrap();
            let file = File::options().read(true).write(true).open(&path).unwrap();
            assert_eq!(renew(&file, "own\n").unwrap(), Renewed::TakenOver);
            assert_eq!(fs::read_to_string(&path).unwrap(), other);
        }
    }
}
