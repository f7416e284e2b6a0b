//! Strategies on a grid: whether the bits are right, and how long the exchange and the steps take.

use std::convert::Infallible;

use md_comm::monitor::Heartbeat;
use md_comm::{Reduction, World};
use md_core::words::counted;
use md_engine::{EngineError, Phase, Timings};
use md_grid::lbm::{FlowRun, LaneReal};
use md_grid::stencil::{self, Precision, Problem};
use md_grid::{Application, Decomposition, Messages, application};
use md_lab::compare::{
    self as lab, Ground, Job, Prepared, RowContext, Sample, Sampling, Subject, TRIAL, WARM_UP,
    exchanges_of_a_sample, time_exchanges,
};
use md_lab::trace::TracedWorld;
use md_lab::{Transports, Variant, name_of};
use serde::Serialize;

use crate::commands::timeline::Timelines;
use crate::commands::{lbm, stencil as of_stencil};
use crate::error::RunError;
use crate::grid_inputs::{GridInputs, GridModel};
use crate::memory;
use crate::output::OutputError;
use crate::output::grid::GridContext;
use crate::scenario::{LbmScenario, Scenario, StencilScenario};
use crate::strategies::{MESSAGES, adapt_variant};

/// Steps after which the bits are compared.
const CHECKED_STEPS: u64 = 3;

/// A scenario on which strategies can be compared.
pub trait Compared: GridModel {
    /// What is computed, on a number of ranks.
    type Problem;

    /// The scenario on so many ranks.
    ///
    /// # Errors
    /// A grid that cannot be divided so.
    fn problem(inputs: &GridInputs<Self>, ranks: usize) -> Result<Self::Problem, RunError>;

    /// Makes sure that every rank has enough memory. *Collective.*
    ///
    /// # Errors
    /// It has not.
    fn expect_room(
        world: &dyn World,
        inputs: &GridInputs<Self>,
        problem: &Self::Problem,
    ) -> Result<(), RunError>;

    /// Who has which nodes.
    fn decomposition(problem: &Self::Problem) -> &Decomposition;

    /// What makes a row stand alone.
    fn context(&self, world: &dyn World, problem: &Self::Problem) -> GridContext;

    /// The application at its start. *Collective.*
    ///
    /// # Errors
    /// See [`RunError`].
    fn open<'w>(
        world: &'w dyn World,
        inputs: &GridInputs<Self>,
        problem: &Self::Problem,
    ) -> Result<Box<dyn Application + 'w>, RunError>;
}

impl Compared for StencilScenario {
    type Problem = Problem;

    fn problem(inputs: &GridInputs<Self>, ranks: usize) -> Result<Problem, RunError> {
        Ok(inputs.scenario.problem(&inputs.source, ranks)?)
    }

    fn expect_room(world: &dyn World, inputs: &GridInputs<Self>, problem: &Problem) -> Result<(), RunError> {
        of_stencil::expect_room(inputs, problem, memory::available_to_all(world)?)
    }

    fn decomposition(problem: &Problem) -> &Decomposition {
        &problem.decomposition
    }

    fn context(&self, world: &dyn World, problem: &Problem) -> GridContext {
        of_stencil::context(world, self, problem)
    }

    fn open<'w>(
        world: &'w dyn World,
        _: &GridInputs<Self>,
        problem: &Problem,
    ) -> Result<Box<dyn Application + 'w>, RunError> {
        Ok(stencil::open(world, problem)?)
    }
}

impl Compared for LbmScenario {
    type Problem = Decomposition;

    fn problem(inputs: &GridInputs<Self>, ranks: usize) -> Result<Decomposition, RunError> {
        lbm::decomposition(ranks, inputs)
    }

    fn expect_room(
        world: &dyn World,
        inputs: &GridInputs<Self>,
        problem: &Decomposition,
    ) -> Result<(), RunError> {
        lbm::expect_room(inputs, problem, memory::available_to_all(world)?)
    }

    fn decomposition(problem: &Decomposition) -> &Decomposition {
        problem
    }

    fn context(&self, world: &dyn World, problem: &Decomposition) -> GridContext {
        lbm::context(world, self, problem)
    }

    fn open<'w>(
        world: &'w dyn World,
        inputs: &GridInputs<Self>,
        problem: &Decomposition,
    ) -> Result<Box<dyn Application + 'w>, RunError> {
        fn flow<'w, T: LaneReal>(
            world: &'w dyn World,
            inputs: &GridInputs<LbmScenario>,
            problem: &Decomposition,
        ) -> Result<Box<dyn Application + 'w>, RunError> {
            Ok(Box::new(FlowRun::new(world, lbm::at_start::<T>(world, inputs, problem)?)))
        }
        match inputs.scenario.lbm.precision {
            Precision::Double => flow::<f64>(world, inputs, problem),
            Precision::Single => flow::<f32>(world, inputs, problem),
        }
    }
}

/// A scenario's grid, and the bits that every strategy must give.
pub(super) struct Grid<'c, M: Compared> {
    agreement: &'c dyn World,
    inputs: &'c GridInputs<M>,
    /// Has its keys.
    base: &'c Scenario,
    problem: M::Problem,
    /// Per sample.
    steps: u64,
    /// Of the values after [`CHECKED_STEPS`].
    fingerprint: u64,
    timelines: Timelines<'c>,
}

/// What a strategy becomes.
pub(super) struct GridSetup<M: Compared> {
    inputs: GridInputs<M>,
    problem: M::Problem,
}

impl<'c, M: Compared> Grid<'c, M> {
    /// With the bits of the first of the backends. *Collective.*
    pub(super) fn of(
        transports: &'c dyn Transports,
        inputs: &'c GridInputs<M>,
        base: &'c Scenario,
        problem: M::Problem,
        sampling: Sampling,
        timelines: Timelines<'c>,
    ) -> Result<Self, RunError> {
        let agreement = transports.agreement();
        let world = transports.world(transports.backends()[0], md_comm::RmaOptions::default())?;
        world.set_watchdog(sampling.timeout);
        // That backend may not take datatypes.
        let mut packed = inputs.clone();
        packed.scenario.parallel_mut().messages = Messages::default();
        let packed_problem = M::problem(&packed, agreement.ranks())?;
        let subject = GridSetup { inputs: packed, problem: packed_problem };
        let heartbeat = Heartbeat::default();
        let fingerprint = fingerprint(Subject { world: &*world, setup: &subject, heartbeat: &heartbeat })?;
        let steps = sampling.steps;
        Ok(Self { agreement, inputs, base, problem, steps, fingerprint, timelines })
    }

    /// Completes the last timeline.
    pub(super) fn finish(&self) -> Result<(), OutputError> {
        self.timelines.finish()
    }

    fn with(&self, variant: &Variant) -> GridInputs<M> {
        let mut inputs = self.inputs.clone();
        let parallel = inputs.scenario.parallel_mut();
        (parallel.backend, parallel.exchange) = (variant.strategy.backend, variant.strategy.exchange);
        parallel.messages = messages_of(variant).unwrap_or(parallel.messages);
        inputs
    }

    fn context_of(&self, scenario: &M, problem: &M::Problem) -> GridContext {
        GridContext { steps: self.steps, ..scenario.context(self.agreement, problem) }
    }
}

/// How fields share messages, where that is varied.
fn messages_of(variant: &Variant) -> Option<Messages> {
    let is_meant = |messages: &Messages| {
        let value = Some(name_of(messages));
        variant.settings.iter().any(|it| it.key == MESSAGES && it.value == value)
    };
    Messages::ALL.iter().copied().find(is_meant)
}

/// Whether a variant is the scenario's own setting; `base` has its keys.
pub(super) fn is_own<M: GridModel>(variant: &Variant, base: &Scenario, inputs: &GridInputs<M>) -> bool {
    let own = inputs.scenario.parallel().messages;
    messages_of(variant).is_none_or(|messages| messages == own)
        && adapt_variant(variant, base).is_ok_and(|it| it.scenario == *base)
}

impl RowContext for GridContext {
    const KEYS: &'static [&'static str] = &["backend", "exchange"];
    const BEFORE: &'static str = Self::COLUMNS;
    const SENT: &'static str = "messages_per_exchange,bytes_per_exchange";
    const PHASES: &'static [Phase] =
        &[Phase::HaloPack, Phase::HaloTransfer, Phase::HaloWait, Phase::HaloUnpack];
    const AFTER: &'static [&'static str] = &[];

    fn before(&self) -> impl Serialize {
        self
    }

    fn after(&self) -> impl Serialize {
        [""; 0]
    }

    fn extent(&self) -> String {
        let Self { kind, nodes, fields, .. } = self;
        format!("{kind} on {nodes} nodes, {}", counted(*fields, "field"))
    }

    fn job(&self) -> Job<'_> {
        Job { ranks: self.ranks, steps: self.steps, host: &self.host }
    }
}

impl<M: Compared> Ground for Grid<'_, M> {
    type Setup = GridSetup<M>;
    type Context = GridContext;
    type Seen = u64;

    fn prepare(&self, variant: &Variant) -> Result<Prepared<GridSetup<M>, GridContext>, lab::Problem> {
        let adapted = adapt_variant(variant, self.base).map_err(lab::Problem::unavailable)?;
        variant.strategy.backend.availability().map_err(lab::Problem::unavailable)?;
        let mut inputs = self.with(variant);
        inputs.scenario.parallel_mut().rma = adapted.scenario.parallel.rma;
        let problem = M::problem(&inputs, self.agreement.ranks());
        let problem = problem.map_err(|error| lab::Problem::unavailable(error.to_string()))?;
        Ok(Prepared {
            options: inputs.scenario.parallel().rma.options(),
            note: adapted.note(),
            context: self.context_of(&inputs.scenario, &problem),
            setup: GridSetup { inputs, problem },
        })
    }

    fn context(&self, variant: &Variant) -> GridContext {
        self.context_of(&self.with(variant).scenario, &self.problem)
    }

    fn look(&self, subject: Subject<GridSetup<M>>) -> Result<u64, lab::Problem> {
        Ok(fingerprint(subject)?)
    }

    fn judge(
        &self,
        agreement: &dyn World,
        _: &Heartbeat,
        seen: &u64,
    ) -> Result<Result<(), String>, EngineError> {
        let mut wrong = [u64::from(*seen != self.fingerprint)];
        agreement.reduce(&mut wrong, Reduction::Highest)?;
        let what = || format!("other values after {CHECKED_STEPS} steps than the reference");
        Ok((wrong == [0]).then_some(()).ok_or_else(what))
    }

    fn calibrate(&self, subject: Subject<GridSetup<M>>) -> Result<usize, lab::Problem> {
        let Subject { world, heartbeat, .. } = subject;
        let exchange_s =
            with(subject, |app| Ok(time_exchanges(world, heartbeat, TRIAL, || app.exchange())?))?;
        Ok(exchanges_of_a_sample(exchange_s))
    }

    fn sample(
        &self,
        subject: Subject<GridSetup<M>>,
        exchanges: usize,
        steps: u64,
    ) -> Result<Sample, lab::Problem> {
        let Subject { world, heartbeat, .. } = subject;
        let sample = with(subject, |app| {
            let before = app.traffic();
            let exchange_s = time_exchanges(world, heartbeat, exchanges, || app.exchange())?;
            let after = app.traffic();
            let played = (exchanges + WARM_UP) as f64;
            let sent = [after.messages - before.messages, after.bytes - before.bytes];
            world.barrier()?;
            app.clock().restart();
            make_steps(app, steps, heartbeat)?;
            let timings = Timings::reduce(&application::timing(app, steps, after), world)?;
            Ok(Sample::of(world, exchange_s, sent.map(|count| count as f64 / played), (&timings, steps))?)
        });
        Ok(sample?)
    }

    fn record(
        &self,
        subject: Subject<GridSetup<M>>,
        variant: &Variant,
        steps: u64,
    ) -> Result<(), lab::Problem> {
        let Some(events) = self.timelines.events() else { return Ok(()) };
        let heartbeat = subject.heartbeat;
        let GridSetup { inputs, problem } = subject.setup;
        let (context, names) = (self.context_of(&inputs.scenario, problem), variant.names(GridContext::KEYS));
        let traced = &TracedWorld::new(subject.world, events)?;
        let recorded = with(Subject { world: traced, ..subject }, |app| {
            traced.start(|observer| app.clock().observe(observer))?;
            make_steps(app, steps, heartbeat)?;
            traced.stop()?;
            let Ok(_) = traced.write(&context, |part| {
                self.timelines.take(&names, part);
                Ok::<_, Infallible>(())
            })?;
            Ok(())
        });
        Ok(recorded?)
    }
}

/// Works on an application in its initial state. *Collective.*
fn with<M: Compared, T>(
    Subject { world, setup: GridSetup { inputs, problem }, heartbeat }: Subject<GridSetup<M>>,
    work: impl FnOnce(&mut dyn Application) -> Result<T, RunError>,
) -> Result<T, RunError> {
    let mut app = M::open(world, inputs, problem)?;
    heartbeat.beat();
    match work(&mut *app) {
        Ok(result) => {
            app.finalise()?;
            heartbeat.beat();
            Ok(result)
        }
        Err(error) => {
            // Taking back what is under way may take long, and the job will be ended from outside.
            std::mem::forget(app);
            Err(error)
        }
    }
}

/// A number that stands for the bits of all values after some steps, the same on all ranks. *Collective.*
fn fingerprint<M: Compared>(subject: Subject<GridSetup<M>>) -> Result<u64, RunError> {
    let Subject { world, setup, heartbeat } = subject;
    let decomposition = M::decomposition(&setup.problem);
    with(subject, |app| {
        make_steps(app, CHECKED_STEPS, heartbeat)?;
        Ok(application::fingerprint(app, world, decomposition)?)
    })
}

fn make_steps(app: &mut dyn Application, steps: u64, heartbeat: &Heartbeat) -> Result<(), RunError> {
    for _ in 0..steps {
        app.step()?;
        heartbeat.beat();
    }
    Ok(())
}
