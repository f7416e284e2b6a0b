//! `md-cli compare`: halo strategies on the user's scenario and machine, checked, measured and ranked.

mod adapt;
mod conduct;
mod protocols;
mod strategies;
#[cfg(test)]
mod tests;
mod varied;

use std::cell::Cell;
use std::path::PathBuf;
use std::time::Duration;

use md_comm::World;
use md_core::force::Precision;
use md_core::partition::PartitionKind;
use md_engine::{NeighborReport, Protocol, Setup};
use md_lab::compare::{
    Comparison, Particles, Plan, Prepared, Problem, Reference, Results, Sampling, Terms, chart, compare_csv,
    recommendation, table,
};
use md_lab::plot::Picture;
use md_lab::{RunContext, Strategy, Transports, Variant};

use super::timeline::Timelines;
use super::{context, context_without_setup, open_on_root, output_directory};
use crate::args::CompareArgs;
use crate::error::RunError;
use crate::inputs::Inputs;
use crate::output::warnings::first_danger;
use crate::output::{KnownFile, OutputDirectory, OutputError, ResultFiles, Screen, Verbosity};
use crate::scenario::{Neighbor, Parallel, Scenario};
use crate::session::warn;
use crate::{cores, memory, setup};
pub(super) use adapt::{adapt, adapt_variant};
pub(super) use conduct::{Conditions, Outputs, Report, conduct};
pub use protocols::{Combined, compare_protocols};
pub(super) use strategies::select;
pub use strategies::{Choices, Selection};
pub(super) use varied::MESSAGES;

/// Steps per sample.
const STEPS: u64 = 20;

/// The ranks' agreement waits for computations too, such as the reference. A call that hangs is the monitor's business.
pub(super) const SHORTEST_AGREEMENT_WATCHDOG: Duration = Duration::from_secs(600);

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
    let timeout = Duration::from_secs_f64(args.timeout);
    agreement.set_watchdog(SHORTEST_AGREEMENT_WATCHDOG.max(4 * timeout));
    let steps = args.steps.unwrap_or_else(|| steps(&scenario.neighbor));
    let sampling = Sampling { repeat: args.repeat as usize, steps, timeout };
    let ranks_per_core = ranks_per_core(agreement)?;
    // What cannot be computed or written is found out first, before old results are removed and new ones computed.
    let setup = divided_by_any(inputs, agreement.ranks())?;
    let open_checked = || {
        memory::expect(inputs, &setup, memory::of_machine())?;
        Ok::<_, RunError>(open(inputs, args, &variants)?)
    };
    memory::expect_timeline(agreement, &args.trace)?;
    let outputs = open_on_root(agreement, open_checked)?;
    let reference = Reference::compute(agreement, &setup, terms(inputs))?;
    let available = memory::available_to_all(agreement)?;
    let timelines = Timelines::new(&args.trace);
    let plan =
        ScenarioPlan { inputs, scenario, agreement, available, steps, warned: Cell::new(false), timelines };
    let is_own =
        |variant: &Variant| adapt_variant(variant, scenario).is_ok_and(|it| it.scenario == *scenario);
    let between_nodes = scenario.parallel.between_nodes;
    let report = outputs.map(|(directory, screen)| {
        let frame = Comparison {
            rows: Vec::new(),
            own: variants.iter().position(is_own),
            controls: Vec::new(),
            between_nodes,
            repeat: args.repeat as usize,
            ranks_per_core,
        };
        Outputs { directory, screen, report: frame }
    });
    let progress = args.progress;
    let conditions =
        Conditions { transports, variants: &variants, between_nodes, sampling, progress, end_job };
    let outcome = conduct(&Particles { plan: &plan, reference }, &conditions, report)?;
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
        self.timelines.take(&variant.names(), part);
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

fn open(
    inputs: &Inputs,
    args: &CompareArgs,
    variants: &[Variant],
) -> Result<(OutputDirectory, Screen), OutputError> {
    let verbosity = Verbosity::unless(args.quiet);
    let elsewhere: Vec<PathBuf> =
        Timelines::files(&args.trace, variants.iter().map(Variant::names)).collect();
    let results = ResultFiles { elsewhere: &elsewhere, ..ResultFiles::default() };
    let directory = output_directory(inputs, &results, verbosity)?;
    let mut screen = Screen::stdout(verbosity);
    screen.print(&format!("comparing {} strategies, {} repetitions\n", variants.len(), args.repeat));
    Ok((directory, screen))
}

impl Report<RunContext> for Comparison {
    fn names(variant: &Variant) -> Vec<String> {
        variant.names()
    }

    fn publish(
        &self,
        results: &Results<RunContext>,
        screen: &mut Screen,
        directory: &OutputDirectory,
    ) -> Result<(), OutputError> {
        let comparison = &results.comparison(self);
        let (advice, chart) = (recommendation(comparison), chart(comparison));
        screen.print(&format!("\n{}\n{advice}", table(comparison)));
        directory.write_encoded(KnownFile::COMPARE, compare_csv(comparison))?;
        directory.write_encoded(KnownFile::RECOMMENDATION, Ok(advice.into_bytes()))?;
        directory.write_encoded(KnownFile::COMPARE_SVG, chart.svg().map(String::into_bytes))?;
        directory.write_encoded(KnownFile::COMPARE_PNG, chart.png())
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

/// Ranks on rank 0's machine per hardware thread of it. *Collective.*
fn ranks_per_core(world: &dyn World) -> Result<f64, RunError> {
    let hosts = world.gather(super::ROOT, gethostname::gethostname().as_encoded_bytes())?;
    let here = hosts.iter().filter(|host| *host == &hosts[0]).count();
    Ok(here as f64 / cores::of_machine() as f64)
}
