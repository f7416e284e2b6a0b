//! The table of a sweep, which is rewritten after every job.

use std::fs;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

use md_files::output::{ResultFiles, Screen, Verbosity};
use md_files::store::OutputDirectory;
use md_files::text_file::read_text;
use md_lab::plot::Picture;
use md_lab::significant;
use md_lab::sweep::{Kind, Row, Scaling, read_sweep, scaling_picture, sweep_csv};
use md_scenario::failure::RunError;
use md_scenario::known_file::KnownFile;
use md_scenario::same_elsewhere;

use super::{Blame, Fault, SweepSettings};
use crate::args::SweepArgs;
use crate::commands::{grid_run, output_directory, refused};
use crate::grid_inputs::{AnyInputs, GridModel};

/// Significant digits of times and rates on the screen.
const DIGITS: usize = 4;

/// Returns the text of a file of an earlier sweep, if there is one.
fn old_text(path: &Path) -> Result<Option<String>, RunError> {
    let is_missing = |error: Error| matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory);
    if fs::symlink_metadata(path).is_err_and(is_missing) {
        return Ok(None);
    }
    let unreadable = |reason| RunError::unreadable(path.display().to_string(), reason);
    read_text(path, "table of a sweep").map(Some).map_err(unreadable)
}

/// Returns the rows of an earlier sweep in the folder, which must be one of the same scenario.
fn earlier_rows(folder: &Path, wanted: &SweepSettings) -> Result<Vec<Row>, RunError> {
    let old = |file: KnownFile| old_text(&folder.join(file.name()));
    let Some(text) = old(KnownFile::SWEEP)? else { return Ok(Vec::new()) };
    if !old(KnownFile::SCENARIO)?.is_some_and(|old| same_elsewhere(&old, &wanted.effective)) {
        return Err(refused(format!(
            "`{}` holds a sweep of another scenario (scenario.toml)\nchoose another directory with --output DIR",
            folder.display()
        )));
    }
    let table = folder.join(KnownFile::SWEEP.name());
    read_sweep(&text, wanted.kind).map_err(|error| refused(format!("{}: {error}", table.display())))
}

/// Table of a sweep.
pub(super) struct Table {
    pub(super) kind: Kind,
    pub(super) directory: OutputDirectory,
    pub(super) screen: Screen,
    pub(super) rows: Vec<Row>,
    /// Output of failed jobs.
    failures: String,
}

impl Table {
    pub(super) fn open(
        inputs: &AnyInputs,
        args: &SweepArgs,
        wanted: &SweepSettings,
    ) -> Result<Self, RunError> {
        let path = match inputs {
            AnyInputs::Particles(inputs) => &inputs.scenario.output.directory,
            AnyInputs::Stencil(inputs) => &inputs.scenario.output().directory,
            AnyInputs::Lbm(inputs) => &inputs.scenario.output().directory,
        };
        let path = PathBuf::from(path);
        let rows = earlier_rows(&path, wanted)?;
        let verbosity = Verbosity::unless(args.quiet);
        let directory = match inputs {
            AnyInputs::Particles(inputs) => output_directory(inputs, &ResultFiles::default(), verbosity)?,
            AnyInputs::Stencil(inputs) => {
                grid_run::output_directory(inputs, &ResultFiles::default(), verbosity)?
            }
            AnyInputs::Lbm(inputs) => grid_run::output_directory(inputs, &ResultFiles::default(), verbosity)?,
        };
        Ok(Self {
            kind: wanted.kind,
            directory,
            screen: Screen::stdout(verbosity),
            rows,
            failures: String::new(),
        })
    }

    pub(super) fn add(&mut self, title: &str, row: Row) -> Result<(), RunError> {
        let (step, rate) = (significant(row.step.median_s, DIGITS), significant(row.rate_per_s, DIGITS));
        self.rows.push(row);
        self.directory.write_encoded(KnownFile::SWEEP, sweep_csv(&self.rows, self.kind))?;
        let unit = self.kind.rate.trim_end_matches("_per_s").replace('_', " ");
        self.screen.print(&format!("{title}: {step} s per step, {rate} {unit}/s\n"));
        Ok(())
    }

    /// Prints why a job failed and keeps its output. Returns the reason with the title of the job.
    pub(super) fn add_failure(&mut self, title: &str, fault: Fault) -> Result<(String, Blame), RunError> {
        let Fault { reason, blame, said } = fault;
        self.screen.print(&format!("{title}: failed: {reason}\n"));
        let reason = format!("{title}: {reason}");
        if !said.is_empty() {
            self.failures += &format!("{reason}\n\n{}\n\n", said.trim_end());
            self.directory.write_whole(KnownFile::SWEEP_FAILURES, self.failures.as_bytes())?;
        }
        Ok((reason, blame))
    }

    pub(super) fn failures_file(&self) -> Option<PathBuf> {
        let path = self.directory.path().join(KnownFile::SWEEP_FAILURES.name());
        (!self.failures.is_empty()).then_some(path)
    }

    pub(super) fn finish(&mut self, scaling: Scaling) -> Result<(), RunError> {
        let picture = scaling_picture(&self.rows, scaling).svg().map(String::into_bytes);
        self.directory.write_encoded(KnownFile::SWEEP_SVG, picture)?;
        Ok(self.screen.finish()?)
    }
}
