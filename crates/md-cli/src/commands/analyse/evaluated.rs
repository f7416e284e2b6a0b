//! Energies, forces and pressures of the particles of a frame, as a run would compute them.

use std::cell::Cell;
use std::sync::OnceLock;

use md_comm::World;
use md_engine::{Integrator, Needs, Observer, ObserverError, Simulation, Snapshot, Thermo};
use md_files::input::{InputError, InputParticles};
use md_files::output::Verbosity;
use md_files::output::run_output::RunOutput;
use md_files::store::kept_whole;
use md_scenario::failure::RunError;
use md_scenario::{IntegratorTable, Parallel};

use crate::commands::note_drift;
use crate::inputs::Inputs;
use crate::setup;

/// Returns whether an output needs energies, forces or virials.
pub(super) fn is_of_forces(needs: Needs) -> bool {
    needs.contains(Needs::ENERGY_AND_VIRIAL) || needs.contains(Needs::PARTICLE_VIRIALS)
}

/// Evaluates the interactions between the particles of frames.
pub(super) struct Evaluation<'a> {
    world: &'a dyn World,
    /// Inputs without particles.
    inputs: Inputs,
    /// Whether the motion of the whole system has been reported, if there is one.
    is_drift_told: Cell<bool>,
}

impl<'a> Evaluation<'a> {
    /// Creates the evaluation from inputs, with the masses of the species.
    pub(super) fn new(world: &'a dyn World, inputs: &Inputs, masses: &[f64]) -> Self {
        let mut inputs = inputs.clone();
        let scenario = &mut inputs.scenario;
        let threads = scenario.parallel.threads;
        // The evaluation uses this process only and the velocities of the frame, and makes no
        // steps.
        scenario.parallel = Parallel { threads, ..Parallel::default() };
        scenario.stage.clear();
        (scenario.system.temperature, scenario.system.drift, scenario.system.file) = (None, None, None);
        for (species, &mass) in scenario.species.iter_mut().zip(masses) {
            species.mass = Some(mass);
        }
        Self { world, inputs, is_drift_told: Cell::new(false) }
    }

    /// Passes the frame of a step, and of the integrator that made it, to outputs.
    ///
    /// # Errors
    /// Returns an error if the frame does not fit the scenario or an output fails.
    pub(super) fn show(
        &self,
        name: &str,
        frame: InputParticles,
        (step, integrator): (u64, Integrator),
        outputs: Vec<&mut dyn RunOutput>,
    ) -> Result<(), RunError> {
        let frame = InputParticles { masses: Vec::new(), ..frame };
        let mut inputs = Inputs { particles: Some(frame), list: OnceLock::new(), ..self.inputs.clone() };
        inputs.scenario.integrator = IntegratorTable { kind: integrator, barostat: None };
        let setup = setup::of_scenario(&inputs, &inputs.scenario, self.world.ranks()).map_err(|error| {
            match error.downcast::<InputError>() {
                Ok(error) => RunError::from(InputError { file: name.to_owned(), ..error }),
                Err(other) => other,
            }
        })?;
        let mut simulation = Simulation::new(self.world, &setup)?;
        if !self.is_drift_told.replace(true) {
            note_drift(&mut simulation, self.world, Verbosity::Normal, Some(&inputs.scenario.output))?;
        }
        let time = step as f64 * inputs.scenario.simulation.timestep;
        simulation.run(0, &mut [&mut AtItsStep { step, time, outputs }])?;
        Ok(simulation.finalise()?)
    }
}

/// Outputs that observe the initial state of a simulation as if it were the step of the frame.
struct AtItsStep<'o> {
    step: u64,
    time: f64,
    outputs: Vec<&'o mut dyn RunOutput>,
}

impl Observer for AtItsStep<'_> {
    fn due(&self, _: u64) -> Option<Needs> {
        self.outputs.iter().filter_map(|output| output.due(self.step)).reduce(|all, one| all | one)
    }

    fn observe(&mut self, now: &Snapshot) -> Result<(), ObserverError> {
        let Self { step, time, .. } = *self;
        let thermo = now.thermo.map(|thermo| Thermo { step, time, ..*thermo });
        let now = Snapshot { step, time, thermo: thermo.as_ref(), ..*now };
        self.outputs.iter_mut().try_for_each(|output| output.observe(&now)).map_err(kept_whole)
    }
}
