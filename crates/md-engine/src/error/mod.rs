//! Errors of a simulation, and the ranks on which they occur.

mod fault;

use std::error::Error;

use md_comm::CommError;
use md_core::diagnose::ClosePair;
use md_core::grid::GridError;
use md_core::halo::BorderError;
use md_core::memory::OutOfMemory;
use md_core::migrate::LostParticle;
use md_core::threads::ThreadsError;

pub use fault::{Attribute, KeyFault, ParticleFault};

/// Number of lost particles that a message lists.
const NAMED: usize = 5;

/// Reason why a simulation could not be set up or continued.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The box, its cells and its ranks do not fit together.
    #[error(transparent)]
    Grid(#[from] GridError),
    /// Pairs in f32 would lose digits.
    #[error("mixed precision would lose digits: {0}")]
    MixedPrecision(String),
    /// A setting with which the bits of a run depend on ranks, threads or the instruction set.
    #[error("a reproducible run needs {0}")]
    NotReproducible(String),
    /// A setting with which the steps of a run cannot be undone.
    #[error("a run backwards in time needs {0}")]
    NotReversible(&'static str),
    /// The potential's numbers are too large or too small for f32.
    #[error("mixed precision cannot hold the pair forces of this potential")]
    SinglePrecision,
    /// Coordinates far out in the box would have too few digits.
    #[error("{0}")]
    BoxTooLarge(String),
    /// The configuration contradicts itself.
    #[error("{0}")]
    Config(String),
    /// Key of an integrator that is invalid for this system.
    #[error(transparent)]
    Integrator(#[from] KeyFault),
    /// Particle with an invalid position or velocity.
    #[error(transparent)]
    Particle(#[from] ParticleFault),
    /// Initial velocities whose sums exceed the range of [`md_core::exact_sum`].
    #[error(
        "the {what} of all particles is not a number below 2^63 = 9.2e18 at a temperature of 1: a mass is too large or too small"
    )]
    Sum {
        /// Summed quantity.
        what: &'static str,
    },
    /// Mass for which no velocities can be drawn.
    #[error("the mass of species {} is {mass:?}, but {problem}", .species + 1)]
    Mass {
        /// Species, from 0.
        species: usize,
        /// Mass.
        mass: f64,
        /// Why it is invalid.
        problem: String,
    },
    /// Temperature for which no velocities can be drawn.
    #[error("the temperature is {temperature:?}, but {problem}")]
    Temperature {
        /// Requested temperature.
        temperature: f64,
        /// Why it is invalid.
        problem: String,
    },
    /// Conserved energy that has changed by more than is allowed.
    #[error(
        "step {step}: the {quantity} has changed by {change:.3e} per atom, more than the {most:e} allowed"
    )]
    Drift {
        /// Step.
        step: u64,
        /// Quantity that the integrator conserves.
        quantity: &'static str,
        /// Conserved energy per atom, minus that at the start.
        change: f64,
        /// [`crate::Config::max_drift`].
        most: f64,
    },
    /// Failure of the threads of a rank.
    #[error(transparent)]
    Threads(#[from] ThreadsError),
    /// Block of memory that could not be allocated.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
    /// Block of memory for data of particles that could not be allocated.
    #[error("out of memory: there is no room for {what} ({bytes} bytes)")]
    NoRoom {
        /// Purpose of the block.
        what: &'static str,
        /// Size of the block in bytes.
        bytes: usize,
    },
    /// Failure of the communication.
    #[error(transparent)]
    Communication(#[from] CommError),
    /// Two ranks follow different plans, which is a bug.
    #[error(transparent)]
    Border(#[from] BorderError),
    /// Fields that cannot be exchanged in the requested way.
    #[error(
        "{0:?} cannot be exchanged: only fields of real numbers that ghosts have can, and positions only gathered"
    )]
    Exchange(Vec<&'static str>),
    /// A sum that has become too large to be exact, see [`md_core::quantum`].
    #[error(
        "step {step}: {what} is {size:e}, and a reproducible run can add up only what is below {most:e}; particles overlap, \
         or units are needed in which it is smaller"
    )]
    Inexact {
        /// Step.
        step: u64,
        /// What was added up.
        what: &'static str,
        /// Its size.
        size: f64,
        /// Limit.
        most: f64,
    },
    /// A sum of forces that contradicts Newton's third law in a run with exact sums.
    #[error(
        "step {step}: the forces of all particles add up to {sum:?}, not to zero: a bit has changed in a force, a message or a \
         sum; the machine may be faulty"
    )]
    Integrity {
        /// Step.
        step: u64,
        /// Sum of all forces.
        sum: [f64; 3],
    },
    /// Particle whose owner is not a neighbour: a bug or invalid input.
    #[error("particle {0} at {1:?} belongs to a rank that is no neighbour")]
    Stray(u64, [f64; 3]),
    /// Particles that moved too far to be tracked.
    #[error("{}", describe_lost(*.step, *.count, .examples))]
    Lost {
        /// Step.
        step: u64,
        /// Number of lost particles over all ranks.
        count: u64,
        /// A few of them.
        examples: Vec<LostParticle>,
    },
    /// Particles so close that the next step would eject them from the box.
    #[error("{}", describe_explosion(*.step, .overlap))]
    Exploded {
        /// Step.
        step: u64,
        /// The two particles, if they could be identified.
        overlap: Option<ClosePair>,
    },
    /// Change of the conserved energy beyond any meaning, while no particle is lost.
    #[error(
        "step {step}: the {quantity} explodes: it has changed by {change:.3e} per atom, and particles have {energy:.3e} each (kinetic and \
         potential); the time step is too large, or what the integrator keeps is too far from the state of the particles"
    )]
    Explodes {
        /// Step.
        step: u64,
        /// Quantity that the integrator conserves.
        quantity: &'static str,
        /// Conserved energy per atom, minus that at the start.
        change: f64,
        /// Kinetic energy plus magnitude of the potential energy, per atom.
        energy: f64,
    },
    /// Box in which the simulation cannot continue.
    #[error("step {step}: the box cannot follow the pressure: {problem}")]
    Box {
        /// Step.
        step: u64,
        /// Reason.
        problem: String,
    },
    /// Balancing of another run that is not possible in this run.
    #[error("balancing {index}: {problem}")]
    Replay {
        /// Index of the balancing, from 0.
        index: usize,
        /// Reason.
        problem: String,
    },
    /// Energy and virial were requested after a step that computed only forces.
    #[error("step {step}: energy and virial were not computed, the last ones are those of step {known}")]
    NoEnergy {
        /// Step.
        step: u64,
        /// Last step that computed them.
        known: u64,
    },
    /// The energy is no longer finite.
    #[error(
        "step {step}: the energy is not a finite number (potential {potential}, kinetic {kinetic} per atom){}",
        if *step == 0 { "; particles may be on top of each other" } else { "" }
    )]
    NotFinite {
        /// Step.
        step: u64,
        /// Potential energy per atom.
        potential: f64,
        /// Kinetic energy per atom.
        kinetic: f64,
    },
    /// The number of particles has changed.
    #[error("step {step}: {found} particles where there were {expected}")]
    WrongCount {
        /// Step.
        step: u64,
        /// Particles now.
        found: u64,
        /// Particles at the start.
        expected: u64,
    },
    /// An observer failed on this rank.
    #[error(transparent)]
    Observer(Box<dyn Error + Send + Sync>),
}

/// Ranks on which an error occurs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// All ranks.
    AllRanks,
    /// Only this rank; it must end the others ([`md_comm::World::abort`]).
    ThisRank,
    /// Another rank failed first and has reported it.
    Elsewhere,
}

impl EngineError {
    /// Returns the ranks on which this error occurs.
    pub fn scope(&self) -> Scope {
        match self {
            Self::Communication(CommError::PeerFailed { .. }) => Scope::Elsewhere,
            Self::Communication(CommError::Unavailable { .. })
            | Self::Grid(_)
            | Self::MixedPrecision(_)
            | Self::SinglePrecision
            | Self::NotReproducible(_)
            | Self::NotReversible(_)
            | Self::Config(_)
            | Self::Integrator(_)
            | Self::BoxTooLarge(_)
            | Self::Particle(_)
            | Self::Sum { .. }
            | Self::Mass { .. }
            | Self::Temperature { .. }
            | Self::Drift { .. }
            | Self::Integrity { .. }
            | Self::Box { .. }
            | Self::Exchange(_)
            | Self::Lost { .. }
            | Self::Exploded { .. }
            | Self::Explodes { .. }
            | Self::Replay { .. }
            | Self::NoEnergy { .. }
            | Self::NotFinite { .. }
            | Self::WrongCount { .. } => Scope::AllRanks,
            Self::Threads(_)
            | Self::Inexact { .. }
            | Self::OutOfMemory(_)
            | Self::NoRoom { .. }
            | Self::Communication(_)
            | Self::Border(_)
            | Self::Stray(..)
            | Self::Observer(_) => Scope::ThisRank,
        }
    }
}

fn describe_lost(step: u64, count: u64, examples: &[LostParticle]) -> String {
    let mut text = format!(
        "step {step}: {count} particle{} lost: moved further than one cell since the last rebuild",
        if count == 1 { "" } else { "s" }
    );
    for lost in examples.iter().take(NAMED) {
        let [x, y, z] = lost.particle.position;
        let far = lost.displacement.iter().map(|d| d * d).sum::<f64>().sqrt();
        text += &format!("\n  id {} at ({x:.3}, {y:.3}, {z:.3}), moved {far:.3}", lost.particle.id);
    }
    text + "\nthe time step is too large, particles overlap, or the neighbourhood is rebuilt too rarely"
}

fn describe_explosion(step: u64, overlap: &Option<ClosePair>) -> String {
    let Some(ClosePair { id, neighbour, distance, force }) = overlap else {
        return format!("step {step}: the energy explodes");
    };
    format!(
        "step {step}: the energy explodes: particles {id} and {neighbour} are {distance:.3e} apart, \
         the force on {id} is {force:.3e} and would throw it further than the cutoff in one step\n\
         particles on top of each other, or a time step that is too large"
    )
}
