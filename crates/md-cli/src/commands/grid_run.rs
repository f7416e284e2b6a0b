//! What all applications on grids share: outputs, the step loop, ending early, the report.

use std::path::{Path, PathBuf};

use md_comm::World;
use md_engine::{Phase, RankTiming, Timings};
use md_grid::{Application, Decomposition, GridError, Progress as Found, application};
use md_lab::trace::TracedWorld;

use super::timeline::write_timeline;
use super::{ROOT, note_lock, open_on_root, rma_component, warn_of_crowding};
use crate::args::GridArgs;
use crate::early_end::{EarlyEnd, Ended};
use crate::error::RunError;
use crate::grid_inputs::{GridInputs, GridModel};
use crate::output::breakdown::phase_table;
use crate::output::grid::{
    GridContext, GridFacts, GridThermoWriter, halo_s, header_line, phases, row_line, summary_json,
    timing_csv, timing_ranks_csv,
};
use crate::output::{
    KnownFile, OutputDirectory, OutputError, Progress, ProgressMode, RecordFile, ResultFiles, Screen,
    Verbosity,
};
use crate::scenario::effective_toml;
use md_lab::significant;
use serde_json::{Map, Value};

/// After so many steps the ranks ask each other whether to end.
const LONGEST_SILENCE: u64 = 20;

/// What one application writes and knows beside what all do. Everything is *collective*.
pub(super) trait Extension<A: ?Sized> {
    /// Looks at the state after a step; step 0 is the start.
    ///
    /// # Errors
    /// Output; communication.
    fn observe(&mut self, app: &A, step: u64) -> Result<Observed, RunError>;

    /// Further keys of summary.json, on rank 0.
    fn summary(&self, app: &A, timings: &Timings) -> Map<String, Value>;

    /// Completes the files that grow.
    ///
    /// # Errors
    /// Output.
    fn finish(self) -> Result<(), RunError>;
}

/// Whether a look took time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Observed {
    /// Nothing was due.
    Nothing,
    /// Something was written.
    Something,
}

/// Of an application that has nothing more to write.
pub(super) struct NoExtension;

impl<A: ?Sized> Extension<A> for NoExtension {
    fn observe(&mut self, _: &A, _: u64) -> Result<Observed, RunError> {
        Ok(Observed::Nothing)
    }

    fn summary(&self, _: &A, _: &Timings) -> Map<String, Value> {
        Map::new()
    }

    fn finish(self) -> Result<(), RunError> {
        Ok(())
    }
}

/// How a run is to be shown.
#[derive(Clone, Copy)]
pub(super) struct Show<'a> {
    verbosity: Verbosity,
    progress: ProgressMode,
    /// Where its timeline goes, and the world that records it.
    timeline: Option<&'a Path>,
    traced: Option<&'a TracedWorld<'a>>,
}

impl<'a> Show<'a> {
    /// As the arguments say.
    pub(super) fn of(args: &'a GridArgs, traced: Option<&'a TracedWorld<'a>>) -> Self {
        let (verbosity, timeline) = (Verbosity::unless(args.quiet), args.trace.trace.as_deref());
        Self { verbosity, progress: args.progress, timeline, traced }
    }
}

/// How a step loop has ended.
struct Loop {
    done: u64,
    ended: Reason,
    ends: [Vec<f64>; 2],
}

/// Why.
#[derive(Debug, Clone, Copy)]
enum Reason {
    Converged,
    Other(Ended),
}

impl Reason {
    fn name(self) -> &'static str {
        match self {
            Self::Converged => "converged",
            Self::Other(ended) => ended.name(),
        }
    }
}

/// Runs an application for at most so many steps, and writes its files. `context` has the steps that are wanted. *Collective.*
///
/// # Errors
/// See [`RunError`].
pub(super) fn run<M: GridModel, A: Application + ?Sized, E: Extension<A>>(
    world: &dyn World,
    inputs: &GridInputs<M>,
    decomposition: &Decomposition,
    context: GridContext,
    show: Show,
    early_end: &EarlyEnd,
    open: impl FnOnce(Option<&OutputDirectory>) -> Result<(Box<A>, E), RunError>,
) -> Result<(), RunError> {
    let elsewhere: Vec<PathBuf> = show.timeline.iter().map(|path| path.to_path_buf()).collect();
    let directory = open_on_root(world, || output_directory(inputs, &elsewhere))?;
    let crowding = warn_of_crowding(world, context.threads)?;
    let (mut app, mut extension) = open(directory.as_ref())?;
    early_end.listen();
    let files = || {
        let directory = directory.as_ref().ok_or(RunError::OutputElsewhere)?;
        Ok::<_, RunError>(Console::open(directory, app.columns(), &context, show)?)
    };
    let mut console = open_on_root(world, files)?;
    let timeline = console.as_mut().and_then(|console| console.timeline.take());
    let sent_before = app.traffic();
    let watch = |traced: &TracedWorld| traced.start(|observer| app.clock().observe(observer));
    show.traced.map_or(Ok(()), watch)?;
    let (steps, interval) = (context.steps, inputs.scenario.output().thermo.every);
    let span = Span { steps, interval };
    let Loop { done, ended, ends } =
        step_loop(world, &mut *app, &mut extension, &mut console, span, early_end)?;
    show.traced.map_or(Ok(()), TracedWorld::stop)?;
    let timing = application::timing(&mut *app, done, sent_before);
    let timings = Timings::reduce(&timing, world)?;
    let ranks = timing.gather(ROOT, world)?;
    let fingerprint = application::fingerprint(&*app, world, decomposition)?;
    let timeline =
        write_timeline(show.traced, timeline, &GridContext { steps: done, ..context.clone() }, done)?;
    if let Some((mut console, directory)) = console.zip(directory) {
        let updates = timings.owned.avg * context.ranks as f64 * context.fields as f64 * done as f64;
        let facts = GridFacts {
            wall_s: timings.phase(Phase::Total).seconds.max,
            updates,
            ended: ended.name(),
            columns: app.columns(),
            ends,
            fingerprint,
            rma_component: rma_component(world, context.backend),
            choices: app.choices(),
            warnings: crowding.into_iter().collect(),
            more: extension.summary(&*app, &timings),
            git: env!("MD_GIT"),
        };
        let context = GridContext { steps: done, ..context };
        console.progress.finish();
        write(&directory, &timings, &ranks, &context, &facts)?;
        console.thermo.finish()?;
        directory.finish()?;
        let timeline = timeline?;
        console.screen.print(&report(&timings, &context, &facts));
        console.screen.print(&timeline);
        console.screen.finish()?;
    }
    extension.finish()?;
    let shortfall = app.shortfall();
    app.finalise()?;
    match ended {
        Reason::Other(Ended::Signal(signal)) => Err(RunError::Signalled { signal, done, steps }),
        Reason::Other(Ended::AsPlanned) => {
            shortfall.map_or(Ok(()), |problem| Err(RunError::Grid(GridError::Failed { step: done, problem })))
        }
        Reason::Converged | Reason::Other(Ended::WallTime) => Ok(()),
    }
}

/// The directory of the scenario's results, with the effective scenario in it; other results go elsewhere.
pub(super) fn output_directory<M: GridModel>(
    inputs: &GridInputs<M>,
    elsewhere: &[PathBuf],
) -> Result<OutputDirectory, OutputError> {
    let effective = effective_toml(&inputs.scenario);
    let read: &Path = &inputs.path;
    let path = &inputs.scenario.output().directory;
    let results = ResultFiles { elsewhere, ..ResultFiles::default() };
    let directory = OutputDirectory::for_scenario(path, &results, &[read], effective.as_bytes())?;
    note_lock(&directory);
    Ok(directory)
}

/// What rank 0 shows and writes row by row.
struct Console {
    screen: Screen,
    progress: Progress,
    thermo: GridThermoWriter,
    /// For `--trace`.
    timeline: Option<RecordFile>,
}

impl Console {
    fn open(
        directory: &OutputDirectory,
        columns: &[&str],
        context: &GridContext,
        show: Show,
    ) -> Result<Self, OutputError> {
        let mut screen = Screen::stdout(show.verbosity);
        screen.print(&header_line(columns));
        Ok(Self {
            screen,
            progress: Progress::over_steps(show.progress, context.steps),
            thermo: GridThermoWriter::create(directory, columns)?,
            timeline: show.timeline.map(|path| directory.create_elsewhere(path)).transpose()?,
        })
    }

    fn take(&mut self, step: u64, row: &[f64]) -> Result<(), OutputError> {
        let Self { screen, progress, thermo, .. } = self;
        progress.suspend(|| screen.print(&row_line(step, row)));
        thermo.write(step, row)
    }
}

/// How many steps, and after how many there is a row.
#[derive(Debug, Clone, Copy)]
struct Span {
    steps: u64,
    interval: u64,
}

/// Makes the steps; a row at the first, the last, and at intervals. *Collective.*
fn step_loop<A: Application + ?Sized>(
    world: &dyn World,
    app: &mut A,
    extension: &mut impl Extension<A>,
    console: &mut Option<Console>,
    Span { steps, interval }: Span,
    early_end: &EarlyEnd,
) -> Result<Loop, RunError> {
    let mut show = |step: u64, row: &[f64]| match console {
        Some(console) => console.take(step, row),
        None => Ok(()),
    };
    let first = app.row()?;
    show(0, &first)?;
    extension.observe(app, 0)?;
    world.barrier()?;
    app.clock().restart();
    let (mut done, mut last) = (0, first.clone());
    let mut ended = Reason::Other(Ended::AsPlanned);
    while done < steps && matches!(ended, Reason::Other(Ended::AsPlanned)) {
        if app.step()? == Found::Converged {
            ended = Reason::Converged;
        }
        done += 1;
        if done.is_multiple_of(LONGEST_SILENCE) && wants_end(world, early_end)? {
            ended = Reason::Other(early_end.reason(world)?);
        }
        if done.is_multiple_of(interval) || done == steps || !matches!(ended, Reason::Other(Ended::AsPlanned))
        {
            let begun = std::time::Instant::now();
            last = app.row()?;
            show(done, &last)?;
            app.clock().book_since(Phase::Output, begun);
        }
        let begun = std::time::Instant::now();
        if extension.observe(app, done)? == Observed::Something {
            app.clock().book_since(Phase::Output, begun);
        }
    }
    Ok(Loop { done, ended, ends: [first, last] })
}

/// Whether any rank wants the end. *Collective.*
fn wants_end(world: &dyn World, early_end: &EarlyEnd) -> Result<bool, RunError> {
    let mut votes = [f64::from(u8::from(early_end.is_wanted()))];
    world.max(&mut votes)?;
    Ok(votes[0] > 0.0)
}

fn write(
    directory: &OutputDirectory,
    timings: &Timings,
    ranks: &[RankTiming],
    context: &GridContext,
    facts: &GridFacts,
) -> Result<(), OutputError> {
    directory.write_whole(KnownFile::TIMING, &timing_csv(timings, context)?)?;
    directory.write_whole(KnownFile::TIMING_RANKS, &timing_ranks_csv(ranks, context)?)?;
    directory.write_whole(KnownFile::SUMMARY, &summary_json(timings, context, facts)?)
}

/// Speed, halo, and where the time went.
fn report(timings: &Timings, context: &GridContext, facts: &GridFacts) -> String {
    let GridContext { kind, nodes, fields, grid, ranks, steps, backend, precision, .. } = context;
    format!(
        "\n{kind} on {nodes} nodes, {fields} fields, {precision} precision: {steps} steps in {} s ({})\n\
         {} million updates of a node per second; {ranks} ranks, grid {grid}, backend {}\n\
         Halo: {} us per step; {} messages and {} bytes sent by all ranks\n{}",
        significant(facts.wall_s, 6),
        facts.ended,
        significant(facts.mlups(), 5),
        backend.name(),
        significant(halo_s(timings, *steps) * 1e6, 5),
        timings.messages,
        timings.bytes,
        phase_table(&phases(timings)),
    )
}
