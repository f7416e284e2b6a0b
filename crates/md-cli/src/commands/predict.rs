//! `md-cli predict`: time of a step on any number of ranks.

use std::collections::BTreeSet;
use std::path::Path;

use md_comm::Backend;
use md_files::memory;
use md_files::output::{Progress, Screen, Verbosity};
use md_files::text_file::read_text;
use md_lab::machine::{ComputeCost, Machine};
use md_lab::name_of;
use md_lab::plot::Picture;
use md_lab::predict::{
    Forecast, Placement, PredictError, Request, Scaling, chart, predict_and_tell, predict_csv, table,
};
use md_scenario::failure::RunError;
use md_scenario::known_file::KnownFile;
use md_scenario::messages::warn;
use md_scenario::{Scenario, listed};

use super::{planning_directory, refused};
use crate::args::PredictArgs;
use crate::inputs::Inputs;
use crate::strategies::{Choices, by_ghosts};
use crate::{cores, setup};

/// Strategies and placement that the user chose by name.
pub struct PredictionChoices {
    pub(super) choices: Choices,
    pub(super) placement: Placement,
}

impl PredictionChoices {
    /// Reads the names on the command line.
    ///
    /// # Errors
    /// Returns an error with all known names if a name is unknown.
    pub fn read(args: &PredictArgs) -> Result<Self, String> {
        let choices = Choices::of_one_partition(&args.backends, &args.shells, &args.exchanges)?;
        let is_meant = |placement: &&Placement| name_of(placement) == args.placement;
        let placement = Placement::ALL.iter().copied().find(|placement| is_meant(&placement));
        let placement = placement.ok_or_else(|| {
            let valid: Vec<String> = Placement::ALL.iter().map(name_of).collect();
            format!(
                "--placement has no `{}`\nvalid: {}",
                args.placement,
                listed(valid.iter().map(String::as_str))
            )
        })?;
        Ok(Self { choices, placement })
    }
}

/// Predicts the time of a step, in one process.
///
/// # Errors
/// See [`RunError`].
pub fn predict(mut inputs: Inputs, args: &PredictArgs, wish: &PredictionChoices) -> Result<(), RunError> {
    if !args.measured.is_empty() {
        return Err(refused(
            "--measured is for scenarios with a grid, and this one has particles".to_owned(),
        ));
    }
    let machine = read_machine(&args.machine)?;
    inputs.beside.push(args.machine.clone());
    // The grid of ranks depends on their number.
    let (mut scenario, warning) = by_ghosts(&inputs.scenario);
    warning.iter().for_each(|text| warn(text));
    scenario.parallel.grid = None;
    let config = setup::of_scenario(&inputs, &scenario, 1)?.config;
    let request = request(args, wish, &scenario);
    let mut progress = Progress::over_cases(args.progress, request.ranks.len() as u64);
    let forecast = predict_and_tell(&config, &machine, &request, |done| progress.tick(done as u64));
    progress.finish();
    let neighbor = config.neighbor;
    warn_of_doubts(&machine, args, |cost| {
        (cost.method, cost.precision) == (neighbor.method, neighbor.precision)
    });
    let forecast = forecast.map_err(|error| match error {
        PredictError::NoCompute { .. } => refused(format!("{}: {error}", args.machine.display())),
        error => error.into(),
    })?;
    let verbosity = Verbosity::unless(args.quiet);
    let own = [KnownFile::PREDICT, KnownFile::PREDICT_SVG];
    let directory = planning_directory(&inputs, &own, verbosity)?;
    let mut screen = Screen::stdout(verbosity);
    screen.print(&table(&forecast));
    warn_of_missing(&forecast, args);
    forecast.warnings.iter().for_each(|warning| warn(warning));
    let csv = predict_csv(&forecast, &config, &request, env!("CARGO_PKG_VERSION"));
    directory.write_encoded(KnownFile::PREDICT, csv)?;
    directory.write_encoded(KnownFile::PREDICT_SVG, chart(&forecast).svg().map(String::into_bytes))?;
    directory.finish()?;
    Ok(screen.finish()?)
}

/// Returns the request of the arguments for a scenario.
pub(super) fn request(args: &PredictArgs, wish: &PredictionChoices, scenario: &Scenario) -> Request {
    let is_no_mover = |backend: &Backend| matches!(backend, Backend::Auto | Backend::Local);
    let backends: Vec<Backend> = Backend::ALL.iter().copied().filter(|it| !is_no_mover(it)).collect();
    Request {
        ranks: each_once(&args.ranks),
        ranks_per_node: args.ranks_per_node.map(|ranks| ranks as usize),
        ranks_per_complex: args.ranks_per_complex.map(|ranks| ranks as usize),
        placement: wish.placement,
        scaling: if args.weak { Scaling::Weak } else { Scaling::Strong },
        strategies: wish.choices.strategies(scenario, &backends),
        between_nodes: scenario.parallel.between_nodes,
        steps: args.steps.map(|steps| steps as usize),
        seed: args.seed.unwrap_or(scenario.simulation.seed),
        memory: memory::of_machine(),
    }
}

/// Warns of unreliable costs, and, for more ranks than cores, of the assumption that all ranks are
/// on one node if `--ranks-per-node` is missing.
pub(super) fn warn_of_doubts(machine: &Machine, args: &PredictArgs, is_used: impl Fn(&ComputeCost) -> bool) {
    machine.doubts(is_used).iter().for_each(|doubt| warn(&format!("{}: {doubt}", args.machine.display())));
    let (most, cores) = (args.ranks.iter().copied().max().unwrap_or(0), cores::of_machine());
    if args.ranks_per_node.is_none() && most as usize > cores {
        warn(&format!(
            "without --ranks-per-node all ranks are taken to be on one node: up to {most}, where this machine has {cores} cores"
        ));
    }
}

/// With `--quiet`, prints why a number of ranks has no row. Otherwise the table contains the
/// reasons.
pub(super) fn warn_of_missing(forecast: &Forecast, args: &PredictArgs) {
    let is_missing = |ranks: &u32| forecast.predictions.iter().all(|it| it.ranks != *ranks as usize);
    if args.quiet && args.ranks.iter().any(is_missing) {
        forecast.remarks.iter().for_each(|remark| warn(remark));
    }
}

/// Reads the costs of messages and computation.
pub(super) fn read_machine(path: &Path) -> Result<Machine, RunError> {
    let name = path.display().to_string();
    let unreadable = |reason| RunError::unreadable(name.clone(), reason);
    Ok(Machine::read(&name, &read_text(path, "machine").map_err(unreadable)?)?)
}

fn each_once(ranks: &[u32]) -> Vec<usize> {
    let mut known = BTreeSet::new();
    ranks.iter().filter(|&&ranks| known.insert(ranks)).map(|&ranks| ranks as usize).collect()
}
