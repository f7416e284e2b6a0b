//! Outputs that observe frames instead of steps.

use std::path::Path;

use md_comm::World;
use md_core::words::counted;
use md_core::{Boundary, ConservedMomentum, Domain, Particles};
use md_engine::{Integrator, Needs, NeighborReport, Snapshot};
use md_files::input::InputParticles;
use md_files::output::outputs::output_of;
use md_files::output::run_output::{Closing, Opened, OutputKind, RunOutput};
use md_files::store::{OutputDirectory, OutputError};
use md_scenario::failure::RunError;
use md_scenario::known_file::KnownFile;
use serde_json::{Value, json};

use super::evaluated::{Evaluation, is_of_forces};
use super::followed::Followed;
use super::frames::{Frames, Stepped};
use super::lacks::{domain, told_images};
use super::rhythm::Rhythm;
use super::stages::RunStages;
use crate::commands::refused;
use crate::inputs::Inputs;

/// The outputs, and the state that follows from the frames so far.
pub(super) struct Analysis<'a> {
    pub(super) world: &'a dyn World,
    pub(super) stages: RunStages,
    pub(super) inputs: &'a Inputs,
    pub(super) evaluation: Evaluation<'a>,
    pub(super) masses: &'a [f64],
    pub(super) outputs: Opened<'a>,
    pub(super) followed: Followed,
    pub(super) rhythms: Vec<Rhythm>,
    /// Steps of the frames so far.
    pub(super) seen: Vec<u64>,
    /// Number of times that an output has observed a frame.
    pub(super) looks: u64,
}

impl Analysis<'_> {
    /// Shows all frames to the outputs, beginning with the first one, which has been read.
    pub(super) fn look_at_all(
        &mut self,
        first: Stepped,
        frames: &mut Frames<'_>,
        is_unwrapped: bool,
    ) -> Result<(), RunError> {
        let mut next = Some(first);
        while let Some(mut frame) = next {
            frame.frame.tells_images = told_images(&frame.frame, is_unwrapped);
            self.look(frame)?;
            next = frames.next()?;
        }
        Ok(())
    }

    fn look(&mut self, Stepped { name, step, frame }: Stepped) -> Result<(), RunError> {
        let name = &*name;
        self.seen.push(step);
        self.rhythms.iter_mut().try_for_each(|rhythm| rhythm.check(name, step))?;
        let domain = domain(&self.inputs.scenario, &frame);
        self.check_content(name, &frame)?;
        let particles = self.followed.particles(name, &frame, &domain, self.masses)?;
        let integrator = self.stages.integrator_at(step);
        let snapshot = self.snapshot(step, integrator, &domain, &particles);
        let has_velocities = frame.has_velocities();
        let mut of_forces: Vec<&mut dyn RunOutput> = Vec::new();
        for output in &mut self.outputs {
            let Some(needs) = output.due(step) else { continue };
            self.looks += 1;
            match is_of_forces(needs) {
                true if has_velocities => of_forces.push(&mut **output),
                true if needs.contains(Needs::ENERGY_AND_VIRIAL) => {
                    return Err(refused(format!("{name}: unlike the first frame it has no velocities")));
                }
                _ => output.observe(&snapshot).map_err(|reason| refused(reason.to_string()))?,
            }
        }
        if of_forces.is_empty() {
            return Ok(());
        }
        self.evaluation.show(name, frame, (step, integrator), of_forces)
    }

    /// Returns the state of a frame for outputs that need no forces.
    fn snapshot<'s>(
        &self,
        step: u64,
        integrator: Integrator,
        domain: &'s Domain,
        particles: &'s Particles,
    ) -> Snapshot<'s> {
        Snapshot {
            rank: 0,
            step,
            time: step as f64 * self.inputs.scenario.simulation.timestep,
            domain,
            particles,
            thermo: None,
            sums: None,
            gathered: None,
            particle_energies: None,
            particle_virials: None,
            near_pairs: None,
            box_warnings: &[],
            conserved_momentum: ConservedMomentum::new(domain, integrator.total_momentum()),
            minimisation: None,
            saved: None,
            neighborhood: NeighborReport::default(),
        }
    }

    /// Checks that a frame contains the data that the analyses need.
    fn check_content(&self, name: &str, frame: &InputParticles) -> Result<(), RunError> {
        let scenario = &self.inputs.scenario;
        let key_of = |is_of: fn(&OutputKind) -> bool| {
            let mut all = scenario.output.analyses.keys().into_iter();
            all.find(|keys| output_of(keys.file).is_some_and(is_of)).map(|keys| keys.kind.key)
        };
        let of_velocities = key_of(|kind| kind.needs == Needs::VELOCITIES);
        if let Some(key) = of_velocities.filter(|_| !frame.has_velocities()) {
            let less = "leave it out, or analyse a trajectory with velocities";
            return Err(refused(format!(
                "{name}: there are no velocities, of which `output.{key}` is made: {less}"
            )));
        }
        if let Some(key) = key_of(|kind| kind.has_tracks).filter(|_| frame.lacks_ids) {
            return Err(refused(format!(
                "{name}: there is no column `id`, by which `output.{key}` finds particles again: leave it out, or \
                 analyse a trajectory with ids"
            )));
        }
        let boundary = scenario.system.boundary.map(|boundary| boundary == Boundary::Periodic);
        let differs = |dim: usize| frame.periodic.is_some_and(|periodic| periodic[dim] != boundary[dim]);
        if (0..usize::from(scenario.simulation.dimension)).any(differs) {
            let flags = frame.periodic.unwrap_or(boundary).map(|flag| if flag { "T" } else { "F" }).join(" ");
            return Err(refused(format!(
                "{name}: `pbc=\"{flags}\"` contradicts `system.boundary` of the scenario: give that of the run which wrote it by --scenario FILE"
            )));
        }
        let species = scenario.species.len();
        if species > 1 && frame.lacks_types {
            return Err(refused(format!(
                "{name}: the file has no types, but the scenario has {species} species: give one with a single species \
                 by --scenario FILE, in which all particles count as one, or analyse a trajectory with types"
            )));
        }
        Ok(())
    }

    pub(super) fn finish(self, directory: &OutputDirectory, path: &Path) -> Result<(), RunError> {
        if self.looks == 0 {
            let (frames, last) = (self.seen.len(), self.seen.last().copied().unwrap_or_default());
            return Err(refused(format!(
                "of {}, the last of step {last}, there is none that an analysis takes: see its `every` and `start`",
                counted(frames, "frame")
            )));
        }
        let mut closing = Closing::new(self.world, Some(directory));
        for output in self.outputs {
            output.finish(&mut closing)?;
        }
        let (first, last) = (self.seen.first(), self.seen.last());
        let mut summary = json!({
            "trajectory": path.display().to_string(),
            "frames": self.seen.len(),
            "atoms": self.followed.ids.len(),
            "first_step": first,
            "last_step": last,
        });
        if let Value::Object(entries) = &mut summary {
            entries.append(&mut closing.summary);
        }
        let text = serde_json::to_vec_pretty(&summary)
            .map_err(|reason| OutputError::encode(KnownFile::SUMMARY, &reason))?;
        Ok(directory.write_whole(KnownFile::SUMMARY, &text)?)
    }
}
