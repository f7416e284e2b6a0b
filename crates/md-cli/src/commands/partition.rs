//! `md-cli partition`: quality of partitions for any number of ranks, without a run.

use md_core::PartitionKind;
use md_engine::Protocol;
use md_files::output::{Screen, Verbosity};
use md_lab::partition::{partition_csv, picture, survey, table};
use md_scenario::failure::RunError;
use md_scenario::known_file::KnownFile;

use super::{planning_directory, refused};
use crate::args::PartitionArgs;
use crate::inputs::Inputs;
use crate::setup;
use crate::strategies::{Selection, select};

/// Returns the partitions that the command line names.
///
/// # Errors
/// Returns an error with all known names if a name is unknown.
pub fn partitions(args: &PartitionArgs) -> Result<Selection<PartitionKind>, String> {
    select("--partitions", &args.partitions, PartitionKind::ALL)
}

/// Surveys partitions, in one process.
///
/// # Errors
/// Returns [`RunError`], also if none of the requested partitions is possible.
pub fn partition(
    inputs: &Inputs,
    args: &PartitionArgs,
    chosen: &Selection<PartitionKind>,
) -> Result<(), RunError> {
    let ranks = args.ranks as usize;
    let kinds = chosen.resolve(inputs.scenario.parallel.partition, PartitionKind::ALL);
    // The set-up is for one rank, so that an impossible number of ranks is a fault of a partition
    // and not of the scenario.
    let mut scenario = inputs.scenario.clone();
    scenario.parallel.partition = PartitionKind::Rect;
    scenario.parallel.grid = None;
    scenario.parallel.protocol = Protocol::One;
    let mut config = setup::of_scenario(inputs, &scenario, 1)?.config;
    config.parallel.rank_grid = inputs.scenario.parallel.grid;
    let survey = survey(&config, ranks, &kinds)?;
    if survey.found.is_empty() {
        return Err(refused(survey.remarks.join("\n")));
    }
    let verbosity = Verbosity::unless(args.quiet);
    let own = [KnownFile::PARTITION, KnownFile::PARTITION_SVG];
    let directory = planning_directory(inputs, &own, verbosity)?;
    let mut screen = Screen::stdout(verbosity);
    screen.print(&table(&survey));
    directory.write_encoded(KnownFile::PARTITION, partition_csv(&survey))?;
    directory.write_whole(KnownFile::PARTITION_SVG, picture(&survey).as_bytes())?;
    directory.finish()?;
    Ok(screen.finish()?)
}
