//! `md-cli predict` on a grid: messages are those that a run would send, and the costs of
//! computation are those of measured runs.

mod measured;

use std::collections::BTreeMap;
use std::path::Path;

use md_core::ExchangePattern;
use md_core::words::counted;
use md_files::output::{Progress, ResultFiles, Screen, Verbosity, holds_results_but};
use md_files::store::OutputDirectory;
use md_grid::stencil::{self, Precision};
use md_grid::{Messages, Schedule};
use md_lab::machine::Machine;
use md_lab::plot::Picture;
use md_lab::predict::{
    Forecast, GridCosts, GridExchange, GridStep, GridSubject, LatticeBoltzmann, PredictError, Request,
    Scaling, grid_chart, grid_csv, grid_table, predict_grid,
};
use md_lab::{Strategy, name_of};
use md_scenario::failure::RunError;
use md_scenario::known_file::KnownFile;
use md_scenario::{LbmScenario, StencilScenario, effective_toml};

use super::predict::{self, PredictionChoices, read_machine, warn_of_doubts, warn_of_missing};
use super::{lbm, note_lock, note_removal, refused};
use crate::args::PredictArgs;
use crate::grid_inputs::{GridInputs, GridModel};
use crate::strategies::keys_of;
use measured::costs;

/// A scenario whose messages and computations per step are known without a run.
pub trait Scheduled: GridModel {
    /// Returns the schedule of a step on `ranks` ranks.
    ///
    /// # Errors
    /// Returns an error if the grid cannot be divided among these ranks.
    fn schedule(inputs: &GridInputs<Self>, ranks: usize) -> Result<Schedule, RunError>;

    /// Returns the kind of the problem, and the number of fields for which an update of a node
    /// counts, as in summary.json.
    fn subject(&self) -> (String, usize);

    /// Returns further properties that affect the time of an update, with their keys in
    /// summary.json.
    fn ways(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Returns whether the closed formula of a flow in double precision applies.
    fn has_formula(&self) -> bool {
        false
    }

    /// Sets the number of nodes along each axis, for any number of ranks, and the precision.
    fn resize(&mut self, nodes: [usize; 3], precision: Precision);
}

impl Scheduled for StencilScenario {
    fn schedule(inputs: &GridInputs<Self>, ranks: usize) -> Result<Schedule, RunError> {
        Ok(stencil::schedule(&inputs.scenario.problem(&inputs.source, ranks)?)?)
    }

    fn subject(&self) -> (String, usize) {
        (self.stencil.kind.name().to_owned(), self.stencil.kind.fields())
    }

    fn resize(&mut self, nodes: [usize; 3], precision: Precision) {
        (self.stencil.grid, self.stencil.grid_per_rank) = (Some(nodes), None);
        self.stencil.precision = precision;
    }
}

impl Scheduled for LbmScenario {
    fn schedule(inputs: &GridInputs<Self>, ranks: usize) -> Result<Schedule, RunError> {
        lbm::schedule(inputs, ranks)
    }

    fn subject(&self) -> (String, usize) {
        ("lbm".to_owned(), 1)
    }

    fn ways(&self) -> Vec<(&'static str, String)> {
        vec![("pattern", name_of(self.lbm.pattern)), ("collision", name_of(self.lbm.collision_kind()))]
    }

    fn has_formula(&self) -> bool {
        self.lbm.precision == Precision::Double
    }

    fn resize(&mut self, nodes: [usize; 3], precision: Precision) {
        (self.lbm.grid, self.lbm.precision) = (nodes, precision);
    }
}

/// Predicts the time of a step, in one process.
///
/// # Errors
/// See [`RunError`].
pub fn predict_on_grid<M: Scheduled>(
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
fn predict_ranks<M: Scheduled>(
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

fn request<M: Scheduled>(
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
fn step<M: Scheduled>(
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
    step_of(&M::schedule(&inputs, ranks)?, ranks, inputs.scenario.subject().1)
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

fn publish<M: Scheduled>(
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
    let (kind, fields) = inputs.scenario.subject();
    let subject = GridSubject { kind, fields, messages: name_of(inputs.scenario.parallel().messages) };
    let csv = grid_csv(forecast, &subject, request, env!("CARGO_PKG_VERSION"));
    directory.write_encoded(KnownFile::PREDICT, csv)?;
    let picture = grid_chart(forecast).svg().map(String::into_bytes);
    directory.write_encoded(KnownFile::PREDICT_SVG, picture)?;
    directory.finish()?;
    Ok(screen.finish()?)
}
