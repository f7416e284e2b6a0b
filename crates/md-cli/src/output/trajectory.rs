//! The trajectory of a run, where the scenario asks for one.

use md_engine::{Needs, Observer, ObserverError, ParticleRow, RunsOn, Setup, Simulation, Snapshot};

use super::run_output::{Closing, Kept, Opened, Opening, OutputKind, RunOutput, StageBegin};
use super::{FrameBox, OutputDirectory, OutputError, SpeciesLabel, TrajectoryWriter};
use crate::error::RunError;
use crate::scenario::Scenario;

/// Frames of all particles. Its file has the name that the scenario gives it.
pub const KIND: OutputKind = OutputKind { files: &[], open };

struct Frames {
    interval: Option<u64>,
    /// On rank 0.
    writer: Option<TrajectoryWriter>,
}

fn open<'a>(opening: &Opening<'a>) -> Result<Opened<'a>, OutputError> {
    let Opening { scenario, setup, root, .. } = opening;
    let Some(trajectory) = &scenario.output.trajectory else { return Ok(Vec::new()) };
    let writer = root.as_ref().map(|root| {
        let (frame_box, labels) = (frame_box(setup), species_labels(scenario, &setup.config.masses));
        match opening.mark(&trajectory.path) {
            Some((mark, step)) => TrajectoryWriter::go_on(root.directory, mark, step, frame_box, &labels),
            None => TrajectoryWriter::create(root.directory, &trajectory.path, frame_box, &labels),
        }
    });
    Ok(vec![Box::new(Frames { interval: Some(trajectory.every), writer: writer.transpose()? })])
}

/// Writes a file of one frame.
///
/// # Errors
/// As those of [`TrajectoryWriter`].
pub fn write_frame(
    directory: &OutputDirectory,
    path: &str,
    scenario: &Scenario,
    simulation: &Simulation,
    rows: &[ParticleRow],
) -> Result<(), OutputError> {
    let (setup, state) = (simulation.setup(), simulation.state());
    let labels = species_labels(scenario, &setup.config.masses);
    let mut writer = TrajectoryWriter::create(directory, path, frame_box(setup), &labels)?;
    writer.write(state.step, state.time, rows)?;
    writer.finish()
}

fn frame_box(setup: &Setup) -> FrameBox {
    let domain = &setup.domain;
    let periodic = [0, 1, 2].map(|dim| domain.is_periodic(dim));
    FrameBox { origin: domain.origin, lengths: domain.lengths, periodic }
}

fn species_labels(scenario: &Scenario, masses: &[f64]) -> Vec<SpeciesLabel> {
    let label = |(name, &mass): (&String, &f64)| SpeciesLabel { name: name.clone(), mass };
    scenario.species.iter().map(|species| &species.name).zip(masses).map(label).collect()
}

impl Observer for Frames {
    fn due(&self, step: u64) -> Option<Needs> {
        self.interval.filter(|&interval| step.is_multiple_of(interval)).map(|_| Needs::GATHERED_PARTICLES)
    }

    fn observe(&mut self, now: &Snapshot) -> Result<(), ObserverError> {
        let (Some(writer), Some(rows)) = (&mut self.writer, now.gathered) else { return Ok(()) };
        writer.follow_box(now.domain.origin, now.domain.lengths);
        Ok(writer.write(now.step, now.time, rows)?)
    }

    fn runs_on(&self) -> RunsOn {
        RunsOn::FirstRank
    }
}

impl RunOutput for Frames {
    fn begin_stage(&mut self, stage: &StageBegin) {
        self.interval = stage.plan.trajectory;
    }

    fn kept(&mut self) -> Result<Kept, ObserverError> {
        let mark = self.writer.as_ref().map(TrajectoryWriter::mark).transpose()?;
        Ok(Kept { mark, ..Kept::default() })
    }

    fn finish(self: Box<Self>, _: &mut Closing) -> Result<(), RunError> {
        Ok(self.writer.map_or(Ok(()), TrajectoryWriter::finish)?)
    }
}
