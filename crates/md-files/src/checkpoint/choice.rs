//! Names of checkpoints, and the choice of a checkpoint in a folder.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::CheckpointError;
use super::layout::{MAGIC, is_named};
use crate::text_file::expect_regular;

const PREFIX: &str = "checkpoint-";
const SUFFIX: &str = ".mdc";

/// Returns the name of the checkpoint after a step.
pub(crate) fn file_name(step: u64) -> String {
    format!("{PREFIX}{step}{SUFFIX}")
}

/// Returns the step in the name of a checkpoint.
pub(crate) fn step_of(name: &str) -> Option<u64> {
    let digits = name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?;
    digits.parse().ok().filter(|step| file_name(*step) == name)
}

/// Returns whether a file is a checkpoint according to its first bytes, or an incomplete one, empty
/// or beginning with zeros, that a killed run left.
pub(crate) fn is_own(path: &Path) -> bool {
    // Opening a named pipe would wait for its writer.
    let Ok(there) = fs::symlink_metadata(path) else { return false };
    let begins = || -> std::io::Result<[u8; MAGIC.len()]> {
        let mut begin = [0; MAGIC.len()];
        fs::File::open(path)?.read_exact(&mut begin)?;
        Ok(begin)
    };
    there.is_file() && (there.len() == 0 || begins().is_ok_and(|begin| is_named(&begin) || begin == [0; 8]))
}

/// Returns the checkpoints of a folder with their steps, the newest first.
pub(crate) fn in_folder(folder: &Path) -> Vec<(u64, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<(u64, PathBuf)> =
        entries.filter_map(|entry| Some((step_of(entry.file_name().to_str()?)?, entry.path()))).collect();
    found.sort_unstable_by(|a, b| b.cmp(a));
    found
}

/// Returns the file that the path given to `--resume` stands for: the file itself, or the newest
/// checkpoint of a folder.
///
/// # Errors
/// Returns an error if there is no checkpoint, or if it is not a regular file.
pub(super) fn chosen(path: &Path) -> Result<PathBuf, CheckpointError> {
    let file = file_or_newest(path)?;
    // Opening a named pipe would wait for its writer.
    expect_regular(&file).map_err(|problem| CheckpointError::new(&file, problem))?;
    Ok(file)
}

fn file_or_newest(path: &Path) -> Result<PathBuf, CheckpointError> {
    match fs::metadata(path) {
        Err(error) => Err(CheckpointError::new(path, error.to_string())),
        Ok(there) if !there.is_dir() => Ok(path.to_owned()),
        Ok(_) => {
            in_folder(path).into_iter().next().map(|(_, newest)| newest).ok_or_else(|| CheckpointError {
                advice: Some(
                    "set `output.checkpoint = { every = N }` in the scenario to have some written".to_owned(),
                ),
                ..CheckpointError::new(path, "there is no checkpoint in it (no file `checkpoint-STEP.mdc`)")
            })
        }
    }
}

/// Returns advice for a damaged checkpoint: to use the one before it, if there is one.
pub(super) fn older(path: &Path) -> Option<String> {
    let step = step_of(path.file_name()?.to_str()?)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let (_, older) = in_folder(folder).into_iter().find(|(other, _)| *other < step)?;
    Some(format!("to go on from the one before it: --resume {}", older.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_hold_steps() {
        assert_eq!(step_of("checkpoint-100.mdc"), Some(100));
        for name in
            ["checkpoint-.mdc", "checkpoint-01.mdc", "checkpoint-+1.mdc", "checkpoint-1.mdc.unfinished", "x"]
        {
            assert_eq!(step_of(name), None, "{name}");
        }
    }

    #[test]
    fn a_folder_means_its_newest_by_number() {
        let folder = tempfile::tempdir().unwrap();
        for step in [5, 20, 100] {
            fs::write(folder.path().join(file_name(step)), "").unwrap();
        }
        assert_eq!(chosen(folder.path()), Ok(folder.path().join("checkpoint-100.mdc")));
        let advice = older(&folder.path().join("checkpoint-100.mdc")).unwrap();
        assert!(advice.ends_with("checkpoint-20.mdc"), "{advice}");
    }
}
