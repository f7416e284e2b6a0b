//! What all applications on grids share: outputs, the step loop, ending early, the report.

mod steps;

use std::path::{Path, PathBuf};

use md_comm::{Traffic, World};
use md_core::words::counted;
use md_engine::{Phase, RankTiming, Timings};
use md_grid::{Application, Decomposition, application};
use md_lab::trace::TracedWorld;
use serde_json::{Map, Value};

use super::ending::OutputElsewhere;
use super::timeline::write_timeline;
use super::{ROOT, note_lock, note_removal, open_on_root, rma_component, warn_of_crowding};
use crate::args::GridArgs;
use crate::checkpoint::Kept;
use crate::checkpoint::{self, Checkpoints, Resumed, SavedMask, SavedNodes};
use crate::early_end::EarlyEnd;
use crate::error::RunError;
use crate::grid_inputs::{GridInputs, GridModel};
use crate::messages::note;
use crate::output::breakdown::phase_table;
use crate::output::grid::{
    GridContext, GridFacts, GridThermoWriter, halo_s, phases, summary_json, timing_csv, timing_ranks_csv,
};
use crate::output::screen::where_results_are;
use crate::output::{
    GoingOn, KnownFile, OutputDirectory, OutputError, ResultFiles, Verbosity, within_columns,
};
use crate::scenario::effective_toml;
use md_lab::significant;
use steps::{Console, End, Span, Steps, into_result};

/// A scenario with a grid, and what it is made of.
pub trait Runnable: GridModel {
    /// What is computed, on a number of ranks.
    type Problem;

    /// The scenario on so many ranks.
    ///
    /// # Errors
    /// A grid that cannot be divided so.
    fn problem(inputs: &GridInputs<Self>, ranks: usize) -> Result<Self::Problem, RunError>;

    /// Makes sure that so many bytes are enough for each rank.
    ///
    /// # Errors
    /// They are not.
    fn expect_room(
        inputs: &GridInputs<Self>,
        problem: &Self::Problem,
        available: Option<f64>,
    ) -> Result<(), RunError>;

    /// Who has which nodes.
    fn decomposition(problem: &Self::Problem) -> &Decomposition;

    /// What makes the rows of its tables stand alone.
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

/// What one application writes and knows beside what all do. Everything is *collective*.
pub(super) trait Extension<A: ?Sized> {
    /// Looks at the state after a step; step 0 is the start.
    ///
    /// # Errors
    /// Output; communication.
    fn observe(&mut self, app: &A, step: u64) -> Result<Observed, RunError>;

    /// What puts the results in doubt, in words, on rank 0.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    /// Measures what summary.json is to say of the machine, after the last step.
    ///
    /// # Errors
    /// Communication.
    fn measure(&mut self, _: &A) -> Result<(), RunError> {
        Ok(())
    }

    /// Further keys of summary.json, on rank 0.
    fn summary(&self, app: &A, timings: &Timings) -> Map<String, Value>;

    /// What a checkpoint has to know of the files that grow, on rank 0.
    ///
    /// # Errors
    /// The disk.
    fn kept(&self) -> Result<Vec<Kept>, OutputError> {
        Ok(Vec::new())
    }

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

/// What a run is made of, on this rank.
pub(super) struct GridJob<'r, M> {
    pub world: &'r dyn World,
    /// The same, where a timeline is wanted.
    pub traced: Option<&'r TracedWorld<'r>>,
    pub inputs: &'r GridInputs<M>,
    pub decomposition: &'r Decomposition,
    /// With the steps that are wanted.
    pub context: GridContext,
    /// What it has read beside the scenario.
    pub mask: Option<SavedMask>,
    /// First lines of its tables.
    pub first_lines: Vec<(KnownFile, String)>,
    pub args: &'r GridArgs,
    pub early_end: &'r EarlyEnd,
}

/// Runs an application for at most so many steps, or goes on with it, and writes its files. *Collective.*
///
/// # Errors
/// See [`RunError`].
pub(super) fn run<M: GridModel, A: Application + ?Sized, E: Extension<A>>(
    job: &GridJob<M>,
    mut app: Box<A>,
    extend: impl FnOnce(Option<&OutputDirectory>, Option<&Resumed>) -> Result<E, RunError>,
) -> Result<(), RunError> {
    let &GridJob { world, traced, inputs, args, early_end, .. } = job;
    // Whether a run can go on is known before the outputs of the one before it are touched.
    let resumed = job.resume(&mut *app)?;
    let resumed = resumed.as_ref();
    let elsewhere: Vec<PathBuf> = args.trace.trace.iter().cloned().collect();
    let verbosity = Verbosity::unless(args.quiet);
    let thermo = (KnownFile::THERMO, GridThermoWriter::first_line(app.columns()));
    let first_lines: Vec<_> = job.first_lines.iter().cloned().chain([thermo]).collect();
    let results = ResultFiles {
        going_on: resumed.map(GoingOn::from),
        first_lines: &first_lines,
        elsewhere: &elsewhere,
        ..ResultFiles::default()
    };
    let directory = open_on_root(world, || output_directory(inputs, &results, verbosity))?;
    let crowding = warn_of_crowding(world, job.context.threads)?;
    let extension = extend(directory.as_ref(), resumed)?;
    early_end.listen();
    let console = || {
        let directory = directory.as_ref().ok_or(OutputElsewhere)?;
        Ok::<_, RunError>(Console::open(directory, app.columns(), &job.context, args, resumed)?)
    };
    let console = open_on_root(world, console)?;
    let sent_before = app.traffic();
    let watch = |traced: &TracedWorld| traced.start(|observer| app.clock().observe(observer));
    traced.map_or(Ok(()), watch)?;
    let mut steps = Steps {
        world,
        early_end,
        console,
        extension,
        checkpoints: job.checkpoints(directory.as_ref(), resumed),
        nodes: job.saved_nodes(),
        span: job.span(resumed),
    };
    let end = steps.run(&mut *app)?;
    traced.map_or(Ok(()), TracedWorld::stop)?;
    let Steps { console, extension, span, .. } = steps;
    job.conclude(app, extension, console.zip(directory.as_ref()), Made { end, span, sent_before, crowding })
}

/// Steps that have been made.
struct Made {
    end: End,
    span: Span,
    /// Before the first of them.
    sent_before: Traffic,
    crowding: Option<String>,
}

impl<M: GridModel> GridJob<'_, M> {
    /// Reads the checkpoint that the arguments name. *Collective.*
    fn resume<A: Application + ?Sized>(&self, app: &mut A) -> Result<Option<Resumed>, RunError> {
        let scenario = (&self.inputs.scenario, self.context.steps);
        let read = |path: &PathBuf| {
            let resumed = checkpoint::read_nodes(self.world, path, scenario, &self.saved_nodes(), app)?;
            if self.world.rank() == ROOT && !self.args.quiet {
                note_resumption(&resumed);
            }
            Ok(resumed)
        };
        self.args.resume.as_ref().map(read).transpose()
    }

    /// Gathers what is known at the end, and writes it. *Collective.*
    fn conclude<A: Application + ?Sized, E: Extension<A>>(
        &self,
        mut app: Box<A>,
        mut extension: E,
        root: Option<(Console, &OutputDirectory)>,
        Made { end: End { done, ended, ends }, span, sent_before, crowding }: Made,
    ) -> Result<(), RunError> {
        let Self { world, traced, decomposition, context, .. } = self;
        let (world, made) = (*world, done - span.first);
        let timing = application::timing(&mut *app, made, sent_before);
        let timings = Timings::reduce(&timing, world)?;
        let ranks = timing.gather(ROOT, world)?;
        extension.measure(&*app)?;
        let fingerprint = application::fingerprint(&*app, world, decomposition)?;
        let made_context = GridContext { steps: made, ..context.clone() };
        let (mut console, directory) = root.unzip();
        let timeline = console.as_mut().and_then(|console| console.timeline.take());
        let timeline = write_timeline(*traced, timeline, &made_context, done)?;
        if let Some((console, directory)) = console.zip(directory) {
            let facts = GridFacts {
                wall_s: timings.phase(Phase::Total).seconds.max,
                updates: timings.owned.avg * context.ranks as f64 * context.fields as f64 * made as f64,
                resumed_from_step: (span.first > 0).then_some(span.first),
                ended: ended.name(),
                columns: app.columns(),
                ends,
                fingerprint,
                rma_component: rma_component(world, context.backend),
                choices: app.choices(),
                warnings: crowding.into_iter().chain(extension.warnings()).collect(),
                more: extension.summary(&*app, &timings),
                git: env!("MD_GIT"),
            };
            conclude(directory, console, (&timings, &ranks), &made_context, &facts, timeline)?;
        }
        extension.finish()?;
        let shortfall = app.shortfall();
        app.finalise()?;
        into_result(ended, [done, context.steps], shortfall)
    }

    fn saved_nodes(&self) -> SavedNodes {
        let decomposition = self.decomposition;
        let kind = self.context.kind.clone();
        let (nodes, ranks) = (decomposition.nodes(), decomposition.ranks());
        SavedNodes { kind, nodes, ranks, mask: self.mask.clone() }
    }

    fn span(&self, resumed: Option<&Resumed>) -> Span {
        let interval = self.inputs.scenario.output().thermo.every;
        let first = resumed.map_or(0, |resumed| resumed.header.step);
        Span { first, last: self.context.steps, interval }
    }

    fn checkpoints<'d>(
        &'d self,
        directory: Option<&'d OutputDirectory>,
        resumed: Option<&Resumed>,
    ) -> Checkpoints<'d> {
        let Span { first, last, .. } = self.span(resumed);
        let root = directory.map(|directory| checkpoint::Root {
            directory,
            scenario: effective_toml(&self.inputs.scenario),
            species: 0,
        });
        Checkpoints::new(self.world, self.inputs.scenario.output().checkpoint, [first, last], root)
    }
}

/// Says from where a run goes on, and what is not as it was.
fn note_resumption(resumed: &Resumed) {
    let (path, step) = (resumed.path.display(), resumed.header.step);
    note(&format!("going on after step {step}, from `{path}`"));
    let changed = &resumed.differences.system;
    if !changed.is_empty() {
        note(&format!("not as it was: {}", changed.join("; ")));
    }
}

/// The directory of the scenario's results, with the effective scenario in it; other results go elsewhere.
pub(super) fn output_directory<M: GridModel>(
    inputs: &GridInputs<M>,
    results: &ResultFiles,
    verbosity: Verbosity,
) -> Result<OutputDirectory, OutputError> {
    let effective = inputs.effective_toml()?;
    let read = inputs.files_read();
    let read: Vec<&Path> = read.iter().map(PathBuf::as_path).collect();
    let path = &inputs.scenario.output().directory;
    let directory = OutputDirectory::for_scenario(path, results, &read, effective.as_bytes())?;
    note_lock(&directory);
    note_removal(&directory, verbosity);
    Ok(directory)
}

/// Writes what is known at the end, and shows it.
fn conclude(
    directory: &OutputDirectory,
    Console { mut screen, progress, thermo, .. }: Console,
    (timings, ranks): (&Timings, &[RankTiming]),
    context: &GridContext,
    facts: &GridFacts,
    timeline: Result<String, OutputError>,
) -> Result<(), OutputError> {
    progress.finish();
    directory.write_whole(KnownFile::TIMING, &timing_csv(timings, context)?)?;
    directory.write_whole(KnownFile::TIMING_RANKS, &timing_ranks_csv(ranks, context)?)?;
    directory.write_whole(KnownFile::SUMMARY, &summary_json(timings, context, facts)?)?;
    thermo.finish()?;
    directory.finish()?;
    let timeline = timeline?;
    screen.print(&report(timings, context, facts));
    screen.print(&timeline);
    screen.print(&where_results_are(directory.path()));
    screen.finish()
}

/// Speed, halo, and where the time went.
fn report(timings: &Timings, context: &GridContext, facts: &GridFacts) -> String {
    let GridContext { kind, nodes, fields, grid, ranks, steps, backend, precision, .. } = context;
    let prose = format!(
        "\n{kind} on {nodes} nodes, {}, {precision} precision: {} in {} s ({})\n\
         {} million updates of a node per second; {}, grid {grid}, backend {}\n\
         Halo: {} us per step; {} and {} sent by all ranks\n{}",
        counted(*fields, "field"),
        counted(*steps, "step"),
        significant(facts.wall_s, 6),
        facts.ended,
        significant(facts.mlups(), 5),
        counted(*ranks, "rank"),
        backend.name(),
        significant(halo_s(timings, *steps) * 1e6, 5),
        counted(timings.messages, "message"),
        counted(timings.bytes, "byte"),
        memory_line(facts),
    );
    within_columns(&prose) + &phase_table(&phases(timings))
}

/// How much of what copying moves the run has moved, where that is known.
fn memory_line(facts: &GridFacts) -> String {
    let number = |key: &str| facts.more.get(key).and_then(Value::as_f64);
    let [Some(one), Some(many)] = [number("share_of_copy"), number("share_of_streams_copy")] else {
        return String::new();
    };
    let [one, many] = [one, many].map(|share| significant(100.0 * share, 3));
    format!(
        "Memory: {one} % of what copying one stream moves, {many} % of copying as many as there are populations\n"
    )
}
