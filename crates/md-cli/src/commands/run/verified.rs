//! `run --verify-hash`: comparison of hash.csv with that of another run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use md_comm::World;
use md_core::words::counted;
use md_engine::EngineError;
use md_files::text_file::{broadcast_read, read_text};
use md_scenario::failure::{BAD_INPUT, RUN_FAILED, RunError};
use md_scenario::{Hash, Scenario};

use crate::commands::ending::summarised;

/// First line of the file.
const COLUMNS: &str = "step,hash";
/// Line number of the first row.
const FIRST_ROW: usize = 2;

/// The hashes of another run, by step.
#[derive(Debug)]
pub(super) struct ExpectedHashes {
    path: PathBuf,
    rows: BTreeMap<u64, String>,
}

impl ExpectedHashes {
    /// Reads the file on rank 0. *Collective.*
    ///
    /// # Errors
    /// [`md_scenario::failure::Unreadable`]; a scenario that asks for no hashes.
    pub(super) fn read(world: &dyn World, path: &Path, scenario: &Scenario) -> Result<Self, RunError> {
        if scenario.output.analyses.hash.is_none() {
            let message = "`--verify-hash` compares hash.csv, which the scenario does not ask for; \
                           add `--set output.hash.every=N`, with the N of the other run";
            return Err(summarised(message.to_owned(), BAD_INPUT));
        }
        let text = broadcast_read(Some(world), path, || read_text(path, "table of hashes").map(Some))?;
        let rows = rows_of(&text.unwrap_or_default()).map_err(|reason| unreadable(path, reason))?;
        Ok(Self { path: path.to_owned(), rows })
    }

    /// Compares the rows of steps that are also in the hash.csv of `directory`. Called on rank 0.
    pub(super) fn compare(&self, directory: &Path) -> Comparison {
        let own = directory.join(Hash::KIND.files[0].name());
        let path = self.path.display();
        let text = read_text(&own, "table of hashes").map_err(|error| error.to_string());
        let found = match text.and_then(|text| rows_of(&text)) {
            Ok(found) => found,
            Err(reason) => return Comparison::Differs(format!("cannot read `{}`: {reason}", own.display())),
        };
        let common = || found.iter().filter_map(|(step, hash)| Some((step, hash, self.rows.get(step)?)));
        if let Some((step, hash, expected)) = common().find(|(_, hash, expected)| hash != expected) {
            return Comparison::Differs(format!("step {step}: the hash is {hash}, but {expected} in {path}"));
        }
        match common().count() {
            0 => Comparison::Differs(format!("no step is both in {} and in {path}", own.display())),
            count => Comparison::Agrees(format!(
                "hash.csv agrees with {path} in {}\n",
                counted(count as u64, "row")
            )),
        }
    }
}

/// Result of a comparison, in words.
#[derive(Debug)]
pub(super) enum Comparison {
    Agrees(String),
    Differs(String),
}

impl Comparison {
    /// Returns an error on all ranks if rank 0 has found a difference. *Collective.*
    pub(super) fn verdict(comparison: Option<Self>, world: &dyn World) -> Result<(), RunError> {
        let differs = matches!(comparison, Some(Self::Differs(_)));
        let mut differ = [if differs { 1.0 } else { 0.0 }];
        world.max(&mut differ).map_err(EngineError::from)?;
        match comparison {
            Some(Self::Differs(reason)) => Err(summarised(reason, RUN_FAILED)),
            // Rank 0 reports the reason.
            _ if differ != [0.0] => Err(summarised(String::new(), RUN_FAILED)),
            Some(Self::Agrees(_)) | None => Ok(()),
        }
    }
}

fn unreadable(path: &Path, reason: String) -> RunError {
    RunError::unreadable(path.display().to_string(), reason)
}

fn rows_of(text: &str) -> Result<BTreeMap<u64, String>, String> {
    let mut lines = text.lines();
    if lines.next() != Some(COLUMNS) {
        return Err(format!("line 1 does not have the columns of hash.csv, `{COLUMNS}`"));
    }
    let row = |(index, line): (usize, &str)| {
        let row = line.split_once(',').and_then(|(step, hash)| Some((step.parse().ok()?, hash.to_owned())));
        row.ok_or_else(|| format!("line {} is `{line}`, not a step and a hash", index + FIRST_ROW))
    };
    lines.enumerate().map(row).collect()
}
