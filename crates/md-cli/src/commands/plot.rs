//! `md-cli plot`: one page with the diagrams of a run.

use std::fs;
use std::path::{Path, PathBuf};

use md_files::checkpoint::folders_of_stages;
use md_files::store::OutputDirectory;
use md_scenario::failure::RunError;
use md_scenario::known_file::KnownFile;

use super::{note_lock, refused};
use crate::args::PlotArgs;
use crate::plot::page;

/// Draws the tables in a folder of outputs, and writes plot.html into the folder. Returns the text
/// for the user.
///
/// # Errors
/// Returns [`RunError`], also if the folder has no table that can be drawn.
pub fn plot(args: &PlotArgs) -> Result<String, RunError> {
    let folder = &args.directory;
    let Some(page) = page(folder)? else {
        return Err(refused(format!(
            "there is nothing to draw in `{}`: no thermo.csv, no timing.csv and no table of an analysis",
            folder.display()
        )));
    };
    let directory = OutputDirectory::without_scenario(folder.clone(), &[KnownFile::PLOT], &[], &[])?;
    note_lock(&directory);
    directory.write_whole(KnownFile::PLOT, page.as_bytes())?;
    directory.finish()?;
    let stages = stages(folder).map(|stage| format!("also: md-cli plot {}\n", stage.display()));
    Ok(format!("{}\n{}", folder.join(KnownFile::PLOT.name()).display(), stages.collect::<String>()))
}

/// Returns the existing folders of stages with separate outputs. Each contains the same kinds of
/// files as a run.
fn stages(run: &Path) -> impl Iterator<Item = PathBuf> {
    let scenario = fs::read_to_string(run.join(KnownFile::SCENARIO.name())).unwrap_or_default();
    let folders = folders_of_stages(&scenario).into_iter().map(|(_, folder)| run.join(folder));
    folders.filter(|folder| folder.join(KnownFile::THERMO.name()).is_file())
}
