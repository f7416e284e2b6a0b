//! Everything that can go wrong in a simulation, and which ranks know of it.

use std::error::Error;

use md_comm::CommError;
use md_core::diagnose::ClosePair;
use md_core::grid::GridError;
use md_core::halo::BorderError;
use md_core::memory::OutOfMemory;
use md_core::migrate::LostParticle;
use md_core::threads::ThreadsError;

use crate::integrator::KeyFault;

/// How many lost particles a message names.
const NAMED: usize = 5;

/// Why a simulation could not be set up or go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The box, its cells and its ranks do not fit together.
    #[error(transparent)]
    Grid(#[from] GridError),
    /// Pairs in f32 would lose digits.
    #[error("mixed precision would lose digits: {0}")]
    MixedPrecision(String),
    /// The potential's numbers are too large or too small for f32.
    #[error("mixed precision cannot hold the pair forces of this potential")]
    SinglePrecision,
    /// Coordinates far out in the box would have too few digits.
    #[error("{0}")]
    BoxTooLarge(String),
    /// The configuration contradicts itself.
    #[error("{0}")]
    Config(String),
    /// A key of an integrator that cannot be for this system.
    #[error(transparent)]
    Integrator(#[from] KeyFault),
    /// A particle that cannot be where it is, or move as it does.
    #[error(transparent)]
    Particle(#[from] ParticleFault),
    /// Initial velocities whose sums are beyond those of [`md_core::exact_sum`].
    #[error(
        "the {what} of all particles is not a number below 2^63 = 9.2e18 at a temperature of 1: a mass is too large or too small"
    )]
    Sum {
        /// Of what.
        what: &'static str,
    },
    /// A mass for which no velocities can be drawn.
    #[error("the mass of species {} is {mass:?}, but {problem}", .species + 1)]
    Mass {
        /// Its species, from 0.
        species: usize,
        /// The mass.
        mass: f64,
        /// What is wrong with it.
        problem: String,
    },
    /// A temperature for which no velocities can be drawn.
    #[error("the temperature is {temperature:?}, but {problem}")]
    Temperature {
        /// What was asked for.
        temperature: f64,
        /// What is wrong with it.
        problem: String,
    },
    /// A conserved energy that has changed by more than is allowed.
    #[error(
        "step {step}: the {quantity} has changed by {change:.3e} per atom, more than the {most:e} allowed"
    )]
    Drift {
        /// The step.
        step: u64,
        /// What the integrator conserves.
        quantity: &'static str,
        /// Conserved energy per atom, minus that at the start.
        change: f64,
        /// [`crate::Config::max_drift`].
        most: f64,
    },
    /// Threads of a rank.
    #[error(transparent)]
    Threads(#[from] ThreadsError),
    /// A block of memory that could not be had.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
    /// The same, of particles that are shared out.
    #[error("out of memory: there is no room for {what} ({bytes} bytes)")]
    NoRoom {
        /// For what.
        what: &'static str,
        /// How much it needs.
        bytes: usize,
    },
    /// Communication.
    #[error(transparent)]
    Communication(#[from] CommError),
    /// Two ranks follow different plans: a bug.
    #[error(transparent)]
    Border(#[from] BorderError),
    /// An exchange of fields that cannot be exchanged so.
    #[error(
        "{0:?} cannot be exchanged: only fields of real numbers that ghosts have can, and positions only gathered"
    )]
    Exchange(Vec<&'static str>),
    /// A particle whose owner is no neighbour: a bug or a broken input.
    #[error("particle {0} at {1:?} belongs to a rank that is no neighbour")]
    Stray(u64, [f64; 3]),
    /// Particles that moved too far to be followed.
    #[error("{}", describe_lost(*.step, *.count, .examples))]
    Lost {
        /// The step.
        step: u64,
        /// How many, over all ranks.
        count: u64,
        /// A few of them.
        examples: Vec<LostParticle>,
    },
    /// Particles so close that the next step would throw them out of the box.
    #[error("{}", describe_explosion(*.step, .overlap))]
    Exploded {
        /// The step.
        step: u64,
        /// The culprits, where they could be told apart.
        overlap: Option<ClosePair>,
    },
    /// A conserved energy that has changed so much that it means nothing, while particles are where they should be.
    #[error(
        "step {step}: the {quantity} explodes: it has changed by {change:.3e} per atom, and particles have {energy:.3e} each (kinetic and \
         potential); the time step is too large, or what the integrator keeps is too far from the state of the particles"
    )]
    Explodes {
        /// The step.
        step: u64,
        /// What the integrator conserves.
        quantity: &'static str,
        /// Conserved energy per atom, minus that at the start.
        change: f64,
        /// Kinetic energy and size of the potential energy per atom.
        energy: f64,
    },
    /// A box in which the simulation cannot go on.
    #[error("step {step}: the box cannot follow the pressure: {problem}")]
    Box {
        /// The step.
        step: u64,
        /// Why.
        problem: String,
    },
    /// A balancing of another run that cannot be one of this run.
    #[error("balancing {index}: {problem}")]
    Replay {
        /// Which, from 0.
        index: usize,
        /// Why.
        problem: String,
    },
    /// Energy and virial were asked for after a step that computed forces alone.
    #[error("step {step}: energy and virial were not computed, the last ones are those of step {known}")]
    NoEnergy {
        /// The step.
        step: u64,
        /// The last step that computed them.
        known: u64,
    },
    /// Energy is not a number any more.
    #[error(
        "step {step}: the energy is not a finite number (potential {potential}, kinetic {kinetic} per atom){}",
        if *step == 0 { "; particles may be on top of each other" } else { "" }
    )]
    NotFinite {
        /// The step.
        step: u64,
        /// Potential energy per atom.
        potential: f64,
        /// Kinetic energy per atom.
        kinetic: f64,
    },
    /// The number of particles has changed.
    #[error("step {step}: {found} particles where there were {expected}")]
    WrongCount {
        /// The step.
        step: u64,
        /// Particles now.
        found: u64,
        /// Particles at the start.
        expected: u64,
    },
    /// An observer failed, on this rank.
    #[error(transparent)]
    Observer(Box<dyn Error + Send + Sync>),
}

/// A particle that cannot be where it is, or move as it does.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("particle {id}: {problem}")]
pub struct ParticleFault {
    /// Its id.
    pub id: u64,
    /// What of it.
    pub attribute: Attribute,
    /// What is wrong.
    pub problem: String,
}

/// What of a particle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attribute {
    /// Where it is.
    Position,
    /// How it moves.
    Velocity,
}

/// Which ranks have the same error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// All.
    AllRanks,
    /// This one; the others do not know yet, so it must end them ([`md_comm::World::abort`]).
    ThisRank,
    /// Another one failed first, and has said so.
    Elsewhere,
}

impl EngineError {
    /// Who has this error.
    pub fn scope(&self) -> Scope {
        match self {
            Self::Communication(CommError::PeerFailed { .. }) => Scope::Elsewhere,
            Self::Communication(CommError::Unavailable { .. })
            | Self::Grid(_)
            | Self::MixedPrecision(_)
            | Self::SinglePrecision
            | Self::Config(_)
            | Self::Integrator(_)
            | Self::BoxTooLarge(_)
            | Self::Particle(_)
            | Self::Sum { .. }
            | Self::Mass { .. }
            | Self::Temperature { .. }
            | Self::Drift { .. }
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
