//! The output directory of a run.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::error::{Intact, OutputError};
use super::record_file::RecordFile;

/// A file with a fixed name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownFile(&'static str);

impl KnownFile {
    /// Thermodynamic state over time.
    pub const THERMO: Self = Self("thermo.csv");
    /// Time per phase over all ranks.
    pub const TIMING: Self = Self("timing.csv");
    /// Time per phase and rank.
    pub const TIMING_RANKS: Self = Self("timing_ranks.csv");
    /// The run in one JSON object.
    pub const SUMMARY: Self = Self("summary.json");
    /// Forces of one configuration.
    pub const FORCES: Self = Self("forces.csv");
    /// One row per halo strategy.
    pub const COMPARE: Self = Self("compare.csv");
    /// The same as a bar chart.
    pub const COMPARE_SVG: Self = Self("compare.svg");
    /// The same as a bar chart.
    pub const COMPARE_PNG: Self = Self("compare.png");
    /// Which strategy to use.
    pub const RECOMMENDATION: Self = Self("recommendation.txt");
    /// The effective scenario.
    pub const SCENARIO: Self = Self("scenario.toml");
    /// Results of `run` and `forces`: a new run removes all of them, so that none of an old run stands beside it.
    pub const RESULTS_OF_A_RUN: [Self; 5] =
        [Self::THERMO, Self::TIMING, Self::TIMING_RANKS, Self::SUMMARY, Self::FORCES];
    /// Results of `compare`.
    pub const RESULTS_OF_A_COMPARISON: [Self; 4] =
        [Self::COMPARE, Self::COMPARE_SVG, Self::COMPARE_PNG, Self::RECOMMENDATION];

    /// Name in the directory.
    pub fn name(self) -> &'static str {
        self.0
    }
}

/// A directory that exists, is writable and holds no results of an earlier run.
#[derive(Debug)]
pub struct OutputDirectory {
    path: PathBuf,
    inputs: Vec<PathBuf>,
}

impl OutputDirectory {
    /// Sets up the directory for `run` or `forces`. Call it on rank 0, after all inputs have been read.
    ///
    /// # Errors
    /// [`OutputError::Create`].
    pub fn create(path: impl Into<PathBuf>) -> Result<Self, OutputError> {
        Self::create_replacing(path, &KnownFile::RESULTS_OF_A_RUN)
    }

    /// Sets up the directory and removes the given files of an earlier run.
    ///
    /// # Errors
    /// [`OutputError::Create`] if the directory cannot be made, written to or cleared.
    pub fn create_replacing(path: impl Into<PathBuf>, stale: &[KnownFile]) -> Result<Self, OutputError> {
        let path = path.into();
        let failed = |action, path: &Path, reason| OutputError::Create { action, path: path.into(), reason };
        fs::create_dir_all(&path).map_err(|reason| failed("create the output directory", &path, reason))?;
        for file in stale {
            let old = path.join(file.name());
            remove_if_there(&old).map_err(|reason| failed("remove the old file", &old, reason))?;
        }
        let probe = path.join(".md-cli-probe");
        File::create(&probe)
            .and_then(|_| fs::remove_file(&probe))
            .map_err(|reason| failed("write to the output directory", &path, reason))?;
        Ok(Self { path, inputs: Vec::new() })
    }

    /// Names the files the run was started from; none of them will be overwritten.
    #[must_use]
    pub fn protecting<P: AsRef<Path>>(mut self, inputs: &[P]) -> Self {
        self.inputs.extend(inputs.iter().filter_map(|input| fs::canonicalize(input).ok()));
        self
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Creates a file that grows record by record and writes what stands before the first record.
    ///
    /// # Errors
    /// [`OutputError::OverwritesInput`], [`OutputError::Create`].
    pub fn create_records(&self, name: impl AsRef<Path>, preamble: &[u8]) -> Result<RecordFile, OutputError> {
        let path = self.path.join(name);
        if self.is_input(&path) {
            return Err(OutputError::OverwritesInput { path });
        }
        RecordFile::create(path, preamble)
    }

    /// Writes a file in one piece: it appears complete, under its name, or not at all.
    ///
    /// # Errors
    /// [`OutputError::Write`].
    pub fn write_whole(&self, file: KnownFile, bytes: &[u8]) -> Result<(), OutputError> {
        self.write_named(file.name(), bytes)
    }

    /// Writes the effective scenario, before the run, and returns where. A scenario that was started from
    /// `scenario.toml` in this very directory is left as it is: what ran then stands in `scenario-effective.toml`, if
    /// there is a difference.
    ///
    /// # Errors
    /// [`OutputError::Create`].
    pub fn write_scenario(&self, effective: &[u8]) -> Result<PathBuf, OutputError> {
        let path = self.path.join(KnownFile::SCENARIO.name());
        let name = match self.is_input(&path) {
            true if fs::read(&path).is_ok_and(|input| input == effective) => return Ok(path),
            true => "scenario-effective.toml",
            false => KnownFile::SCENARIO.name(),
        };
        self.write_named(name, effective).map_err(OutputError::before_the_run)?;
        Ok(self.path.join(name))
    }

    fn is_input(&self, path: &Path) -> bool {
        fs::canonicalize(path).is_ok_and(|path| self.inputs.contains(&path))
    }

    fn write_named(&self, name: &str, bytes: &[u8]) -> Result<(), OutputError> {
        let unfinished = self.path.join(format!(".{name}.unfinished"));
        let finished = self.path.join(name);
        write_then_rename(&unfinished, &finished, bytes).map_err(|reason| {
            fs::remove_file(&unfinished).ok();
            OutputError::Write { path: finished, reason, intact: Intact::EarlierFiles }
        })
    }
}

fn write_then_rename(unfinished: &Path, finished: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(unfinished)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(unfinished, finished)
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(reason) if reason.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_run_removes_the_results_of_the_old_one_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["summary.json", "thermo.csv", "forces.csv", "compare.csv", "notes.txt", "scenario.toml"]
        {
            fs::write(folder.path().join(name), "old").unwrap();
        }
        OutputDirectory::create(folder.path()).unwrap();
        let mut left: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["compare.csv", "notes.txt", "scenario.toml"]);
    }

    #[test]
    fn a_file_in_the_place_of_the_directory_is_explained() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        fs::write(&path, "a file").unwrap();
        let error = OutputDirectory::create(&path).unwrap_err().to_string();
        assert!(error.starts_with("cannot create the output directory `"), "{error}");
        assert!(error.contains("File exists"), "{error}");
        assert!(error.contains("--output DIR"), "{error}");
    }

    #[test]
    fn a_directory_that_cannot_be_written_to_fails_before_the_run() {
        let error = OutputDirectory::create("/proc/self/out").unwrap_err();
        assert!(matches!(error, OutputError::Create { .. }), "{error}");
        assert!(matches!(OutputDirectory::create("/proc/self"), Err(OutputError::Create { .. })));
    }

    #[test]
    fn a_whole_file_appears_complete() {
        let folder = tempfile::tempdir().unwrap();
        let directory = OutputDirectory::create(folder.path().join("a/b")).unwrap();
        directory.write_whole(KnownFile::SUMMARY, b"{}").unwrap();
        assert_eq!(fs::read(directory.path().join("summary.json")).unwrap(), b"{}");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn inputs_are_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let scenario = folder.path().join("scenario.toml");
        let start = folder.path().join("start.extxyz");
        fs::write(&scenario, "# my comments\n").unwrap();
        fs::write(&start, "1\n").unwrap();
        let directory = OutputDirectory::create(folder.path()).unwrap().protecting(&[&scenario, &start]);

        let written = directory.write_scenario(b"steps = 1\n").unwrap();
        assert_eq!(written.file_name().unwrap(), "scenario-effective.toml");
        assert_eq!(fs::read(&scenario).unwrap(), b"# my comments\n");
        let error = directory.create_records("start.extxyz", b"").unwrap_err();
        assert!(matches!(error, OutputError::OverwritesInput { .. }), "{error}");
        assert_eq!(fs::read(&start).unwrap(), b"1\n");
    }
}
