//! Everything that can end a run, and how it ends.

use md_comm::CommError;
use md_core::diagnose::Overlap;
use md_core::halo::BorderError;
use md_core::migrate::LostParticle;
use md_core::threads::ThreadsError;

use crate::input::InputError;
use crate::output::OutputError;
use crate::scenario::ScenarioError;

/// How many lost particles a message names.
const NAMED: usize = 5;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The scenario.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The particle file.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A file that cannot be read.
    #[error("cannot read `{path}`: {reason}")]
    Unreadable {
        /// The file.
        path: String,
        /// The system's reason.
        reason: String,
    },
    /// An environment variable that names no instruction set of this CPU.
    #[error("{variable} is `{wanted}`, but this CPU has {available}")]
    UnknownSimd {
        /// The variable.
        variable: &'static str,
        /// Its value.
        wanted: String,
        /// What it may be.
        available: String,
    },
    /// Threads of a rank.
    #[error(transparent)]
    Threads(#[from] ThreadsError),
    /// An output.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// Another rank's output failed; that rank says why.
    #[error("rank 0 could not set up the outputs")]
    OutputElsewhere,
    /// Communication.
    #[error(transparent)]
    Communication(#[from] CommError),
    /// Two ranks follow different plans: a bug.
    #[error(transparent)]
    Border(#[from] BorderError),
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
        overlap: Option<Overlap>,
    },
    /// Energy is not a number any more.
    #[error(
        "step {step}: the energy is not a finite number (potential {potential}, kinetic {kinetic} per atom); \
         the time step is probably too large"
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
    /// A comparison in which not all went well. Everything has been written.
    #[error("{summary}")]
    Compared {
        /// Who did not do well.
        summary: String,
        /// Exit code of the program.
        exit_code: u8,
        /// [`Scope::AllRanks`] or [`Scope::AllRanksBroken`].
        scope: Scope,
    },
}

/// Which ranks have the same error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// All: rank 0 speaks, and everybody ends by itself.
    AllRanks,
    /// All, and something is left in the transport that would keep it from ending in order: rank 0 speaks, then all
    /// are ended.
    AllRanksBroken,
    /// This one: it speaks, and ends the others.
    ThisRank,
    /// Another one failed first and has spoken.
    Elsewhere,
}

impl RunError {
    /// Exit code of the program (INTERFACE: 1 a check of the run, 2 bad input, 3 communication).
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Scenario(_)
            | Self::Input(_)
            | Self::Unreadable { .. }
            | Self::UnknownSimd { .. }
            | Self::Threads(_)
            | Self::OutputElsewhere
            | Self::Output(OutputError::Create { .. } | OutputError::OverwritesInput { .. }) => 2,
            Self::Communication(_) => 3,
            Self::Compared { exit_code, .. } => *exit_code,
            _ => 1,
        }
    }

    /// Who has this error.
    pub fn scope(&self) -> Scope {
        match self {
            Self::Communication(CommError::PeerFailed { .. }) | Self::OutputElsewhere => Scope::Elsewhere,
            Self::Compared { scope, .. } => *scope,
            Self::Communication(CommError::Unavailable { .. })
            | Self::Output(OutputError::Create { .. } | OutputError::OverwritesInput { .. }) => {
                Scope::AllRanks
            }
            Self::Threads(_)
            | Self::Output(_)
            | Self::Communication(_)
            | Self::Border(_)
            | Self::Stray(..) => Scope::ThisRank,
            _ => Scope::AllRanks,
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

fn describe_explosion(step: u64, overlap: &Option<Overlap>) -> String {
    let Some(Overlap { id, neighbour, distance, force }) = overlap else {
        return format!("step {step}: the energy explodes");
    };
    format!(
        "step {step}: the energy explodes: particles {id} and {neighbour} are {distance:.3e} apart, \
         the force on {id} is {force:.3e} and would throw it further than the cutoff in one step\n\
         particles on top of each other, or a time step that is too large"
    )
}
