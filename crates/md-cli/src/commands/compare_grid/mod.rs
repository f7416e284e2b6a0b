//! `md-cli compare` on a grid: halo strategies on a stencil or a flow, checked bit by bit, measured in turn, and ranked.
//!
//! The trials are those of particles. The reference is the same problem with two-sided messages (threads: with their own): all strategies
//! must give its bits.

mod ground;
mod results;

use std::path::PathBuf;
use std::time::Duration;

use md_lab::compare::{Results, Sampling};
use md_lab::plot::Picture;
use md_lab::{Transports, Variant};

use super::compare::{Choices, Conditions, Outputs, Report, SHORTEST_AGREEMENT_WATCHDOG, conduct};
use super::timeline::Timelines;
use super::{grid_run, open_on_root, refused};
use crate::args::CompareArgs;
use crate::error::RunError;
use crate::grid_inputs::{GridInputs, GridModel};
use crate::memory;
use crate::output::grid::GridContext;
use crate::output::{KnownFile, OutputDirectory, OutputError, ResultFiles, Screen, Verbosity};
use crate::scenario::{Scenario, ScenarioSource, load};
pub use ground::Compared;
use ground::Grid;
use results::Table;

/// Steps per sample.
const STEPS: u64 = 10;

/// Compares strategies on this rank; `end_job` ends all ranks with an exit code, from any thread. *Collective.*
///
/// # Errors
/// [`RunError::Compared`] if a strategy was wrong, failed or timed out; see [`RunError`] for the others.
pub fn compare_on_grid<M: Compared>(
    transports: &dyn Transports,
    inputs: &GridInputs<M>,
    args: &CompareArgs,
    choices: &Choices,
    end_job: fn(u8),
) -> Result<(), RunError> {
    let agreement = transports.agreement();
    if let Some(option) = choices.of_particles() {
        return Err(refused(format!("{option} is for scenarios of particles, and this one has a grid")));
    }
    memory::expect_timeline(agreement, &args.trace)?;
    let problem = M::problem(inputs, agreement.ranks())?;
    M::expect_room(agreement, inputs, &problem)?;
    let variants = choices.variants(&keys_of(inputs)?, &transports.backends()).map_err(refused)?;
    let timeout = Duration::from_secs_f64(args.timeout);
    agreement.set_watchdog(SHORTEST_AGREEMENT_WATCHDOG.max(4 * timeout));
    let outputs = open_on_root(agreement, || open(inputs, args, &variants))?;
    let steps = args.steps.unwrap_or(STEPS);
    let sampling = Sampling { repeat: args.repeat as usize, steps, timeout };
    let timelines = Timelines::new(&args.trace);
    let grid = Grid::of(transports, inputs, problem, sampling, timelines)?;
    let between_nodes = inputs.scenario.parallel().between_nodes;
    let progress = args.progress;
    let conditions =
        Conditions { transports, variants: &variants, between_nodes, sampling, progress, end_job };
    let outcome = conduct(&grid, &conditions, outputs)?;
    grid.finish()?;
    outcome.into_result("wrong values")
}

/// A scenario of particles with the same `[parallel]`: strategies are combinations of its keys.
pub(super) fn keys_of<M: GridModel>(inputs: &GridInputs<M>) -> Result<Scenario, RunError> {
    const PARTICLES: &str =
        "[simulation]\nsteps = 1\n[system]\nlattice = { kind = \"sc\", density = 1.0, cells = [9, 9, 9] }\n";
    let source = ScenarioSource { text: PARTICLES.to_owned(), ..ScenarioSource::default() };
    Ok(Scenario { parallel: inputs.scenario.parallel().transport(), ..load(&source)? })
}

/// How the results of a grid are written and shown.
struct OfGrid;

impl Report<GridContext> for OfGrid {
    fn names(variant: &Variant) -> Vec<String> {
        results::names(variant.strategy.backend, variant.strategy.exchange, &variant.settings)
    }

    fn publish(
        &self,
        results: &Results<GridContext>,
        screen: &mut Screen,
        directory: &OutputDirectory,
    ) -> Result<(), OutputError> {
        let table = Table { rows: results.rows() };
        let chart = table.chart();
        screen.print(&format!("\n{}", table.text()));
        directory.write_encoded(KnownFile::COMPARE, table.csv())?;
        directory.write_encoded(KnownFile::COMPARE_SVG, chart.svg().map(String::into_bytes))?;
        directory.write_encoded(KnownFile::COMPARE_PNG, chart.png())
    }
}

fn open<M: Compared>(
    inputs: &GridInputs<M>,
    args: &CompareArgs,
    variants: &[Variant],
) -> Result<Outputs<OfGrid>, OutputError> {
    let elsewhere: Vec<PathBuf> = Timelines::files(&args.trace, variants.iter().map(OfGrid::names)).collect();
    let verbosity = Verbosity::unless(args.quiet);
    let results = ResultFiles { elsewhere: &elsewhere, ..ResultFiles::default() };
    let directory = grid_run::output_directory(inputs, &results, verbosity)?;
    let mut screen = Screen::stdout(verbosity);
    screen.print(&format!("comparing {} strategies, {} repetitions\n", variants.len(), args.repeat));
    Ok(Outputs { directory, screen, report: OfGrid })
}
