//! `md-cli run`: the simulation, and the files and the screen as its observer.

use md_comm::World;
use md_engine::{
    Needs, Observer, ObserverError, Phase, RankTiming, RunsOn, Setup, Simulation, Snapshot, Thermo,
};

use super::{RunSummary, context, facts, open_on_root, output_directory, species_labels};
use crate::args::RunArgs;
use crate::cores;
use crate::early_end::{EarlyEnd, Ended};
use crate::error::RunError;
use crate::inputs::Inputs;
use crate::output::breakdown::run_report;
use crate::output::screen::{thermo_header, thermo_row};
use crate::output::summary::summary_json;
use crate::output::tables::{timing_csv, timing_ranks_csv};
use crate::output::warnings::{first_danger, warnings};
use crate::output::{
    FrameBox, KnownFile, OutputDirectory, OutputError, Progress, Screen, ThermoWriter, TrajectoryWriter,
    Verbosity,
};
use crate::report::{RunContext, RunFacts};
use crate::scenario::{Output, Scenario, Trajectory};
use crate::session::warn;
use crate::{memory, setup};

/// Runs the scenario on this rank. *Collective.*
///
/// # Errors
/// See [`RunError`].
pub fn run(world: &dyn World, inputs: &Inputs, args: &RunArgs, early_end: &EarlyEnd) -> Result<(), RunError> {
    let setup = setup::of_inputs(inputs, world.ranks())?;
    memory::expect_on_all(world, inputs, &setup)?;
    let scenario = &inputs.scenario;
    let steps = scenario.simulation.steps;
    let outputs = open_on_root(world, || Outputs::open(inputs, &setup, args))?;
    let mut recorder = Recorder { output: &scenario.output, early_end, last: steps, outputs };
    let mut simulation = Simulation::new(world, &setup)?;
    simulation.start_measuring()?;
    simulation.run(steps, &mut [&mut recorder])?;
    let timings = simulation.timings()?;
    let sums = simulation.system_sums()?;
    let done = recorder.last;
    let ended = if done < steps { early_end.reason(world)? } else { Ended::AsPlanned };
    let threads = cores::share_of_ranks(world, scenario.parallel.ranks)?;
    if let Some(mut outputs) = recorder.outputs {
        let wall_s = |rank: &RankTiming| rank.phases[Phase::Total as usize].seconds;
        let wall_s = timings.iter().map(wall_s).fold(0.0, f64::max);
        let summary = RunSummary { sums, wall_s, drift_per_atom: outputs.drift_per_atom(), ended };
        let facts = facts(world, &simulation, &scenario.parallel, &setup, &summary);
        outputs.could_use = Some(threads).filter(|&threads| threads > scenario.parallel.threads);
        outputs.finish(&timings, &context(world, scenario, &setup, done), &facts)?;
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
    thermo: ThermoWriter,
    trajectory: Option<TrajectoryWriter>,
    screen: Screen,
    progress: Progress,
    /// The first row of the thermo table and the last one.
    ends: Option<[Thermo; 2]>,
    /// The warning that is given once, as soon as there is reason.
    danger: Option<String>,
    /// Threads per rank, if there are cores for more than there were.
    could_use: Option<usize>,
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
        warn_of_interval(scenario);
        let mut screen = Screen::stdout(Verbosity::unless(args.quiet));
        for note in inputs.particles.iter().flat_map(|particles| &particles.notes) {
            screen.print(&format!("Note: {note}\n"));
        }
        screen.print(&thermo_header());
        Ok(Self {
            thermo: ThermoWriter::create(&directory)?,
            trajectory: trajectory.transpose()?,
            screen,
            progress: Progress::new(args.progress, scenario.simulation.steps, setup.atoms()),
            ends: None,
            danger: None,
            could_use: None,
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

    /// What is written whole, at the end. What has happened to the other files does not keep it from being written.
    fn finish(
        mut self,
        timings: &[RankTiming],
        context: &RunContext,
        facts: &RunFacts,
    ) -> Result<(), OutputError> {
        self.progress.finish();
        let grown = self.thermo.finish();
        let grown = grown.and(self.trajectory.map_or(Ok(()), TrajectoryWriter::finish));
        self.directory.write_whole(KnownFile::TIMING, &timing_csv(timings, context)?)?;
        self.directory.write_whole(KnownFile::TIMING_RANKS, &timing_ranks_csv(timings, context)?)?;
        self.directory.write_whole(KnownFile::SUMMARY, &summary_json(timings, context, facts, None)?)?;
        grown.and(self.directory.finish())?;
        self.screen.print(&run_report(timings, context, facts));
        warnings(facts).iter().for_each(|text| self.progress.warn(text));
        if facts.ended == Ended::WallTime {
            self.screen.print(&format!("\nEnded by --wall-time after {} steps\n", context.steps));
        }
        if let Some(threads) = self.could_use {
            let used = context.threads;
            self.screen.print(&format!("\nThreads per rank: {used}; --threads auto would use {threads}\n"));
        }
        self.screen.finish()
    }
}

/// A trajectory of one frame may be what was wanted, but as a rule it is not.
fn warn_of_interval(scenario: &Scenario) {
    let steps = scenario.simulation.steps;
    if let Some(Trajectory { every, .. }) = scenario.output.trajectory.as_ref().filter(|it| it.every > steps)
    {
        warn(&format!(
            "`output.trajectory.every` is {every}, but the run has {steps} steps: no frame after step 0 will be written"
        ));
    }
}

/// Feeds the outputs; there are some on rank 0 alone.
struct Recorder<'s> {
    output: &'s Output,
    early_end: &'s EarlyEnd,
    /// The last step.
    last: u64,
    outputs: Option<Outputs>,
}

impl Observer for Recorder<'_> {
    fn due(&self, step: u64) -> Option<Needs> {
        let Output { thermo, trajectory, .. } = self.output;
        let mut needs = Needs::NOTHING;
        if step.is_multiple_of(thermo.every) || step == self.last {
            needs = needs | Needs::ENERGY_AND_VIRIAL;
        }
        if trajectory.as_ref().is_some_and(|trajectory| step.is_multiple_of(trajectory.every)) {
            needs = needs | Needs::GATHERED_PARTICLES;
        }
        // The progress bar looks at every step.
        Some(needs)
    }

    fn observe(&mut self, now: &Snapshot) -> Result<(), ObserverError> {
        let Some(outputs) = &mut self.outputs else { return Ok(()) };
        if outputs.danger.is_none() {
            outputs.danger = first_danger(&now.neighborhood);
            outputs.danger.iter().for_each(|text| outputs.progress.warn(text));
        }
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

    fn wants_end(&self) -> bool {
        self.early_end.is_wanted()
    }

    fn ends_at(&mut self, step: u64) {
        self.last = step;
    }
}
