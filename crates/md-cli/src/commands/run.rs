//! `md-cli run`: the simulation, and the files and the screen as its observers.

use std::cell::RefCell;
use std::rc::Rc;

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
use crate::setup;

/// Runs the scenario on this rank. *Collective.*
///
/// # Errors
/// See [`RunError`].
pub fn run(world: &dyn World, inputs: &Inputs, args: &RunArgs) -> Result<(), RunError> {
    let setup = setup::of_inputs(inputs, world.ranks())?;
    let opened = open_on_root(world, || Outputs::open(inputs, &setup, args))?;
    let (directory, thermo, trajectory, console) = match opened {
        Some(Outputs { directory, thermo, trajectory, console }) => {
            (Some(directory), Some(thermo), trajectory, Some(Rc::new(RefCell::new(console))))
        }
        None => (None, None, None, None),
    };
    let steps = inputs.scenario.simulation.steps;
    let output = &inputs.scenario.output;
    let mut thermo = ThermoTable {
        interval: output.thermo.every,
        last_step: steps,
        rows: thermo.zip(console.clone()),
        first: None,
        last: None,
    };
    let interval = output.trajectory.as_ref().map(|trajectory| trajectory.every);
    let mut trajectory = Trajectory { interval, writer: trajectory };
    let mut ticks = Ticks { console: console.clone() };
    let mut simulation = Simulation::new(world, &setup)?;
    simulation.start_measuring()?;
    simulation.run(steps, &mut [&mut thermo, &mut trajectory, &mut ticks])?;
    let timings = simulation.timings()?;
    let sums = simulation.system_sums()?;
    if let (Some(directory), Some(console)) = (directory, console) {
        console.borrow_mut().progress.finish();
        let wall_s = |rank: &RankTiming| rank.phases[Phase::Total as usize].seconds;
        let summary = RunSummary {
            sums,
            wall_s: timings.iter().map(wall_s).fold(0.0, f64::max),
            drift_per_atom: thermo.drift_per_atom(),
        };
        let facts = facts(world, &simulation, &inputs.scenario.parallel, &setup, &summary);
        let context = context(world, &inputs.scenario, &setup, steps);
        if let Some((writer, _)) = thermo.rows {
            writer.finish()?;
        }
        if let Some(writer) = trajectory.writer {
            writer.finish()?;
        }
        directory.write_whole(KnownFile::TIMING, &timing_csv(&timings, &context)?)?;
        directory.write_whole(KnownFile::TIMING_RANKS, &timing_ranks_csv(&timings, &context)?)?;
        directory.write_whole(KnownFile::SUMMARY, &summary_json(&timings, &context, &facts, None)?)?;
        console.borrow_mut().screen.print(&run_report(&timings, &context, &facts));
    }
    Ok(simulation.finalise()?)
}

/// What rank 0 writes and shows.
struct Outputs {
    directory: OutputDirectory,
    thermo: ThermoWriter,
    trajectory: Option<TrajectoryWriter>,
    console: Console,
}

/// The screen and the progress bar above which rows are printed.
struct Console {
    screen: Screen,
    progress: Progress,
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
        let progress = Progress::new(args.progress, scenario.simulation.steps, setup.atoms());
        Ok(Self {
            thermo: ThermoWriter::create(&directory)?,
            trajectory: trajectory.transpose()?,
            console: Console { screen, progress },
            directory,
        })
    }
}

/// thermo.csv and the table on the screen.
struct ThermoTable {
    interval: u64,
    last_step: u64,
    rows: Option<(ThermoWriter, Rc<RefCell<Console>>)>,
    first: Option<Thermo>,
    last: Option<Thermo>,
}

impl ThermoTable {
    fn drift_per_atom(&self) -> f64 {
        let drift = self.first.zip(self.last).map(|(first, last)| last.total_per_atom - first.total_per_atom);
        drift.unwrap_or_default()
    }
}

impl Observer for ThermoTable {
    fn due(&self, step: u64) -> Option<Needs> {
        let is_due = step.is_multiple_of(self.interval) || step == self.last_step;
        is_due.then_some(Needs::ENERGY_AND_VIRIAL)
    }

    fn observe(&mut self, now: &Snapshot) -> Result<(), ObserverError> {
        let (Some((writer, console)), Some(thermo)) = (&mut self.rows, now.thermo) else { return Ok(()) };
        self.first.get_or_insert(*thermo);
        self.last = Some(*thermo);
        let Console { screen, progress } = &mut *console.borrow_mut();
        progress.print(screen, &thermo_row(thermo));
        Ok(writer.write(thermo)?)
    }

    fn runs_on(&self) -> RunsOn {
        RunsOn::FirstRank
    }
}

/// The trajectory, where the scenario asks for one.
struct Trajectory {
    interval: Option<u64>,
    writer: Option<TrajectoryWriter>,
}

impl Observer for Trajectory {
    fn due(&self, step: u64) -> Option<Needs> {
        self.interval.filter(|&interval| step.is_multiple_of(interval)).map(|_| Needs::GATHERED_PARTICLES)
    }

    fn observe(&mut self, now: &Snapshot) -> Result<(), ObserverError> {
        let (Some(writer), Some(rows)) = (&mut self.writer, now.gathered) else { return Ok(()) };
        Ok(writer.write(now.step, now.time, rows)?)
    }

    fn runs_on(&self) -> RunsOn {
        RunsOn::FirstRank
    }
}

/// The progress bar.
struct Ticks {
    console: Option<Rc<RefCell<Console>>>,
}

impl Observer for Ticks {
    fn due(&self, _: u64) -> Option<Needs> {
        Some(Needs::NOTHING)
    }

    fn observe(&mut self, now: &Snapshot) -> Result<(), ObserverError> {
        if let Some(console) = &self.console {
            console.borrow_mut().progress.tick(now.step);
        }
        Ok(())
    }

    fn runs_on(&self) -> RunsOn {
        RunsOn::FirstRank
    }
}
