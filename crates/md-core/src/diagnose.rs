//! Search for the pair of particles that makes a run explode.

use crate::domain::Domain;
use crate::particles::Particles;

/// Two particles that repel each other so strongly that the run fails.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClosePair {
    /// The particle with the largest force.
    pub id: u64,
    /// Its nearest neighbour.
    pub neighbour: u64,
    /// Distance between them, \[length\].
    pub distance: f64,
    /// Magnitude of the force on the first, \[energy / length\]; infinite if it is NaN.
    pub force: f64,
}

/// Returns the owned particle with the largest force and the magnitude of that force. A force that
/// is NaN counts as infinite.
pub fn largest_force(particles: &Particles) -> Option<(usize, f64)> {
    let magnitude = |index: usize| {
        let force = particles.force_of(index).iter().map(|f| f * f).sum::<f64>().sqrt();
        if force.is_nan() { f64::INFINITY } else { force }
    };
    (0..particles.owned()).map(|index| (index, magnitude(index))).max_by(|a, b| a.1.total_cmp(&b.1))
}

/// Returns the pair of the particle at `index` and its nearest neighbour among owned particles and
/// ghosts.
pub fn close_pair_at(particles: &Particles, index: usize, force: f64, domain: &Domain) -> Option<ClosePair> {
    let here = particles.position_of(index);
    let distance2 = |other: usize| {
        let d = domain.nearest_image(here, particles.position_of(other));
        d.iter().map(|d| d * d).sum::<f64>()
    };
    let others = (0..particles.owned()).chain(particles.ghost_start()..particles.len());
    let others = others.filter(|&other| particles.id[other] != particles.id[index]);
    let (nearest, distance2) =
        others.map(|other| (other, distance2(other))).min_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(ClosePair {
        id: particles.id[index],
        neighbour: particles.id[nearest],
        distance: distance2.sqrt(),
        force,
    })
}
