//! The output directory of a run.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use md_lab::EncodeError;
use md_scenario::known_file::KnownFile;

use super::error::{Intact, OutputError};
use super::identity::{FileIdentity, expect_room, make_room, remove_old};
use super::lock::{DirectoryLock, Holder, LOCK_FILE};
use super::mark::OutputMark;
use super::record_file::RecordFile;

/// A directory that exists, is writable, contains no results of an earlier run, and is locked
/// against other runs until this value is dropped. The inputs of the run are never overwritten or
/// removed, under any of their names. A link in the place of an output is replaced, never followed.
///
/// ```
/// use md_files::store::{OutputDirectory, OutputError};
///
/// let path = std::env::temp_dir().join(format!("results-{}", std::process::id()));
/// let results = OutputDirectory::without_scenario(path.clone(), &[], &[], &[])?;
/// let mut rows = results.create_records("rows.csv", b"step,energy\n")?;
/// rows.append(b"0,-6.77\n", 0)?;
/// rows.finish()?;
/// results.finish()?;
/// assert!(path.join("rows.csv").exists());
/// # drop(results);
/// # std::fs::remove_dir_all(&path).ok();
/// # Ok::<(), OutputError>(())
/// ```
#[derive(Debug)]
pub struct OutputDirectory {
    path: PathBuf,
    identity: Option<FileIdentity>,
    inputs: Vec<FileIdentity>,
    /// The effective scenario, if it has not been written yet.
    effective: Option<Vec<u8>>,
    /// The effective scenario that was written before the run, and its length if this run wrote it.
    scenario: Option<(PathBuf, FileIdentity, Option<u64>)>,
    /// Names of the files that are removed at the start and written later.
    results: Vec<String>,
    /// Those of these names that only an earlier run wrote: trajectories, checkpoints, images.
    old: Vec<String>,
    /// Previous holder of the lock, if the lock was taken over.
    left_by: Option<Holder>,
    lock: Option<DirectoryLock>,
}

impl OutputDirectory {
    /// Removes earlier results, all of them or none, and writes the effective scenario.
    ///
    /// # Errors
    /// [`OutputError::Create`].
    pub fn begin(&mut self) -> Result<(), OutputError> {
        self.make_room()?;
        let effective = self.effective.take();
        if let Some(scenario) = &effective {
            self.write_whole(KnownFile::SCENARIO, scenario).map_err(OutputError::before_the_run)?;
        }
        // This may be a link to an input with the same content.
        let (path, bytes) = (self.path.join(KnownFile::SCENARIO.name()), effective.map(|it| it.len() as u64));
        self.scenario = FileIdentity::at(&path).map(|identity| (path, identity, bytes));
        Ok(())
    }

    /// Sets up the directory for results without a scenario, with files at places that the user
    /// chose. Only files that these results replace are removed.
    ///
    /// # Errors
    /// Returns the errors of [`Self::for_scenario`].
    pub fn without_scenario(
        path: PathBuf,
        results: &[KnownFile],
        inputs: &[&Path],
        elsewhere: &[PathBuf],
    ) -> Result<Self, OutputError> {
        let mut directory = Self::open(path, inputs)?;
        directory.expect_replaceable(results.iter().map(|file| file.name()), elsewhere)?;
        directory.make_room()?;
        Ok(directory)
    }

    /// Creates the directory if necessary, and locks it.
    pub(crate) fn open(path: PathBuf, inputs: &[&Path]) -> Result<Self, OutputError> {
        fs::create_dir_all(&path).map_err(|reason| OutputError::Create {
            action: "create the output directory",
            path: path.clone(),
            reason,
        })?;
        let inputs = inputs.iter().filter_map(|input| FileIdentity::behind(input)).collect();
        let identity = FileIdentity::behind(&path);
        let mut directory = Self {
            path,
            identity,
            inputs,
            effective: None,
            scenario: None,
            results: Vec::new(),
            old: Vec::new(),
            left_by: None,
            lock: None,
        };
        directory.place_of(LOCK_FILE)?;
        let (lock, left_by) = DirectoryLock::acquire(&directory.path)?;
        (directory.lock, directory.left_by) = (Some(lock), left_by);
        Ok(directory)
    }

    /// Checks that earlier results can be removed, and that the files elsewhere can be written.
    pub(crate) fn expect_replaceable<'n>(
        &mut self,
        results: impl IntoIterator<Item = &'n str>,
        elsewhere: &[PathBuf],
    ) -> Result<(), OutputError> {
        self.results = results.into_iter().flat_map(|name| [name.to_owned(), unfinished(name)]).collect();
        self.places()?.iter().try_for_each(|place| expect_room(place))?;
        elsewhere.iter().try_for_each(|place| self.expect_elsewhere(place))
    }

    /// Removes the earlier results.
    fn make_room(&self) -> Result<(), OutputError> {
        self.places()?.iter().try_for_each(|place| make_room(place))
    }

    fn places(&self) -> Result<Vec<PathBuf>, OutputError> {
        self.results.iter().map(|name| self.place_of(name)).collect()
    }

    /// Sets the effective scenario that [`Self::begin`] writes, if it is not there already, and the
    /// names of those files that only an earlier run wrote.
    pub(crate) fn set_beginning(&mut self, effective: Option<Vec<u8>>, old: Vec<String>) {
        (self.effective, self.old) = (effective, old);
    }

    /// Returns the names of the files that only an earlier run wrote and that are removed.
    pub(crate) fn old(&self) -> &[String] {
        &self.old
    }

    /// Returns the identity of the directory.
    pub(crate) fn identity(&self) -> Option<FileIdentity> {
        self.identity
    }

    /// Returns the path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the run that locked the directory before and ended without unlocking it.
    pub fn left_by(&self) -> Option<&Holder> {
        self.left_by.as_ref()
    }

    /// Creates a file that grows record by record, and writes the text before the first record.
    ///
    /// # Errors
    /// [`OutputError::OverwritesInput`], [`OutputError::Create`].
    pub fn create_records(&self, name: impl AsRef<Path>, preamble: &[u8]) -> Result<RecordFile, OutputError> {
        RecordFile::create(self.place_of(name)?, preamble)
    }

    /// Continues a file that grows record by record from its state at `mark`, which belongs to
    /// `step`.
    ///
    /// # Errors
    /// Returns the errors of [`RecordFile::go_on`].
    pub fn go_on_with_records(&self, mark: &OutputMark, step: u64) -> Result<RecordFile, OutputError> {
        RecordFile::go_on(self.place_of(&mark.file)?, mark, step)
    }

    /// Returns whether this directory contains the output that is to be continued.
    pub fn goes_on(&self, mark: &OutputMark) -> bool {
        let is_name = Path::new(&mark.file).file_name().is_some_and(|own| own == mark.file.as_str());
        let path = self.path.join(&mark.file);
        is_name && !self.is_input(&path) && fs::symlink_metadata(path).is_ok()
    }

    /// Returns the two paths of a file that other code writes in one piece: the one for the
    /// incomplete file, and the final one.
    ///
    /// # Errors
    /// [`OutputError::OverwritesInput`]; [`OutputError::Vanished`] if the directory no longer
    /// exists.
    pub fn places_of(&self, name: &str) -> Result<[PathBuf; 2], OutputError> {
        if FileIdentity::behind(&self.path) != self.identity {
            return Err(OutputError::Vanished { path: self.path.clone() });
        }
        Ok([self.place_of(unfinished(name))?, self.place_of(name)?])
    }

    /// Creates a file at a place that the user chose, relative to the working directory.
    ///
    /// # Errors
    /// Returns the errors of [`Self::create_records`], and [`OutputError::Taken`].
    pub fn create_elsewhere(&self, path: &Path) -> Result<RecordFile, OutputError> {
        self.create_records(self.place_elsewhere(path)?, b"").map_err(OutputError::elsewhere)
    }

    /// Checks that [`Self::create_elsewhere`] will succeed.
    ///
    /// # Errors
    /// Returns the error that [`Self::create_elsewhere`] would return.
    fn expect_elsewhere(&self, path: &Path) -> Result<(), OutputError> {
        let place = self.place_of(self.place_elsewhere(path)?)?;
        let trial = place.file_name().unwrap_or_default().to_string_lossy();
        let trial =
            self.create_records(place.with_file_name(unfinished(&trial)), b"").map(RecordFile::remove);
        trial.and_then(|()| expect_room(&place)).map_err(OutputError::elsewhere)
    }

    /// Writes a file in one piece: it appears complete under its name, or not at all.
    ///
    /// # Errors
    /// [`OutputError::Write`]; [`OutputError::Vanished`] if the directory no longer exists.
    pub fn write_whole(&self, file: KnownFile, bytes: &[u8]) -> Result<(), OutputError> {
        let [unfinished, finished] = self.places_of(file.name())?;
        let written = remove_old(&unfinished).and_then(|()| write_then_rename(&unfinished, &finished, bytes));
        written.map_err(|reason| {
            fs::remove_file(&unfinished).ok();
            OutputError::Write { path: finished, reason, intact: Intact::EarlierFiles }
        })
    }

    /// Writes a file in one piece, unless its content could not be encoded.
    ///
    /// # Errors
    /// Returns the errors of [`Self::write_whole`], and [`OutputError::Encode`].
    pub fn write_encoded(
        &self,
        file: KnownFile,
        content: Result<Vec<u8>, EncodeError>,
    ) -> Result<(), OutputError> {
        self.write_whole(file, &content.map_err(|reason| OutputError::encode(file, &reason))?)
    }

    /// Checks at the end of a run that the files written before it still exist.
    ///
    /// # Errors
    /// [`OutputError::Vanished`], [`OutputError::Altered`].
    pub fn finish(&self) -> Result<(), OutputError> {
        self.scenario.as_ref().map_or(Ok(()), |(path, identity, bytes)| identity.expect_at(path, *bytes))
    }

    /// Unlocks the directory if the process ends at once, without dropping values.
    pub fn unlock(&mut self) {
        self.lock = None;
    }

    /// Returns the path of a file in the directory, unless it is an input.
    pub(crate) fn place_of(&self, name: impl AsRef<Path>) -> Result<PathBuf, OutputError> {
        let path = self.path.join(name);
        if self.is_input(&path) { Err(OutputError::OverwritesInput { path }) } else { Ok(path) }
    }

    /// Returns the path of a file at a place that the user chose, unless it is the place of a
    /// result.
    fn place_elsewhere(&self, path: &Path) -> Result<PathBuf, OutputError> {
        let create =
            |reason| OutputError::CreateElsewhere { action: "create", path: path.to_owned(), reason };
        let place = std::path::absolute(path).map_err(create)?;
        let is_here =
            place.parent().and_then(FileIdentity::behind).is_some_and(|it| Some(it) == self.identity);
        let own = [LOCK_FILE, KnownFile::SCENARIO.name()];
        let mut taken = own.into_iter().chain(self.results.iter().map(String::as_str));
        if is_here && taken.any(|name| place.file_name().is_some_and(|own| own == name)) {
            return Err(OutputError::Taken { path: path.to_owned() });
        }
        Ok(place)
    }

    pub(crate) fn is_input(&self, path: &Path) -> bool {
        FileIdentity::behind(path).is_some_and(|there| self.inputs.contains(&there))
    }

    /// Returns whether the place of the effective scenario has an input with the same content,
    /// which can stay.
    ///
    /// # Errors
    /// Returns an error if an input there has other content, or if nothing can be written there.
    pub(crate) fn has_scenario(&self, effective: &[u8]) -> Result<bool, OutputError> {
        let path = self.path.join(KnownFile::SCENARIO.name());
        if self.is_input(&path) && fs::read(&path).is_ok_and(|text| text == effective) {
            return Ok(true);
        }
        expect_room(&self.place_of(KnownFile::SCENARIO.name())?)?;
        expect_room(&self.place_of(unfinished(KnownFile::SCENARIO.name()))?)?;
        Ok(false)
    }
}

/// Returns the temporary name of a file that receives its own name once it is complete.
fn unfinished(name: &str) -> String {
    format!(".{name}{UNFINISHED}")
}

const UNFINISHED: &str = ".unfinished";

/// Returns the final name of a file that has a temporary name, or `None` for other names.
pub fn unfinished_of(name: &str) -> Option<&str> {
    name.strip_prefix('.').and_then(|name| name.strip_suffix(UNFINISHED))
}

fn write_then_rename(unfinished: &Path, finished: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create_new(unfinished)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(unfinished, finished)
}
