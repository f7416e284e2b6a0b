//! `md-cli run`: the simulation, and the files and the screen as its observer.

use md_comm::World;
use md_engine::{
    Needs, Observer, ObserverError, Phase, RankTiming, RunsOn, Setup, Simulation, Snapshot, Thermo,
};

use super::{RunSummary, context, facts, open_on_root, output_directory, species_labels};
use crate::args::RunArgs;
use crate::error::RunError;
use crate::inputs::Inputs;
use crate::output::breakdown::run_report;
use crate::output::screen::{thermo_header, thermo_row};
use crate::output::summary::summary_json;
use crate::output::tables::{timing_csv, timing_ranks_csv};
use crate::output::{
    FrameBox, KnownFile, OutputDirectory, OutputError, Progress, Screen, ThermoWriter, TrajectoryWriter,
};
use crate::report::{RunContext, RunFacts};
use crate::scenario::Scenario;
use crate::{memory, setup};

/// Runs the scenario on this rank. *Collective.*
///
/// # Errors
/// See [`RunError`].
pub fn run(world: &dyn World, inputs: &Inputs, args: &RunArgs) -> Result<(), RunError> {
    let setup = setup::of_inputs(inputs, world.ranks())?;
    memory::expect_on_all(world, inputs, &setup)?;
    let scenario = &inputs.scenario;
    let steps = scenario.simulation.steps;
    let outputs = open_on_root(world, || Outputs::open(inputs, &setup, args))?;
    let mut recorder = Recorder { scenario, outputs };
    let mut simulation = Simulation::new(world, &setup)?;
    simulation.start_measuring()?;
    simulation.run(steps, &mut [&mut recorder])?;
    let timings = simulation.timings()?;
    let sums = simulation.system_sums()?;
    if let Some(outputs) = recorder.outputs {
        let wall_s = |rank: &RankTiming| rank.phases[Phase::Total as usize].seconds;
        let wall_s = timings.iter().map(wall_s).fold(0.0, f64::max);
        let summary = RunSummary { sums, wall_s, drift_per_atom: outputs.drift_per_atom() };
        let facts = facts(world, &simulation, &scenario.parallel, &setup, &summary);
        outputs.finish(&timings, &context(world, scenario, &setup, steps), &facts)?;
    }
    Ok(simulation.finalise()?)
}

/// What rank 0 writes and shows.
struct Outputs {
    directory: OutputDirectory,
    thermo: ThermoWriter,
    trajectory: Option<TrajectoryWriter>,
    screen: Screen,
    progress: Progress,
    /// The first row of the thermo table and the last one.
    ends: Option<[Thermo; 2]>,
}

impl Outputs {
    fn open(inputs: &Inputs, setup: &Setup, args: &RunArgs) -> Result<Self, OutputError> {
        let scenario = &inputs.scenario;
        let directory = output_directory(inputs)?;
        let trajectory = scenario.output.trajectory.as_ref().map(|trajectory| {
            let domain = &setup.domain;
            let periodic = [0, 1, 2].map(|dim| domain.is_periodic(dim));
            let frame_box = FrameBox { origin: domain.origin, lengths: domain.lengths, periodic };
            let labels = species_labels(scenario, &setup.config.masses);
            TrajectoryWriter::create(&directory, &trajectory.path, frame_box, &labels)
        });
        let mut screen = Screen::stdout(args.verbosity());
        screen.print(&thermo_header());
        Ok(Self {
            thermo: ThermoWriter::create(&directory)?,
            trajectory: trajectory.transpose()?,
            screen,
            progress: Progress::new(args.progress, scenario.simulation.steps, setup.atoms()),
            ends: None,
            directory,
        })
    }

    /// thermo.csv and the table on the screen, above the progress bar.
    fn write_thermo(&mut self, thermo: &Thermo) -> Result<(), OutputError> {
        let [first, _] = self.ends.unwrap_or([*thermo; 2]);
        self.ends = Some([first, *thermo]);
        self.progress.print(&mut self.screen, &thermo_row(thermo));
        self.thermo.write(thermo)
    }

    fn drift_per_atom(&self) -> f64 {
        self.ends.map_or(0.0, |[first, last]| last.total_per_atom - first.total_per_atom)
    }

    /// What is written whole, at the end.
    fn finish(
        mut self,
        timings: &[RankTiming],
        context: &RunContext,
        facts: &RunFacts,
    ) -> Result<(), OutputError> {
        self.progress.finish();
        self.thermo.finish()?;
        self.trajectory.map_or(Ok(()), TrajectoryWriter::finish)?;
        self.directory.write_whole(KnownFile::TIMING, &timing_csv(timings, context)?)?;
        self.directory.write_whole(KnownFile::TIMING_RANKS, &timing_ranks_csv(timings, context)?)?;
        self.directory.write_whole(KnownFile::SUMMARY, &summary_json(timings, context, facts, None)?)?;
        self.screen.print(&run_report(timings, context, facts));
        Ok(())
    }
}

/// Feeds the outputs; there are some on rank 0 alone.
struct Recorder<'s> {
    scenario: &'s Scenario,
    outputs: Option<Outputs>,
}

impl Observer for Recorder<'_> {
    fn due(&self, step: u64) -> Option<Needs> {
        let Scenario { output, simulation, .. } = self.scenario;
        let mut needs = Needs::NOTHING;
        if step.is_multiple_of(output.thermo.every) || step == simulation.steps {
            needs = needs | Needs::ENERGY_AND_VIRIAL;
        }
        if output.trajectory.as_ref().is_some_and(|trajectory| step.is_multiple_of(trajectory.every)) {
            needs = needs | Needs::GATHERED_PARTICLES;
        }
        // The progress bar looks at every step.
        Some(needs)
    }

    fn observe(&mut self, now: &Snapshot) -> Result<(), ObserverError> {
        let Some(outputs) = &mut self.outputs else { return Ok(()) };
        if let Some(thermo) = now.thermo {
            outputs.write_thermo(thermo)?;
        }
        if let (Some(writer), Some(rows)) = (&mut outputs.trajectory, now.gathered) {
            writer.write(now.step, now.time, rows)?;
        }
        outputs.progress.tick(now.step);
        Ok(())
    }

    fn runs_on(&self) -> RunsOn {
        RunsOn::FirstRank
    }
}
