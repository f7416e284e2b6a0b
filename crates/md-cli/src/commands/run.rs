//! `md-cli run`: the simulation, and the files and the screen as its observers.

use std::cell::RefCell;
use std::path::PathBuf;

use md_comm::World;
use md_engine::{
    EngineError, Needs, Observer, ObserverError, Phase, RankTiming, RunsOn, Setup, Simulation, Snapshot,
    Timings,
};
use md_lab::trace::TracedWorld;

use super::{
    ROOT, RunSummary, context, facts, interval_warning, open_on_root, output_directory, species_labels,
    warn_of_crowding,
};
use crate::args::RunArgs;
use crate::checkpoint::{self, BegunStage, Checkpoints, Marked, OutputMark, Resumed, Root};
use crate::cores;
use crate::early_end::{EarlyEnd, Ended};
use crate::error::RunError;
use crate::inputs::Inputs;
use crate::memory::Gathers;
use crate::output::breakdown::run_report;
use crate::output::screen::{thermo_header, thermo_row};
use crate::output::summary::summary_json;
use crate::output::tables::{balance_csv, timing_csv, timing_ranks_csv};
use crate::output::timeline::trace_line;
use crate::output::warnings::{cause, first_danger};
use crate::output::{
    FrameBox, KnownFile, OutputDirectory, OutputError, Progress, RecordFile, ResultFiles, Screen,
    ThermoWriter, TrajectoryWriter, Verbosity,
};
use crate::report::RunFacts;
use crate::scenario::{IntegratorTable, Scenario, StagePlan, effective_toml};
use crate::session::{note, warn};
use crate::{memory, replay, setup};
use md_lab::RunContext;

/// Runs the scenario on this rank. *Collective.*
///
/// # Errors
/// See [`RunError`].
pub fn run(world: &dyn World, inputs: &Inputs, args: &RunArgs, early_end: &EarlyEnd) -> Result<(), RunError> {
    let inputs = &*replay::inputs_with(inputs, args.replay.as_deref());
    let mut setup = setup::of_inputs(inputs, world.ranks())?;
    let replayed = args.replay.as_deref().map(|path| replay::read(path, world)).transpose()?;
    memory::expect_on_all(world, inputs, &setup, Gathers::of_run(&inputs.scenario))?;
    memory::expect_timeline(world, &args.trace)?;
    let scenario = &inputs.scenario;
    let steps = scenario.simulation.steps;
    let resumed =
        args.resume.as_ref().map(|path| checkpoint::read(world, path, inputs, &setup)).transpose()?;
    let first_step = resumed.as_ref().map_or(0, |resumed| resumed.header.step);
    let stages = scenario.stages();
    let begun = resumed.as_ref().map_or_else(BegunStage::default, |resumed| resumed.header.stage);
    if resumed.is_some() {
        go_on_in_stage(&mut setup, &stages, begun);
    }
    let (directory, writers, console, mut timeline) =
        open_on_root(world, || Outputs::open(inputs, &setup, args, resumed.as_ref()))?
            .map(|Outputs { directory, writers, console, timeline }| {
                (Some(directory), Some(RefCell::new(writers)), Some(RefCell::new(console)), timeline)
            })
            .unwrap_or_default();
    let events = args.trace.trace.as_ref().map(|_| args.trace.trace_events as usize);
    let traced = events.map(|events| TracedWorld::new(world, events)).transpose()?;
    let world = traced.as_ref().map_or(world, |traced| traced);
    let root = directory.as_ref().zip(writers.as_ref());
    let root = root.map(|(directory, outputs)| Root {
        directory,
        outputs,
        scenario: effective_toml(scenario),
        species: setup.config.masses.len() as u64,
    });
    let checkpoints = Checkpoints::new(world, scenario.output.checkpoint, [first_step, steps], root);
    let mut observers = Observers::new(scenario, writers.as_ref(), console.as_ref(), early_end, checkpoints);
    let crowding = warn_of_crowding(world, scenario.parallel.threads)?;
    let mut simulation = match resumed {
        None => Simulation::new(world, &setup)?,
        Some(resumed) => Simulation::resume(world, &setup, resumed.restored)?,
    };
    replayed.map_or(Ok(()), |balancings| simulation.replay_balancing(balancings))?;
    early_end.listen();
    traced.as_ref().map_or(Ok(()), |traced| traced.start(&mut simulation))?;
    simulation.start_measuring()?;
    let is_whole = run_stages(&mut simulation, &mut observers, &stages, begun).map_err(|error| {
        RunError::with_cause(error, cause(&simulation.neighbor_report(), scenario.interaction.shift))
    })?;
    let timing = simulation.timing()?;
    traced.as_ref().map_or(Ok(()), TracedWorld::stop)?;
    let (timings, ranks) = (Timings::reduce(&timing, world)?, timing.gather(ROOT, world)?);
    let sums = simulation.system_sums()?;
    let done = simulation.state().step;
    let ended = if is_whole { Ended::AsPlanned } else { early_end.reason(world)? };
    let threads = cores::share_of_ranks(world, scenario.parallel.ranks)?;
    // From step 0 on, wherever the run has gone on from.
    let drift_per_atom = simulation.energy_report().drift;
    drop(observers);
    let grown = writers.map_or(Ok(()), |writers| writers.into_inner().finish());
    let context = context(world, scenario, &setup, done - first_step);
    let written = traced.as_ref().map(|traced| {
        traced.write(&context, |bytes| timeline.as_mut().map_or(Ok(()), |file| file.append(bytes, done)))
    });
    let timeline = timeline.zip(written.transpose()?);
    if let Some((console, directory)) = console.zip(directory) {
        let wall_s = timings.phase(Phase::Total).seconds.max;
        let summary = RunSummary { sums, wall_s, drift_per_atom, ended };
        let facts = facts(world, &simulation, scenario, &summary);
        let trajectory = scenario.output.trajectory.as_ref().map(|trajectory| trajectory.path.clone());
        let resumed_from_step = args.resume.as_ref().map(|_| first_step);
        let facts = RunFacts { crowding, trajectory, resumed_from_step, ..facts };
        let could_use = Some(threads).filter(|&threads| threads > scenario.parallel.threads);
        let timeline = timeline.map(|(file, written)| {
            let text = trace_line(file.path(), &written?);
            file.finish().map(|()| text)
        });
        let results = Results { timings, ranks, context, facts, could_use };
        let mut console = console.into_inner();
        console.progress.finish();
        results.write(&directory)?;
        grown.and(directory.finish())?;
        let timeline = timeline.transpose()?;
        console.screen.print(&run_report(&results.timings, &results.context, &results.facts));
        console.screen.print(&timeline.unwrap_or_default());
        results.show(&mut console)?;
    }
    simulation.finalise()?;
    match ended {
        Ended::Signal(signal) => Err(RunError::Signalled { signal, done, steps }),
        Ended::AsPlanned | Ended::WallTime => Ok(()),
    }
}

/// What rank 0 writes and shows.
struct Outputs {
    directory: OutputDirectory,
    writers: Writers,
    console: Console,
    /// For `--trace`.
    timeline: Option<RecordFile>,
}

/// The files that grow.
struct Writers {
    thermo: ThermoWriter,
    trajectory: Option<TrajectoryWriter>,
}

impl Writers {
    /// Completes them. What has happened to one does not keep others from being written.
    fn finish(self) -> Result<(), OutputError> {
        let thermo = self.thermo.finish();
        thermo.and(self.trajectory.map_or(Ok(()), TrajectoryWriter::finish))
    }
}

impl Marked for Writers {
    fn marks(&mut self) -> Result<Vec<OutputMark>, OutputError> {
        let thermo = self.thermo.mark()?;
        let trajectory = self.trajectory.as_ref().map(TrajectoryWriter::mark).transpose()?;
        Ok([thermo].into_iter().chain(trajectory).collect())
    }
}

/// The screen and the progress bar above which rows are printed.
struct Console {
    screen: Screen,
    progress: Progress,
    /// The warning that is given once, as soon as there is reason.
    danger: Option<String>,
}

impl Outputs {
    fn open(
        inputs: &Inputs,
        setup: &Setup,
        args: &RunArgs,
        resumed: Option<&Resumed>,
    ) -> Result<Self, OutputError> {
        let scenario = &inputs.scenario;
        let trajectory = scenario.output.trajectory.as_ref();
        let verbosity = Verbosity::unless(args.quiet);
        let first_step = resumed.map_or(0, |resumed| resumed.header.step);
        let elsewhere: Vec<PathBuf> = args.trace.trace.iter().cloned().collect();
        let results = ResultFiles {
            elsewhere: &elsewhere,
            trajectory: trajectory.map(|it| it.path.as_str()),
            going_on: resumed.map(|resumed| (first_step, &resumed.header.outputs[..])),
        };
        let directory = output_directory(inputs, &results, verbosity)?;
        let mark = |file: &str| resumed?.mark(file).filter(|mark| directory.goes_on(mark));
        resumed.iter().for_each(|resumed| note_resumption(resumed, verbosity));
        let trajectory = trajectory.map(|trajectory| {
            let domain = &setup.domain;
            let periodic = [0, 1, 2].map(|dim| domain.is_periodic(dim));
            let frame_box = FrameBox { origin: domain.origin, lengths: domain.lengths, periodic };
            let labels = species_labels(scenario, &setup.config.masses);
            match mark(&trajectory.path) {
                Some(mark) => TrajectoryWriter::go_on(&directory, mark, first_step, frame_box, &labels),
                None => TrajectoryWriter::create(&directory, &trajectory.path, frame_box, &labels),
            }
        });
        let thermo = match mark(KnownFile::THERMO.name()) {
            Some(mark) => ThermoWriter::go_on(&directory, mark, first_step),
            None => ThermoWriter::create(&directory),
        };
        interval_warning(scenario).iter().for_each(|text| warn(text));
        let mut screen = Screen::stdout(verbosity);
        screen.print(&thermo_header());
        Ok(Self {
            writers: Writers { thermo: thermo?, trajectory: trajectory.transpose()? },
            console: Console {
                screen,
                progress: Progress::new(args.progress, first_step, scenario.simulation.steps, setup.atoms()),
                danger: None,
            },
            timeline: args.trace.trace.as_ref().map(|path| directory.create_elsewhere(path)).transpose()?,
            directory,
        })
    }
}

/// Lets a simulation begin with the integrator of the stage in which a checkpoint was taken.
fn go_on_in_stage(setup: &mut Setup, stages: &[StagePlan], begun: BegunStage) {
    if let Some(StagePlan { steps, integrator, .. }) = stages.get(begun.number) {
        let IntegratorTable { kind, barostat } = *integrator;
        let config = &mut setup.config;
        (config.integrator, config.barostat) = (kind, barostat);
        config.schedule = begun.first_step..begun.first_step + steps;
    }
}

/// Makes the steps of all stages, the first of which has begun; says whether none of them was ended early. *Collective.*
fn run_stages(
    simulation: &mut Simulation,
    observers: &mut Observers,
    stages: &[StagePlan],
    begun: BegunStage,
) -> Result<bool, EngineError> {
    for (number, stage) in stages.iter().enumerate().skip(begun.number) {
        let mut first_step = begun.first_step;
        if number > begun.number {
            let IntegratorTable { kind, barostat } = stage.integrator;
            simulation.begin_stage(kind, barostat, stage.steps)?;
            first_step = simulation.state().step;
        }
        let last = first_step + stage.steps;
        let end_of_run = (number + 1 == stages.len()).then_some(last);
        observers.begin_stage(stage, BegunStage { number, first_step }, end_of_run);
        simulation.run(last.saturating_sub(simulation.state().step), &mut observers.all())?;
        let state = simulation.state();
        if state.step < last && !state.integrator.is_finished() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Says from where a run goes on, and whether to the last bit.
fn note_resumption(resumed: &Resumed, verbosity: Verbosity) {
    if verbosity == Verbosity::Quiet {
        return;
    }
    let (path, step) = (resumed.path.display(), resumed.header.step);
    note(&format!("going on after step {step}, from `{path}`"));
    if !resumed.differences.is_empty() {
        note(&format!("results agree to rounding, not to the last bit: {}", resumed.differences.join("; ")));
    }
}

/// What is known at the end, on rank 0.
struct Results {
    timings: Timings,
    ranks: Vec<RankTiming>,
    context: RunContext,
    facts: RunFacts,
    /// Threads per rank, if there are cores for more than there were.
    could_use: Option<usize>,
}

impl Results {
    fn write(&self, directory: &OutputDirectory) -> Result<(), OutputError> {
        let Self { timings, ranks, context, facts, .. } = self;
        directory.write_whole(KnownFile::TIMING, &timing_csv(timings, context, &facts.balance)?)?;
        if !facts.balance.balancings.is_empty() {
            directory.write_whole(KnownFile::BALANCE, &balance_csv(&facts.balance)?)?;
        }
        directory.write_whole(KnownFile::TIMING_RANKS, &timing_ranks_csv(ranks, context)?)?;
        directory.write_whole(KnownFile::SUMMARY, &summary_json(timings, context, facts, None)?)
    }

    /// Once all files are complete.
    fn show(&self, console: &mut Console) -> Result<(), OutputError> {
        let Self { context, facts, could_use, .. } = self;
        let Console { screen, progress, .. } = console;
        facts.warnings.iter().for_each(|text| progress.suspend(|| warn(text)));
        if facts.ended == Ended::WallTime {
            screen.print(&format!("\nEnded by --wall-time after {} steps\n", context.steps));
        }
        if let Some(threads) = could_use {
            let used = context.threads;
            screen.print(&format!("\nThreads per rank: {used}; --threads auto would use {threads}\n"));
        }
        screen.finish()
    }
}

/// What looks at the run, on all ranks; there is something to write and show to on rank 0 alone.
struct Observers<'c> {
    thermo: ThermoTable<'c>,
    frames: Frames<'c>,
    /// After those whose files it knows the lengths of.
    checkpoints: Checkpoints<'c>,
    ticks: Ticks<'c>,
}

impl<'c> Observers<'c> {
    fn new(
        scenario: &Scenario,
        writers: Option<&'c RefCell<Writers>>,
        console: Option<&'c RefCell<Console>>,
        early_end: &'c EarlyEnd,
        checkpoints: Checkpoints<'c>,
    ) -> Self {
        let interval = scenario.output.trajectory.as_ref().map(|trajectory| trajectory.every);
        Self {
            thermo: ThermoTable {
                interval: scenario.output.thermo.every,
                last_step: scenario.simulation.steps,
                rows: writers.zip(console),
            },
            frames: Frames { interval, writers },
            checkpoints,
            ticks: Ticks { console, early_end },
        }
    }

    /// From here on the intervals are those of a stage, which says its name on the screen.
    fn begin_stage(&mut self, stage: &StagePlan, begun: BegunStage, end_of_run: Option<u64>) {
        let first = begun.first_step;
        self.thermo.interval = stage.thermo;
        self.thermo.last_step = first + stage.steps;
        self.checkpoints.begin_stage(begun, end_of_run);
        self.frames.interval = stage.trajectory;
        if let (Some((_, console)), false) = (&self.thermo.rows, stage.name.is_empty()) {
            let Console { screen, progress, .. } = &mut *console.borrow_mut();
            progress.suspend(|| screen.print(&format!("Stage {} from step {first}\n", stage.name)));
        }
    }

    /// In the order in which they look.
    fn all(&mut self) -> [&mut dyn Observer; 4] {
        [&mut self.thermo, &mut self.frames, &mut self.checkpoints, &mut self.ticks]
    }
}

/// thermo.csv and the table on the screen, above the progress bar.
struct ThermoTable<'c> {
    interval: u64,
    last_step: u64,
    /// On rank 0.
    rows: Option<(&'c RefCell<Writers>, &'c RefCell<Console>)>,
}

impl Observer for ThermoTable<'_> {
    fn due(&self, step: u64) -> Option<Needs> {
        let is_due = step.is_multiple_of(self.interval) || step == self.last_step;
        is_due.then_some(Needs::ENERGY_AND_VIRIAL)
    }

    fn observe(&mut self, now: &Snapshot) -> Result<(), ObserverError> {
        let (Some((writers, console)), Some(thermo)) = (&self.rows, now.thermo) else { return Ok(()) };
        let Console { screen, progress, .. } = &mut *console.borrow_mut();
        progress.suspend(|| screen.print(&thermo_row(thermo)));
        let writer = &mut writers.borrow_mut().thermo;
        Ok(match now.step.is_multiple_of(self.interval) {
            true => writer.write(thermo),
            false => writer.write_last(thermo),
        }?)
    }

    fn runs_on(&self) -> RunsOn {
        RunsOn::FirstRank
    }

    fn ends_at(&mut self, step: u64) {
        self.last_step = step;
    }
}

/// The trajectory, where the scenario asks for one.
struct Frames<'c> {
    interval: Option<u64>,
    writers: Option<&'c RefCell<Writers>>,
}

impl Observer for Frames<'_> {
    fn due(&self, step: u64) -> Option<Needs> {
        self.interval.filter(|&interval| step.is_multiple_of(interval)).map(|_| Needs::GATHERED_PARTICLES)
    }

    fn observe(&mut self, now: &Snapshot) -> Result<(), ObserverError> {
        let (Some(writers), Some(rows)) = (self.writers, now.gathered) else { return Ok(()) };
        let Some(writer) = &mut writers.borrow_mut().trajectory else { return Ok(()) };
        writer.follow_box(now.domain.origin, now.domain.lengths);
        Ok(writer.write(now.step, now.time, rows)?)
    }

    fn runs_on(&self) -> RunsOn {
        RunsOn::FirstRank
    }
}

/// Looks at every step: the progress bar, the warning of stale neighbourhoods, signals and the clock.
struct Ticks<'c> {
    console: Option<&'c RefCell<Console>>,
    early_end: &'c EarlyEnd,
}

impl Observer for Ticks<'_> {
    fn due(&self, _: u64) -> Option<Needs> {
        Some(Needs::NOTHING)
    }

    fn observe(&mut self, now: &Snapshot) -> Result<(), ObserverError> {
        let Some(console) = self.console else { return Ok(()) };
        let Console { progress, danger, .. } = &mut *console.borrow_mut();
        if danger.is_none() {
            *danger = first_danger(&now.neighborhood);
            danger.iter().for_each(|text| progress.suspend(|| warn(text)));
        }
        progress.tick(now.step);
        Ok(())
    }

    fn runs_on(&self) -> RunsOn {
        RunsOn::FirstRank
    }

    fn wants_end(&self) -> bool {
        self.early_end.is_wanted()
    }
}
