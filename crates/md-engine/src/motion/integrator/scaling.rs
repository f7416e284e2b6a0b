//! Thermostats that multiply all velocities by one factor at intervals, with velocity Verlet in
//! between.
//!
//! The factor follows from the kinetic energy of the whole system, which takes one sum over all
//! ranks. Between two actions plain velocity Verlet runs, whose kicks may be fused; so such a
//! thermostat costs very little. The kinetic energy it adds is summed: total energy minus that heat
//! is the conserved quantity (Bussi, Donadio and Parrinello, J. Chem. Phys. 126, 014101 (2007)).
//!
//! If momentum is conserved and not zero, kinetic energy and scaling are relative to the
//! centre-of-mass velocity, which does not change.

use std::fmt::Debug;

use md_comm::World;
use md_core::force::Summation;
use md_core::integrate::{HalfKicks, VelocityVerlet};
use md_core::{ConservedMomentum, TotalMomentum};

use super::target::Schedule;
use super::{Completion, Integrate, KeyFault, Motion, Temperature};
use crate::error::EngineError;
use crate::motion::System;
use crate::motion::thermal::Thermal;

/// Input of a thermostat when it acts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Moment {
    /// Step after which it acts.
    pub(super) step: u64,
    /// Time since the last action, \[time\].
    pub(super) span: f64,
    /// Sum of m v^2 over all particles, relative to the centre-of-mass velocity; above 0.
    pub(super) twice_kinetic: f64,
    /// Twice the kinetic energy at the target temperature.
    pub(super) twice_wanted: f64,
    /// Target temperature.
    pub(super) temperature: f64,
    /// Degrees of freedom, at least 1.
    pub(super) degrees: f64,
}

/// A rule for the scaling factor.
pub(super) trait ScalingRule: Debug {
    /// Returns the factor for all velocities; equal on all ranks.
    fn factor(&mut self, now: &Moment) -> f64;

    /// Returns the energy of the rule's own variables if it has any; otherwise the heat is used.
    fn own_energy(&self) -> Option<f64> {
        None
    }

    /// Returns the state of the rule, as [`Integrate::memory`].
    fn memory(&self) -> Vec<f64> {
        Vec::new()
    }

    /// Restores the state returned by [`Self::memory`]; returns whether its length is right.
    fn recall(&mut self, words: &[f64]) -> bool {
        words.is_empty()
    }
}

/// Velocity Verlet with a rule that scales velocities.
#[derive(Debug)]
pub(super) struct Scaled {
    verlet: VelocityVerlet,
    rule: Box<dyn ScalingRule>,
    schedule: Schedule,
    /// Steps between two actions of the rule.
    interval: u64,
    timestep: f64,
    /// How energies are added up.
    summation: Summation,
    conserved: ConservedMomentum,
    degrees: u64,
    step: u64,
    /// Energy added to the particles, \[energy\].
    heat: f64,
}

/// Times at which a thermostat acts, from its keys.
pub(super) struct Timing {
    pub(super) temperature: Temperature,
    /// Steps between two actions.
    pub(super) interval: u64,
}

impl Timing {
    /// Creates the timing from `every` if it is given; otherwise with the longest interval within a
    /// twentieth of the relaxation time, from 1 to 10 steps.
    pub(super) fn new(
        temperature: Temperature,
        every: Option<u64>,
        relaxation: f64,
        system: &System,
    ) -> Self {
        /// With these values the kinetic energy changes little between actions, and the sums over
        /// all ranks cost little.
        const PART: f64 = 20.0;
        const LONGEST: f64 = 10.0;
        let interval = (relaxation / (PART * system.timestep)).floor().clamp(1.0, LONGEST) as u64;
        Self { temperature, interval: every.unwrap_or(interval) }
    }

    /// Returns the time between two actions.
    pub(super) fn span(&self, system: &System) -> f64 {
        self.interval as f64 * system.timestep
    }

    /// Returns an error if the relaxation time is shorter than the time between two actions.
    pub(super) fn expect_longer(&self, relaxation: f64, system: &System) -> Result<(), EngineError> {
        let span = self.span(system);
        if relaxation >= span {
            return Ok(());
        }
        let problem =
            format!("is {relaxation:?}, shorter than the {span:?} between two actions of the thermostat");
        Err(KeyFault { key: "relaxation", problem }.into())
    }
}

impl Scaled {
    pub(super) fn new(rule: impl ScalingRule + 'static, timing: &Timing, system: &System) -> Self {
        Self {
            verlet: system.verlet(),
            rule: Box::new(rule),
            schedule: Schedule::new(timing.temperature, system.schedule.clone()),
            interval: timing.interval,
            timestep: system.timestep,
            summation: system.summation,
            conserved: ConservedMomentum::new(system.domain, TotalMomentum::Conserved),
            degrees: system.degrees_of_freedom(TotalMomentum::Conserved),
            step: 0,
            heat: 0.0,
        }
    }

    fn acts_after(&self, step: u64) -> bool {
        step.is_multiple_of(self.interval)
    }

    fn act(&mut self, motion: &mut Motion) -> Result<(), EngineError> {
        let Motion { particles, masses, world, .. } = motion;
        let Thermal { drift, twice_kinetic } =
            Thermal::of(particles, masses, self.conserved, self.summation, *world)?
                .if_exact(self.summation, motion.step)?;
        // Particles at rest stay at rest, whatever the factor.
        if twice_kinetic <= 0.0 || self.degrees == 0 {
            return Ok(());
        }
        let (temperature, degrees) = (self.schedule.at(motion.step), self.degrees as f64);
        let factor = self.rule.factor(&Moment {
            step: motion.step,
            span: self.interval as f64 * self.timestep,
            twice_kinetic,
            twice_wanted: degrees * temperature,
            temperature,
            degrees,
        });
        self.heat += 0.5 * (factor * factor - 1.0) * twice_kinetic;
        motion.particles.scale_velocities_about(drift, [factor; 3], motion.threads);
        Ok(())
    }
}

impl Integrate for Scaled {
    fn before_forces(&mut self, half_kicks: HalfKicks, motion: &mut Motion) -> Result<(), EngineError> {
        self.step = motion.step;
        self.verlet.before_forces(half_kicks, motion)
    }

    fn after_forces(&mut self, motion: &mut Motion) -> Result<(), EngineError> {
        self.verlet.after_forces(motion)?;
        if self.acts_after(motion.step) { self.act(motion) } else { Ok(()) }
    }

    fn completion(&self) -> Completion {
        if self.acts_after(self.step) { Completion::Immediate } else { Completion::Deferred }
    }

    fn temperature(&self, step: u64) -> Option<f64> {
        Some(self.schedule.at(step))
    }

    fn reservoir_energy(&mut self, _world: &dyn World) -> Result<f64, EngineError> {
        Ok(self.rule.own_energy().unwrap_or(-self.heat))
    }

    fn memory(&self) -> Vec<f64> {
        let mut words = vec![self.heat];
        words.extend(self.rule.memory());
        words
    }

    fn recall(&mut self, words: &[f64]) -> Result<(), EngineError> {
        let fits = words.split_first().is_some_and(|(heat, words)| {
            self.heat = *heat;
            self.rule.recall(words)
        });
        if fits { Ok(()) } else { Err(super::does_not_fit(words.len())) }
    }
}
