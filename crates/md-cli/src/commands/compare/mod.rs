//! `md-cli compare`: halo strategies on the user's scenario and machine, checked, measured and ranked.

mod adapt;
mod protocols;
mod strategies;
#[cfg(test)]
mod tests;
mod varied;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use md_comm::World;
use md_comm::monitor::{Heartbeat, Monitor};
use md_core::force::Precision;
use md_core::partition::PartitionKind;
use md_engine::{NeighborReport, Protocol, Setup};
use md_lab::compare::{
    Comparison, Plan, Prepared, Problem, Reference, Results, Sampling, Status, Terms, Trials, chart,
    compare_csv, recommendation, table,
};
use md_lab::plot::Picture;
use md_lab::{RunContext, Strategy, Transports, Variant, lock};

use super::timeline::Timelines;
use super::{context, context_without_setup, open_on_root, output_directory};
use crate::args::CompareArgs;
use crate::error::{COMMUNICATION_FAILED, Remains, RunError};
use crate::inputs::Inputs;
use crate::output::warnings::first_danger;
use crate::output::{KnownFile, OutputDirectory, OutputError, ResultFiles, Screen, Verbosity};
use crate::scenario::{Neighbor, Parallel, Scenario};
use crate::session::{print_error, warn};
use crate::{cores, memory, setup};
pub(super) use adapt::{adapt, adapt_variant};
pub use protocols::{Combined, compare_protocols};
pub(super) use strategies::select;
pub use strategies::{Choices, Selection};

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
    let (agreement, scenario) = (transports.agreement(), &by_ghosts(&inputs.scenario));
    let variants = choices.variants(scenario, &transports.backends()).map_err(super::refused)?;
    let timeout = Duration::from_secs_f64(args.timeout);
    agreement.set_watchdog(SHORTEST_AGREEMENT_WATCHDOG.max(4 * timeout));
    let steps = args.steps.unwrap_or_else(|| steps(&scenario.neighbor));
    let sampling = Sampling { repeat: args.repeat as usize, steps, timeout };
    let ranks_per_core = ranks_per_core(agreement)?;
    // What cannot be computed or written is found out first, before old results are removed and new ones computed.
    let setup = divided_by_any(inputs, agreement.ranks())?;
    let open = || {
        memory::expect(inputs, &setup, memory::of_machine())?;
        Ok::<_, RunError>(Outputs::open(inputs, args, &variants)?)
    };
    memory::expect_timeline(agreement, &args.trace)?;
    let outputs = open_on_root(agreement, open)?.map(|outputs| Arc::new(Mutex::new(outputs)));
    let reference = Reference::compute(agreement, &setup, terms(inputs))?;
    let available = memory::available_to_all(agreement)?;
    let timelines = Timelines::new(&args.trace);
    let plan =
        ScenarioPlan { inputs, scenario, agreement, available, steps, warned: Cell::new(false), timelines };
    let is_own =
        |variant: &Variant| adapt_variant(variant, scenario).is_ok_and(|it| it.scenario == *scenario);
    let frame = Comparison {
        rows: Vec::new(),
        own: variants.iter().position(is_own),
        controls: Vec::new(),
        between_nodes: scenario.parallel.between_nodes,
        repeat: args.repeat as usize,
        ranks_per_core,
    };
    let results = outputs.is_some().then(|| Arc::new(Mutex::new(Results::new(frame))));
    let between_nodes = scenario.parallel.between_nodes;
    let mut trials = Trials::new(transports, &plan, between_nodes, sampling, results.clone(), reference);
    let on_root = results.as_ref().zip(outputs.as_ref());
    let monitor = on_root
        .map(|(results, outputs)| watch(results, outputs, trials.heartbeat.clone(), 2 * timeout, end_job));
    let outcome = trials.run(&variants);
    drop(monitor);
    let statuses = outcome?;
    let timelines = plan.timelines.finish();
    let mut reasons = Vec::new();
    if let Some((results, outputs)) = on_root {
        let comparison = lock(results).comparison();
        lock(outputs).publish(&comparison)?;
        reasons = reasons_of(&comparison);
    }
    timelines?;
    exit_status(&variants, &statuses, &reasons)
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
    fn prepare(&self, variant: &Variant) -> Result<Prepared, Problem> {
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

/// Where a comparison is written and shown, on rank 0.
struct Outputs {
    directory: OutputDirectory,
    screen: Screen,
}

impl Outputs {
    fn open(inputs: &Inputs, args: &CompareArgs, variants: &[Variant]) -> Result<Self, OutputError> {
        let verbosity = Verbosity::unless(args.quiet);
        let elsewhere: Vec<PathBuf> =
            Timelines::files(&args.trace, variants.iter().map(Variant::names)).collect();
        let results = ResultFiles { elsewhere: &elsewhere, ..ResultFiles::default() };
        let directory = output_directory(inputs, &results, verbosity)?;
        let mut screen = Screen::stdout(verbosity);
        screen.print(&format!("comparing {} strategies, {} repetitions\n", variants.len(), args.repeat));
        Ok(Self { directory, screen })
    }

    /// Shows table and recommendation, and writes all files, the most precious first.
    fn publish(&mut self, comparison: &Comparison) -> Result<(), OutputError> {
        let (advice, chart) = (recommendation(comparison), chart(comparison));
        self.screen.print(&format!("\n{}\n{advice}", table(comparison)));
        self.directory.write_encoded(KnownFile::COMPARE, compare_csv(comparison))?;
        self.directory.write_encoded(KnownFile::RECOMMENDATION, Ok(advice.into_bytes()))?;
        self.directory.write_encoded(KnownFile::COMPARE_SVG, chart.svg().map(String::into_bytes))?;
        self.directory.write_encoded(KnownFile::COMPARE_PNG, chart.png())?;
        self.directory.finish()?;
        self.screen.finish()
    }
}

/// On rank 0: if the measuring thread stands still, publishes what there is and ends the job. A wait that the transports' own
/// watchdog can end comes first, on this rank and then on the others.
fn watch(
    results: &Arc<Mutex<Results>>,
    outputs: &Arc<Mutex<Outputs>>,
    heartbeat: Heartbeat,
    limit: Duration,
    end_job: fn(u8),
) -> Monitor {
    let (results, outputs) = (Arc::clone(results), Arc::clone(outputs));
    Monitor::start(
        move || limit,
        move || Some(heartbeat.count()),
        move |_| {
            let (mut results, mut outputs) = (lock(&results), lock(&outputs));
            results.give_up_current(&gave_up(limit));
            let comparison = results.comparison();
            // The job ends with an error in any case; what could not be written has been shown.
            let _ = outputs.publish(&comparison);
            outputs.directory.unlock();
            let hung = comparison.rows.iter().filter(|row| row.status == Status::Timeout);
            print_error(&timed_out(hung.map(|row| row.context.strategy.to_string()), limit));
            end_job(COMMUNICATION_FAILED);
        },
    )
}

/// What is said of the strategy at work when the job has to be ended.
pub(super) fn gave_up(limit: Duration) -> String {
    format!("a call did not come back within {} s; the job was ended", limit.as_secs_f64())
}

/// The same of all that have timed out, as the program's last word.
pub(super) fn timed_out(names: impl Iterator<Item = String>, limit: Duration) -> String {
    let names: Vec<String> = names.collect();
    let who = if names.is_empty() { "before anything was measured".to_owned() } else { names.join(", ") };
    format!("timed out: {who}: {}; see {}", gave_up(limit), KnownFile::COMPARE.name())
}

/// Strategies move ghosts, whatever the scenario's protocol.
fn by_ghosts(scenario: &Scenario) -> Scenario {
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

/// What kept backends from being measured.
fn reasons_of(comparison: &Comparison) -> Vec<String> {
    let mut reasons = BTreeMap::<&str, Vec<&str>>::new();
    for row in comparison.rows.iter().filter(|row| row.status != Status::Ok) {
        reasons.entry(&row.note).or_default().push(row.context.strategy.backend.name());
    }
    let one = |(note, mut backends): (&str, Vec<&str>)| {
        backends.dedup();
        format!("{}: {note}", backends.join(", "))
    };
    reasons.into_iter().map(one).collect()
}

/// How the program ends; the reasons are known on rank 0, which says them.
fn exit_status(
    variants: &[Variant],
    statuses: &[Option<Status>],
    reasons: &[String],
) -> Result<(), RunError> {
    let named = |wanted: Status| -> Vec<String> {
        let with = variants.iter().zip(statuses).filter(|(_, status)| **status == Some(wanted));
        let name = |variant: &Variant| {
            let names = variant.names();
            let (backend, others) = names.split_at(1);
            format!("{} ({})", backend[0], others.join(", "))
        };
        with.map(|(variant, _)| name(variant)).collect()
    };
    RunError::of_outcomes(
        [
            ("wrong forces", named(Status::Wrong)),
            ("failed", named(Status::Failed)),
            ("timed out", named(Status::Timeout)),
        ],
        KnownFile::COMPARE.name(),
    )?;
    if statuses.iter().any(Option::is_none) {
        return Ok(());
    }
    Err(RunError::Compared {
        summary: format!("nothing could be measured: {}", reasons.join("; ")),
        exit_code: COMMUNICATION_FAILED,
        remains: Remains::Nothing,
    })
}
