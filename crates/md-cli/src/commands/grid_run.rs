//! Parts that all applications on grids share: outputs, the step loop, early ends and the report.

mod steps;

use std::path::{Path, PathBuf};

use md_comm::{Traffic, World};
use md_core::words::counted;
use md_engine::{Phase, RankTiming, Timings};
use md_files::checkpoint::{self, Checkpoints, OutputState, Resumed, SavedMask, SavedNodes};
use md_files::memory;
use md_files::output::screen::where_results_are;
use md_files::output::{GoingOn, ResultFiles, Verbosity, within_columns};
use md_files::store::{OutputDirectory, OutputError};
use md_grid::application::{self, PHASES};
use md_grid::{Application, Decomposition};
use md_lab::trace::TracedWorld;
use md_lab::{in_words, significant};
use md_scenario::effective_toml;
use md_scenario::failure::RunError;
use md_scenario::known_file::KnownFile;
use md_scenario::messages::note;
use serde_json::{Map, Value, json};

use super::ending::OutputElsewhere;
use super::timeline::write_timeline;
use super::{ROOT, note_lock, note_removal, open_on_root, rma_component, warn_of_crowding};
use crate::args::GridArgs;
use crate::early_end::EarlyEnd;
use crate::grid_inputs::{GridInputs, GridModel};
use crate::report::breakdown::phase_table;
use crate::report::choices::ChoiceEntry;
use crate::report::grid::{
    GridContext, GridSummary, GridThermoWriter, halo_s, mass_drift, phases, timing_csv,
};
use crate::report::summary::{Phases, in_json};
use crate::report::tables::timing_ranks_csv;
use steps::{Console, End, Span, Steps, into_result};

/// Outputs and checks that are specific to one application. All methods are *collective*.
pub(super) trait Extension<A: ?Sized> {
    /// Observes the state after a step. Step 0 is the initial state.
    ///
    /// # Errors
    /// Returns an error if an output or communication fails.
    fn observe(&mut self, _: &A, _: u64) -> Result<Observed, RunError> {
        Ok(Observed::Nothing)
    }

    /// Returns warnings about the results, on rank 0.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    /// Measures properties of the machine for summary.json, after the last step.
    ///
    /// # Errors
    /// Returns an error if communication fails.
    fn measure(&mut self, _: &A) -> Result<(), RunError> {
        Ok(())
    }

    /// Returns further keys of summary.json, on rank 0.
    fn summary(&self, app: &A, timings: &Timings) -> Map<String, Value>;

    /// Returns the state of the files that grow, for a checkpoint, on rank 0.
    ///
    /// # Errors
    /// Returns an error if the disk fails.
    fn kept(&self) -> Result<Vec<OutputState>, OutputError> {
        Ok(Vec::new())
    }

    /// Completes the files that grow.
    ///
    /// # Errors
    /// Returns an error if an output fails.
    fn finish(self) -> Result<(), RunError>
    where
        Self: Sized,
    {
        Ok(())
    }
}

/// Whether an observation took time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Observed {
    /// Nothing was due.
    Nothing,
    /// Something was written.
    Something,
}

/// Returns the effective scenario of checked inputs, for `ranks` ranks, and the memory that it
/// needs.
///
/// # Errors
/// Returns an error at the key of the grid if it cannot be divided among these ranks or does not
/// fit in memory, and the errors of [`GridModel::expect_ready`].
pub fn check<M: GridModel>(inputs: &GridInputs<M>, ranks: usize) -> Result<String, RunError> {
    let problem = M::problem(inputs, ranks)?;
    M::expect_room(inputs, &problem, memory::available(ranks))?;
    M::expect_ready(inputs)?;
    let needed = in_words(M::needed_bytes(inputs, &problem)?);
    Ok(inputs.effective_toml()? + &format!("\n# needs about {needed} of memory per rank\n"))
}

/// Inputs of a run on this rank.
pub(super) struct GridJob<'r, M> {
    pub world: &'r dyn World,
    /// The world that records a timeline, if one is requested.
    pub traced: Option<&'r TracedWorld<'r>>,
    pub inputs: &'r GridInputs<M>,
    pub decomposition: &'r Decomposition,
    /// Context of the rows, with the requested number of steps.
    pub context: GridContext,
    /// Mask that was read in addition to the scenario.
    pub mask: Option<SavedMask>,
    /// First lines of the application's tables.
    pub first_lines: Vec<(KnownFile, String)>,
    pub args: &'r GridArgs,
    pub early_end: &'r EarlyEnd,
}

/// Runs an application up to the requested number of steps, from the start or from a checkpoint,
/// and writes its files. *Collective.*
///
/// # Errors
/// See [`RunError`].
pub(super) fn run<M: GridModel, A: Application + ?Sized, E: Extension<A>>(
    job: &GridJob<M>,
    mut app: Box<A>,
    extend: impl FnOnce(Option<&OutputDirectory>, Option<&Resumed>) -> Result<E, RunError>,
) -> Result<(), RunError> {
    let &GridJob { world, traced, args, early_end, .. } = job;
    // The checkpoint is checked before the outputs of the earlier run are changed.
    let resumed = job.resume(&mut *app)?;
    let resumed = resumed.as_ref();
    let directory = open_on_root(world, || job.directory(&*app, resumed))?;
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

/// Steps that this run has made.
struct Made {
    end: End,
    span: Span,
    /// Traffic before the first of these steps.
    sent_before: Traffic,
    crowding: Option<String>,
}

impl<M: GridModel> GridJob<'_, M> {
    /// Reads the checkpoint that the arguments name, if there is one. *Collective.*
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

    /// Opens the directory of the results, with the files that a resumed run continues.
    fn directory<A: Application + ?Sized>(
        &self,
        app: &A,
        resumed: Option<&Resumed>,
    ) -> Result<OutputDirectory, OutputError> {
        let elsewhere: Vec<PathBuf> = self.args.trace.trace.iter().cloned().collect();
        let thermo = (KnownFile::THERMO, GridThermoWriter::first_line(app.columns()));
        let first_lines: Vec<_> = self.first_lines.iter().cloned().chain([thermo]).collect();
        let results = ResultFiles {
            going_on: resumed.map(GoingOn::from),
            first_lines: &first_lines,
            elsewhere: &elsewhere,
            ..ResultFiles::default()
        };
        output_directory(self.inputs, &results, Verbosity::unless(self.args.quiet))
    }

    /// Gathers the results at the end of the run and writes them. *Collective.*
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
            let (wall_s, choices) = (timings.phase(Phase::Total).seconds.max, app.choices());
            let updates = timings.owned.avg * context.ranks as f64 * context.fields as f64 * made as f64;
            let component = rma_component(world, context.backend);
            let summary = GridSummary {
                context: &made_context,
                wall_s,
                mlups: if wall_s > 0.0 { updates / wall_s / 1e6 } else { 0.0 },
                halo_s: halo_s(&timings, made),
                mass_drift: mass_drift(&ends),
                more: extension.summary(&*app, &timings),
                resumed_from_step: (span.first > 0).then_some(span.first),
                ended: ended.name(),
                last: (app.columns(), &ends[1]),
                fingerprint: format!("{fingerprint:016x}"),
                messages_sent: timings.messages,
                bytes_sent: timings.bytes,
                phases: Phases(phases(&timings)),
                mpi: json!({ "library": context.mpi_library, "rma_component": component }),
                choices: choices.iter().map(ChoiceEntry::from).collect(),
                git: env!("MD_GIT"),
                warnings: crowding.into_iter().chain(extension.warnings()).collect(),
            };
            conclude(directory, console, (&timings, &ranks), &summary, timeline)?;
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

/// Prints the step from which a run continues, and what differs from the earlier run.
fn note_resumption(resumed: &Resumed) {
    let (path, step) = (resumed.path.display(), resumed.header.step);
    note(&format!("going on after step {step}, from `{path}`"));
    let changed = &resumed.differences.system;
    if !changed.is_empty() {
        note(&format!("not as it was: {}", changed.join("; ")));
    }
}

/// Opens the directory of the scenario's results and writes the effective scenario into it.
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

/// Writes the final tables and prints the report.
fn conclude(
    directory: &OutputDirectory,
    Console { mut screen, progress, thermo, .. }: Console,
    (timings, ranks): (&Timings, &[RankTiming]),
    summary: &GridSummary,
    timeline: Result<String, OutputError>,
) -> Result<(), OutputError> {
    let context = summary.context;
    progress.finish();
    directory.write_whole(KnownFile::TIMING, &timing_csv(timings, context)?)?;
    let ranks = timing_ranks_csv(ranks, &PHASES, (GridContext::COLUMNS, context))?;
    directory.write_whole(KnownFile::TIMING_RANKS, &ranks)?;
    directory.write_whole(KnownFile::SUMMARY, &in_json(summary)?)?;
    thermo.finish()?;
    directory.finish()?;
    let timeline = timeline?;
    screen.print(&report(summary));
    screen.print(&timeline);
    screen.print(&where_results_are(directory.path()));
    screen.finish()
}

/// Returns the report: speed, halo time and times of the phases.
fn report(summary: &GridSummary) -> String {
    let GridContext { kind, nodes, fields, grid, ranks, steps, backend, precision, .. } = summary.context;
    let prose = format!(
        "\n{kind} on {nodes} nodes, {}, {precision} precision: {} in {} s ({})\n\
         {} million updates of a node per second; {}, grid {grid}, backend {}\n\
         Halo: {} us per step; {} and {} sent by all ranks\n{}",
        counted(*fields, "field"),
        counted(*steps, "step"),
        significant(summary.wall_s, 6),
        summary.ended,
        significant(summary.mlups, 5),
        counted(*ranks, "rank"),
        backend.name(),
        significant(summary.halo_s * 1e6, 5),
        counted(summary.messages_sent, "message"),
        counted(summary.bytes_sent, "byte"),
        memory_line(&summary.more),
    );
    within_columns(&prose) + &phase_table(&summary.phases.0)
}

/// Returns the ratio of the memory traffic to that of copying, if it was measured.
fn memory_line(more: &Map<String, Value>) -> String {
    let number = |key: &str| more.get(key).and_then(Value::as_f64);
    let [Some(one), Some(many)] = [number("share_of_copy"), number("share_of_streams_copy")] else {
        return String::new();
    };
    let [one, many] = [one, many].map(|share| significant(100.0 * share, 3));
    format!(
        "Memory: {one} % of what copying one stream moves, {many} % of copying as many as there are populations\n"
    )
}
