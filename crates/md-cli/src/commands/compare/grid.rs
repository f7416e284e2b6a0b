//! `md-cli compare` on a grid: halo strategies on a stencil or a flow, checked bit by bit.
//!
//! The reference is the same problem with two-sided messages (between threads, with their own
//! transport). All strategies must reproduce its bits.

use std::rc::Rc;

use md_comm::{RmaOptions, Traffic, World};
use md_core::words::counted;
use md_engine::clock::PhaseObserver;
use md_engine::{Phase, Timings};
use md_files::memory;
use md_grid::{Application, GridError, Messages, application};
use md_lab::compare::{
    Conditions, Exchanged, Ground, MeasurementContext, Place, Prepared, RowContext, Running, WARM_UP,
};
use md_lab::{Problem, Transports, Variant, name_of};
use md_scenario::Scenario;
use md_scenario::failure::RunError;

use super::{Call, open_on_root, refused};
use crate::args::CompareArgs;
use crate::commands::grid_run;
use crate::commands::timeline::expect_timeline;
use crate::grid_inputs::{GridInputs, GridModel};
use crate::report::grid::GridContext;
use crate::strategies::{Choices, MESSAGES, adapt_variant, keys_of};

/// Default number of steps per sample.
const STEPS: u64 = 10;

/// Compares strategies on this rank. `end_job` ends all ranks with an exit code, from any thread.
/// *Collective.*
///
/// # Errors
/// Returns [`Summarised`](crate::commands::ending::Summarised) if a strategy was wrong, failed or
/// timed out. See [`RunError`] for other errors.
pub fn compare_on_grid<M: GridModel>(
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
    expect_timeline(agreement, &args.trace)?;
    let problem = M::problem(inputs, agreement.ranks())?;
    M::expect_room(inputs, &problem, memory::available_to_all(agreement)?)?;
    let base = keys_of(inputs)?;
    let variants = choices.variants(&base, &transports.backends()).map_err(refused)?;
    let steps = args.steps.unwrap_or(STEPS);
    let call = Call { transports, args, end_job };
    let own = inputs.scenario.parallel().messages;
    let is_own = |variant: &Variant| {
        messages_of(variant).is_none_or(|messages| messages == own)
            && adapt_variant(variant, &base).is_ok_and(|it| it.scenario == base)
    };
    let between_nodes = inputs.scenario.parallel().between_nodes;
    let conditions = call.conditions(&variants, is_own, between_nodes, steps)?;
    let outputs = open_on_root(agreement, || {
        call.open::<GridContext>(&variants, |results, verbosity| {
            grid_run::output_directory(inputs, results, verbosity)
        })
    })?;
    let grid = Grid::of(transports, inputs, &base, problem, &conditions)?;
    call.conduct(&grid, conditions, outputs, "wrong values")
}

/// Number of steps after which the bits are compared.
const CHECKED_STEPS: u64 = 3;

/// Grid of a scenario, and the fingerprint that every strategy must reproduce.
struct Grid<'c, M: GridModel> {
    agreement: &'c dyn World,
    inputs: &'c GridInputs<M>,
    /// Scenario with the keys of the strategies.
    base: &'c Scenario,
    problem: M::Problem,
    /// Number of steps per sample.
    steps: u64,
    /// Fingerprint of the values after [`CHECKED_STEPS`].
    fingerprint: u64,
}

/// Inputs and problem of a strategy.
struct GridSetup<M: GridModel> {
    inputs: GridInputs<M>,
    problem: M::Problem,
}

impl<'c, M: GridModel> Grid<'c, M> {
    /// Computes the fingerprint with the first of the backends. *Collective.*
    fn of(
        transports: &'c dyn Transports,
        inputs: &'c GridInputs<M>,
        base: &'c Scenario,
        problem: M::Problem,
        &Conditions { steps, timeout, .. }: &Conditions,
    ) -> Result<Self, RunError> {
        let agreement = transports.agreement();
        let world = &*transports.world(transports.backends()[0], RmaOptions::default())?;
        world.set_watchdog(timeout);
        // This backend may not support datatypes.
        let mut packed = inputs.clone();
        packed.scenario.parallel_mut().messages = Messages::default();
        let packed_problem = M::problem(&packed, agreement.ranks())?;
        let mut app = M::open(world, &packed, &packed_problem)?;
        let made = (0..CHECKED_STEPS).try_for_each(|_| app.step().map(|_| ()));
        let fingerprint = |()| application::fingerprint(&*app, world, M::decomposition(&packed_problem));
        match made.and_then(fingerprint) {
            Ok(fingerprint) => {
                app.finalise()?;
                Ok(Self { agreement, inputs, base, problem, steps, fingerprint })
            }
            Err(error) => {
                // As in `Ground::at_work`.
                std::mem::forget(app);
                Err(error.into())
            }
        }
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

/// Returns the way in which fields share messages, if the variant sets it.
fn messages_of(variant: &Variant) -> Option<Messages> {
    let is_meant = |messages: &Messages| {
        let value = Some(name_of(messages));
        variant.settings.iter().any(|it| it.key == MESSAGES && it.value == value)
    };
    Messages::ALL.iter().copied().find(is_meant)
}

impl RowContext for GridContext {
    const KEYS: &'static [&'static str] = &["backend", "exchange"];
    const BEFORE: &'static str = Self::COLUMNS;
    const SENT: &'static str = "messages_per_exchange,bytes_per_exchange";
    const PHASES: &'static [Phase] =
        &[Phase::HaloPack, Phase::HaloTransfer, Phase::HaloWait, Phase::HaloUnpack];

    fn extent(&self) -> String {
        let Self { kind, nodes, fields, .. } = self;
        format!("{kind} on {nodes} nodes, {}", counted(*fields, "field"))
    }

    fn job(&self) -> MeasurementContext<'_> {
        MeasurementContext { ranks: self.ranks, steps: self.steps, host: &self.host }
    }
}

impl<M: GridModel> Ground for Grid<'_, M> {
    type Setup = GridSetup<M>;
    type Context = GridContext;
    type Seen = ();
    type Running<'s>
        = GridAtWork<'s>
    where
        Self: 's;

    fn prepare(&self, variant: &Variant) -> Result<Prepared<GridSetup<M>, GridContext>, Problem> {
        let adapted = adapt_variant(variant, self.base).map_err(Problem::unavailable)?;
        let mut inputs = self.with(variant);
        inputs.scenario.parallel_mut().rma = adapted.scenario.parallel.rma;
        let problem = M::problem(&inputs, self.agreement.ranks());
        let problem = problem.map_err(|error| Problem::unavailable(error.to_string()))?;
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

    fn open<'s>(&'s self, world: &'s dyn World, setup: &'s GridSetup<M>) -> Result<GridAtWork<'s>, Problem> {
        let GridSetup { inputs, problem } = setup;
        Ok(GridAtWork { app: M::open(world, inputs, problem)?, sent_before: Traffic::default() })
    }

    fn look(&self, place: Place, setup: &GridSetup<M>) -> Result<(), Problem> {
        let decomposition = M::decomposition(&setup.problem);
        let fingerprint = self.at_work(place, setup, |running| {
            place.make_steps(running, CHECKED_STEPS)?;
            or_problem(application::fingerprint(&*running.app, place.world, decomposition))
        })?;
        let wrong = || Problem::wrong(format!("other values after {CHECKED_STEPS} steps than the reference"));
        (fingerprint == self.fingerprint).then_some(()).ok_or_else(wrong)
    }
}

/// A running application.
struct GridAtWork<'s> {
    app: Box<dyn Application + 's>,
    /// Traffic before the measurement.
    sent_before: Traffic,
}

impl Running for GridAtWork<'_> {
    fn time_exchanges(&mut self, place: Place, count: usize) -> Result<Exchanged, Problem> {
        let before = self.app.traffic();
        let seconds = place.time(count, || or_problem(self.app.exchange()))?;
        let after = self.app.traffic();
        let (messages, bytes) = (after.messages - before.messages, after.bytes - before.bytes);
        Ok(Exchanged::of(seconds, Traffic { messages, bytes }, WARM_UP + count))
    }

    fn start_measuring(&mut self) -> Result<(), Problem> {
        self.sent_before = self.app.traffic();
        self.app.clock().restart();
        Ok(())
    }

    fn step(&mut self) -> Result<(), Problem> {
        or_problem(self.app.step()).map(|_| ())
    }

    fn timings(&mut self, place: Place, steps: u64) -> Result<Timings, Problem> {
        let timing = application::timing(&mut *self.app, steps, self.sent_before);
        Ok(Timings::reduce(&timing, place.world)?)
    }

    fn observe(&mut self, observer: Rc<dyn PhaseObserver>) {
        self.app.clock().observe(observer);
    }

    fn finalise(self) -> Result<(), Problem> {
        or_problem(self.app.finalise())
    }
}

fn or_problem<T>(result: Result<T, GridError>) -> Result<T, Problem> {
    Ok(result.map_err(RunError::from)?)
}
