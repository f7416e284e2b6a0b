//! Thermostats that multiply all velocities by one factor, now and then: velocity Verlet in between.
//!
//! The factor follows from the kinetic energy of the whole system, one sum over all ranks each time. Between two of these moments
//! runs plain velocity Verlet, whose kicks may be fused; so a thermostat of this kind costs next to nothing. What it adds to the
//! kinetic energy is counted: total energy minus that heat is what the dynamics conserves (Bussi, Donadio and Parrinello,
//! J. Chem. Phys. 126, 014101 (2007)).
//!
//! Where momentum is conserved and not zero, kinetic energy and factor are about the velocity of the
//! centre of mass, which stays as it is.

use std::fmt::Debug;

use md_comm::World;
use md_core::integrate::{HalfKicks, VelocityVerlet};
use md_core::{ConservedMomentum, TotalMomentum};

use super::target::Schedule;
use super::{Completion, Integrate, KeyFault, Motion, Temperature};
use crate::error::EngineError;
use crate::setup::Setup;
use crate::thermal::Thermal;

/// What a thermostat knows when it acts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Moment {
    /// Of the step after which it acts.
    pub(super) step: u64,
    /// Time since it last acted, \[time\].
    pub(super) span: f64,
    /// Sum of m v^2 of all particles, about the velocity of the whole system; above 0.
    pub(super) twice_kinetic: f64,
    /// Twice the kinetic energy at the temperature it aims at.
    pub(super) twice_wanted: f64,
    /// The temperature it aims at.
    pub(super) temperature: f64,
    /// Degrees of freedom, at least 1.
    pub(super) degrees: f64,
}

/// A rule for the factor.
pub(super) trait ScalingRule: Debug {
    /// By what all velocities are multiplied now; the same on all ranks.
    fn factor(&mut self, now: &Moment) -> f64;

    /// The energy of the rule's own variables, if it has some; else the heat is counted.
    fn own_energy(&self) -> Option<f64> {
        None
    }

    /// [`Integrate::memory`] of the rule.
    fn memory(&self) -> Vec<f64> {
        Vec::new()
    }

    /// Takes back what [`Self::memory`] gave; says whether it fits.
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
    conserved: ConservedMomentum,
    degrees: u64,
    step: u64,
    /// What the particles have taken up, \[energy\].
    heat: f64,
}

/// When a thermostat acts, from its keys.
pub(super) struct Timing {
    pub(super) temperature: Temperature,
    /// Steps between two actions.
    pub(super) interval: u64,
}

impl Timing {
    /// Every so many steps, if the keys say so, else as rarely as a twentieth of the relaxation time allows.
    pub(super) fn new(temperature: Temperature, every: Option<u64>, relaxation: f64, setup: &Setup) -> Self {
        /// Between these the kinetic energy changes little, and a sum over all ranks costs little.
        const PART: f64 = 20.0;
        const LONGEST: f64 = 10.0;
        let interval = (relaxation / (PART * setup.config.timestep)).floor().clamp(1.0, LONGEST) as u64;
        Self { temperature, interval: every.unwrap_or(interval) }
    }

    /// Time between two actions.
    pub(super) fn span(&self, setup: &Setup) -> f64 {
        self.interval as f64 * setup.config.timestep
    }

    /// Refuses a relaxation time that is shorter than the time between two actions.
    pub(super) fn expect_longer(&self, relaxation: f64, setup: &Setup) -> Result<(), EngineError> {
        let span = self.span(setup);
        if relaxation >= span {
            return Ok(());
        }
        let problem =
            format!("is {relaxation:?}, shorter than the {span:?} between two actions of the thermostat");
        Err(KeyFault { key: "relaxation", problem }.into())
    }
}

impl Scaled {
    pub(super) fn new(rule: impl ScalingRule + 'static, timing: &Timing, setup: &Setup) -> Self {
        let config = &setup.config;
        Self {
            verlet: VelocityVerlet::new(config.timestep, &config.masses, setup.simd),
            rule: Box::new(rule),
            schedule: Schedule::new(timing.temperature, config.schedule.clone()),
            interval: timing.interval,
            timestep: config.timestep,
            conserved: ConservedMomentum::new(&setup.domain, TotalMomentum::Conserved),
            degrees: setup.degrees_of_freedom(TotalMomentum::Conserved),
            step: 0,
            heat: 0.0,
        }
    }

    fn acts_after(&self, step: u64) -> bool {
        step.is_multiple_of(self.interval)
    }

    fn act(&mut self, motion: &mut Motion) -> Result<(), EngineError> {
        let Motion { particles, masses, world, .. } = motion;
        let Thermal { drift, twice_kinetic } = Thermal::of(particles, masses, self.conserved, *world)?;
        // Particles at rest stay so, whatever they are multiplied by.
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
