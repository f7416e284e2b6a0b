//! Forces of the fluid on obstacles and walls, by momentum exchange with the populations.
//!
//! A population that moves towards a body as `f` has returned as `f + gain`, in the opposite
//! direction, at the end of the step. In one step the body therefore gains the momentum `e (2 f +
//! gain)`, which the fluid loses (Ladd 1994):
//!
//! ```text
//! momentum(t + 1) - momentum(t)
//!     =  body force x fluid nodes  -  force on obstacles  -  force on walls
//! ```
//!
//! Returned populations are still stored after the step, so forces have no cost unless they are
//! requested. Populations are deviations from a fluid of density 1 at rest, whose pressure of 1/3
//! is omitted: it has no resultant on a closed surface.

use md_comm::World;

use super::d3q19::VELOCITIES;
use super::walls::{Body, Placement, Walls};
use crate::{Field, GridError, Real, total};

/// Forces of the fluid during the last step, in lattice units.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Forces {
    /// Force on all solid nodes together: the drag of the obstacles.
    pub on_obstacles: [f64; 3],
    /// Force on all walls of the domain together.
    pub on_walls: [f64; 3],
}

/// Returns the forces exerted by the populations of a grid, over all ranks, with bits that do not
/// depend on the decomposition. `most_links` is an upper bound of the number of terms on all ranks.
/// *Collective.*
///
/// # Errors
/// Communication errors.
pub(super) fn forces<T: Real>(
    world: &dyn World,
    walls: &Walls<T>,
    (grid, placement): (&Field<T>, Placement),
    most_links: usize,
) -> Result<Forces, GridError> {
    let along = |body: Body, axis: usize| {
        let mut terms = Vec::new();
        for (links, values) in walls.returned(grid, placement).filter(|(links, _)| links.body == body) {
            match f64::from(VELOCITIES[links.population][axis]) {
                0.0 => (),
                step => terms.extend(values.iter().map(|f| step * (2.0 * f.to_f64() - links.gain.to_f64()))),
            }
        }
        total::sum(world, most_links, std::iter::once(terms.as_slice()))
    };
    let on = |body| Ok::<_, GridError>([along(body, 0)?, along(body, 1)?, along(body, 2)?]);
    Ok(Forces { on_obstacles: on(Body::Obstacle)?, on_walls: on(Body::Wall)? })
}
