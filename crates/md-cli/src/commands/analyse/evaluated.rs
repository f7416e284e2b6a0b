//! Energies, forces and pressures of the particles of a frame: what a run would have found had it been there.

use std::sync::OnceLock;

use md_comm::World;
use md_engine::{Needs, Observer, ObserverError, Simulation, Snapshot, Thermo};

use crate::error::RunError;
use crate::input::InputParticles;
use crate::inputs::Inputs;
use crate::output::run_output::RunOutput;
use crate::scenario::{IntegratorTable, Parallel};
use crate::setup;

/// Whether an output needs forces or energies.
pub(super) fn is_of_forces(needs: Needs) -> bool {
    needs.contains(Needs::ENERGY_AND_VIRIAL) || needs.contains(Needs::PARTICLE_VIRIALS)
}

/// A frame, as a scenario's interaction sees it.
pub(super) struct Evaluated {
    inputs: Inputs,
    pub(super) step: u64,
    pub(super) time: f64,
}

impl Evaluated {
    /// Of the particles of a frame, with masses by species; the inputs give what acts between them.
    pub(super) fn new(inputs: &Inputs, masses: &[f64], mut frame: InputParticles, step: u64) -> Self {
        let mut scenario = inputs.scenario.clone();
        let time = step as f64 * scenario.simulation.timestep;
        let threads = scenario.parallel.threads;
        // In this process, with the velocities of the frame, and for no longer than a look.
        scenario.parallel = Parallel { threads, ..Parallel::default() };
        (scenario.integrator, scenario.stage) = (IntegratorTable::default(), Vec::new());
        (scenario.system.temperature, scenario.system.drift, scenario.system.file) = (None, None, None);
        for (species, &mass) in scenario.species.iter_mut().zip(masses) {
            species.mass = Some(mass);
        }
        frame.masses.clear();
        let inputs = Inputs { scenario, particles: Some(frame), list: OnceLock::new(), ..inputs.clone() };
        Self { inputs, step, time }
    }

    /// Shows it to outputs.
    ///
    /// # Errors
    /// A frame that cannot be what the scenario says; outputs.
    pub(super) fn show(&self, world: &dyn World, outputs: Vec<&mut dyn RunOutput>) -> Result<(), RunError> {
        let setup = setup::of_scenario(&self.inputs, &self.inputs.scenario, world.ranks())?;
        let mut simulation = Simulation::new(world, &setup)?;
        let mut looks = AtItsStep { step: self.step, time: self.time, outputs };
        simulation.run(0, &mut [&mut looks])?;
        Ok(simulation.finalise()?)
    }
}

/// Outputs that look at the step before the first one of a simulation, as if it were that of the frame.
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
        self.outputs.iter_mut().try_for_each(|output| output.observe(&now))
    }
}
