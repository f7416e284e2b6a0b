//! Check that the particles are inside the solid walls at the start.

use md_comm::World;
use md_core::{Domain, Particles};

use crate::collective::gather_all;
use crate::error::{Attribute, EngineError, ParticleFault};
use crate::wall::SolidWall;

/// Checks that all particles are inside the solid walls. *Collective.*
pub(crate) fn check_inside(
    particles: &Particles,
    walls: &[SolidWall],
    domain: &Domain,
    world: &dyn World,
) -> Result<(), EngineError> {
    if walls.is_empty() {
        return Ok(());
    }
    let outside = |index: &usize| {
        let position = particles.position_of(*index);
        walls.iter().any(|wall| wall.distance(position[wall.axis], domain) <= 0.0)
    };
    let mine = (0..particles.owned()).find(outside).map_or([0; 4], |index| {
        let [x, y, z] = particles.position_of(index).map(f64::to_bits);
        [particles.id[index], x, y, z]
    });
    let found = gather_all(&[mine], world)?.into_iter().filter(|[id, ..]| *id > 0).min();
    found.map_or(Ok(()), |[id, x, y, z]| {
        let problem = format!(
            "it is at {:?}, on a solid wall or behind it, where its energy is infinite",
            [x, y, z].map(f64::from_bits)
        );
        Err(ParticleFault { id, attribute: Attribute::Position, problem }.into())
    })
}
