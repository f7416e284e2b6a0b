//! Stencil applications: what weather and climate codes do with their halos, without their physics.
//!
//! MONC, a large-eddy model of the atmosphere, exchanges halos in three places (Brown et al., "Leveraging MPI RMA to optimise
//! halo-swapping communications in MONC", 2020, section II), each of which is a kind here:
//!
//! | kind | in MONC | exchange per step |
//! | --- | --- | --- |
//! | `swap` | the start of a step | all fields, depth 2, all neighbours, nothing to do meanwhile |
//! | `tvd` | advection | tracers along an axis; then the fluxes of the first plane one way, while the others are computed |
//! | `poisson` | the pressure solver | one field, depth 1, per iteration, and two sums over all ranks |
//!
//! The bits of all fields are the same for every decomposition and transport: a node's value is computed from the same numbers
//! in the same order wherever its neighbours live, and sums over all nodes are exact ([`crate::total`]).

mod modes;
mod poisson;
mod problem;
mod swap;
mod tvd;

use md_comm::{Choice, Traffic, World};
use md_engine::clock::PhaseClock;
use md_engine::{Phase, RankTiming};

use crate::{GridError, Layout};
use poisson::Poisson;
pub use problem::{Compute, Exchange, Kind, Overlap, Precision, Problem};
use swap::Swap;
use tvd::Tvd;

/// The state of an application in a few numbers, the same on all ranks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    /// Steps done.
    pub step: u64,
    /// Sum over all nodes of all fields.
    pub sum: f64,
    /// Smallest value.
    pub minimum: f64,
    /// Largest value.
    pub maximum: f64,
    /// `poisson`: norm of the residual over that of the right-hand side.
    pub residual: Option<f64>,
    /// Distance from the exact solution: of `tvd`, the mean difference from the moved initial state; of `poisson`, the largest one
    /// from the discrete solution, over the largest value of that.
    pub error: Option<f64>,
}

/// What there is to do after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The next step.
    GoesOn,
    /// Nothing: the solution is found.
    Converged,
}

/// One rank of an application. All methods but the getters are *collective*.
pub trait Application {
    /// Makes one step.
    ///
    /// # Errors
    /// Communication; numbers that are none any more.
    fn step(&mut self) -> Result<Progress, GridError>;

    /// Exchanges the halo of a step once, without computation.
    ///
    /// # Errors
    /// Communication.
    fn exchange(&mut self) -> Result<(), GridError>;

    /// The state in a few numbers.
    ///
    /// # Errors
    /// Communication.
    fn row(&mut self) -> Result<Row, GridError>;

    /// Calls `take` with the bits of all own values of all fields, row by row.
    fn visit(&self, take: &mut dyn FnMut(u64));

    /// The clock of the phases.
    fn clock(&mut self) -> &mut PhaseClock;

    /// Where the nodes of this rank lie.
    fn layout(&self) -> Layout;

    /// Messages and bytes sent so far.
    fn traffic(&self) -> Traffic;

    /// What contexts that choose their transports by themselves have chosen.
    fn choices(&self) -> Vec<Choice>;

    /// Closes the contexts.
    ///
    /// # Errors
    /// Communication.
    fn finalise(self: Box<Self>) -> Result<(), GridError>;
}

/// Sets up one rank of a problem. *Collective.*
///
/// # Errors
/// [`GridError::Shape`] where grid, ranks and halo do not fit together; memory; communication.
pub fn open<'w>(world: &'w dyn World, problem: &Problem) -> Result<Box<dyn Application + 'w>, GridError> {
    Ok(match (&problem.kind, problem.precision) {
        (&Kind::Swap { fields, neighbours, compute, .. }, Precision::Double) => {
            Box::new(Swap::<f64>::open(world, problem, fields, neighbours, compute)?)
        }
        (&Kind::Swap { fields, neighbours, compute, .. }, Precision::Single) => {
            Box::new(Swap::<f32>::open(world, problem, fields, neighbours, compute)?)
        }
        (&Kind::Tvd { fields, courant }, Precision::Double) => {
            Box::new(Tvd::<f64>::open(world, problem, fields, courant)?)
        }
        (&Kind::Tvd { fields, courant }, Precision::Single) => {
            Box::new(Tvd::<f32>::open(world, problem, fields, courant)?)
        }
        (&Kind::Poisson { tolerance }, _) => Box::new(Poisson::open(world, problem, tolerance)?),
    })
}

/// What a rank has measured over the steps since its clock was restarted.
pub fn timing(application: &mut dyn Application, steps: u64, sent_before: Traffic) -> RankTiming {
    let (layout, sent) = (application.layout(), application.traffic());
    RankTiming {
        phases: application.clock().times(steps),
        messages: sent.messages - sent_before.messages,
        bytes: sent.bytes - sent_before.bytes,
        owned: layout.own_nodes() as u64,
        ghosts: layout.ghost_nodes() as u64,
        second_share: 0.0,
    }
}

/// The phases that a grid's step has, in the order of a step; [`Phase::Integrate`] is the computation at the nodes.
pub const PHASES: [Phase; 9] = [
    Phase::Integrate,
    Phase::HaloPack,
    Phase::HaloTransfer,
    Phase::HaloWait,
    Phase::HaloHidden,
    Phase::HaloUnpack,
    Phase::Output,
    Phase::Other,
    Phase::Total,
];
