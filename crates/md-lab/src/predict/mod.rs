//! Prediction of a scenario's step time on any number of ranks, for each halo-exchange strategy.
//!
//! ```text
//! scenario -> partition and halo plan of a run on P ranks (plans):
//!             particles and pairs of every rank, bytes of every message
//! machine  -> cost of each message and each piece of work (costs), ranks on nodes (placement)
//! protocol -> dependencies between ranks (protocol), played as maxima and sums of times (play)
//! ```
//!
//! The compute time of a rank is that of the linear model times (1 + scatter times a normal random
//! number); the number depends on seed, step and rank but not on the strategy. [`CAVEATS`] lists
//! what the model leaves out.

mod costs;
mod events;
mod grid;
mod grid_cost;
mod grid_report;
mod lattice_boltzmann;
mod placement;
pub(crate) mod plans;
mod play;
mod protocol;
mod report;
mod room;
mod sample;
mod senders;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use md_comm::Backend;
use md_core::force::{MethodKind, Precision};
use md_core::partition::choose_grid;
use md_core::rebuild::RebuildPolicy;
use md_core::words::counted;
use md_core::{Domain, ExchangePattern, Shell};
use md_engine::{Config, EngineError, ParticleSource, Phase, Setup};
use serde::Serialize;

use crate::machine::{ComputeCost, Distance, Machine, MessageCost};
use crate::statistics::Interval;
use crate::{Strategy, in_words, name_of};
use costs::Costs;
pub use grid::{GridExchange, GridStep, predict_grid};
pub use grid_cost::{GridCost, GridCosts, GridTimes};
pub use grid_report::{GridSubject, grid_chart, grid_csv, grid_table};
pub use lattice_boltzmann::{LatticeBoltzmann, LatticeBoltzmannStep};
pub(crate) use placement::Nodes;
pub use placement::Placement;
use plans::{Density, Plans, Stage};
use play::{Draws, Kind, Play, Work};
pub(crate) use protocol::{delivers_together, has_windows};
pub use report::{chart, predict_csv, table};
use sample::Sample;

/// Effects that the model leaves out.
pub const CAVEATS: [&str; 4] = [
    "contention: messages of different ranks that cross do not slow each other down, on no link and in no memory",
    "noise: ranks scatter by the residuals of the fit and no more; what an operating system does now and then is not in it",
    "caches: a particle or a pair costs as much on a small part of the system as on that which was measured",
    "motion: particles are where they are at the start, and hardly any change hands at a rebuild",
];

/// Seconds per step of each phase, indexed by `Phase as usize`: mean over ranks and steps.
pub type StepPhases = [f64; Phase::ALL.len()];

/// Dependence of the system on the number of ranks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scaling {
    /// The scenario's system on all ranks together.
    #[default]
    Strong,
    /// The scenario's system on each rank: the rank grid multiplies the cells of its lattice.
    Weak,
}

/// A request for predictions.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Numbers of ranks.
    pub ranks: Vec<usize>,
    /// Ranks per node; all ranks if `None`.
    pub ranks_per_node: Option<usize>,
    /// Ranks per group of a node's cores that share a last-level cache; all ranks if `None`.
    pub ranks_per_complex: Option<usize>,
    /// Order in which ranks fill the nodes.
    pub placement: Placement,
    /// Strong or weak.
    pub scaling: Scaling,
    /// Strategies of halo exchange, all with the configuration's partition.
    pub strategies: Vec<Strategy>,
    /// Backend of `hybrid` between nodes.
    pub between_nodes: Backend,
    /// Number of steps that are played; `None` plays fewer on many ranks.
    pub steps: Option<usize>,
    /// Seed of the scatter of compute times.
    pub seed: u64,
    /// Bytes that this process may use; `None` if unknown.
    pub memory: Option<f64>,
}

impl Request {
    /// Returns the placement of the ranks.
    fn nodes(&self, ranks: usize) -> Nodes {
        let nodes = Nodes::new(ranks, self.ranks_per_node.unwrap_or(ranks), self.placement);
        nodes.with_complexes(self.ranks_per_complex.unwrap_or(ranks))
    }

    /// Returns the number of steps that are played on this number of ranks.
    fn steps_on(&self, ranks: usize) -> usize {
        /// Number of steps times ranks.
        const RANK_STEPS: usize = 1_000_000;
        const RANGE: [usize; 2] = [8, 40];
        self.steps.unwrap_or((RANK_STEPS / ranks).clamp(RANGE[0], RANGE[1])).max(1)
    }
}

/// Prediction for a strategy on a number of ranks.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// The strategy.
    pub strategy: Strategy,
    /// Number of ranks.
    pub ranks: usize,
    /// Ranks per dimension.
    pub grid: String,
    /// Total number of particles.
    pub atoms: u64,
    /// Messages per step, mean over ranks.
    pub messages: f64,
    /// Bytes per step, mean over ranks.
    pub bytes: f64,
    /// Seconds of a step that does not rebuild, or of any step if all steps rebuild.
    pub step: Interval,
    /// Seconds of a step that rebuilds.
    pub rebuild_s: f64,
    /// Mean seconds over steps of both kinds.
    pub mean_s: f64,
    /// Seconds of the messages of a step that does not rebuild, exchanged repeatedly without
    /// computation and without packing.
    pub exchange_s: f64,
    /// Phases of the steps of [`Self::step`].
    pub phases: StepPhases,
}

/// All predictions of a request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Forecast {
    /// Predictions, by number of ranks in the order of the request.
    pub predictions: Vec<Prediction>,
    /// Strategies and numbers of ranks that were left out, and assumptions.
    pub remarks: Vec<String>,
    /// Reasons why all predictions are probably wrong.
    pub warnings: Vec<String>,
}

/// Error of a prediction.
#[derive(Debug, thiserror::Error)]
pub enum PredictError {
    /// The configuration is invalid.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The machine has no measured compute costs for the configuration.
    #[error(
        "there is no [[compute]] with method = \"{}\", precision = \"{}\" and threads = {threads}", name_of(.method), name_of(.precision)
    )]
    NoCompute {
        /// Method of the configuration.
        method: MethodKind,
        /// Precision of the configuration.
        precision: Precision,
        /// Threads per rank of the configuration.
        threads: usize,
    },
    /// Weak scaling of a list of particles, which fills only one box.
    #[error("weak scaling needs a lattice, which can be continued")]
    NoLattice,
    /// The prediction needs more memory than there is.
    #[error("{what} takes about {} of memory, but there are {} here", in_words(*needed), in_words(*there))]
    NoRoom {
        /// What needs the memory.
        what: String,
        /// Bytes needed.
        needed: f64,
        /// Bytes available.
        there: f64,
    },
    /// The system does not provide the memory.
    #[error("out of memory: there is no room for {what} (about {})", in_words(*needed))]
    Refused {
        /// What needs the memory.
        what: String,
        /// Bytes needed.
        needed: f64,
    },
    /// No strategy can be predicted; the text contains the reasons.
    #[error("no strategy can be predicted: {0}")]
    Nothing(String),
}

/// Number of steps that are played before the first one that counts.
const WARM_UP: usize = 2;
/// Number of rebuild steps that are played after the others.
const REBUILDS: usize = 3;
/// Assumed number of steps between rebuilds if displacements trigger them.
const ASSUMED_INTERVAL: u64 = 20;

/// Predicts the step times of the requested strategies and numbers of ranks.
///
/// # Errors
/// [`PredictError`].
pub fn predict(config: &Config, machine: &Machine, request: &Request) -> Result<Forecast, PredictError> {
    predict_and_tell(config, machine, request, |_| ())
}

/// Like [`predict`], with a call of `tell` before each number of ranks, with how many are done.
///
/// # Errors
/// [`PredictError`].
pub fn predict_and_tell(
    config: &Config,
    machine: &Machine,
    request: &Request,
    mut tell: impl FnMut(usize),
) -> Result<Forecast, PredictError> {
    let (method, precision, threads) =
        (config.neighbor.method, config.neighbor.precision, config.parallel.threads);
    let compute = machine.compute(method, precision, threads);
    let compute = compute.ok_or(PredictError::NoCompute { method, precision, threads })?;
    let sample = Sample::of(config, request.memory)?;
    let mut forecast = Forecast { warnings: sample.warning().into_iter().collect(), ..Forecast::default() };
    let mut left_out = LeftOut::new();
    for (done, &ranks) in request.ranks.iter().enumerate() {
        tell(done);
        let setup = match Setup::new(scaled(config, request.scaling, ranks)?, ranks) {
            Err(EngineError::Grid(error)) => {
                forecast.remarks.push(format!("{} left out: {error}", counted(ranks, "rank")));
                continue;
            }
            setup => setup?,
        };
        let steps = request.steps_on(ranks);
        room::expect(room::of_plans(&setup, WARM_UP + steps), request.memory, || {
            format!("a prediction of {} on {}", counted(steps, "step"), counted(ranks, "rank"))
        })?;
        let density = Density::of(&setup);
        let scene = Scene { density, setup: &setup, machine, compute, request, sample: &sample, steps };
        forecast.remarks.extend(scene.remark());
        forecast.predictions.extend(scene.predictions(&mut left_out));
    }
    forecast.remarks.extend(remarks_on(&left_out));
    forecast.remarks.extend(unjudged(machine, compute, &forecast.predictions));
    if config.neighbor.rebuild == RebuildPolicy::Displacement {
        forecast.remarks.push(format!("a rebuild every {ASSUMED_INTERVAL} steps is assumed in `mean_s`"));
    }
    if forecast.predictions.is_empty() {
        return Err(PredictError::Nothing(forecast.remarks.join("; ")));
    }
    Ok(forecast)
}

/// Numbers of ranks that are left out, by reason and backend.
type LeftOut = BTreeMap<(String, String), BTreeSet<usize>>;

/// Returns one remark for each set of backends with equal reason and numbers of ranks.
fn remarks_on(left_out: &LeftOut) -> Vec<String> {
    let mut backends: BTreeMap<(&String, &BTreeSet<usize>), Vec<String>> = BTreeMap::new();
    for ((reason, backend), ranks) in left_out {
        backends.entry((reason, ranks)).or_default().push(format!("`{backend}`"));
    }
    let remark = |((reason, ranks), backends): ((&String, &BTreeSet<usize>), Vec<String>)| {
        let ranks: Vec<String> = ranks.iter().map(usize::to_string).collect();
        format!(
            "left out on {} ranks, because the machine has no {reason}: {}",
            ranks.join(", "),
            backends.join(", ")
        )
    };
    backends.into_iter().map(remark).collect()
}

/// Returns a remark on the costs in use whose fits have no residuals to judge them by.
fn unjudged(machine: &Machine, compute: &ComputeCost, predictions: &[Prediction]) -> Option<String> {
    let is_used = |cost: &&MessageCost| {
        predictions
            .iter()
            .any(|it| it.ranks > 1 && [cost.backend, Backend::Hybrid].contains(&it.strategy.backend))
    };
    let messages = machine.messages.iter().filter(|cost| cost.is_unjudged()).filter(is_used);
    let names: BTreeSet<String> = messages.map(|cost| format!("`{}`", name_of(cost.backend))).collect();
    let messages = (!names.is_empty())
        .then(|| format!("messages of {}", names.into_iter().collect::<Vec<_>>().join(", ")));
    let compute = compute.is_unjudged().then(|| "computation".to_owned());
    let all: Vec<String> = messages.into_iter().chain(compute).collect();
    let what = all.join(" and ");
    (!all.is_empty()).then(|| {
        format!(
            "{what}: fitted to as many measurements as there are coefficients, nothing tells how good that is"
        )
    })
}

/// Returns the configuration for this number of ranks.
fn scaled(config: &Config, scaling: Scaling, ranks: usize) -> Result<Config, PredictError> {
    let mut config = config.clone();
    if scaling == Scaling::Strong {
        return Ok(config);
    }
    let ParticleSource::Lattice(lattice) = config.particles else { return Err(PredictError::NoLattice) };
    // The rank grid with the smallest surface if all parts are cubes.
    let cube = Domain {
        dimension: config.dimension,
        origin: [0.0; 3],
        lengths: [1.0; 3],
        boundary: config.boundary,
    };
    let most = if config.dimension.count() == 2 { [i32::MAX, i32::MAX, 1] } else { [i32::MAX; 3] };
    let grid = choose_grid(&cube, most, ranks).map_err(EngineError::Grid)?;
    let cells = lattice.cells();
    config.particles = lattice.with_cells([0, 1, 2].map(|dim| cells[dim] * grid[dim] as u64)).into();
    config.parallel.rank_grid = Some(grid);
    Ok(config)
}

/// Inputs of the predictions on one number of ranks.
struct Scene<'a> {
    setup: &'a Setup,
    density: Density,
    machine: &'a Machine,
    compute: &'a ComputeCost,
    request: &'a Request,
    sample: &'a Sample,
    steps: usize,
}

impl Scene<'_> {
    fn remark(&self) -> Option<String> {
        let is_mean = matches!(self.density, Density::Mean(_));
        let text = || {
            let ranks = counted(self.setup.ranks, "rank");
            format!("{ranks}: all cells are taken to have the mean number of particles")
        };
        is_mean.then(text)
    }

    /// Returns all predictions that are possible, and adds the others to `left_out`.
    fn predictions(&self, left_out: &mut LeftOut) -> Vec<Prediction> {
        let Self { setup, request, .. } = self;
        let nodes = request.nodes(setup.ranks);
        let draws = Draws::new(request.seed, setup.ranks, WARM_UP + self.steps);
        let mut works: Vec<(Shell, ExchangePattern)> = Vec::new();
        for strategy in &request.strategies {
            if !works.contains(&(strategy.shell, strategy.exchange)) {
                works.push((strategy.shell, strategy.exchange));
            }
        }
        let mut all = Vec::new();
        for (shell, exchange) in works {
            let second_share = setup.config.parallel.second_share.at_first();
            let plans = Plans::new(&setup.division, &nodes, &self.density, (shell, exchange), second_share);
            let work = Work::new(&plans, self.sample.computed_share(setup, &plans), self.compute);
            let of_these = |strategy: &&Strategy| (strategy.shell, strategy.exchange) == (shell, exchange);
            for &strategy in request.strategies.iter().filter(of_these) {
                match self.prediction(strategy, nodes, (&plans, &work), &draws) {
                    Ok(prediction) => all.push(prediction),
                    Err(reason) => {
                        left_out.entry((reason, name_of(strategy.backend))).or_default().insert(setup.ranks);
                    }
                }
            }
        }
        all.sort_by_key(|prediction| request.strategies.iter().position(|it| *it == prediction.strategy));
        all
    }

    fn prediction(
        &self,
        strategy: Strategy,
        nodes: Nodes,
        (plans, work): (&Plans, &Work),
        draws: &Draws,
    ) -> Result<Prediction, String> {
        let Self { setup, request, machine, compute, .. } = self;
        let costs = Costs::new(machine, compute, nodes, strategy.backend, request.between_nodes);
        let mut play = Play::new(plans, work, &costs, &strategy, setup.config.parallel.overlap)?;
        let every = interval(setup);
        let kind = if every <= 1 { Kind::Rebuilds } else { Kind::Steady };
        for step in 0..WARM_UP {
            play.step(draws, step, kind);
        }
        play.take_phases(WARM_UP);
        let samples: Vec<f64> = (0..self.steps).map(|step| play.step(draws, WARM_UP + step, kind)).collect();
        let phases = play.take_phases(samples.len());
        let step = Interval::of(&samples).ok_or_else(|| "no steps".to_owned())?;
        let rebuilds: Vec<f64> = (0..REBUILDS).map(|step| play.step(draws, step, Kind::Rebuilds)).collect();
        let rebuild_s = Interval::of(&rebuilds).map_or(step.median_s, |rebuild| rebuild.median_s);
        let rebuild_s = if every <= 1 { step.median_s } else { rebuild_s };
        let idle = ComputeCost::default();
        let alone = Costs::new(machine, &idle, nodes, strategy.backend, request.between_nodes);
        let legs = play::steady(&alone, plans, strategy.shell)?.into_iter().flatten();
        let exchange_s = play::exchange_s(&alone, strategy.backend, legs)?;
        let (messages, particles) = plans.sent(strategy.shell);
        Ok(Prediction {
            strategy,
            ranks: setup.ranks,
            grid: setup.grid_text(),
            atoms: setup.atoms(),
            messages: messages / setup.ranks as f64,
            bytes: play::VECTOR_BYTES * particles / setup.ranks as f64,
            mean_s: step.median_s + (rebuild_s - step.median_s) / every.max(1) as f64,
            step,
            rebuild_s,
            exchange_s,
            phases,
        })
    }
}

/// Returns the number of steps from one rebuild to the next.
fn interval(setup: &Setup) -> u64 {
    match setup.config.neighbor.rebuild {
        RebuildPolicy::Every(steps) => steps,
        RebuildPolicy::Displacement => ASSUMED_INTERVAL,
    }
}

/// Returns the seconds that two ranks take to exchange `messages` messages of `bytes` bytes each
/// way, repeatedly and without work. `ranges` are those of one backend over one distance.
pub(crate) fn exchange_s(ranges: &[MessageCost], messages: usize, bytes: f64) -> f64 {
    let Some(cost) = ranges.first() else { return 0.0 };
    let machine = Machine { messages: ranges.to_vec(), ..Machine::default() };
    let idle = ComputeCost::default();
    let nodes = Nodes::new(2, if cost.distance == Distance::Network { 1 } else { 2 }, Placement::Block);
    let costs = Costs::new(&machine, &idle, nodes, cost.backend, cost.backend);
    let mut out = plans::Messages::default();
    [1, 0].into_iter().for_each(|peer| out.push_row(vec![(peer, bytes, 0); messages]));
    let stage = Stage::new(&out, vec![0.0; 2], &nodes);
    let leg = costs.leg(stage.there(), [1.0, 0.0]);
    leg.and_then(|leg| play::exchange_s(&costs, cost.backend, [leg])).unwrap_or(0.0)
}

impl Forecast {
    /// Returns the best strategy on each number of ranks: that of the next smaller number, unless
    /// another one is faster with intervals that do not touch.
    pub fn best(&self) -> Vec<&Prediction> {
        let order: BTreeSet<usize> = self.predictions.iter().map(|it| it.ranks).collect();
        let mut best: Vec<&Prediction> = Vec::new();
        for ranks in order {
            let own = || self.predictions.iter().filter(|it| it.ranks == ranks);
            let fastest = own().min_by(|a, b| a.step.median_s.total_cmp(&b.step.median_s));
            // On one rank there are no messages, and no best strategy to keep.
            let before = best.last().filter(|it| it.messages > 0.0);
            let same = before.and_then(|it| own().find(|own| own.strategy == it.strategy));
            let is_as_good = |same: &&Prediction| fastest.is_none_or(|it| !it.step.is_below(&same.step));
            best.extend(same.filter(is_as_good).or(fastest));
        }
        best.sort_by_key(|best| self.predictions.iter().position(|it| it.ranks == best.ranks));
        best
    }

    /// Returns the changes of the best strategy: the last prediction of one and the first of the
    /// next.
    pub fn changes(&self) -> Vec<[&Prediction; 2]> {
        let mut best = self.best();
        best.retain(|prediction| prediction.messages > 0.0);
        best.sort_by_key(|prediction| prediction.ranks);
        best.windows(2)
            .filter(|pair| pair[0].strategy != pair[1].strategy)
            .map(|pair| [pair[0], pair[1]])
            .collect()
    }
}
