//! Initial state of a run, from a scenario or a checkpoint.

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;

use md_comm::World;
use md_engine::{EngineError, Restored, Setup, Simulation};
use md_files::checkpoint::{self, BegunStage, Differences, Resumed};
use md_files::output::run_output::{Console, SharedConsole};
use md_files::output::screen::thermo_header;
use md_files::output::trajectory::expect_same_kind;
use md_files::output::{Gathers, GoingOn, Progress, ResultFiles, Screen, Verbosity};
use md_files::store::{OutputDirectory, OutputError, RecordFile};
use md_scenario::StagePlan;
use md_scenario::failure::{BAD_INPUT, RunError};
use md_scenario::messages::{note, warn};

use super::super::{interval_warnings, note_lock, note_particles, note_removal, prepared_directory};
use super::own_outputs::OwnOutputs;
use super::stages::go_on_in_stage;
use crate::args::RunArgs;
use crate::commands::ending::summarised;
use crate::commands::timeline::expect_timeline;
use crate::inputs::Inputs;
use crate::replay::{self, Replay};
use crate::setup::{self, room};

/// Initial state of a run on one rank.
pub(super) struct Beginning {
    pub(super) setup: Setup,
    pub(super) stages: Vec<StagePlan>,
    /// Stage in which the run begins.
    pub(super) begun: BegunStage,
    pub(super) resumed_from_step: Option<u64>,
    pub(super) resumed: Option<Resumed>,
    /// Outputs of the stages that have separate ones.
    pub(super) own_outputs: Vec<OwnOutputs>,
}

/// Data that the simulation takes over.
pub(super) struct Start {
    restored: Option<Restored>,
    replayed: Option<Replay>,
}

impl Beginning {
    /// Reads the initial state from a scenario, or from the checkpoint that the arguments name.
    /// *Collective.*
    pub(super) fn of(world: &dyn World, inputs: &Inputs, args: &RunArgs) -> Result<(Self, Start), RunError> {
        setup::expect_room_on_all(world, inputs)?;
        let mut setup = setup::of_inputs(inputs, world.ranks())?;
        let replayed = args.replay.as_deref().map(|path| replay::read(path, world, inputs)).transpose()?;
        room::expect_on_all(world, inputs, &setup, Gathers::of_run(&inputs.scenario))?;
        expect_timeline(world, &args.trace)?;
        let read = |path: &PathBuf| checkpoint::read(world, path, &inputs.scenario, &setup);
        let (resumed, restored) = args.resume.as_ref().map(read).transpose()?.unzip();
        let stages = inputs.scenario.stages();
        let begun = resumed.as_ref().map_or_else(BegunStage::default, |resumed| resumed.header.stage);
        if resumed.is_some() {
            go_on_in_stage(&mut setup, &stages, begun);
        }
        if args.reverse {
            setup = backwards(setup, &stages)?;
        }
        let resumed_from_step = resumed.as_ref().map(|resumed| resumed.header.step);
        let own_outputs = OwnOutputs::of(&inputs.scenario, resumed.as_ref());
        let beginning = Self { setup, stages, begun, resumed_from_step, resumed, own_outputs };
        Ok((beginning, Start { restored, replayed }))
    }

    /// Returns the number of steps that earlier runs have made.
    pub(super) fn first_step(&self) -> u64 {
        self.resumed_from_step.unwrap_or(0)
    }
}

/// Returns the setup of a run backwards in time.
fn backwards(setup: Setup, stages: &[StagePlan]) -> Result<Setup, RunError> {
    let refused = |what: &str| summarised(format!("`--reverse` needs {what}"), BAD_INPUT);
    match setup.backwards() {
        Ok(_) if stages.len() > 1 => Err(refused("a run without stages")),
        Ok(setup) => Ok(setup),
        Err(EngineError::NotReversible(what)) => Err(refused(what)),
        Err(error) => Err(error.into()),
    }
}

impl Start {
    /// Returns the simulation. *Collective.*
    pub(super) fn simulation<'w>(
        self,
        world: &'w dyn World,
        setup: &Setup,
    ) -> Result<Simulation<'w>, RunError> {
        let mut simulation = match self.restored {
            None => Simulation::new(world, setup)?,
            Some(restored) => Simulation::resume(world, setup, restored)?,
        };
        self.replayed.map_or(Ok(()), |replay| replay.begin(&mut simulation))?;
        Ok(simulation)
    }
}

/// Directories, console and timeline of rank 0.
pub(super) struct Root {
    pub(super) directory: OutputDirectory,
    /// Directories of the stages that have separate outputs.
    pub(super) stage_directories: Vec<OutputDirectory>,
    pub(super) console: SharedConsole,
    /// File of `--trace`.
    pub(super) timeline: Option<RecordFile>,
}

impl Root {
    /// Prepares the output directories, without changing their files, and prints how the run
    /// begins.
    pub(super) fn open(inputs: &Inputs, beginning: &Beginning, args: &RunArgs) -> Result<Self, OutputError> {
        let scenario = &inputs.scenario;
        let verbosity = Verbosity::unless(args.quiet);
        let (first_step, resumed) = (beginning.first_step(), beginning.resumed.as_ref());
        let elsewhere: Vec<PathBuf> = args.trace.trace.iter().cloned().collect();
        let results = ResultFiles {
            elsewhere: &elsewhere,
            trajectory: scenario.output.trajectory.as_ref().map(|it| it.path.as_str()),
            going_on: resumed.map(GoingOn::from),
            ..ResultFiles::default()
        };
        let directory = prepared_directory(inputs, scenario, &results)?;
        note_lock(&directory);
        note_particles(inputs, verbosity);
        let of_stages = beginning.own_outputs.iter().map(|own| own.directory(inputs));
        let stage_directories: Vec<_> = of_stages.collect::<Result<_, _>>()?;
        OwnOutputs::note_left(&beginning.own_outputs, &directory, verbosity);
        // This check precedes the removal or truncation of files.
        let kind = |(resumed, now)| expect_same_kind(&directory, resumed, now);
        resumed.zip(scenario.output.trajectory.as_ref()).map_or(Ok(()), kind)?;
        if let Some(resumed) = resumed {
            note_resumption(resumed, verbosity);
            OwnOutputs::note_changes(&beginning.own_outputs, resumed);
        }
        interval_warnings(scenario).iter().for_each(|text| warn(text));
        let (steps, atoms) = (scenario.simulation.steps, beginning.setup.atoms());
        let progress = Progress::new(args.progress, first_step, steps, atoms);
        let console = Rc::new(RefCell::new(Console { screen: Screen::stdout(verbosity), progress }));
        Ok(Self { directory, stage_directories, console, timeline: None })
    }

    /// Removes results of an earlier run, once the simulation is set up.
    pub(super) fn begin(&mut self, args: &RunArgs) -> Result<(), OutputError> {
        let Self { directory, stage_directories, timeline, .. } = self;
        for directory in std::iter::once(&mut *directory).chain(stage_directories) {
            directory.begin()?;
            note_removal(directory, Verbosity::unless(args.quiet));
        }
        *timeline = args.trace.trace.as_ref().map(|path| directory.create_elsewhere(path)).transpose()?;
        Ok(())
    }

    /// Prints the header of the table, once all outputs are open.
    pub(super) fn begin_table(&self) {
        self.console.borrow_mut().screen.print(&thermo_header());
    }
}

/// Prints the step from which a run continues, and the effects of changes of the scenario on its
/// results.
fn note_resumption(resumed: &Resumed, verbosity: Verbosity) {
    let Differences { system, motion, ramp, ahead, over, start, rounding } = &resumed.differences;
    let step = resumed.header.step;
    if !system.is_empty() {
        let (system, counted) = (system.join("; "), "the change of the energy is counted from");
        warn(&format!("the checkpoint is of another system: {system}; {counted} step {step}"));
    }
    if !ramp.is_empty() {
        let others = "from here on results are not those of one run over all steps";
        warn(&format!("the temperature's ramp ends at another step: {}; {others}", ramp.join("; ")));
    }
    if verbosity == Verbosity::Quiet {
        return;
    }
    note(&format!("going on after step {step}, from `{}`", resumed.path.display()));
    let of_rounding = match resumed.differences.change_results() {
        true => "these would change the last digits of results alone",
        false => "results agree to rounding, not to the last bit",
    };
    for (what, texts) in [
        ("other results from here on", motion),
        ("other results from a later stage on", ahead),
        ("without effect, as the stage is over", over),
        ("without effect, as the checkpoint has the particles", start),
        (of_rounding, rounding),
    ] {
        if !texts.is_empty() {
            note(&format!("{what}: {}", texts.join("; ")));
        }
    }
}
