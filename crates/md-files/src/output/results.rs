//! The results of a scenario in an output directory: which files of earlier runs are removed, and
//! which are continued.

mod earlier;

pub use earlier::holds_results_but;

use std::path::{Path, PathBuf};

use md_scenario::known_file::KnownFile;

use super::outputs::all_outputs;
use crate::checkpoint::Resumed;
use crate::store::{OutputDirectory, OutputError, OutputMark, RecordFile};

/// Results of a scenario, in addition to those with fixed names.
#[derive(Debug, Clone, Copy, Default)]
pub struct ResultFiles<'a> {
    /// File name of the trajectory, if there is one.
    pub trajectory: Option<&'a str>,
    /// Checkpoint from which the run continues, if there is one.
    pub going_on: Option<GoingOn<'a>>,
    /// First lines of tables. A table that is continued must begin with its line.
    pub first_lines: &'a [(KnownFile, String)],
    /// Files at places that the user chose ([`OutputDirectory::create_elsewhere`]).
    pub elsewhere: &'a [PathBuf],
}

/// Checkpoint from which a run continues.
#[derive(Debug, Clone, Copy)]
pub struct GoingOn<'a> {
    /// Path of the checkpoint.
    pub checkpoint: &'a Path,
    /// Step of the checkpoint.
    pub step: u64,
    /// Outputs, which are continued if they are in the directory.
    pub marks: &'a [OutputMark],
}

impl<'a> From<&'a Resumed> for GoingOn<'a> {
    fn from(Resumed { path, header, .. }: &'a Resumed) -> Self {
        Self { checkpoint: path, step: header.step, marks: &header.outputs }
    }
}

impl OutputDirectory {
    /// Sets up the directory for a scenario without a trajectory. Call it on rank 0, after all
    /// inputs have been read.
    ///
    /// # Errors
    /// [`OutputError::Create`], [`OutputError::InUse`].
    pub fn create(path: impl Into<PathBuf>) -> Result<Self, OutputError> {
        Self::for_scenario(path, &ResultFiles::default(), &[], b"")
    }

    /// Sets up the directory for the results of a scenario by [`Self::prepare`] and
    /// [`Self::begin`].
    ///
    /// # Errors
    /// Returns the errors of these two functions.
    pub fn for_scenario(
        path: impl Into<PathBuf>,
        results: &ResultFiles,
        inputs: &[&Path],
        scenario: &[u8],
    ) -> Result<Self, OutputError> {
        let mut directory = Self::prepare(path, results, inputs, scenario)?;
        directory.begin()?;
        Ok(directory)
    }

    /// Creates and locks the directory, and checks that the results of a scenario can be written to
    /// it. Its files stay until [`Self::begin`], so that nothing is lost if another check fails.
    ///
    /// # Errors
    /// [`OutputError::OverwritesInput`] if one of `inputs`, the files that were read, would be
    /// replaced; [`OutputError::InUse`]; [`OutputError::Create`] if the directory cannot be created
    /// or written to; [`OutputError::NotContinued`].
    pub fn prepare(
        path: impl Into<PathBuf>,
        results: &ResultFiles,
        inputs: &[&Path],
        scenario: &[u8],
    ) -> Result<Self, OutputError> {
        let mut directory = Self::open(path.into(), inputs)?;
        let scenario_is_there = directory.has_scenario(scenario)?;
        let ResultFiles { trajectory, going_on, first_lines, elsewhere } = *results;
        let old = [
            directory.old_trajectories(),
            directory.checkpoints_to_remove(going_on),
            directory.images_to_remove(going_on),
        ]
        .concat();
        let marks = going_on.map_or(&[][..], |going_on| going_on.marks);
        marks
            .iter()
            .filter(|mark| directory.goes_on(mark) || directory.misses(mark, going_on, trajectory))
            .try_for_each(|mark| RecordFile::expect_mark(&directory.path().join(&mark.file), mark))?;
        first_lines
            .iter()
            .filter(|(file, _)| marks.iter().any(|mark| mark.file == file.name() && directory.goes_on(mark)))
            .try_for_each(|(file, line)| {
                RecordFile::expect_preamble(&directory.path().join(file.name()), line.as_bytes())
            })?;
        let fixed = KnownFile::RESULTS_OF_A_SCENARIO.iter().chain(all_outputs().flat_map(|kind| kind.files));
        let names = fixed.map(|file| file.name()).chain(trajectory).chain(old.iter().map(String::as_str));
        let replaced: Vec<&str> = names
            .filter(|name| !marks.iter().any(|mark| mark.file == **name && directory.goes_on(mark)))
            .collect();
        directory.expect_replaceable(replaced, elsewhere)?;
        let old = old.into_iter().filter(|name| Some(name.as_str()) != trajectory).collect();
        directory.set_beginning((!scenario_is_there).then(|| scenario.to_owned()), old);
        Ok(directory)
    }

    /// Continues a growing file if the run is resumed and had the file in this directory; otherwise
    /// creates it.
    ///
    /// # Errors
    /// Returns the errors of [`Self::create_records`] and [`RecordFile::go_on`], and
    /// [`OutputError::NotContinued`] if the file does not begin with `preamble`.
    pub fn open_records(
        &self,
        file: KnownFile,
        preamble: &[u8],
        resumed: Option<&Resumed>,
    ) -> Result<RecordFile, OutputError> {
        let resumed = resumed.and_then(|resumed| Some((resumed.mark(file.name())?, resumed.header.step)));
        match resumed.filter(|(mark, _)| self.goes_on(mark)) {
            Some((mark, step)) => {
                RecordFile::expect_preamble(&self.place_of(file.name())?, preamble)?;
                self.go_on_with_records(mark, step)
            }
            None => self.create_records(file.name(), preamble),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_new_run_removes_the_results_of_the_old_one_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let names = [
            "summary.json",
            "thermo.csv",
            "forces.csv",
            "compare.csv",
            "bench.csv",
            "notes.txt",
            "scenario.toml",
        ];
        for name in names {
            fs::write(folder.path().join(name), "old").unwrap();
        }
        OutputDirectory::create(folder.path()).unwrap();
        let mut left: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["bench.csv", "notes.txt", "scenario.toml"]);
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
        let path = directory.path().to_owned();
        drop(directory);
        assert_eq!(fs::read_dir(path).unwrap().count(), 2);
    }

    #[test]
    fn inputs_are_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let [scenario, start, elsewhere] =
            ["scenario.toml", "start.extxyz", "elsewhere"].map(|name| folder.path().join(name));
        fs::write(&scenario, "steps = 1\n").unwrap();
        fs::write(&elsewhere, "1\n").unwrap();
        for link in [std::os::unix::fs::symlink::<&PathBuf, &PathBuf>, fs::hard_link] {
            link(&elsewhere, &start).unwrap();
            let inputs: [&Path; 2] = [&scenario, &elsewhere];
            let open = |effective: &[u8]| {
                OutputDirectory::for_scenario(folder.path(), &ResultFiles::default(), &inputs, effective)
            };
            let error = open(b"steps = 2\n").unwrap_err();
            assert!(matches!(&error, OutputError::OverwritesInput { path } if *path == scenario), "{error}");
            let directory = open(b"steps = 1\n").unwrap();
            assert_eq!(fs::read(&scenario).unwrap(), b"steps = 1\n");
            let error = directory.create_records("start.extxyz", b"").unwrap_err();
            assert!(matches!(error, OutputError::OverwritesInput { .. }), "{error}");
            drop(directory);
            fs::rename(&start, folder.path().join("summary.json")).unwrap();
            fs::write(folder.path().join("thermo.csv"), "old").unwrap();
            assert!(matches!(open(b"steps = 1\n"), Err(OutputError::OverwritesInput { .. })));
            assert!(folder.path().join("thermo.csv").exists(), "all or none");
            assert_eq!(fs::read(folder.path().join("summary.json")).unwrap(), b"1\n");
            fs::remove_file(folder.path().join("summary.json")).unwrap();
        }
    }

    #[test]
    fn a_scenario_that_was_removed_during_the_run_is_missed() {
        let folder = tempfile::tempdir().unwrap();
        let directory = OutputDirectory::create(folder.path()).unwrap();
        directory.finish().unwrap();
        fs::remove_file(folder.path().join("scenario.toml")).unwrap();
        assert!(matches!(directory.finish(), Err(OutputError::Vanished { .. })));
    }
}
