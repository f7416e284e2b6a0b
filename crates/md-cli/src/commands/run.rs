//! `md-cli run`: the step loop and its outputs.

use md_comm::World;
use md_core::Evaluation;

use super::{context, facts, open_on_root, output_directory, species_labels};
use crate::args::RunArgs;
use crate::driver::{RowVector, RunError, Setup, Simulation};
use crate::inputs::Inputs;
use crate::output::breakdown::run_report;
use crate::output::screen::{thermo_header, thermo_row};
use crate::output::summary::run_summary_json;
use crate::output::timing::{timing_csv, timing_ranks_csv};
use crate::output::{
    FrameBox, KnownFile, OutputDirectory, OutputError, Progress, Screen, ThermoWriter, TrajectoryWriter,
};
use crate::report::{ParticleRow, Phase, RankTiming, RunContext, RunFacts, Thermo};

/// Runs the scenario on this rank. *Collective.*
///
/// # Errors
/// See [`RunError`].
pub fn run(world: &dyn World, inputs: &Inputs, args: &RunArgs) -> Result<(), RunError> {
    let setup = Setup::new(&inputs.source, &inputs.scenario, inputs.particles.clone(), world.ranks())?;
    let mut outputs = open_on_root(world, || Outputs::open(inputs, &setup, args))?;
    let mut simulation = Simulation::new(world, &setup, &inputs.scenario)?;
    simulation.start_measuring();
    let first = record(&mut simulation, &mut outputs, inputs)?;
    let mut last = first;
    let steps = inputs.scenario.simulation.steps;
    for step in 1..=steps {
        let is_thermo_step = step % inputs.scenario.output.thermo.every == 0 || step == steps;
        simulation.step(if is_thermo_step {
            Evaluation::WithEnergyAndVirial
        } else {
            Evaluation::ForcesOnly
        })?;
        if is_thermo_step {
            last = record(&mut simulation, &mut outputs, inputs)?;
        }
        write_frame(&mut simulation, &mut outputs, inputs, step)?;
        if let Some(outputs) = &mut outputs {
            outputs.progress.tick(step);
        }
    }
    let timings = simulation.timings()?;
    let sums = simulation.system_sums()?;
    let wall_s = timings.iter().map(|rank| rank.phases[Phase::Total as usize].seconds).fold(0.0, f64::max);
    let drift = last.total_per_atom - first.total_per_atom;
    let facts = facts(world, &simulation, &inputs.scenario.parallel, &setup, &sums, wall_s, drift);
    let context = context(world, &inputs.scenario, &setup, steps);
    if let Some(outputs) = outputs {
        outputs.finish(&timings, &context, &facts)?;
    }
    simulation.finalise()
}

/// Measures the present state, shows and writes it. *Collective.*
fn record(
    simulation: &mut Simulation,
    outputs: &mut Option<Outputs>,
    inputs: &Inputs,
) -> Result<Thermo, RunError> {
    let sums = simulation.system_sums()?;
    let thermo = simulation.thermo(&sums);
    if let Some(outputs) = outputs {
        simulation.time(Phase::Output, || outputs.thermo(&thermo))?;
    }
    if thermo.step == 0 {
        write_frame(simulation, outputs, inputs, 0)?;
    }
    Ok(thermo)
}

/// Writes a trajectory frame if one is due. *Collective.*
fn write_frame(
    simulation: &mut Simulation,
    outputs: &mut Option<Outputs>,
    inputs: &Inputs,
    step: u64,
) -> Result<(), RunError> {
    let due = inputs.scenario.output.trajectory.as_ref().is_some_and(|t| step.is_multiple_of(t.every));
    if !due {
        return Ok(());
    }
    let mut rows = simulation.gather_timed(RowVector::Velocity)?;
    let time = step as f64 * simulation.timestep();
    if let Some(outputs) = outputs {
        simulation.time(Phase::Output, || outputs.frame(step, time, &mut rows))?;
    }
    Ok(())
}

/// What rank 0 writes and shows.
struct Outputs {
    directory: OutputDirectory,
    thermo: ThermoWriter,
    trajectory: Option<TrajectoryWriter>,
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
            let labels = species_labels(scenario, &setup.masses);
            TrajectoryWriter::create(&directory, &trajectory.path, frame_box, &labels)
        });
        let mut screen = Screen::stdout(args.verbosity());
        screen.print(&thermo_header());
        Ok(Self {
            thermo: ThermoWriter::create(&directory)?,
            trajectory: trajectory.transpose()?,
            progress: Progress::new(args.progress, scenario.simulation.steps, setup.atoms()),
            screen,
            directory,
        })
    }

    fn thermo(&mut self, row: &Thermo) -> Result<(), OutputError> {
        self.progress.print(&mut self.screen, &thermo_row(row));
        self.thermo.write(row)
    }

    fn frame(&mut self, step: u64, time: f64, rows: &mut [ParticleRow]) -> Result<(), OutputError> {
        self.trajectory.as_mut().map_or(Ok(()), |trajectory| trajectory.write(step, time, rows))
    }

    fn finish(
        mut self,
        timings: &[RankTiming],
        context: &RunContext,
        facts: &RunFacts,
    ) -> Result<(), OutputError> {
        self.progress.finish();
        self.thermo.finish()?;
        if let Some(trajectory) = self.trajectory {
            trajectory.finish()?;
        }
        self.directory.write_whole(KnownFile::Timing, &timing_csv(timings, context)?)?;
        self.directory.write_whole(KnownFile::TimingRanks, &timing_ranks_csv(timings, context)?)?;
        self.directory.write_whole(KnownFile::Summary, &run_summary_json(timings, context, facts)?)?;
        self.screen.print(&run_report(timings, context, facts));
        Ok(())
    }
}
