//! Particles followed from frame to frame.

use md_core::{Domain, ImageCounts, Particle, Particles};
use md_files::input::InputParticles;
use md_scenario::failure::RunError;

use crate::commands::refused;

/// Image counts of particles: those of the file, or else counts that assume that no particle moves
/// by more than half of the box between two frames.
pub(super) struct Followed {
    pub(super) ids: Vec<u64>,
    tells_images: [bool; 3],
    positions: Vec<[f64; 3]>,
    images: Vec<ImageCounts>,
}

impl Followed {
    pub(super) fn new(first: &InputParticles) -> Self {
        let (ids, positions) = (first.ids.clone(), first.positions.clone());
        Self { ids, tells_images: first.tells_images, positions, images: first.images.clone() }
    }

    /// Returns the particles of a frame in the form that the engine uses.
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
        if frame.tells_images != self.tells_images {
            return Err(refused(format!(
                "{name}: it has not image counts or unwrapped positions along the same axes as the first frame"
            )));
        }
        let mut particles = Particles::default();
        for (index, (&id, &position)) in frame.ids.iter().zip(&frame.positions).enumerate() {
            let count = |dim: usize| {
                let moved = (self.positions[index][dim] - position[dim]) / domain.lengths[dim];
                match (domain.is_periodic(dim), frame.tells_images[dim]) {
                    (false, _) => 0,
                    (true, true) => frame.images[index].0[dim],
                    (true, false) => self.images[index].0[dim].saturating_add(moved.round() as i32),
                }
            };
            let images = ImageCounts([0, 1, 2].map(count));
            self.images[index] = images;
            let species = frame.types[index] - 1;
            let velocity = velocity(frame, index, masses[species as usize]);
            particles.push(Particle { id, species, position, velocity, images });
        }
        self.positions.clone_from(&frame.positions);
        Ok(particles)
    }
}

/// Returns the velocity in the frame, or NaN if there is none.
fn velocity(frame: &InputParticles, index: usize, mass: f64) -> [f64; 3] {
    let own = frame.velocities.as_ref().and_then(|all| all.get(index)).copied();
    let moved = || frame.momenta.as_ref()?.get(index).map(|momentum| momentum.map(|p| p / mass));
    own.or_else(moved).unwrap_or([f64::NAN; 3])
}
