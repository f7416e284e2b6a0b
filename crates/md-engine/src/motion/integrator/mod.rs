//! Integration of the equations of motion. An integrator is one file in this directory (a struct of
//! its keys, which builds a type that implements [`Integrate`]) and one line in `integrators!`; a
//! user-defined one is passed to [`crate::Simulation::set_integrator`].
//!
//! Every integrator has two parts: [`Integrate::before_forces`] advances positions to t + dt,
//! [`Integrate::after_forces`] velocities. If the second part may be postponed until velocities are
//! read ([`Completion::Deferred`]), the next step's first part does both at once, which saves a
//! pass over memory.

mod berendsen;
mod csvr;
mod fire;
mod langevin;
mod nose_hoover;
mod rescale;
mod scaling;
mod target;
mod velocity_verlet;

use std::fmt::Debug;

use md_comm::World;
use md_core::integrate::HalfKicks;
use md_core::{Domain, Particles, Threads, TotalMomentum};

use crate::error::EngineError;
pub use crate::error::KeyFault;
use crate::motion::System;
pub use berendsen::BerendsenKeys;
pub use csvr::CsvrKeys;
pub use fire::FireKeys;
pub use langevin::{LangevinKeys, LangevinScheme};
pub use nose_hoover::NoseHooverKeys;
pub use rescale::RescaleKeys;
pub use target::{Temperature, TemperatureRamp};
pub use velocity_verlet::VelocityVerletKeys;

/// Data that an integrator works on.
pub struct Motion<'a> {
    /// The particles of this rank. Forces on owned ones are complete; before the forces of the next
    /// step they must be zero ([`Integrate::before_forces`] clears them).
    pub particles: &'a mut Particles,
    /// The box.
    pub domain: &'a Domain,
    /// Mass per species.
    pub masses: &'a [f64],
    /// Number of the current step, from 1.
    pub step: u64,
    /// Threads of this rank.
    pub threads: &'a Threads,
    /// All ranks, for sums over the system.
    pub world: &'a dyn World,
}

/// Time at which the second part of a step is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completion {
    /// At once.
    Immediate,
    /// When velocities are read, else together with the next step's first part.
    Deferred,
}

/// Progress of a minimisation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Minimisation {
    /// Largest force on a particle of any rank after the last step, \[energy / length\].
    pub largest_force: f64,
    /// Force at which the minimisation ends, \[energy / length\].
    pub force_tolerance: f64,
}

impl Minimisation {
    /// Returns whether the minimisation has converged.
    pub fn is_converged(&self) -> bool {
        self.largest_force <= self.force_tolerance
    }
}

/// An integrator. All ranks call its methods together, so they may communicate.
pub trait Integrate: Debug {
    /// Advances positions from t to t + dt and sets the forces on owned particles to zero. With
    /// [`HalfKicks::Fused`] (only where [`Self::completion`] is [`Completion::Deferred`]) it first
    /// does the work of the last step's [`Self::after_forces`].
    ///
    /// # Errors
    /// Communication failures.
    fn before_forces(&mut self, half_kicks: HalfKicks, motion: &mut Motion) -> Result<(), EngineError>;

    /// Advances velocities to t + dt with the new forces, which are kept.
    ///
    /// # Errors
    /// Communication failures.
    fn after_forces(&mut self, motion: &mut Motion) -> Result<(), EngineError>;

    /// Returns whether [`Self::after_forces`] may be postponed to the next step.
    fn completion(&self) -> Completion {
        Completion::Immediate
    }

    /// Returns whether the goal is reached, so that the run or stage ends; equal on all ranks.
    fn is_finished(&self) -> bool {
        false
    }

    /// Returns whether the run or stage has ended for that reason: the step announced as the last
    /// has been made.
    fn is_over(&self) -> bool {
        false
    }

    /// Returns the progress of a minimisation that has made a step; equal on all ranks.
    fn minimisation(&self) -> Option<Minimisation> {
        None
    }

    /// Returns the target temperature after a step, if there is one.
    fn temperature(&self, _step: u64) -> Option<f64> {
        None
    }

    /// Returns how the integrator affects the total momentum.
    fn total_momentum(&self) -> TotalMomentum {
        TotalMomentum::Conserved
    }

    /// Returns the energy that has to be added to the total energy so that the sum is conserved:
    /// the energy of a thermostat, \[energy\], equal on all ranks. Called when the step is
    /// complete. *Collective.*
    ///
    /// # Errors
    /// Communication failures.
    fn reservoir_energy(&mut self, _world: &dyn World) -> Result<f64, EngineError> {
        Ok(0.0)
    }

    /// Returns the state that later steps and the conserved quantity depend on beyond particles and
    /// keys: the variables of a chain, the heat added. Equal on all ranks after
    /// [`Self::reservoir_energy`].
    fn memory(&self) -> Vec<f64> {
        Vec::new()
    }

    /// Restores the state that [`Self::memory`] of an integrator with equal keys returned.
    ///
    /// # Errors
    /// [`EngineError::Config`] for the state of a different integrator.
    fn recall(&mut self, words: &[f64]) -> Result<(), EngineError> {
        if words.is_empty() { Ok(()) } else { Err(does_not_fit(words.len())) }
    }
}

/// Error for the state of a different integrator.
fn does_not_fit(count: usize) -> EngineError {
    EngineError::Config(format!(
        "the checkpoint has {count} numbers of an integrator's memory, not those of this integrator with these keys"
    ))
}

/// Keys of one integrator.
trait Keys: Copy {
    /// Type that is built from the keys.
    type Built: Integrate + 'static;

    /// Returns the target temperature, if there is one.
    fn temperature(&self) -> Option<Temperature>;

    /// Checks that the keys are valid.
    fn check(&self) -> Result<(), KeyFault>;

    /// Builds the integrator for a system.
    fn build(self, system: &System) -> Result<Self::Built, EngineError>;
}

macro_rules! integrators {
    ($($(#[doc = $doc:expr])+ $name:ident($keys:ty),)+) => {
        /// The available integrators, each with its keys.
        #[derive(Debug, Clone, Copy, PartialEq)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
        #[cfg_attr(feature = "serde", serde(tag = "kind", rename_all = "kebab-case"))]
        #[cfg_attr(feature = "serde", schemars(inline))]
        pub enum Integrator {
            $($(#[doc = $doc])+ $name($keys),)+
        }

        impl Integrator {
            /// Checks that the keys are valid, as far as that does not depend on the system.
            ///
            /// # Errors
            /// The first invalid key.
            pub fn check(&self) -> Result<(), KeyFault> {
                match self {
                    $(Self::$name(keys) => keys.check(),)+
                }
            }

            /// Returns the target temperature, if there is one.
            pub fn temperature(&self) -> Option<Temperature> {
                match self {
                    $(Self::$name(keys) => keys.temperature(),)+
                }
            }

            /// Builds the integrator for a system.
            ///
            /// # Errors
            /// [`EngineError::Config`] for an invalid key, for instance a negative temperature.
            pub(crate) fn build_for(self, system: &System) -> Result<Box<dyn Integrate>, EngineError> {
                self.check()?;
                match self {
                    $(Self::$name(keys) => Ok(Box::new(keys.build(system)?)),)+
                }
            }
        }
    };
}

integrators! {
    /// Velocity Verlet: constant energy.
    VelocityVerlet(VelocityVerletKeys),
    /// Langevin dynamics: constant temperature by friction and random forces on every particle.
    Langevin(LangevinKeys),
    /// Stochastic velocity rescaling (Bussi): constant temperature, canonical.
    Csvr(CsvrKeys),
    /// A chain of Nose-Hoover thermostats: constant temperature, canonical, deterministic.
    NoseHoover(NoseHooverKeys),
    /// Weak coupling to a temperature: for equilibration, no ensemble.
    Berendsen(BerendsenKeys),
    /// Velocities scaled to one temperature every few steps: for equilibration, no ensemble.
    Rescale(RescaleKeys),
    /// Minimisation of the potential energy by FIRE.
    Fire(FireKeys),
}

impl Integrator {
    /// Returns whether it draws random numbers.
    pub fn is_random(&self) -> bool {
        matches!(self, Self::Langevin(_) | Self::Csvr(_))
    }

    /// Returns whether it is a thermostat that multiplies all velocities by one factor.
    pub fn multiplies_velocities(&self) -> bool {
        matches!(self, Self::Csvr(_) | Self::NoseHoover(_) | Self::Berendsen(_) | Self::Rescale(_))
    }

    /// Returns how the integrator affects the total momentum, as [`Integrate::total_momentum`].
    pub fn total_momentum(&self) -> TotalMomentum {
        match self {
            Self::Langevin(_) => TotalMomentum::Thermostatted,
            _ => TotalMomentum::Conserved,
        }
    }

    /// Returns the name of the conserved quantity, if there is one.
    pub fn conserved(&self) -> Option<&'static str> {
        match self {
            Self::VelocityVerlet(_) => Some("total energy"),
            Self::Fire(_) => None,
            _ => Some("conserved energy"),
        }
    }
}

impl Default for Integrator {
    fn default() -> Self {
        Self::VelocityVerlet(VelocityVerletKeys {})
    }
}
