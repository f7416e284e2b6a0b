//! Detection of particles almost at rest under a thermostat that multiplies velocities.

use md_core::diagnose::largest_force;

use super::Simulation;
use crate::error::EngineError;
use crate::motion::integrator::Integrator;
use crate::motion::thermal::Thermal;

/// Reason why a thermostat that multiplies velocities does not bring the particles to its
/// temperature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColdStart {
    /// Particles are at rest relative to each other and stay so: forces and velocities are only
    /// rounding errors.
    Motionless,
    /// Particles are so cold that a chain of Nose-Hoover thermostats takes many relaxation times
    /// and then overshoots.
    FarBelow,
}

/// Fraction of the target temperature: squared velocities due to the rounding of forces.
const ROUNDING: f64 = 1e-24;
/// Fraction of the target temperature: from lower temperatures, a chain of thermostats takes longer
/// than five relaxation times.
const FAR_BELOW: f64 = 1e-6;

impl Simulation<'_> {
    /// Returns the reason why the thermostat of the present stage does not heat the particles, if
    /// any. *Collective.*
    ///
    /// # Errors
    /// Communication.
    pub fn cold_start(&mut self) -> Result<Option<ColdStart>, EngineError> {
        let temperature = self.state.integrator.temperature(self.state.step + 1).unwrap_or_default();
        let integrator = self.setup.config.integrator;
        if temperature <= 0.0 || !integrator.multiplies_velocities() {
            return Ok(None);
        }
        let Thermal { twice_kinetic, .. } = self.thermal_now()?;
        let mut force = [largest_force(&self.state.particles).map_or(0.0, |(_, force)| force)];
        self.world.max(&mut force)?;
        let lightest = self.setup.config.masses.iter().copied().fold(f64::INFINITY, f64::min);
        let present = twice_kinetic / self.degrees_of_freedom().max(1) as f64;
        // Temperature, relative to the target, after the present forces have acted for a time.
        let after = |time: f64| (present + (force[0] * time).powi(2) / lightest) / temperature;
        if after(self.timestep()) < ROUNDING {
            return Ok(Some(ColdStart::Motionless));
        }
        let is_far_below =
            matches!(integrator, Integrator::NoseHoover(keys) if after(keys.relaxation) < FAR_BELOW);
        Ok(is_far_below.then_some(ColdStart::FarBelow))
    }
}
