//! `md-cli compare` on a grid: halo strategies on a stencil scenario, checked bit by bit, measured in turn, and ranked.
//!
//! As with particles, every strategy has a world of its own, and the ranks agree in another one on what has become of each piece
//! of work. The reference is the same problem with two-sided messages (threads: with their own): all strategies must give its bits.

mod measure;
mod results;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use md_comm::monitor::{Heartbeat, Monitor};
use md_comm::{Backend, World};
use md_grid::GridError;
use md_grid::stencil::Problem;
use md_lab::compare::{self as lab, Exclusion, Status, agree};
use md_lab::plot::Picture;
use md_lab::{Transports, Variant, lock};

use super::compare::{Choices, SHORTEST_AGREEMENT_WATCHDOG, adapt_variant, gave_up, timed_out};
use super::stencil::{context, expect_room};
use super::timeline::Timelines;
use super::{grid_run, open_on_root, refused};
use crate::args::CompareArgs;
use crate::error::{COMMUNICATION_FAILED, Remains, RunError};
use crate::grid_inputs::{GridInputs, GridModel};
use crate::memory;
use crate::output::grid::GridContext;
use crate::output::{KnownFile, OutputDirectory, OutputError, Screen, Verbosity};
use crate::scenario::{Scenario, ScenarioSource, StencilScenario, load};
use crate::session::print_error;
use measure::Subject;
use results::{Entry, Results};

/// Steps per sample.
const STEPS: u64 = 10;
/// Steps after which the bits are compared.
const CHECKED_STEPS: u64 = 3;

/// Compares strategies on this rank; `end_job` ends all ranks with an exit code, from any thread. *Collective.*
///
/// # Errors
/// [`RunError::Compared`] if a strategy was wrong, failed or timed out; see [`RunError`] for the others.
pub fn compare_on_grid(
    transports: &dyn Transports,
    inputs: &GridInputs<StencilScenario>,
    args: &CompareArgs,
    choices: &Choices,
    end_job: fn(u8),
) -> Result<(), RunError> {
    let agreement = transports.agreement();
    expect_grid_options(choices)?;
    memory::expect_timeline(agreement, &args.trace)?;
    let problem = inputs.scenario.problem(&inputs.source, agreement.ranks())?;
    expect_room(inputs, &problem, memory::available_to_all(agreement)?)?;
    let variants = choices.variants(&keys_of(inputs)?, &transports.backends()).map_err(refused)?;
    let timeout = Duration::from_secs_f64(args.timeout);
    agreement.set_watchdog(SHORTEST_AGREEMENT_WATCHDOG.max(4 * timeout));
    let outputs = open_on_root(agreement, || Outputs::open(inputs, args, &variants))?;
    let outputs = outputs.map(|outputs| Arc::new(Mutex::new(outputs)));
    let results = Arc::new(Mutex::new(Results::default()));
    let heartbeat = Heartbeat::default();
    let monitor = outputs.as_ref().map(|outputs| {
        watch(Arc::clone(&results), Arc::clone(outputs), heartbeat.clone(), 2 * timeout, end_job)
    });
    let mut trials = Trials {
        transports,
        inputs,
        steps: args.steps.unwrap_or(STEPS),
        timeout,
        results: Arc::clone(&results),
        heartbeat,
        candidates: Vec::new(),
        timelines: Timelines::new(&args.trace),
    };
    let outcome = trials.run(&variants, &problem, args.repeat as usize);
    drop(monitor);
    outcome?;
    let timelines = trials.timelines.finish();
    if let Some(outputs) = &outputs {
        lock(outputs).publish(&lock(&results))?;
    }
    timelines?;
    exit_status(&lock(&results))
}

/// Options that only particles have.
fn expect_grid_options(choices: &Choices) -> Result<(), RunError> {
    match choices.of_particles() {
        Some(option) => {
            Err(refused(format!("{option} is for scenarios of particles, and this one has a grid")))
        }
        None => Ok(()),
    }
}

/// A scenario of particles with the same `[parallel]`: strategies are combinations of its keys.
pub(super) fn keys_of<M: GridModel>(inputs: &GridInputs<M>) -> Result<Scenario, RunError> {
    const PARTICLES: &str =
        "[simulation]\nsteps = 1\n[system]\nlattice = { kind = \"sc\", density = 1.0, cells = [9, 9, 9] }\n";
    let source = ScenarioSource { text: PARTICLES.to_owned(), ..ScenarioSource::default() };
    Ok(Scenario { parallel: inputs.scenario.parallel().transport(), ..load(&source)? })
}

/// A strategy that takes part, with its own world; `None` if it is out.
struct Candidate<'c> {
    ready: Option<(Box<dyn World + 'c>, Problem)>,
    exchanges: usize,
}

struct Trials<'c> {
    transports: &'c dyn Transports,
    inputs: &'c GridInputs<StencilScenario>,
    /// Per sample.
    steps: u64,
    timeout: Duration,
    results: Arc<Mutex<Results>>,
    heartbeat: Heartbeat,
    candidates: Vec<Candidate<'c>>,
    timelines: Timelines<'c>,
}

impl<'c> Trials<'c> {
    /// Checks all strategies, and measures them in turn, each repetition beginning with another one. *Collective.*
    fn run(&mut self, variants: &[Variant], problem: &Problem, repeat: usize) -> Result<(), RunError> {
        let reference = self.reference(problem)?;
        for variant in variants {
            self.admit(variant)?;
        }
        for number in 0..variants.len() {
            self.qualify(number, reference)?;
        }
        for repetition in 0..repeat {
            for turn in 0..variants.len() {
                let number = (turn + repetition) % variants.len();
                let (exchanges, steps) = (self.candidates[number].exchanges, self.steps);
                if let Some(sample) = self.attempt(number, |subject| subject.sample(exchanges, steps))? {
                    lock(&self.results).entries[number].samples.push(sample);
                }
            }
        }
        self.record(variants)
    }

    /// Makes the steps of one more sample of each strategy, and writes its timeline where that is wanted. *Collective.*
    fn record(&mut self, variants: &[Variant]) -> Result<(), RunError> {
        let Some(events) = self.timelines.events() else { return Ok(()) };
        let steps = self.steps;
        for number in 0..variants.len() {
            let context = lock(&self.results).entries[number].context.clone();
            let Some(parts) = self.attempt(number, |subject| subject.record(events, steps, &context))? else {
                continue;
            };
            let names = lock(&self.results).entries[number].names();
            parts.iter().for_each(|part| self.timelines.take(&names, part));
        }
        Ok(())
    }

    /// What the bits have to be. *Collective.*
    fn reference(&self, problem: &Problem) -> Result<u64, RunError> {
        let baseline = self.transports.backends()[0];
        let world = self.transports.world(baseline, md_comm::RmaOptions::default())?;
        world.set_watchdog(self.timeout);
        let subject = Subject { world: &*world, problem, heartbeat: &self.heartbeat };
        Ok(subject.fingerprint(CHECKED_STEPS)?)
    }

    /// Takes a strategy in, or finds out why it cannot be. *Collective.*
    fn admit(&mut self, variant: &Variant) -> Result<(), RunError> {
        let agreement = self.transports.agreement();
        self.heartbeat.beat();
        let mut scenario = self.inputs.scenario.clone();
        scenario.parallel.backend = variant.strategy.backend;
        scenario.parallel.exchange = variant.strategy.exchange;
        let outcome = agree(agreement, self.prepare(variant, &mut scenario))?;
        let ready_problem = match &outcome {
            Ok((_, problem, _)) => problem.clone(),
            Err(_) => self.inputs.scenario.problem(&self.inputs.source, agreement.ranks())?,
        };
        lock(&self.results).entries.push(Entry {
            context: GridContext { steps: self.steps, ..context(agreement, &scenario, &ready_problem) },
            settings: variant.settings.clone(),
            correct: None,
            exclusion: None,
            note: String::new(),
            samples: Vec::new(),
        });
        let number = self.candidates.len();
        self.candidates.push(Candidate { ready: None, exchanges: 0 });
        match outcome {
            Ok((world, problem, note)) => {
                lock(&self.results).entries[number].note = note;
                self.candidates[number].ready = Some((world, problem));
            }
            Err(exclusion) => self.leave_out(number, &exclusion),
        }
        Ok(())
    }

    fn prepare(
        &self,
        variant: &Variant,
        scenario: &mut StencilScenario,
    ) -> Result<(Box<dyn World + 'c>, Problem, String), lab::Problem> {
        let backend = variant.strategy.backend;
        if backend == Backend::Auto {
            // It chooses while it negotiates, which happens once here.
            return Err(lab::Problem::unavailable("chooses among the others; compare those".to_owned()));
        }
        let base = keys_of(self.inputs).map_err(|error| lab::Problem::failed(error.to_string()))?;
        let adapted = adapt_variant(variant, &base).map_err(lab::Problem::unavailable)?;
        let note = adapted.note();
        backend.availability().map_err(lab::Problem::unavailable)?;
        scenario.parallel.rma = adapted.scenario.parallel.rma;
        let ranks = self.transports.agreement().ranks();
        let problem = scenario.problem(&self.inputs.source, ranks);
        let problem = problem.map_err(|error| lab::Problem::unavailable(error.to_string()))?;
        let world = self.transports.world(backend, scenario.parallel.rma.options())?;
        world.set_watchdog(self.timeout);
        Ok((world, problem, note))
    }

    /// Compares a strategy's bits with the reference, and finds out how many exchanges make a sample. *Collective.*
    #[expect(
        clippy::redundant_closure_for_method_calls,
        reason = "the method itself is not general enough over lifetimes"
    )]
    fn qualify(&mut self, number: usize, reference: u64) -> Result<(), RunError> {
        let Some(bits) = self.attempt(number, |subject| subject.fingerprint(CHECKED_STEPS))? else {
            return Ok(());
        };
        let wrong =
            || lab::Problem::wrong(format!("other values after {CHECKED_STEPS} steps than the reference"));
        let judged = agree(self.transports.agreement(), (bits == reference).then_some(()).ok_or_else(wrong))?;
        lock(&self.results).entries[number].correct = Some(judged.is_ok());
        if let Err(exclusion) = judged {
            self.leave_out(number, &exclusion);
            return Ok(());
        }
        if let Some(exchanges) = self.attempt(number, |subject| subject.calibrate())? {
            self.candidates[number].exchanges = exchanges;
        }
        Ok(())
    }

    /// Does a piece of work with a strategy that still takes part; `None` if it does not, or is out now. *Collective.*
    fn attempt<T>(
        &mut self,
        number: usize,
        work: impl FnOnce(Subject) -> Result<T, GridError>,
    ) -> Result<Option<T>, RunError> {
        let Some((world, problem)) = &self.candidates[number].ready else { return Ok(None) };
        lock(&self.results).current = Some(number);
        self.heartbeat.beat();
        let mine = work(Subject { world: &**world, problem, heartbeat: &self.heartbeat });
        self.heartbeat.beat();
        match agree(self.transports.agreement(), mine.map_err(problem_of))? {
            Ok(result) => Ok(Some(result)),
            Err(exclusion) => {
                self.leave_out(number, &exclusion);
                Ok(None)
            }
        }
    }

    fn leave_out(&mut self, number: usize, Exclusion { status, note }: &Exclusion) {
        self.candidates[number].ready = None;
        lock(&self.results).entries[number].fail(*status, note);
    }
}

/// Of a strategy on a grid: what `compare` calls it in tables and in the names of files.
fn names_of(variant: &Variant) -> Vec<String> {
    results::names(variant.strategy.backend, variant.strategy.exchange, &variant.settings)
}

fn problem_of(error: GridError) -> lab::Problem {
    match error {
        GridError::Communication(error) => error.into(),
        GridError::Engine(error) => error.into(),
        other => lab::Problem::failed(other.to_string()),
    }
}

/// Where a comparison is written and shown, on rank 0.
struct Outputs {
    directory: OutputDirectory,
    screen: Screen,
}

impl Outputs {
    fn open(
        inputs: &GridInputs<StencilScenario>,
        args: &CompareArgs,
        variants: &[Variant],
    ) -> Result<Self, OutputError> {
        let elsewhere: Vec<PathBuf> = Timelines::files(&args.trace, variants.iter().map(names_of)).collect();
        let directory = grid_run::output_directory(inputs, None, &elsewhere)?;
        let mut screen = Screen::stdout(Verbosity::unless(args.quiet));
        screen.print(&format!("comparing {} strategies, {} repetitions\n", variants.len(), args.repeat));
        Ok(Self { directory, screen })
    }

    fn publish(&mut self, results: &Results) -> Result<(), OutputError> {
        let chart = results.chart();
        self.screen.print(&format!("\n{}", results.text()));
        self.directory.write_encoded(KnownFile::COMPARE, results.csv())?;
        self.directory.write_encoded(KnownFile::COMPARE_SVG, chart.svg().map(String::into_bytes))?;
        self.directory.write_encoded(KnownFile::COMPARE_PNG, chart.png())?;
        self.directory.finish()?;
        self.screen.finish()
    }
}

/// On rank 0: if the measuring thread stands still, publishes what there is and ends the job.
fn watch(
    results: Arc<Mutex<Results>>,
    outputs: Arc<Mutex<Outputs>>,
    heartbeat: Heartbeat,
    limit: Duration,
    end_job: fn(u8),
) -> Monitor {
    Monitor::start(
        move || limit,
        move || Some(heartbeat.count()),
        move |_| {
            let (mut results, mut outputs) = (lock(&results), lock(&outputs));
            if let Some(current) = results.current {
                results.entries[current].fail(Status::Timeout, &gave_up(limit));
            }
            // The job ends with an error in any case; what could not be written has been shown.
            let _ = outputs.publish(&results);
            outputs.directory.unlock();
            let hung = results.entries.iter().filter(|entry| entry.status() == Status::Timeout);
            print_error(&timed_out(hung.map(Entry::name), limit));
            end_job(COMMUNICATION_FAILED);
        },
    )
}

/// How the program ends, the same on all ranks.
fn exit_status(results: &Results) -> Result<(), RunError> {
    let named = |wanted: Status| {
        let with = results.entries.iter().filter(|entry| entry.status() == wanted);
        with.map(Entry::name).collect::<Vec<_>>()
    };
    RunError::of_outcomes(
        [
            ("wrong values", named(Status::Wrong)),
            ("failed", named(Status::Failed)),
            ("timed out", named(Status::Timeout)),
        ],
        KnownFile::COMPARE.name(),
    )?;
    if results.entries.iter().any(|entry| entry.status() == Status::Ok) {
        return Ok(());
    }
    let notes: Vec<&str> = results.entries.iter().map(|entry| entry.note.as_str()).collect();
    let summary = format!("nothing could be measured: {}", notes.join("; "));
    Err(RunError::Compared { summary, exit_code: COMMUNICATION_FAILED, remains: Remains::Nothing })
}
