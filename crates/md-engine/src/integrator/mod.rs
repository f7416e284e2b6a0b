//! How the equations of motion are integrated. An integrator is one file beside this one and one line in `integrators!`;
//! one of your own is an [`Integrator::Custom`].
//!
//! Every integrator has the same shape: [`Integrate::before_forces`] brings positions to t + dt,
//! [`Integrate::after_forces`] velocities. One whose second part may wait until somebody looks at velocities says so
//! ([`Completion::Deferred`]): then the next step's first part does both at once, which saves a pass over memory.

mod velocity_verlet;

use std::fmt::Debug;

use md_comm::World;
use md_core::integrate::{HalfKicks, VelocityVerlet};
use md_core::{Domain, Particles, SimdLevel, Threads};

use crate::error::EngineError;

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
}

/// Constants that integrators are made with.
#[derive(Debug, Clone, Copy)]
pub struct IntegratorSetup<'a> {
    /// Time step, \[time\].
    pub timestep: f64,
    /// Mass per species.
    pub masses: &'a [f64],
    /// Instruction set.
    pub simd: SimdLevel,
}

macro_rules! integrators {
    ($($(#[doc = $doc:expr])+ $(#[$default:ident])? $name:ident,)+) => {
        /// The integrators one can choose.
        #[derive(Debug, Clone, Copy, Default, PartialEq)]
        pub enum IntegratorKind {
            $($(#[doc = $doc])+ $(#[$default])? $name,)+
        }

        impl IntegratorKind {
            /// The integrator for a system.
            pub fn build(self, setup: IntegratorSetup) -> Integrator {
                match self {
                    $(Self::$name => Integrator::$name($name::new(setup.timestep, setup.masses, setup.simd)),)+
                }
            }
        }

        /// An integrator with its state.
        #[derive(Debug)]
        pub enum Integrator {
            $($(#[doc = $doc])+ $name($name),)+
            /// Any other.
            Custom(Box<dyn Integrate>),
        }

        impl Integrate for Integrator {
            fn before_forces(&mut self, half_kicks: HalfKicks, motion: &mut Motion) -> Result<(), EngineError> {
                match self {
                    $(Self::$name(inner) => inner.before_forces(half_kicks, motion),)+
                    Self::Custom(inner) => inner.before_forces(half_kicks, motion),
                }
            }

            fn after_forces(&mut self, motion: &mut Motion) -> Result<(), EngineError> {
                match self {
                    $(Self::$name(inner) => inner.after_forces(motion),)+
                    Self::Custom(inner) => inner.after_forces(motion),
                }
            }

            fn completion(&self) -> Completion {
                match self {
                    $(Self::$name(inner) => inner.completion(),)+
                    Self::Custom(inner) => inner.completion(),
                }
            }
        }
    };
}

integrators! {
    /// Velocity Verlet: constant energy.
    #[default]
    VelocityVerlet,
}
