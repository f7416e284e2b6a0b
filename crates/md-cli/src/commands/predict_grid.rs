//! `md-cli predict` on a grid: the messages are those that a run would send, what computing costs is from a run's own phases.

use md_core::words::counted;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use md_comm::Backend;
use md_core::ExchangePattern;
use md_engine::Phase;
use md_grid::stencil::Precision;
use md_grid::{Messages, Schedule, stencil};
use md_lab::machine::Machine;
use md_lab::plot::Picture;
use md_lab::predict::{
    CAVEATS, Forecast, GridCost, GridCosts, GridExchange, GridStep, GridTimes, PredictError, Prediction,
    Request, SHOWN, Scaling, chart_named, leaders, predict_grid, remarks,
};
use md_lab::tables::table;
use md_lab::{EncodeError, Strategy, name_of, significant};
use serde::Deserialize;

use super::compare_grid::keys_of;
use super::predict::{Wish, each_once};
use super::{lbm, note_lock, note_removal, refused};
use crate::args::PredictArgs;
use crate::error::RunError;
use crate::grid_inputs::{GridInputs, GridModel};
use crate::memory;
use crate::output::{KnownFile, OutputDirectory, ResultFiles, Screen, Verbosity, holds_results_but};
use crate::scenario::{LbmScenario, StencilScenario, effective_toml};
use crate::text_file::read_text;

const DIGITS: usize = 4;
/// Ranks of a run.
const MOST_MEASURED: usize = 1 << 20;
/// What a prediction on a grid has of the phases.
const PHASES: [Phase; 6] = [
    Phase::Integrate,
    Phase::HaloPack,
    Phase::HaloTransfer,
    Phase::HaloWait,
    Phase::HaloUnpack,
    Phase::Reduce,
];

/// A scenario whose steps are known without running it.
pub trait Scheduled: GridModel {
    /// Its step on so many ranks.
    ///
    /// # Errors
    /// A grid that cannot be divided so.
    fn schedule(inputs: &GridInputs<Self>, ranks: usize) -> Result<Schedule, RunError>;

    /// What is computed, and the number of fields that an update of a node is counted for, as in summary.json.
    fn subject(&self) -> (String, usize);

    /// Makes it a scenario of so many nodes along each axis, on any number of ranks.
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

    fn resize(&mut self, nodes: [usize; 3], precision: Precision) {
        (self.lbm.grid, self.lbm.precision) = (nodes, precision);
    }
}

/// What a run's summary.json says of its costs.
#[derive(Deserialize)]
struct Measured {
    kind: String,
    nodes: String,
    fields: usize,
    grid: String,
    exchange: ExchangePattern,
    messages: Messages,
    precision: Precision,
    steps: u64,
    bytes_sent: u64,
    phases: HashMap<String, MeasuredPhase>,
}

#[derive(Deserialize)]
struct MeasuredPhase {
    avg_s: f64,
}

impl Measured {
    fn read(path: &Path) -> Result<Self, RunError> {
        let name = path.display().to_string();
        let text = read_text(path, "summary of a run")
            .map_err(|reason| RunError::Unreadable { path: name.clone(), reason })?;
        serde_json::from_str(&text)
            .map_err(|error| refused(format!("{name} is no summary.json of a run on a grid: {error}")))
    }

    /// The step that was run: the scenario's, on those nodes and ranks.
    fn step<M: Scheduled>(&self, inputs: &GridInputs<M>) -> Result<GridStep, String> {
        let (kind, fields) = inputs.scenario.subject();
        if (&self.kind, self.fields) != (&kind, fields) {
            let Self { kind: other, fields: others, .. } = self;
            return Err(format!(
                "it is of `{other}` with {}, but the scenario of `{kind}` with {fields}",
                counted(*others, "field")
            ));
        }
        let [nodes, ranks] = [("nodes", &self.nodes), ("grid", &self.grid)].map(|(key, text)| {
            let counts: Option<Vec<usize>> = text.split('x').map(|count| count.parse().ok()).collect();
            let counts: Option<[usize; 3]> = counts.and_then(|counts| counts.try_into().ok());
            counts.filter(|counts| !counts.contains(&0)).ok_or(format!("`{key}` is `{text}`"))
        });
        let (nodes, ranks) = (nodes?, ranks?);
        let all = ranks.into_iter().try_fold(1_usize, usize::checked_mul).filter(|all| *all <= MOST_MEASURED);
        let all = all.ok_or(format!("`grid` is `{}`, more than {MOST_MEASURED} ranks", self.grid))?;
        let mut inputs = inputs.clone();
        inputs.scenario.resize(nodes, self.precision);
        let parallel = inputs.scenario.parallel_mut();
        (parallel.grid, parallel.exchange, parallel.messages) = (Some(ranks), self.exchange, self.messages);
        let first_line = |error: RunError| error.to_string().lines().next().unwrap_or_default().to_owned();
        let schedule = M::schedule(&inputs, all).map_err(first_line)?;
        let step = step_of(&schedule, all, fields).map_err(first_line)?;
        let per_step: f64 = step.sent_bytes();
        let sent = self.bytes_sent as f64;
        if (per_step * self.steps as f64 - sent).abs() > 0.5 {
            return Err(format!(
                "{sent} bytes were sent there in {}, but by this scenario it would be {per_step} in each: it is of another one",
                counted(self.steps, "step")
            ));
        }
        Ok(step)
    }

    fn times(&self, ranks: usize) -> Result<GridTimes, String> {
        let total_s = |phase: Phase| {
            let seconds = self.phases.get(phase.name()).map(|it| it.avg_s * ranks as f64);
            seconds.filter(|it| *it >= 0.0).ok_or(format!("`phases` has no time of `{}`", phase.name()))
        };
        if self.steps == 0 {
            return Err("no step was made there".to_owned());
        }
        Ok(GridTimes {
            steps: self.steps as f64,
            integrate_s: total_s(Phase::Integrate)?,
            reduce_s: total_s(Phase::Reduce)?,
            pack_s: total_s(Phase::HaloPack)?,
            unpack_s: total_s(Phase::HaloUnpack)?,
        })
    }
}

/// Costs from the runs that the arguments name.
fn costs<M: Scheduled>(
    inputs: &GridInputs<M>,
    paths: &[PathBuf],
    machine: &Machine,
    request: &Request,
) -> Result<GridCosts, RunError> {
    let mut costs = GridCosts::default();
    for path in paths {
        let measured = Measured::read(path)?;
        let told = |reason: String| refused(format!("{}: {reason}", path.display()));
        let step = measured.step(inputs).map_err(told)?;
        let times = measured.times(step.updates.len()).map_err(told)?;
        costs.add(&step, GridCost::of(&step, &times, machine, request));
    }
    Ok(costs)
}

/// Predicts, in one process.
///
/// # Errors
/// See [`RunError`].
pub fn predict_on_grid<M: Scheduled>(
    inputs: &GridInputs<M>,
    args: &PredictArgs,
    wish: &Wish,
) -> Result<(), RunError> {
    if let Some(option) = wish.choices.of_particles() {
        return Err(refused(format!("{option} is for scenarios of particles, and this one has a grid")));
    }
    if args.weak {
        let advice = "`grid_per_rank` makes a grid grow with the ranks";
        return Err(refused(format!(
            "--weak is for scenarios of particles, and this one has a grid: {advice}"
        )));
    }
    let machine = super::predict::read_machine(&args.machine)?;
    let mut request = request(inputs, args, wish)?;
    let costs = costs(inputs, &args.measured, &machine, &request)?;
    let Forecast { mut predictions, mut remarks } = Forecast::default();
    for ranks in std::mem::take(&mut request.ranks) {
        for exchange in exchanges(&request.strategies) {
            let step = match step(inputs, ranks, exchange) {
                Ok(step) => step,
                Err(error) => {
                    let reason = error.to_string();
                    let first = reason.lines().next().unwrap_or_default();
                    remarks.push(format!("{} left out: {first}", counted(ranks, "rank")));
                    break;
                }
            };
            let (found, said) = predict_grid(&step, exchange, &costs, &machine, &request)?;
            predictions.extend(found);
            remarks.extend(said);
        }
    }
    if predictions.is_empty() {
        return Err(PredictError::Nothing(remarks.join("; ")).into());
    }
    if costs.is_empty() {
        remarks.push("computing and packing are not in it: --measured gives what they cost".to_owned());
    }
    publish(inputs, args, &request, &Forecast { predictions, remarks })
}

fn request<M: Scheduled>(
    inputs: &GridInputs<M>,
    args: &PredictArgs,
    wish: &Wish,
) -> Result<Request, RunError> {
    let is_no_mover = |backend: &Backend| matches!(backend, Backend::Auto | Backend::Local);
    let backends: Vec<Backend> = Backend::ALL.iter().copied().filter(|it| !is_no_mover(it)).collect();
    Ok(Request {
        ranks: each_once(&args.ranks),
        ranks_per_node: args.ranks_per_node.map(|ranks| ranks as usize),
        placement: wish.placement,
        scaling: Scaling::Strong,
        strategies: wish.choices.strategies(&keys_of(inputs)?, &backends),
        between_nodes: inputs.scenario.parallel().between_nodes,
        steps: args.steps.map(|steps| steps as usize),
        seed: 0,
        memory: memory::of_machine(),
    })
}

/// Each once.
fn exchanges(strategies: &[Strategy]) -> Vec<ExchangePattern> {
    let is_wanted = |exchange: &ExchangePattern| strategies.iter().any(|it| it.exchange == *exchange);
    ExchangePattern::ALL.iter().copied().filter(is_wanted).collect()
}

/// What all ranks send and compute.
fn step<M: Scheduled>(
    inputs: &GridInputs<M>,
    ranks: usize,
    exchange: ExchangePattern,
) -> Result<GridStep, RunError> {
    let mut inputs = inputs.clone();
    // Every number of ranks has a grid of its own.
    inputs.scenario.parallel_mut().grid = None;
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
    screen.print(&text(forecast));
    directory.write_encoded(KnownFile::PREDICT, csv(inputs, request, &forecast.predictions))?;
    let picture = chart_named(forecast, &name).svg().map(String::into_bytes);
    directory.write_encoded(KnownFile::PREDICT_SVG, picture)?;
    directory.finish()?;
    Ok(screen.finish()?)
}

fn csv<M: Scheduled>(
    inputs: &GridInputs<M>,
    request: &Request,
    predictions: &[Prediction],
) -> Result<Vec<u8>, EncodeError> {
    let phases = PHASES.map(|phase| format!("{}_s", phase.name())).join(",");
    let columns = [
        "backend,exchange,messages,kind,nodes,fields,grid,ranks,messages_per_step,bytes_per_step,step_s,step_low_s,step_high_s",
        &phases,
        "exchange_s,ranks_per_node,placement,version",
    ];
    let (kind, fields) = inputs.scenario.subject();
    let how = inputs.scenario.parallel().messages;
    let row = |it: &Prediction| {
        let step = [it.step.median_s, it.step.low_s, it.step.high_s];
        (
            (it.strategy.backend, it.strategy.exchange, how, kind.clone(), it.atoms, fields),
            (it.grid.clone(), it.ranks, it.messages, it.bytes, step),
            PHASES.map(|phase| it.phases[phase as usize]),
            (it.exchange_s, request.ranks_per_node.unwrap_or(it.ranks)),
            (name_of(request.placement), env!("CARGO_PKG_VERSION")),
        )
    };
    table(&columns, predictions.iter().map(row))
}

fn name(strategy: Strategy) -> String {
    format!("{} {}", name_of(strategy.backend), name_of(strategy.exchange))
}

/// The best strategies on each number of ranks, what was left out, and what is not known.
fn text(forecast: &Forecast) -> String {
    let mut text = format!("step: median of those played; the best {SHOWN} on each number of ranks\n");
    for it in leaders(forecast) {
        let [step, exchange] = [it.step.median_s, it.exchange_s].map(|s| significant(1e3 * s, DIGITS));
        let [messages, bytes] = [it.messages, it.bytes].map(|it| significant(it, DIGITS));
        text += &format!(
            "{:>8} ranks ({})  {:24} step {step} ms, exchange {exchange} ms, {messages} messages, {bytes} bytes\n",
            it.ranks,
            it.grid,
            name(it.strategy)
        );
    }
    text + &remarks(forecast, &name, &CAVEATS[..CAVEATS.len() - 1])
}
