//! Thermodynamic state of the system, and its checks.

use md_core::momentum::MotionSums;
use md_core::observables::{SystemSums, ThermalMotion, momentum_flux};
use md_core::potential::Tail;
use md_core::{ConservedMomentum, SymmetricTensor};

use super::Simulation;
use crate::config::Config;
use crate::error::EngineError;
use crate::motion::thermal::Thermal;
use crate::report::{ForceTotals, Thermo};
use crate::state::State;

impl Simulation<'_> {
    /// Returns the sums over all ranks at the present step, which must have computed energy and
    /// virial. *Collective.*
    ///
    /// # Errors
    /// Communication; an energy that is not finite; a wrong number of particles;
    /// [`EngineError::NoEnergy`].
    pub fn system_sums(&mut self) -> Result<SystemSums, EngineError> {
        self.complete_step()?;
        if self.accounts.pairs_step != self.state.step {
            let (step, known) = (self.state.step, self.accounts.pairs_step);
            return Err(EngineError::NoEnergy { step, known });
        }
        let (State { particles, step, .. }, masses) = (&self.state, &self.setup.config.masses);
        let summation = self.setup.config.neighbor.summation;
        let MotionSums { momentum, mass, .. } = MotionSums::of(particles, masses, summation);
        let sums = SystemSums {
            atoms: particles.owned() as f64,
            mass,
            momentum,
            momentum_flux: momentum_flux([0.0; 3], particles, masses, summation),
            thermal: ThermalMotion::default(),
            pairs: self.accounts.pairs,
        };
        let mut values = sums.to_array();
        self.world.sum(&mut values)?;
        let mut sums = SystemSums::from_array(values);
        let (step, expected) = (*step, self.atoms());
        if sums.atoms as u64 != expected {
            return Err(EngineError::WrongCount { step, found: sums.atoms as u64, expected });
        }
        let (potential, kinetic) = (sums.pairs.energy / sums.atoms, 0.5 * sums.twice_kinetic() / sums.atoms);
        if !(potential.is_finite() && kinetic.is_finite() && sums.pairs.virial.trace().is_finite()) {
            return Err(EngineError::NotFinite { step, potential, kinetic });
        }
        self.expect_exact_totals(&sums)?;
        sums.thermal = self.thermal_motion(&sums)?;
        self.accounts.reservoir_energy = self.reservoir_now()?;
        Ok(sums)
    }

    /// Returns the motion about the drift that follows from these sums. *Collective.*
    fn thermal_motion(&self, sums: &SystemSums) -> Result<ThermalMotion, EngineError> {
        let conserved = self.conserved_momentum();
        let drift = conserved.drift(&sums.motion());
        let mut flux = sums.momentum_flux;
        if drift != [0.0; 3] {
            let SymmetricTensor(own) = &mut flux;
            let Config { masses, neighbor, .. } = &self.setup.config;
            *own = momentum_flux(drift, &self.state.particles, masses, neighbor.summation).0;
            self.world.sum(own)?;
        }
        Ok(ThermalMotion { conserved, drift, flux })
    }

    /// Returns the velocity of the whole system, about which temperature and pressure are defined
    /// and which thermostats do not change: that of the centre of mass along the axes of
    /// [`Self::conserved_momentum`], or zero if it is negligible. *Collective.*
    ///
    /// # Errors
    /// Communication.
    pub fn drift(&mut self) -> Result<[f64; 3], EngineError> {
        Ok(self.thermal_now()?.drift)
    }

    /// Returns the thermal motion after the present step. *Collective.*
    pub(super) fn thermal_now(&mut self) -> Result<Thermal, EngineError> {
        self.complete_step()?;
        let conserved = self.conserved_momentum();
        let Config { masses, neighbor, .. } = &self.setup.config;
        let step = self.state.step;
        Thermal::of(&self.state.particles, masses, conserved, neighbor.summation, self.world)?
            .if_exact(neighbor.summation, step)
    }

    /// Returns the axes along which the integrator and the walls conserve the total momentum.
    pub fn conserved_momentum(&self) -> ConservedMomentum {
        ConservedMomentum::new(&self.state.domain, self.state.integrator.total_momentum())
    }

    /// Returns the number of degrees of freedom of the temperature.
    pub fn degrees_of_freedom(&self) -> u64 {
        self.conserved_momentum().degrees_of_freedom(self.atoms(), self.state.domain.dimension)
    }

    /// Returns the energy that thermostats and barostats, of this stage and earlier ones, have
    /// taken from the particles. *Collective.*
    pub(super) fn reservoir_now(&mut self) -> Result<f64, EngineError> {
        let State { integrator, barostat, .. } = &mut self.state;
        let work = barostat.as_ref().map_or(0.0, |barostat| barostat.work);
        Ok(self.accounts.earlier_reservoirs + integrator.reservoir_energy(self.world)? - work)
    }

    /// Ends the run if the conserved energy has changed by more than the configuration allows, or
    /// by orders of magnitude more than the particles' energies; the same on all ranks. (Particles
    /// that explode are lost or have no finite energy; the energy of a thermostat must be checked
    /// here.)
    pub(super) fn check_drift(&mut self, thermo: &Thermo) -> Result<(), EngineError> {
        /// In units of the particles' own energies.
        const EXPLODED: f64 = 1000.0;
        self.accounts.energy.note_total(thermo);
        let Some(quantity) = self.setup.config.integrator.conserved() else { return Ok(()) };
        self.accounts.energy.note(thermo);
        let (step, change) = (thermo.step, self.accounts.energy.drift);
        let energy =
            thermo.kinetic_per_atom.max(self.accounts.energy.mean_kinetic) + thermo.potential_per_atom.abs();
        match self.setup.config.max_drift {
            Some(most) if change.abs() > most => Err(EngineError::Drift { step, quantity, change, most }),
            _ if change.abs() > EXPLODED * energy || !change.is_finite() => {
                Err(EngineError::Explodes { step, quantity, change, energy })
            }
            _ => Ok(()),
        }
    }

    /// Returns the thermodynamic state that follows from these sums.
    pub fn thermo(&self, sums: &SystemSums) -> Thermo {
        let domain = &self.state.domain;
        let observables = sums.observables(domain, self.accounts.tail);
        Thermo {
            step: self.state.step,
            time: self.state.time,
            temperature: observables.temperature,
            potential_per_atom: observables.potential_per_atom,
            kinetic_per_atom: observables.kinetic_per_atom,
            total_per_atom: observables.potential_per_atom + observables.kinetic_per_atom,
            pressure: observables.pressure,
            pressure_tensor: observables.pressure_tensor,
            volume: domain.volume(),
            lengths: domain.lengths,
            density: sums.atoms / domain.volume(),
            conserved_per_atom: observables.potential_per_atom
                + observables.kinetic_per_atom
                + self.accounts.reservoir_energy / sums.atoms,
        }
    }

    /// Returns the totals of the forces that follow from these sums.
    pub fn force_totals(&self, sums: &SystemSums) -> ForceTotals {
        let Tail { energy, .. } = self.accounts.tail;
        ForceTotals {
            potential_energy: sums.pairs.energy + energy,
            virial: sums.pairs.virial.trace(),
            virial_tensor: sums.pairs.virial,
            tail_energy: energy,
            pressure: sums.observables(&self.state.domain, self.accounts.tail).pressure,
        }
    }
}
