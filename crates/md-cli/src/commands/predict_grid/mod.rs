//! `md-cli predict` on a grid: messages are those that a run would send, and the costs of
//! computation are those of measured runs.

mod measured;

use std::collections::BTreeMap;
use std::path::Path;

use md_core::ExchangePattern;
use md_core::words::counted;
use md_files::output::{Progress, ResultFiles, Screen, Verbosity, holds_results_but};
use md_files::store::OutputDirectory;
use md_grid::{Messages, Schedule};
use md_lab::machine::Machine;
use md_lab::plot::Picture;
use md_lab::predict::{
    Forecast, GridCosts, GridExchange, GridStep, GridSubject, LatticeBoltzmann, PredictError, Request,
    Scaling, grid_chart, grid_csv, grid_table, predict_grid,
};
use md_lab::{Strategy, name_of};
use md_scenario::effective_toml;
use md_scenario::failure::RunError;
use md_scenario::known_file::KnownFile;

use super::predict::{self, PredictionChoices, read_machine, warn_of_doubts, warn_of_missing};
use super::{note_lock, note_removal, refused};
use crate::args::PredictArgs;
use crate::grid_inputs::{GridInputs, GridModel, Subject};
use crate::strategies::keys_of;
use measured::costs;

/// Predicts the time of a step, in one process.
///
/// # Errors
/// See [`RunError`].
pub fn predict_on_grid<M: GridModel>(
    inputs: &GridInputs<M>,
    args: &PredictArgs,
    wish: &PredictionChoices,
) -> Result<(), RunError> {
    if let Some(option) = wish.choices.of_particles() {
        return Err(refused(format!("{option} is for scenarios of particles, and this one has a grid")));
    }
    expect_packed(inputs.scenario.parallel().messages, "the scenario's messages")?;
    let machine = read_machine(&args.machine)?;
    // The costs of nodes are those of measured runs, not those of the machine file.
    warn_of_doubts(&machine, args, |_| false);
    let mut request = request(inputs, args, wish)?;
    let costs = costs(inputs, &args.measured, &machine, &request)?;
    let mut forecast = Forecast::default();
    let mut formulas = BTreeMap::new();
    let all = std::mem::take(&mut request.ranks);
    let mut progress = Progress::over_cases(args.progress, all.len() as u64);
    for (done, ranks) in all.into_iter().enumerate() {
        progress.tick(done as u64);
        let formula = predict_ranks(inputs, ranks, &costs, &machine, &request, &mut forecast)?;
        formulas.insert(ranks, formula);
    }
    progress.finish();
    if forecast.predictions.is_empty() {
        return Err(PredictError::Nothing(forecast.remarks.join("; ")).into());
    }
    forecast.remarks.extend(formulas.into_values().flatten());
    if costs.is_empty() {
        let missing = "computing and packing are not in it: --measured gives what they cost";
        forecast.remarks.push(missing.to_owned());
    }
    publish(inputs, args, &request, &forecast)
}

/// Adds the predictions for a number of ranks, or a remark if the grid cannot be divided among
/// them. Returns the closed formula in words, where it applies.
fn predict_ranks<M: GridModel>(
    inputs: &GridInputs<M>,
    ranks: usize,
    costs: &GridCosts,
    machine: &Machine,
    request: &Request,
    forecast: &mut Forecast,
) -> Result<Option<String>, RunError> {
    let mut formula = None;
    for exchange in exchanges(&request.strategies) {
        let step = match step(inputs, ranks, exchange, request.scaling) {
            Ok(step) => step,
            Err(error) => {
                let reason = error.to_string();
                let first = reason.lines().next().unwrap_or_default();
                forecast.remarks.push(format!("{} left out: {first}", counted(ranks, "rank")));
                break;
            }
        };
        let (found, said) = predict_grid(&step, exchange, costs, machine, request)?;
        forecast.predictions.extend(found);
        forecast.remarks.extend(said);
        if inputs.scenario.has_formula() {
            let of_step = LatticeBoltzmann::of(&step, costs, machine, request);
            formula = of_step.map(|formula| formula.words(ranks));
        }
    }
    Ok(formula)
}

/// Checks that messages are packed. The time that the library takes to gather and scatter datatypes
/// is in no benchmark, and in a run it is part of waiting.
fn expect_packed(messages: Messages, whose: &str) -> Result<(), RunError> {
    if messages.are_packed() {
        return Ok(());
    }
    let name = name_of(messages);
    Err(refused(format!(
        "{whose} are `{name}`, and datatypes are not predicted: take `aggregated` or `per-field`"
    )))
}

fn request<M: GridModel>(
    inputs: &GridInputs<M>,
    args: &PredictArgs,
    wish: &PredictionChoices,
) -> Result<Request, RunError> {
    let keys = keys_of(inputs)?;
    let between_nodes = inputs.scenario.parallel().between_nodes;
    Ok(Request { between_nodes, seed: 0, ..predict::request(args, wish, &keys) })
}

/// Returns each exchange pattern of the strategies once.
fn exchanges(strategies: &[Strategy]) -> Vec<ExchangePattern> {
    let is_wanted = |exchange: &ExchangePattern| strategies.iter().any(|it| it.exchange == *exchange);
    ExchangePattern::ALL.iter().copied().filter(is_wanted).collect()
}

/// Returns the messages and computations of all ranks.
fn step<M: GridModel>(
    inputs: &GridInputs<M>,
    ranks: usize,
    exchange: ExchangePattern,
    scaling: Scaling,
) -> Result<GridStep, RunError> {
    let mut inputs = inputs.clone();
    // The grid of the scenario holds only for its number of ranks.
    let grid = &mut inputs.scenario.parallel_mut().grid;
    *grid = grid.filter(|grid| scaling == Scaling::Strong && grid.iter().product::<usize>() == ranks);
    if scaling == Scaling::Weak {
        inputs.scenario.grow(ranks)?;
    }
    inputs.scenario.parallel_mut().exchange = exchange;
    step_of(&M::schedule(&inputs, ranks)?, ranks, inputs.scenario.subject().fields)
}

fn step_of(schedule: &Schedule, ranks: usize, fields: usize) -> Result<GridStep, RunError> {
    let mut exchanges = Vec::new();
    for exchanged in &schedule.exchanges {
        let mut stages = vec![Vec::with_capacity(ranks); exchanged.plan.stages.len()];
        for rank in 0..ranks {
            for (stage, sent) in stages.iter_mut().zip(schedule.sent_by(rank, exchanged)?) {
                stage.push(sent.into_iter().map(|parcel| (parcel.peer, parcel.bytes as f64)).collect());
            }
        }
        let beside = (0..ranks).map(|rank| schedule.share_beside(rank, exchanged)).collect();
        exchanges.push(GridExchange { stages, beside });
    }
    Ok(GridStep {
        grid: schedule.decomposition.ranks().map(|count| count.to_string()).join("x"),
        nodes: schedule.decomposition.nodes().iter().map(|&count| count as u64).product(),
        updates: (0..ranks).map(|rank| fields as f64 * schedule.nodes_of(rank) as f64).collect(),
        exchanges,
        reductions: schedule.reductions,
    })
}

fn publish<M: GridModel>(
    inputs: &GridInputs<M>,
    args: &PredictArgs,
    request: &Request,
    forecast: &Forecast,
) -> Result<(), RunError> {
    let effective = effective_toml(&inputs.scenario);
    let read = inputs.files_read();
    let read = read.iter().chain([&args.machine]).chain(&args.measured);
    let read: Vec<&Path> = read.map(AsRef::as_ref).collect();
    let path = &inputs.scenario.output().directory;
    let own = [KnownFile::PREDICT, KnownFile::PREDICT_SVG];
    let directory = if holds_results_but(Path::new(path), &own) {
        OutputDirectory::without_scenario(path.into(), &own, &read, &[])?
    } else {
        OutputDirectory::for_scenario(path, &ResultFiles::default(), &read, effective.as_bytes())?
    };
    let verbosity = Verbosity::unless(args.quiet);
    note_lock(&directory);
    note_removal(&directory, verbosity);
    let mut screen = Screen::stdout(verbosity);
    screen.print(&grid_table(forecast));
    warn_of_missing(forecast, args);
    let Subject { kind, fields, .. } = inputs.scenario.subject();
    let subject = GridSubject { kind, fields, messages: name_of(inputs.scenario.parallel().messages) };
    let csv = grid_csv(forecast, &subject, request, env!("CARGO_PKG_VERSION"));
    directory.write_encoded(KnownFile::PREDICT, csv)?;
    let picture = grid_chart(forecast).svg().map(String::into_bytes);
    directory.write_encoded(KnownFile::PREDICT_SVG, picture)?;
    directory.finish()?;
    Ok(screen.finish()?)
}
