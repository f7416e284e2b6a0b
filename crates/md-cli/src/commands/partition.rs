//! `md-cli partition`: what partitions come to on any number of ranks, without running.

use md_core::PartitionKind;
use md_engine::Protocol;
use md_lab::partition::{partition_csv, picture, survey, table};

use super::{planning_directory, refused};
use crate::args::PartitionArgs;
use crate::error::RunError;
use crate::inputs::Inputs;
use crate::output::{KnownFile, Screen, Verbosity};
use crate::setup;
use crate::strategies::{Selection, select};

/// The names on the command line.
///
/// # Errors
/// An unknown name, and all that are known.
pub fn partitions(args: &PartitionArgs) -> Result<Selection<PartitionKind>, String> {
    select("--partitions", &args.partitions, PartitionKind::ALL)
}

/// Looks at partitions, in one process.
///
/// # Errors
/// See [`RunError`]; none of the partitions that were asked for is possible.
pub fn partition(
    inputs: &Inputs,
    args: &PartitionArgs,
    chosen: &Selection<PartitionKind>,
) -> Result<(), RunError> {
    let ranks = args.ranks as usize;
    let kinds = chosen.resolve(inputs.scenario.parallel.partition, PartitionKind::ALL);
    // Without ranks: what is wrong with them is wrong with a partition, not with the scenario.
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
