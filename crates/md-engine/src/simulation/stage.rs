//! Changes between two steps: another integrator, barostat or decomposition.

use super::Simulation;
use crate::division::Division;
use crate::error::EngineError;
use crate::motion::barostat::{Barostat, BoxCoupling};
use crate::motion::integrator::{Integrate, Integrator};

impl Simulation<'_> {
    /// Continues with another built-in integrator and optionally a barostat; ramps extend over the
    /// next `steps` steps. The conserved energy is continuous. *Collective.*
    ///
    /// # Errors
    /// Communication; [`EngineError::Integrator`] for invalid keys.
    pub fn begin_stage(
        &mut self,
        integrator: Integrator,
        barostat: Option<Barostat>,
        steps: u64,
    ) -> Result<(), EngineError> {
        self.complete_step()?;
        self.accounts.earlier_reservoirs = self.reservoir_now()?;
        if self.setup.config.integrator.conserved().is_none() {
            self.accounts.energy.begin_anew();
        }
        let config = &mut self.setup.config;
        (config.integrator, config.barostat) = (integrator, barostat);
        config.schedule = self.state.step..self.state.step + steps;
        if let Some(barostat) = &barostat {
            barostat.check(config.dimension, config.boundary, &integrator)?;
            barostat.check_relaxation(config.timestep)?;
        }
        config.check_reproducible(self.setup.simd)?;
        self.state.barostat = barostat.map(|keys| BoxCoupling::new(keys, &self.setup.system()));
        self.state.integrator = integrator.build(&self.setup)?;
        Ok(())
    }

    /// Continues with another integrator from the present state. *Collective.*
    ///
    /// # Errors
    /// Communication.
    pub fn set_integrator(&mut self, integrator: impl Integrate + 'static) -> Result<(), EngineError> {
        self.complete_step()?;
        self.state.integrator = Box::new(integrator);
        Ok(())
    }

    /// Sets another division of the same box, which takes effect in the next step. That step
    /// rebuilds: particles move to the new owners of their cells, and contexts are replaced. All
    /// ranks must pass the same division.
    ///
    /// # Errors
    /// [`EngineError::Config`] for a division of another box or among more ranks, or with cells
    /// shorter than cutoff + skin; [`EngineError::MixedPrecision`].
    pub fn replace_decomposition(&mut self, division: Division) -> Result<(), EngineError> {
        self.setup.check_division(&division, self.setup.config.forces.cutoff())?;
        self.neighborhood.next_division = Some(division);
        Ok(())
    }
}
