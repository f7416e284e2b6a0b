//! Langevin dynamics: friction and random forces on every particle. The loops are in
//! [`md_core::integrate::LangevinDynamics`].
//!
//! The conserved quantity is the total energy minus the heat added by friction and random forces
//! (Bussi and Parrinello, Phys. Rev. E 75, 056707 (2007)). Each rank sums the heat of its own
//! particles; the sum over all ranks is made on request. It is exact, so that the time of the
//! request does not matter.

use md_comm::World;
use md_core::TotalMomentum;
use md_core::exact_sum::ExactSum;
use md_core::integrate::{Bath, HalfKicks, LangevinDynamics};
use md_core::noise::NoiseKey;

use super::target::Schedule;
use super::{Completion, Integrate, KeyFault, Keys, Motion, Temperature};
use crate::error::EngineError;
use crate::motion::System;

/// Keys of Langevin dynamics.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    schemars(inline)
)]
pub struct LangevinKeys {
    /// Temperature of the heat bath: a number, or `{ from, to }` over the run or stage.
    pub temperature: Temperature,
    /// Friction rate (inverse relaxation time of velocities), in 1 / tau.
    pub friction: f64,
    /// Integration scheme.
    #[cfg_attr(feature = "serde", serde(default))]
    pub scheme: LangevinScheme,
}

/// Integration schemes of the Langevin equation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "kebab-case"),
    schemars(inline)
)]
pub enum LangevinScheme {
    /// BAOAB splitting of Leimkuhler and Matthews.
    #[default]
    Baoab,
    /// Method of Gronbech-Jensen and Farago.
    Gjf,
}

impl Keys for LangevinKeys {
    type Built = Langevin;

    fn temperature(&self) -> Option<Temperature> {
        Some(self.temperature)
    }

    fn check(&self) -> Result<(), KeyFault> {
        self.temperature.check()?;
        KeyFault::unless_positive("friction", self.friction)
    }

    fn build(self, system: &System) -> Result<Langevin, EngineError> {
        let over_a_step = self.friction * system.timestep;
        let decay = match self.scheme {
            LangevinScheme::Baoab => (-over_a_step).exp(),
            LangevinScheme::Gjf => (1.0 - 0.5 * over_a_step) / (1.0 + 0.5 * over_a_step),
        };
        let verlet = system.verlet();
        let key = NoiseKey::of_seed(system.seed);
        Ok(Langevin {
            dynamics: LangevinDynamics::new(verlet, system.masses, decay, key),
            schedule: Schedule::new(self.temperature, system.schedule.clone()),
            heat: ExactSum::default(),
            own_heat: ExactSum::default(),
        })
    }
}

/// Langevin dynamics at a temperature.
#[derive(Debug)]
pub(super) struct Langevin {
    dynamics: LangevinDynamics,
    schedule: Schedule,
    /// Heat added to the particles of all ranks until the last request, \[energy\].
    heat: ExactSum,
    /// Heat added to this rank's particles since then.
    own_heat: ExactSum,
}

impl Integrate for Langevin {
    fn before_forces(&mut self, half_kicks: HalfKicks, motion: &mut Motion) -> Result<(), EngineError> {
        let Motion { particles, domain, threads, step, .. } = motion;
        let bath = Bath { temperature: self.schedule.at(*step), step: *step };
        self.own_heat.add(self.dynamics.kick_and_drift(half_kicks, particles, domain, threads, bath));
        Ok(())
    }

    fn after_forces(&mut self, motion: &mut Motion) -> Result<(), EngineError> {
        self.dynamics.kick(motion.particles, motion.threads);
        Ok(())
    }

    fn completion(&self) -> Completion {
        Completion::Deferred
    }

    fn temperature(&self, step: u64) -> Option<f64> {
        Some(self.schedule.at(step))
    }

    fn total_momentum(&self) -> TotalMomentum {
        TotalMomentum::Thermostatted
    }

    fn reservoir_energy(&mut self, world: &dyn World) -> Result<f64, EngineError> {
        let mut sum = std::mem::take(&mut self.own_heat).limbs();
        world.sum(&mut sum)?;
        sum.iter_mut().zip(self.heat.limbs()).for_each(|(sum, before)| *sum += before);
        self.heat = ExactSum::from_limbs(sum);
        Ok(self.heat.value().map_or(f64::NAN, |heat| -heat))
    }

    fn memory(&self) -> Vec<f64> {
        self.heat.limbs().to_vec()
    }

    fn recall(&mut self, words: &[f64]) -> Result<(), EngineError> {
        let Ok(limbs) = words.try_into() else { return Err(super::does_not_fit(words.len())) };
        (self.heat, self.own_heat) = (ExactSum::from_limbs(limbs), ExactSum::default());
        Ok(())
    }
}
