//! How the equations of motion are integrated. An integrator is one file beside this one (a struct of its keys, which builds
//! what [`Integrate`]s) and one line in `integrators!`; one of your own is handed to [`crate::Simulation::set_integrator`].
//!
//! Every integrator has the same shape: [`Integrate::before_forces`] brings positions to t + dt,
//! [`Integrate::after_forces`] velocities. One whose second part may wait until somebody looks at velocities says so
//! ([`Completion::Deferred`]): then the next step's first part does both at once, which saves a pass over memory.

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
use crate::setup::Setup;
pub use berendsen::BerendsenKeys;
pub use csvr::CsvrKeys;
pub use fire::FireKeys;
pub use langevin::{LangevinKeys, LangevinScheme};
pub use nose_hoover::NoseHooverKeys;
pub use rescale::RescaleKeys;
pub use target::{Temperature, TemperatureRamp};
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

/// How far a minimisation has come.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Minimisation {
    /// On a particle of any rank after the last step, \[energy / length\].
    pub largest_force: f64,
    /// What it is to fall to, \[energy / length\].
    pub force_tolerance: f64,
}

impl Minimisation {
    /// Whether it has done what it was to do.
    pub fn is_converged(&self) -> bool {
        self.largest_force <= self.force_tolerance
    }
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

    /// Whether it has done what it was to do, so that the run or stage ends; the same on all ranks.
    fn is_finished(&self) -> bool {
        false
    }

    /// Whether the run or stage has ended for that reason: the step has been made of which everybody was told that it is the last.
    fn is_over(&self) -> bool {
        false
    }

    /// How far it has come, if it minimises and has made a step; the same on all ranks.
    fn minimisation(&self) -> Option<Minimisation> {
        None
    }

    /// The temperature it keeps after a step, if it keeps one.
    fn temperature(&self, _step: u64) -> Option<f64> {
        None
    }

    /// What it does to the total momentum.
    fn total_momentum(&self) -> TotalMomentum {
        TotalMomentum::Conserved
    }

    /// What has to be added to the total energy so that the sum is conserved: the energy of a thermostat, \[energy\], the same on all
    /// ranks. Asked for when the step is complete. *Collective.*
    ///
    /// # Errors
    /// Communication.
    fn reservoir_energy(&mut self, _world: &dyn World) -> Result<f64, EngineError> {
        Ok(0.0)
    }

    /// What later steps, and the conserved quantity, depend on beyond particles and keys: the variables of a chain, the heat put in. The
    /// same on all ranks after [`Self::reservoir_energy`].
    fn memory(&self) -> Vec<f64> {
        Vec::new()
    }

    /// Goes on from where an integrator with the same keys was when it gave these words.
    ///
    /// # Errors
    /// [`EngineError::Config`] for words of another integrator.
    fn recall(&mut self, words: &[f64]) -> Result<(), EngineError> {
        if words.is_empty() { Ok(()) } else { Err(does_not_fit(words.len())) }
    }
}

/// Words that another integrator remembers.
fn does_not_fit(count: usize) -> EngineError {
    EngineError::Config(format!(
        "the checkpoint has {count} numbers of an integrator's memory, not those of this integrator with these keys"
    ))
}

/// What is wrong with a key of an integrator.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{key}` of the integrator {problem}")]
pub struct KeyFault {
    /// The key, with those it lies in.
    pub key: &'static str,
    /// What is wrong, as the rest of a sentence that begins with the key.
    pub problem: String,
}

impl KeyFault {
    fn not_a_number_from_0(key: &'static str, value: f64) -> Self {
        let problem = format!("must be a finite number of at least 0, found {value:?}").to_lowercase();
        Self { key, problem }
    }

    pub(crate) fn unless_positive(key: &'static str, value: f64) -> Result<(), Self> {
        if value > 0.0 && value.is_finite() {
            return Ok(());
        }
        let problem = format!("must be a finite number above 0, found {value:?}").to_lowercase();
        Err(Self { key, problem })
    }

    pub(crate) fn unless_at_least_one(key: &'static str, value: Option<u64>) -> Result<(), Self> {
        match value {
            Some(0) => Err(Self { key, problem: "must be at least 1, found 0".to_owned() }),
            _ => Ok(()),
        }
    }
}

/// The keys of one integrator.
trait Keys: Copy {
    /// What they make.
    type Built: Integrate + 'static;

    /// The temperature that is kept, if one is.
    fn temperature(&self) -> Option<Temperature>;

    /// Whether they can be.
    fn check(&self) -> Result<(), KeyFault>;

    /// The integrator for a system.
    fn build(self, setup: &Setup) -> Result<Self::Built, EngineError>;
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
            /// Whether its keys can be, as far as that does not depend on the system.
            ///
            /// # Errors
            /// The first key that cannot.
            pub fn check(&self) -> Result<(), KeyFault> {
                match self {
                    $(Self::$name(keys) => keys.check(),)+
                }
            }

            /// The temperature that it keeps, if it keeps one.
            pub fn temperature(&self) -> Option<Temperature> {
                match self {
                    $(Self::$name(keys) => keys.temperature(),)+
                }
            }

            /// The integrator for a system.
            ///
            /// # Errors
            /// [`EngineError::Config`]: a key that cannot be, for instance a negative temperature.
            pub fn build(self, setup: &Setup) -> Result<Box<dyn Integrate>, EngineError> {
                self.check()?;
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
    /// Langevin dynamics: constant temperature by friction and random forces on every particle.
    Langevin(LangevinKeys),
    /// Stochastic velocity rescaling (Bussi): constant temperature, canonical.
    Csvr(CsvrKeys),
    /// A chain of Nose-Hoover thermostats: constant temperature, canonical, deterministic.
    NoseHoover(NoseHooverKeys),
    /// Weak coupling to a temperature: for equilibration, no ensemble.
    Berendsen(BerendsenKeys),
    /// Velocities scaled to one temperature every so many steps: for equilibration, no ensemble.
    Rescale(RescaleKeys),
    /// Minimisation of the potential energy by FIRE.
    Fire(FireKeys),
}

impl Integrator {
    /// Whether it draws random numbers at every step.
    pub fn is_random(&self) -> bool {
        matches!(self, Self::Langevin(_) | Self::Csvr(_))
    }

    /// Whether it is a thermostat that multiplies all velocities by one factor.
    pub fn multiplies_velocities(&self) -> bool {
        matches!(self, Self::Csvr(_) | Self::NoseHoover(_) | Self::Berendsen(_) | Self::Rescale(_))
    }

    /// What it does to the total momentum: as [`Integrate::total_momentum`].
    pub fn total_momentum(&self) -> TotalMomentum {
        match self {
            Self::Langevin(_) => TotalMomentum::Thermostatted,
            _ => TotalMomentum::Conserved,
        }
    }

    /// The name of what it conserves, if it conserves something.
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
