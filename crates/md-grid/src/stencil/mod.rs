//! Stencil applications: halo exchanges as in weather and climate codes, without their physics.
//!
//! MONC, a large-eddy model of the atmosphere, exchanges halos in three places (Brown et al.,
//! "Leveraging MPI RMA to optimise halo-swapping communications in MONC", 2020, section II), each
//! of which corresponds to a kind here:
//!
//! | kind | in MONC | exchange per step |
//! | --- | --- | --- |
//! | `swap` | the start of a step | all fields, depth 2, all neighbours, no overlap |
//! | `tvd` | advection | tracers along an axis; one-way first-plane fluxes (overlapped) |
//! | `poisson` | pressure solver | one field, depth 1, and two sums over all ranks, per iteration |
//!
//! The bits of all fields do not depend on the decomposition or the transport: a node's value is
//! computed from the same numbers in the same order wherever its neighbours are, and sums over all
//! nodes are exact ([`crate::total`]).

mod modes;
mod poisson;
mod problem;
mod swap;
#[cfg(test)]
mod tests;
mod tvd;

use md_comm::World;
use md_engine::Overlap;

use crate::application::Application;
use crate::schedule::{Beside, Exchanged, Schedule};
use crate::{GridError, total};
use poisson::Poisson;
pub use problem::{Compute, Kind, Precision, Problem};
use swap::Swap;
use tvd::Tvd;

/// Returns the exchanges and computation of a step of a problem.
///
/// # Errors
/// [`GridError::Shape`] if grid, ranks and halo do not fit together.
pub fn schedule(problem: &Problem) -> Result<Schedule, GridError> {
    /// Share of an iteration's work in the operator; the rest is vector operations.
    const OPERATOR: f64 = 0.5;
    /// Share of a sweep's work in the fluxes.
    const FLUXES: f64 = 0.5;
    /// Number of scalar products of an iteration.
    const PRODUCTS: usize = 2;
    let beside = |beside: Beside| if problem.overlap == Overlap::On { beside } else { Beside::Nothing };
    let (depth, exchanges, reductions) = match problem.kind {
        Kind::Swap { fields, neighbours, .. } => {
            let depth = problem.depth(problem.kind.depth())?;
            let plan = swap::plan(problem, depth, fields, neighbours);
            (depth, vec![Exchanged { plan, beside: Beside::Nothing }], 0)
        }
        Kind::Tvd { fields, courant } => {
            let depth = tvd::depth(problem, courant)?;
            let axes: Vec<usize> = (0..3).filter(|&axis| depth[axis] > 0).collect();
            let components: Vec<usize> = (0..fields).collect();
            let share = FLUXES / axes.len().max(1) as f64;
            let sweep = |&axis: &usize| {
                let [tracers, fluxes] = tvd::plans(axis, &components);
                [(tracers, Beside::Nothing), (fluxes, beside(Beside::Share(share)))]
            };
            let exchanges = axes.iter().flat_map(sweep);
            (depth, exchanges.map(|(plan, beside)| Exchanged { plan, beside }).collect(), 0)
        }
        Kind::Poisson { .. } => {
            let depth = poisson::depth(problem)?;
            let beside = beside(Beside::InnerNodes(OPERATOR));
            (depth, vec![Exchanged { plan: poisson::plan(depth), beside }], PRODUCTS * total::REDUCTIONS)
        }
    };
    let number_bytes = match problem.precision {
        Precision::Double => size_of::<f64>(),
        Precision::Single => size_of::<f32>(),
    };
    let (decomposition, messages) = (problem.decomposition, problem.messages);
    Ok(Schedule { decomposition, depth, messages, number_bytes, exchanges, reductions })
}

/// Sets up one rank of a problem. *Collective.*
///
/// # Errors
/// [`GridError::Shape`] if grid, ranks and halo do not fit together; out of memory; communication
/// errors.
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
