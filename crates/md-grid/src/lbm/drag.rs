//! Forces of the fluid on obstacles and walls, by the momentum that populations exchange with them.
//!
//! A population that moves towards a body as `f` comes back as `f + gain`, the opposite one, when the step ends. So in one
//! step the body takes up the momentum `e (2 f + gain)`, and the fluid loses the same (Ladd 1994):
//!
//! ```text
//! momentum(t + 1) - momentum(t)  =  body force x fluid nodes  -  force on obstacles  -  force on walls
//! ```
//!
//! What has come back is still there after the step, so a force costs nothing until it is asked for. Populations are deviations
//! from a fluid of density 1 at rest, whose pressure of 1/3 is left out: on a closed surface it has no resultant.

use md_comm::World;

use super::d3q19::VELOCITIES;
use super::walls::{Body, Placement, Walls};
use crate::{Field, GridError, Real, total};

/// Forces of the fluid during the last step, in lattice units.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Forces {
    /// On all solid nodes together: the drag of the obstacles.
    pub on_obstacles: [f64; 3],
    /// On all walls of the domain together.
    pub on_walls: [f64; 3],
}

/// The forces that the populations of a grid have exerted, over all ranks: the same bits on any decomposition. `most_links`
/// bounds the number of terms of all ranks. *Collective.*
///
/// # Errors
/// Communication.
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
