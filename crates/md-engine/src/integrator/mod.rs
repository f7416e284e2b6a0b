//! How the equations of motion are integrated. An integrator is one file beside this one (a struct of its keys, which builds
//! what [`Integrate`]s) and one line in `integrators!`; one of your own is handed to [`crate::Simulation::set_integrator`].
//!
//! Every integrator has the same shape: [`Integrate::before_forces`] brings positions to t + dt,
//! [`Integrate::after_forces`] velocities. One whose second part may wait until somebody looks at velocities says so
//! ([`Completion::Deferred`]): then the next step's first part does both at once, which saves a pass over memory.

mod velocity_verlet;

use std::fmt::Debug;

use md_comm::World;
use md_core::integrate::HalfKicks;
use md_core::{Domain, Particles, Threads};

use crate::error::EngineError;
use crate::setup::Setup;
pub use velocity_verlet::VelocityVerletKeys;

/// What an integrator works on.
pub struct Motion<'a> {
    /// The particles of this rank. Forces on owned ones are complete; before the forces of the next step they must be
    /// zero ([`Integrate::before_forces`] uses them up).
    pub particles: &'a mut Particles,
    /// The box.
    pub domain: &'a Domain,
    /// Mass per species.
    pub masses: &'a [f64],
    /// Number of the step that is made, from 1.
    pub step: u64,
    /// Threads of this rank.
    pub threads: &'a Threads,
    /// All ranks, for sums over the system.
    pub world: &'a dyn World,
}

/// When the part of a step after the forces is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completion {
    /// At once.
    Immediate,
    /// When somebody looks at velocities, else together with the next step's first part.
    Deferred,
}

/// One way to integrate. All ranks call it together, so it may communicate.
pub trait Integrate: Debug {
    /// Brings positions from t to t + dt and leaves the forces on owned particles zero. With [`HalfKicks::Fused`]
    /// (only where [`Self::completion`] is [`Completion::Deferred`]) it first makes up for the last step's
    /// [`Self::after_forces`].
    ///
    /// # Errors
    /// Communication.
    fn before_forces(&mut self, half_kicks: HalfKicks, motion: &mut Motion) -> Result<(), EngineError>;

    /// Brings velocities to t + dt with the new forces, which stay.
    ///
    /// # Errors
    /// Communication.
    fn after_forces(&mut self, motion: &mut Motion) -> Result<(), EngineError>;

    /// Whether [`Self::after_forces`] may be left to the next step.
    fn completion(&self) -> Completion {
        Completion::Immediate
    }

    /// What later steps depend on beyond particles and keys, for a checkpoint: chain variables, heat put in.
    fn memory(&self) -> Vec<f64> {
        Vec::new()
    }

    /// Takes up what [`Self::memory`] has given.
    ///
    /// # Errors
    /// [`EngineError::Config`]: as many numbers as this integrator does not have.
    fn recall(&mut self, words: &[f64]) -> Result<(), EngineError> {
        if words.is_empty() {
            return Ok(());
        }
        let what = format!("{} numbers are to be recalled by an integrator that remembers none", words.len());
        Err(EngineError::Config(what))
    }
}

macro_rules! integrators {
    ($($(#[doc = $doc:expr])+ $name:ident($keys:ty),)+) => {
        /// The integrators one can choose, each with its keys.
        #[derive(Debug, Clone, Copy, PartialEq)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
        #[cfg_attr(feature = "serde", serde(tag = "kind", rename_all = "kebab-case"))]
        #[cfg_attr(feature = "serde", schemars(inline))]
        pub enum Integrator {
            $($(#[doc = $doc])+ $name($keys),)+
        }

        impl Integrator {
            /// The integrator for a system.
            ///
            /// # Errors
            /// [`EngineError::Config`]: a key that cannot be, for instance a negative temperature.
            pub fn build(self, setup: &Setup) -> Result<Box<dyn Integrate>, EngineError> {
                match self {
                    $(Self::$name(keys) => Ok(Box::new(keys.build(setup)?)),)+
                }
            }
        }
    };
}

integrators! {
    /// Velocity Verlet: constant energy.
    VelocityVerlet(VelocityVerletKeys),
}

impl Default for Integrator {
    fn default() -> Self {
        Self::VelocityVerlet(VelocityVerletKeys {})
    }
}
