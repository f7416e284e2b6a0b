//! `md-cli compare`: halo strategies on the user's scenario and machine, checked, measured and ranked.

mod conduct;
#[cfg(test)]
mod tests;

use std::cell::Cell;

use md_comm::World;
use md_core::force::Precision;
use md_core::partition::PartitionKind;
use md_engine::{NeighborReport, Protocol, Setup};
use md_lab::compare::{Particles, Plan, Prepared, Problem, Reference, RowContext, Terms};
use md_lab::{RunContext, Strategy, Transports, Variant};

use super::compare_protocols::compare_protocols;
use super::timeline::Timelines;
use super::{context, context_without_setup, open_on_root, output_directory};
use crate::args::CompareArgs;
use crate::error::RunError;
use crate::inputs::Inputs;
use crate::output::warnings::first_danger;
use crate::scenario::{Neighbor, Parallel, Scenario};
use crate::session::warn;
use crate::strategies::{Choices, adapt_variant};
use crate::{memory, setup};
pub(super) use conduct::{Conditions, Outputs, conduct};

/// Steps per sample.
const STEPS: u64 = 20;

/// Compares strategies on this rank; `end_job` ends all ranks with an exit code, from any thread, also while a call does not
/// return. *Collective.*
///
/// # Errors
/// [`RunError::Compared`] if a strategy was wrong, failed or timed out; see [`RunError`] for the others.
pub fn compare(
    transports: &dyn Transports,
    inputs: &Inputs,
    args: &CompareArgs,
    choices: &Choices,
    end_job: fn(u8),
) -> Result<(), RunError> {
    if let Some(combined) = &choices.combined {
        return compare_protocols(transports, inputs, args, combined);
    }
    if let Some(option) = choices.of_grids() {
        return Err(super::refused(format!(
            "{option} is for scenarios with a grid, and this one has particles"
        )));
    }
    let agreement = transports.agreement();
    let scenario = &by_ghosts(&inputs.scenario, agreement.rank());
    let variants = choices.variants(scenario, &transports.backends()).map_err(super::refused)?;
    let steps = args.steps.unwrap_or_else(|| steps(&scenario.neighbor));
    let between_nodes = scenario.parallel.between_nodes;
    let conditions = Conditions { transports, args, variants: &variants, between_nodes, steps, end_job };
    let is_own =
        |variant: &Variant| adapt_variant(variant, scenario).is_ok_and(|it| it.scenario == *scenario);
    conditions.watch_agreement();
    let frame = conditions.frame(is_own)?;
    // What cannot be computed or written is found out first, before old results are removed and new ones computed.
    let setup = divided_by_any(inputs, agreement.ranks())?;
    memory::expect_timeline(agreement, &args.trace)?;
    let outputs = open_on_root(agreement, || {
        memory::expect(inputs, &setup, memory::of_machine())?;
        Ok::<_, RunError>(Outputs::open(&conditions, frame, |results, verbosity| {
            output_directory(inputs, results, verbosity)
        })?)
    })?;
    let reference = Reference::compute(agreement, &setup, terms(inputs))?;
    let available = memory::available_to_all(agreement)?;
    let timelines = Timelines::new(&args.trace);
    let plan =
        ScenarioPlan { inputs, scenario, agreement, available, steps, warned: Cell::new(false), timelines };
    let outcome = conduct(&Particles { plan: &plan, reference }, &conditions, outputs)?;
    plan.timelines.finish()?;
    outcome.into_result("wrong forces")
}

/// What strategies become in the inputs' scenario.
struct ScenarioPlan<'c> {
    inputs: &'c Inputs,
    scenario: &'c Scenario,
    agreement: &'c dyn World,
    /// Bytes that each rank can have; `None` where nothing tells.
    available: Option<f64>,
    /// Per sample.
    steps: u64,
    /// Whether stale neighbourhoods have been warned of.
    warned: Cell<bool>,
    timelines: Timelines<'c>,
}

impl Plan for ScenarioPlan<'_> {
    fn prepare(&self, variant: &Variant) -> Result<Prepared<Setup, RunContext>, Problem> {
        let adapted = adapt_variant(variant, self.scenario).map_err(Problem::unavailable)?;
        let (note, scenario) = (adapted.note(), adapted.scenario);
        variant.strategy.backend.availability().map_err(Problem::unavailable)?;
        let setup = setup::of_scenario(self.inputs, &scenario, self.agreement.ranks())?;
        memory::expect(self.inputs, &setup, self.available)?;
        let context = context(self.agreement, &scenario, &setup, self.steps);
        Ok(Prepared { setup, options: scenario.parallel.rma.options(), note, context })
    }

    fn context(&self, strategy: Strategy) -> RunContext {
        RunContext { strategy, ..context_without_setup(self.agreement, self.scenario, self.steps) }
    }

    fn look_at(&self, report: &NeighborReport) {
        if let Some(danger) = first_danger(report).filter(|_| !self.warned.replace(true)) {
            warn(&danger);
        }
    }

    fn timeline_events(&self) -> Option<usize> {
        self.timelines.events()
    }

    fn take_timeline(&self, variant: &Variant, part: &[u8]) {
        self.timelines.take(&variant.names(RunContext::KEYS), part);
    }
}

/// What a set-up may fail with.
impl From<RunError> for Problem {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Scenario(error) => Self::unavailable(error.to_string()),
            RunError::Communication(error) => error.into(),
            other => Self::failed(other.to_string()),
        }
    }
}

/// Strategies move ghosts, whatever the scenario's protocol; rank 0 says so.
pub(super) fn by_ghosts(scenario: &Scenario, rank: usize) -> Scenario {
    let protocol = scenario.parallel.protocol;
    if protocol != Protocol::One && rank == super::ROOT {
        let name = protocol.name();
        warn(&format!(
            "`parallel.protocol` is `{name}`, but strategies move ghosts: these are numbers of `one`"
        ));
    }
    let parallel = Parallel { protocol: Protocol::One, ..scenario.parallel.clone() };
    Scenario { parallel, ..scenario.clone() }
}

/// The initial state, divided as any number of ranks can divide it.
fn divided_by_any(inputs: &Inputs, ranks: usize) -> Result<Setup, RunError> {
    let mut scenario = inputs.scenario.clone();
    scenario.parallel = Parallel { partition: PartitionKind::Stripe, ..Parallel::default() };
    scenario.neighbor.precision = Precision::Double;
    setup::of_scenario(inputs, &scenario, ranks)
}

fn terms(inputs: &Inputs) -> Terms {
    let (interaction, species) = (&inputs.scenario.interaction, &inputs.scenario.species);
    Terms {
        diameter: interaction.diameter(species),
        force_unit: interaction.force_unit(species),
        precision: inputs.scenario.neighbor.precision,
    }
}

/// So many that the neighbourhood is not rebuilt in between, where it is rebuilt on a schedule that leaves room.
fn steps(neighbor: &Neighbor) -> u64 {
    match neighbor.rebuild.every {
        Some(every @ 2..=STEPS) => every - 1,
        _ => STEPS,
    }
}
