//! A file that grows by whole records.

use std::fs::{self, File};
use std::io::{self, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::error::{Intact, OutputError};
use super::identity::{FileIdentity, make_room};
use super::mark::OutputMark;

/// A file of records (CSV rows, trajectory frames). Each record is passed to the operating system
/// in one piece without a buffer. A run that ends therefore leaves whole records, and a record that
/// does not fit on the disk is removed again. Only SIGKILL may truncate the last record, because
/// Linux lets it interrupt a `write` between two pages of memory.
///
/// ```
/// use md_files::store::{OutputError, RecordFile};
///
/// let path = std::env::temp_dir().join(format!("records-{}.csv", std::process::id()));
/// let mut rows = RecordFile::create(path.clone(), b"step,energy\n")?;
/// rows.append(b"0,-6.77\n", 0)?;
/// let mark = rows.mark()?;
/// rows.append(b"100,-5.76\n", 100)?;
/// rows.finish()?;
///
/// // A run that resumes at step 0 finds the file as it was then.
/// RecordFile::expect_mark(&path, &mark)?;
/// RecordFile::go_on(path.clone(), &mark, 0)?.finish()?;
/// assert_eq!(std::fs::read_to_string(&path).ok().as_deref(), Some("step,energy\n0,-6.77\n"));
/// std::fs::remove_file(&path).ok();
/// # Ok::<(), OutputError>(())
/// ```
#[derive(Debug)]
pub struct RecordFile {
    file: File,
    path: PathBuf,
    intact_bytes: u64,
    /// Length without `end`.
    marked_bytes: u64,
    /// CRC-32 of the last of these bytes: all bytes except those at the beginning that change while
    /// the file grows.
    sum: crc32fast::Hasher,
    /// End of the file until the next record replaces it: a last record that a longer run would not
    /// have written, or the end of a compressed file.
    end: Vec<u8>,
    intact: Intact,
}

impl RecordFile {
    /// Creates a new file in the place of an old one or of a link, and writes the text before the
    /// first record.
    ///
    /// # Errors
    /// [`OutputError::Create`].
    pub fn create(path: PathBuf, preamble: &[u8]) -> Result<Self, OutputError> {
        let failed = |action, reason| OutputError::Create { action, path: path.clone(), reason };
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|reason| failed("create the folder of", reason))?;
        }
        make_room(&path)?;
        // If another program truncates the file, later records are appended to its new end and
        // leave no hole.
        let mut file = File::options()
            .append(true)
            .read(true)
            .create_new(true)
            .open(&path)
            .map_err(|reason| failed("create", reason))?;
        file.write_all(preamble).map_err(|reason| failed("write the first line of", reason))?;
        let bytes = preamble.len() as u64;
        let mut sum = crc32fast::Hasher::new();
        sum.update(preamble);
        let (end, intact) = (Vec::new(), Intact::Nothing);
        Ok(Self { file, path, intact_bytes: bytes, marked_bytes: bytes, sum, end, intact })
    }

    /// Continues a file from its state at `mark`, which belongs to `step`. Later content is
    /// removed. This function does not check whether the rest has changed; [`Self::expect_mark`]
    /// does, and reads all of it.
    ///
    /// # Errors
    /// [`OutputError::Create`].
    pub fn go_on(path: PathBuf, mark: &OutputMark, step: u64) -> Result<Self, OutputError> {
        let OutputMark { bytes, checked_bytes, checksum, end, .. } = mark.clone();
        let cut = |mut file: File| {
            file.set_len(bytes)?;
            file.write_all(&end)?;
            Ok(file)
        };
        let file = File::options().append(true).read(true).open(&path).and_then(cut);
        let file =
            file.map_err(|reason| OutputError::Create { action: "go on with", path: path.clone(), reason })?;
        let (intact_bytes, intact) = (bytes + end.len() as u64, Intact::UpToStep(step));
        let sum = crc32fast::Hasher::new_with_initial_len(checksum, checked_bytes);
        Ok(Self { file, path, intact_bytes, marked_bytes: bytes, sum, end, intact })
    }

    /// Checks that a file begins with its content at `mark`.
    ///
    /// # Errors
    /// [`OutputError::NotContinued`].
    pub fn expect_mark(path: &Path, mark: &OutputMark) -> Result<(), OutputError> {
        let differs = |reason| OutputError::NotContinued { path: path.to_owned(), reason };
        let there = fs::symlink_metadata(path).map_err(|error| differs(error.to_string()))?;
        if !there.is_file() {
            return Err(differs("it is not a regular file".to_owned()));
        }
        if there.len() < mark.bytes {
            let (found, bytes) = (there.len(), mark.bytes);
            return Err(differs(format!("it has {found} bytes, but had {bytes} at the checkpoint")));
        }
        let checked = mark.bytes.saturating_sub(mark.checked_bytes)..mark.bytes;
        let checksum = File::open(path).and_then(|file| checksum_of(&file, checked));
        match checksum.map_err(|error| differs(error.to_string()))? {
            found if found == mark.checksum => Ok(()),
            _ => Err(differs("it holds something else than at the checkpoint".to_owned())),
        }
    }

    /// Checks that a file begins with the bytes `preamble`.
    ///
    /// # Errors
    /// [`OutputError::NotContinued`].
    pub fn expect_preamble(path: &Path, preamble: &[u8]) -> Result<(), OutputError> {
        let mut begin = vec![0; preamble.len()];
        let read = File::open(path).and_then(|file| file.read_exact_at(&mut begin, 0));
        if read.is_ok() && begin == preamble {
            return Ok(());
        }
        let reason = "it has other columns than this run".to_owned();
        Err(OutputError::NotContinued { path: path.to_owned(), reason })
    }

    /// Excludes the bytes written up to now from the checksum, because they change while the file
    /// grows.
    pub fn with_changing_head(self) -> Self {
        Self { sum: crc32fast::Hasher::new(), ..self }
    }

    /// Returns the current state of the file as a mark for a checkpoint, after the file has reached
    /// the disk.
    ///
    /// # Errors
    /// [`OutputError::Write`].
    pub fn mark(&self) -> Result<OutputMark, OutputError> {
        self.file.sync_data().map_err(|reason| self.write_error(reason))?;
        Ok(OutputMark {
            file: self.path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            bytes: self.marked_bytes,
            checked_bytes: self.sum.total_len(),
            checksum: self.sum.clone().finalize(),
            end: self.end.clone(),
        })
    }

    /// Removes the file.
    pub fn remove(self) {
        // If this fails, an empty file remains.
        fs::remove_file(&self.path).ok();
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the length of the file without its end.
    pub fn bytes(&self) -> u64 {
        self.marked_bytes
    }

    /// Appends one record, which belongs to `step`.
    ///
    /// # Errors
    /// [`OutputError::Write`].
    pub fn append(&mut self, record: &[u8], step: u64) -> Result<(), OutputError> {
        self.append_with_end(record, 0, step)
    }

    /// Appends one record that is only written because the run ends. The next record replaces it.
    ///
    /// # Errors
    /// Returns the errors of [`Self::append`].
    pub fn append_last(&mut self, record: &[u8], step: u64) -> Result<(), OutputError> {
        self.append_with_end(record, record.len(), step)
    }

    /// Returns the end of the file that the next record replaces.
    pub fn end(&self) -> &[u8] {
        &self.end
    }

    /// Appends one record, which replaces the present end of the file. The last `end` bytes of the
    /// record are the new end, which is not part of the length of a mark.
    ///
    /// # Errors
    /// Returns the errors of [`Self::append`].
    pub fn append_with_end(&mut self, record: &[u8], end: usize, step: u64) -> Result<(), OutputError> {
        let before = self.marked_bytes;
        let cut = if self.end.is_empty() { Ok(()) } else { self.file.set_len(before) };
        cut.and_then(|()| self.file.write_all(record)).map_err(|reason| {
            self.put_back(before);
            self.write_error(reason)
        })?;
        let (kept, end) = record.split_at(record.len() - end);
        let mut sum = crc32fast::Hasher::new();
        sum.update(kept);
        self.has_grown_by(&sum, step);
        self.intact_bytes += end.len() as u64;
        self.end = end.to_vec();
        Ok(())
    }

    /// Records that bytes with this checksum have been appended, and that the file is intact up to
    /// `step`.
    pub fn has_grown_by(&mut self, appended: &crc32fast::Hasher, step: u64) {
        self.sum.combine(appended);
        self.marked_bytes += appended.total_len();
        (self.intact_bytes, self.intact) = (self.marked_bytes, Intact::UpToStep(step));
    }

    /// Checks that everything has reached the disk, because network file systems report only now
    /// that the disk is full, and that the file is still at its place with its full length.
    ///
    /// # Errors
    /// [`OutputError::Write`], [`OutputError::Vanished`], [`OutputError::Altered`].
    pub fn finish(self) -> Result<(), OutputError> {
        let synced = self.file.sync_all().and_then(|()| FileIdentity::of(&self.file));
        synced.map_err(|reason| self.write_error(reason))?.expect_at(&self.path, Some(self.intact_bytes))
    }

    /// Restores the previous content: `before` bytes and the end, for which there is room. The
    /// write has already failed. If this fails too, a reader finds one incomplete record at the
    /// end.
    fn put_back(&mut self, before: u64) {
        if self.file.metadata().is_ok_and(|file| file.len() > before) {
            self.file.set_len(before).ok();
        }
        self.file.write_all(&self.end).ok();
    }

    /// Returns the error of a failed write to this file, with the part that is intact.
    pub fn write_error(&self, reason: io::Error) -> OutputError {
        OutputError::Write { path: self.path.clone(), reason, intact: self.intact }
    }
}

/// Returns the CRC-32 of a part of a file.
fn checksum_of(file: &File, part: Range<u64>) -> io::Result<u32> {
    const PIECE_BYTES: usize = 1 << 20;
    let (mut piece, mut sum, mut at) = (vec![0; PIECE_BYTES], crc32fast::Hasher::new(), part.start);
    while at < part.end {
        let length = (part.end - at).min(PIECE_BYTES as u64) as usize;
        file.read_exact_at(&mut piece[..length], at)?;
        sum.update(&piece[..length]);
        at += length as u64;
    }
    Ok(sum.finalize())
}

#[cfg(test)]
impl RecordFile {
    /// Returns a file on which every write fails with "no space left on device".
    pub(crate) fn on_full_disk(intact: Intact) -> Self {
        let file = File::options().write(true).open("/dev/full").unwrap();
        let path = PathBuf::from("out/full");
        let (sum, end) = (crc32fast::Hasher::new(), Vec::new());
        Self { file, path, intact_bytes: 0, marked_bytes: 0, sum, end, intact }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_record_is_on_disk_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sub/rows.csv");
        let mut file = RecordFile::create(path.clone(), b"step\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "step\n");
        file.append(b"0\n", 0).unwrap();
        file.append(b"10\n", 10).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "step\n0\n10\n");
        file.finish().unwrap();
    }

    #[test]
    fn a_partial_record_is_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.csv");
        let mut file = RecordFile::create(path.clone(), b"step\n").unwrap();
        file.append(b"0\n", 0).unwrap();
        file.append_last(b"1\n", 1).unwrap();
        file.file.set_len(7).unwrap();
        file.file.write_all(b"2").unwrap();
        file.put_back(7);
        assert_eq!(fs::read_to_string(&path).unwrap(), "step\n0\n1\n");
        file.append(b"2\n", 2).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "step\n0\n2\n");
    }

    #[test]
    fn a_record_takes_the_place_of_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows");
        let mut file = RecordFile::create(path.clone(), b"").unwrap();
        let append = |file: &mut RecordFile, record: &str, end: &str, expected: &str| {
            file.append_with_end([record, end].concat().as_bytes(), end.len(), 0).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), expected);
        };
        append(&mut file, "0 ", "end", "0 end");
        let mark = file.mark().unwrap();
        assert_eq!((mark.bytes, &mark.end[..]), (2, &b"end"[..]));
        assert_eq!((mark.checked_bytes, mark.checksum), (2, crc32fast::hash(b"0 ")));
        append(&mut file, "1 ", "END", "0 1 END");
        append(&mut file, "2", "", "0 1 2");
        let later = file.mark().unwrap();
        assert_eq!((later.bytes, later.checked_bytes, later.checksum), (5, 5, crc32fast::hash(b"0 1 2")));
        file.finish().unwrap();
        // The run was killed before it wrote the new end, and at once; then the file has its state
        // at the mark.
        for left in ["0 1 2", "0 1", "0 "] {
            fs::write(&path, left).unwrap();
            let mut file = RecordFile::go_on(path.clone(), &mark, 0).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), "0 end");
            append(&mut file, "3 ", "End", "0 3 End");
            assert_eq!(file.mark().unwrap().checksum, crc32fast::hash(b"0 3 "));
            file.finish().unwrap();
        }
    }

    #[test]
    fn a_full_disk_names_the_file_the_reason_and_what_is_intact() {
        let error = RecordFile::on_full_disk(Intact::UpToStep(400)).append(b"500\n", 500).unwrap_err();
        insta::assert_snapshot!(error, @"cannot write `out/full`: No space left on device (os error 28); what it holds up to step 400 is intact and readable");
        let error = RecordFile::on_full_disk(Intact::Nothing).append(b"0\n", 0).unwrap_err();
        assert!(error.to_string().ends_with("nothing of it was written"), "{error}");
    }

    #[test]
    fn a_device_is_not_replaced() {
        let error = RecordFile::create(PathBuf::from("/dev/full"), b"step\n").unwrap_err();
        insta::assert_snapshot!(error, @r"
        cannot remove the old file `/dev/full`: it is a pipe or a device
        choose a directory you may write to with --output DIR, or set output.directory in the scenario
        ");
        assert!(Path::new("/dev/full").exists());
    }

    #[test]
    fn a_file_that_was_removed_or_replaced_is_missed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.csv");
        for put_back in [false, true] {
            let mut file = RecordFile::create(path.clone(), b"step\n").unwrap();
            fs::remove_file(&path).unwrap();
            if put_back {
                fs::write(&path, "step\n").unwrap();
            }
            file.append(b"0\n", 0).unwrap();
            assert!(matches!(file.finish(), Err(OutputError::Vanished { .. })));
        }
    }

    #[test]
    fn a_file_that_was_cut_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.csv");
        let mut file = RecordFile::create(path.clone(), b"step\n").unwrap();
        fs::write(&path, "").unwrap();
        file.append(b"0\n", 0).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"0\n");
        assert!(matches!(file.finish(), Err(OutputError::Altered { found: 2, written: 7, .. })));
    }

    #[test]
    fn a_link_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (path, target) = (folder.path().join("rows.csv"), folder.path().join("precious"));
        fs::write(&target, "data").unwrap();
        for link in [std::os::unix::fs::symlink::<&PathBuf, &PathBuf>, fs::hard_link] {
            link(&target, &path).unwrap();
            RecordFile::create(path.clone(), b"step\n").unwrap().finish().unwrap();
            assert_eq!(fs::read_to_string(&target).unwrap(), "data");
            fs::remove_file(&path).unwrap();
        }
    }
}
