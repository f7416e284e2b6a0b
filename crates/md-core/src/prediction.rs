//! Positions in the near future, for which cells and neighbour lists are made.
//!
//! A list holds as long as no particle is further than half the skin from the position for which
//! the list was made. If this is the present position, the distance grows from the first step. If
//! it is the position that the particle will have in the middle of the life of the list, the
//! distance first falls and then grows, and the list lasts longer, at most twice as long:
//!
//! ```text
//! distance from the reference     present positions      predicted positions
//!            half the skin  - - - - - - - - - - - /- - - - - - - - - - - - - - - -/
//!                                              /       \                      /
//!                                           /             \                /
//!                                        /                   \          /
//!                                     /                         \    /
//!                              rebuild          rebuild   rebuild              rebuild
//! ```
//!
//! Particles are predicted to go straight on with their velocities. Only cells, ghosts and lists
//! are those of predicted positions: forces are computed at the true ones, with all pairs, because
//! the criterion for the next rebuild is the distance from the predicted position.

use crate::domain::Domain;
use crate::fields::ImageCounts;
use crate::particles::Particles;
use crate::threads::Threads;

/// Prediction of positions after a time.
///
/// ```
/// use md_core::prediction::Prediction;
/// use md_core::{Boundary, Dimension, Domain};
///
/// let (lengths, boundary) = ([10.0; 3], [Boundary::Periodic; 3]);
/// let domain = Domain { dimension: Dimension::Three, origin: [0.0; 3], lengths, boundary };
/// let prediction = Prediction::after(0.1, 0.3, &domain);
/// assert_eq!(prediction.place([5.0; 3], [2.0, 0.0, -1.0]), [5.2, 5.0, 4.9]);
/// // No particle is expected to go further than 0.3.
/// assert_eq!(prediction.place([5.0; 3], [0.0, 30.0, 0.0]), [5.0, 5.3, 5.0]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prediction {
    time: f64,
    longest: f64,
    /// Lowest and highest coordinate in the box.
    low: [f64; 3],
    high: [f64; 3],
}

impl Prediction {
    /// The present positions.
    pub const NOW: Self =
        Self { time: 0.0, longest: 0.0, low: [f64::NEG_INFINITY; 3], high: [f64::INFINITY; 3] };

    /// Predicts positions after `time`, \[time\], at most `longest` from the present ones,
    /// \[length\].
    pub fn after(time: f64, longest: f64, domain: &Domain) -> Self {
        if time <= 0.0 || longest <= 0.0 {
            return Self::NOW;
        }
        let mut prediction = Self { time, longest, ..Self::NOW };
        for dim in 0..domain.dimension.count() {
            prediction.low[dim] = domain.origin[dim];
            prediction.high[dim] = domain.upper(dim).next_down();
        }
        prediction
    }

    /// Returns whether the predicted positions are the present ones.
    pub fn is_now(&self) -> bool {
        self.time == 0.0
    }

    /// Returns the longest distance between present and predicted positions, \[length\].
    pub fn longest(&self) -> f64 {
        self.longest
    }

    /// Returns the predicted position, in the box or beyond.
    #[inline(always)]
    fn ahead(&self, position: [f64; 3], velocity: [f64; 3]) -> [f64; 3] {
        let [x, y, z] = velocity.map(|v| v * self.time);
        let length2 = x * x + y * y + z * z;
        let is_short = length2 <= self.longest * self.longest;
        let factor = if is_short { 1.0 } else { self.longest / length2.sqrt() };
        [position[0] + x * factor, position[1] + y * factor, position[2] + z * factor]
    }

    /// Returns the predicted position of a particle, in the box. If it is the present one, walls
    /// and faces do not change it.
    #[inline(always)]
    pub fn place(&self, position: [f64; 3], velocity: [f64; 3]) -> [f64; 3] {
        if self.is_now() {
            return position;
        }
        let ahead = self.ahead(position, velocity);
        [0, 1, 2].map(|dim| ahead[dim].max(self.low[dim]).min(self.high[dim]))
    }

    /// Moves the owned particles by whole box lengths, so that their predicted positions are in the
    /// box along periodic dimensions, and counts the faces crossed, as [`Domain::wrap`].
    pub fn wrap(&self, domain: &Domain, particles: &mut Particles, threads: &Threads) {
        if self.is_now() {
            return domain.wrap(particles, threads);
        }
        let owned = particles.owned();
        let position = particles.position.each_mut().map(|column| &mut column[..owned]);
        let velocity = particles.velocity.each_ref().map(|column| &column[..owned]);
        let columns = ((position, velocity), &mut particles.images[..owned]);
        threads.each(columns, |(([x, y, z], [vx, vy, vz]), images)| {
            let position = x.iter_mut().zip(y).zip(z);
            let velocity = vx.iter().zip(vy).zip(vz);
            for ((((x, y), z), ((&vx, &vy), &vz)), images) in position.zip(velocity).zip(images) {
                let ahead = self.ahead([*x, *y, *z], [vx, vy, vz]);
                if (0..3).any(|dim| ahead[dim] < self.low[dim] || ahead[dim] > self.high[dim]) {
                    self.wrap_one(domain, [x, y, z], ahead, images);
                }
            }
        });
    }

    #[cold]
    fn wrap_one(&self, domain: &Domain, position: [&mut f64; 3], ahead: [f64; 3], images: &mut u64) {
        let mut counts = ImageCounts::unpack(*images);
        for (dim, x) in position.into_iter().enumerate().filter(|(dim, _)| domain.is_periodic(*dim)) {
            let boxes = domain.boxes(dim, ahead[dim] - domain.wrap_coordinate(dim, ahead[dim]));
            counts = counts.crossed(dim, boxes);
            *x -= f64::from(boxes) * domain.lengths[dim];
        }
        *images = counts.pack();
    }
}

/// Returns the predicted positions of particles.
#[inline]
pub(crate) fn places<'a>(
    prediction: Prediction,
    [x, y, z]: [&'a [f64]; 3],
    [vx, vy, vz]: [&'a [f64]; 3],
) -> impl Iterator<Item = [f64; 3]> + 'a {
    let position = x.iter().zip(y).zip(z).map(|((&x, &y), &z)| [x, y, z]);
    let velocity = vx.iter().zip(vy).zip(vz).map(|((&x, &y), &z)| [x, y, z]);
    position.zip(velocity).map(move |(position, velocity)| prediction.place(position, velocity))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Boundary, Dimension, Particle};

    #[test]
    fn predicted_positions_are_in_the_box_and_true_ones_are_images() {
        let boundary = [Boundary::Periodic, Boundary::Periodic, Boundary::Reflecting];
        let (origin, lengths, threads) = ([-1.0; 3], [4.0; 3], Threads::one());
        let domain = Domain { dimension: Dimension::Three, origin, lengths, boundary };
        let prediction = Prediction::after(0.5, 0.4, &domain);
        let close = |a: [f64; 3], b: [f64; 3]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-14);
        for (position, velocity, wrapped, place) in [
            ([2.9, 1.0, 2.9], [0.4, 0.0, 0.4], [-1.1, 1.0, 2.9], [-0.9, 1.0, 3.0]),
            ([3.1, -1.2, 0.0], [-0.4, 0.0, 0.0], [3.1, 2.8, 0.0], [2.9, 2.8, 0.0]),
            ([-1.0, 11.0, 0.0], [-8.0, 0.0, 0.0], [3.0, -1.0, 0.0], [2.6, -1.0, 0.0]),
        ] {
            let particle = Particle { position, velocity, ..Particle::default() };
            let mut particles: Particles = [particle].into_iter().collect();
            prediction.wrap(&domain, &mut particles, &threads);
            let found = particles.position_of(0);
            assert!(close(found, wrapped), "{position:?}: {found:?}");
            let unwrapped = domain.unwrap_position(found, particles.images_of(0));
            assert!(close(unwrapped, position), "{position:?}: {unwrapped:?}");
            let predicted = prediction.place(found, velocity);
            assert!(close(predicted, place), "{position:?}: {predicted:?}");
            assert!((0..3).all(|dim| predicted[dim] >= -1.0 && predicted[dim] < 3.0), "{predicted:?}");
        }
    }
}
