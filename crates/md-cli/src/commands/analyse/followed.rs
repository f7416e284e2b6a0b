//! Particles from frame to frame.

use md_core::{Domain, ImageCounts, Particle, Particles};

use crate::commands::refused;
use crate::error::RunError;
use crate::input::InputParticles;

/// How often each particle has crossed the periodic faces. A file need not say so if none moves by more than half of
/// the box in between.
pub(super) struct Followed {
    pub(super) ids: Vec<u64>,
    positions: Vec<[f64; 3]>,
    images: Vec<ImageCounts>,
}

impl Followed {
    pub(super) fn new(first: &InputParticles) -> Self {
        let images = vec![ImageCounts([0; 3]); first.ids.len()];
        Self { ids: first.ids.clone(), positions: first.positions.clone(), images }
    }

    /// The particles of a frame as the engine has them.
    pub(super) fn particles(
        &mut self,
        name: &str,
        frame: &InputParticles,
        domain: &Domain,
        masses: &[f64],
    ) -> Result<Particles, RunError> {
        if frame.ids != self.ids {
            return Err(refused(format!(
                "{name}: its particles are not those of the first frame, by their ids"
            )));
        }
        let mut particles = Particles::default();
        for (index, (&id, &position)) in frame.ids.iter().zip(&frame.positions).enumerate() {
            for dim in (0..3).filter(|&dim| domain.is_periodic(dim)) {
                let moved = (self.positions[index][dim] - position[dim]) / domain.lengths[dim];
                self.images[index].0[dim] += moved.round() as i32;
            }
            let species = frame.types[index] - 1;
            let velocity = velocity(frame, index, masses[species as usize]);
            particles.push(Particle { id, species, position, velocity });
            particles.images[index] = self.images[index].pack();
        }
        self.positions.clone_from(&frame.positions);
        Ok(particles)
    }
}

/// What the frame says of it, no number where it does not.
fn velocity(frame: &InputParticles, index: usize, mass: f64) -> [f64; 3] {
    let own = frame.velocities.as_ref().and_then(|all| all.get(index)).copied();
    let moved = || frame.momenta.as_ref()?.get(index).map(|momentum| momentum.map(|p| p / mass));
    own.or_else(moved).unwrap_or([f64::NAN; 3])
}
