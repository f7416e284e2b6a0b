//! The global box and its boundary conditions.

use crate::fields::ImageCounts;
use crate::particles::Particles;
use crate::quantum::{POSITION_QUANTUM, rounded};
use crate::threads::Threads;

/// Number of space dimensions.
///
/// ```
/// use md_core::{Boundary, Dimension, Domain};
///
/// // In two dimensions the third side is only a thickness: the volume is an area.
/// let (origin, lengths, boundary) = ([0.0; 3], [4.0, 3.0, 1.5], [Boundary::Periodic; 3]);
/// let layer = Domain { dimension: Dimension::Two, origin, lengths, boundary };
/// assert_eq!(layer.dimension.count(), 2);
/// assert_eq!(layer.volume(), 12.0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dimension {
    /// One layer in z, no motion in z.
    Two,
    /// Full space.
    Three,
}

impl Dimension {
    /// Returns the number of dimensions.
    pub fn count(self) -> usize {
        match self {
            Self::Two => 2,
            Self::Three => 3,
        }
    }
}

/// Boundary condition at a pair of opposite faces.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "kebab-case")
)]
pub enum Boundary {
    /// Particles leave on one side and come back on the other.
    #[default]
    Periodic,
    /// Particles bounce off elastically.
    Reflecting,
}

/// The global simulation box, orthogonal.
///
/// ```
/// use md_core::{Boundary, Dimension, Domain};
///
/// // A slit: periodic along x and y, with walls at z = 0 and z = 5.
/// let slit = Domain {
///     dimension: Dimension::Three,
///     origin: [0.0; 3],
///     lengths: [10.0, 10.0, 5.0],
///     boundary: [Boundary::Periodic, Boundary::Periodic, Boundary::Reflecting],
/// };
/// assert_eq!(slit.volume(), 500.0);
/// // The nearest image lies across a periodic face, but never across a wall.
/// assert_eq!(slit.nearest_image([9.5, 0.0, 4.5], [0.5, 0.0, 0.5]), [-1.0, 0.0, 4.0]);
/// assert_eq!(slit.wrap_position([12.0, -1.0, 4.5]), [2.0, 9.0, 4.5]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Domain {
    /// Two or three dimensions.
    pub dimension: Dimension,
    /// Lower corner, \[length\].
    pub origin: [f64; 3],
    /// Side lengths, \[length\]. In 2D the third is the thickness of the layer, which has no
    /// effect.
    pub lengths: [f64; 3],
    /// Boundary per dimension.
    pub boundary: [Boundary; 3],
}

impl Domain {
    /// Returns whether periodic images exist along the dimension.
    pub fn is_periodic(&self, dim: usize) -> bool {
        dim < self.dimension.count() && self.boundary[dim] == Boundary::Periodic
    }

    /// Returns the volume in 3D or the area in 2D, which enters the pressure.
    pub fn volume(&self) -> f64 {
        self.lengths[..self.dimension.count()].iter().product()
    }

    /// Returns the length of the longest side, in 2D without the thickness.
    pub(crate) fn longest_side(&self) -> f64 {
        self.lengths[..self.dimension.count()].iter().copied().fold(0.0, f64::max)
    }

    /// Returns the box with its lengths multiplied by `factors` and the same lower corner.
    #[must_use]
    pub fn stretched(&self, factors: [f64; 3]) -> Self {
        Self { lengths: [0, 1, 2].map(|dim| self.lengths[dim] * factors[dim]), ..*self }
    }

    /// Returns the box with corners that are multiples of [`POSITION_QUANTUM`].
    #[must_use]
    pub fn in_quanta(&self) -> Self {
        let round = |number| rounded(number, POSITION_QUANTUM);
        Self { origin: self.origin.map(round), lengths: self.lengths.map(round), ..*self }
    }

    /// Stretches box and owned particles such that positions and corners remain multiples of
    /// [`POSITION_QUANTUM`]. A particle outside the box follows its image inside, so that the
    /// result does not depend on the step in which it is wrapped.
    #[must_use]
    pub fn stretch_in_quanta(&self, particles: &mut Particles, factors: [f64; 3]) -> Self {
        let (stretched, owned) = (self.stretched(factors).in_quanta(), particles.owned());
        for (dim, column) in particles.position.iter_mut().enumerate() {
            let origin = self.origin[dim];
            for x in &mut column[..owned] {
                let inside = if self.is_periodic(dim) { self.wrap_coordinate(dim, *x) } else { *x };
                let boxes = f64::from(self.boxes(dim, *x - inside));
                let followed = rounded(origin + (inside - origin) * factors[dim], POSITION_QUANTUM);
                *x = followed + boxes * stretched.lengths[dim];
            }
        }
        stretched
    }

    /// Returns the upper corner along a dimension.
    pub fn upper(&self, dim: usize) -> f64 {
        self.origin[dim] + self.lengths[dim]
    }

    /// Moves the owned particles back into the box along periodic dimensions and counts the faces
    /// they have crossed. May be called only at a rebuild, because between rebuilds the ghosts
    /// depend on the unwrapped positions.
    pub fn wrap(&self, particles: &mut Particles, threads: &Threads) {
        let owned = particles.owned();
        let position = particles.position.each_mut().map(|column| &mut column[..owned]);
        threads.each((position, &mut particles.images[..owned]), |(position, images)| {
            for (dim, column) in position.into_iter().enumerate().filter(|&(dim, _)| self.is_periodic(dim)) {
                for (x, images) in column.iter_mut().zip(&mut *images) {
                    let wrapped = self.wrap_coordinate(dim, *x);
                    if wrapped != *x {
                        let boxes = self.boxes(dim, *x - wrapped);
                        *images = ImageCounts::unpack(*images).crossed(dim, boxes).pack();
                        *x = wrapped;
                    }
                }
            }
        });
    }

    /// Returns the number of box lengths in a displacement.
    pub(crate) fn boxes(&self, dim: usize, displacement: f64) -> i32 {
        (displacement / self.lengths[dim]).round() as i32
    }

    /// Returns the position wrapped into the box and the corresponding image counts.
    pub fn wrap_counting(&self, position: [f64; 3], images: ImageCounts) -> ([f64; 3], ImageCounts) {
        let wrapped = self.wrap_position(position);
        let count =
            |images: ImageCounts, dim| images.crossed(dim, self.boxes(dim, position[dim] - wrapped[dim]));
        (wrapped, (0..self.dimension.count()).fold(images, count))
    }

    /// Returns the position that a particle would have without wrapping.
    pub fn unwrap_position(&self, position: [f64; 3], images: ImageCounts) -> [f64; 3] {
        [0, 1, 2].map(|dim| position[dim] + f64::from(images.0[dim]) * self.lengths[dim])
    }

    /// Returns the image of a coordinate inside the box, for a periodic dimension.
    #[inline]
    pub fn wrap_coordinate(&self, dim: usize, x: f64) -> f64 {
        let (low, high) = (self.origin[dim], self.upper(dim));
        if x >= low && x < high {
            return x;
        }
        let wrapped = low + (x - low).rem_euclid(self.lengths[dim]);
        // For a tiny negative number, rem_euclid rounds to the length itself.
        if wrapped >= high { low } else { wrapped }
    }

    /// Returns the image of a position inside the box. Dimensions with walls are not changed.
    pub fn wrap_position(&self, position: [f64; 3]) -> [f64; 3] {
        [0, 1, 2].map(|dim| {
            let x = position[dim];
            if self.is_periodic(dim) { self.wrap_coordinate(dim, x) } else { x }
        })
    }

    /// Mirrors the positions and velocities of owned particles that have passed a reflecting wall.
    ///
    /// ```
    /// use md_core::{Boundary, Dimension, Domain, Particle, Particles};
    ///
    /// let (origin, lengths, boundary) = ([0.0; 3], [10.0; 3], [Boundary::Reflecting; 3]);
    /// let closed = Domain { dimension: Dimension::Three, origin, lengths, boundary };
    /// let (position, velocity) = ([10.5, 5.0, 5.0], [2.0, 1.0, 0.0]);
    /// let outside = Particle { position, velocity, ..Particle::default() };
    /// let mut particles: Particles = [outside].into_iter().collect();
    /// closed.reflect(&mut particles);
    /// let inside = particles.get(0);
    /// assert_eq!((inside.position, inside.velocity), ([9.5, 5.0, 5.0], [-2.0, 1.0, 0.0]));
    /// ```
    pub fn reflect(&self, particles: &mut Particles) {
        let owned = particles.owned();
        let walls = |dim: &usize| *dim < self.dimension.count() && !self.is_periodic(*dim);
        for dim in (0..3).filter(walls) {
            let (low, high) = (self.origin[dim], self.upper(dim));
            let velocities = &mut particles.velocity[dim][..owned];
            for (x, v) in particles.position[dim][..owned].iter_mut().zip(velocities) {
                let mirror = if *x < low {
                    low
                } else if *x > high {
                    high
                } else {
                    continue;
                };
                *x = 2.0 * mirror - *x;
                *v = -*v;
            }
        }
    }

    /// Returns whether this domain has a reflecting wall.
    pub fn has_walls(&self) -> bool {
        (0..self.dimension.count()).any(|dim| self.boundary[dim] == Boundary::Reflecting)
    }

    /// Returns the distance vector from `b` to `a`, using the nearest image in periodic dimensions.
    pub fn nearest_image(&self, a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
        [0, 1, 2].map(|dim| {
            let d = a[dim] - b[dim];
            if self.is_periodic(dim) { d - self.lengths[dim] * (d / self.lengths[dim]).round() } else { d }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::particles::Particle;

    fn domain(boundary: Boundary) -> Domain {
        Domain { dimension: Dimension::Three, origin: [-1.0; 3], lengths: [4.0; 3], boundary: [boundary; 3] }
    }

    fn one(x: f64, v: f64) -> Particles {
        [Particle {
            id: 1,
            species: 0,
            position: [x, 0.0, 0.0],
            velocity: [v, 0.0, 0.0],
            ..Particle::default()
        }]
        .into_iter()
        .collect()
    }

    #[test]
    fn wrapping_brings_back_from_both_sides_and_never_lands_on_the_upper_face() {
        for (x, expected) in
            [(-1.5, 2.5), (3.0, -1.0), (7.25, -0.75), (-1.0 - 1e-17, -1.0), (-1.0 - 2e-16, -1.0)]
        {
            let (mut particles, domain) = (one(x, 0.0), domain(Boundary::Periodic));
            domain.wrap(&mut particles, &Threads::one());
            assert_eq!(particles.position[0][0], expected, "from {x}");
            let unwrapped = domain.unwrap_position(particles.position_of(0), particles.images_of(0));
            assert!((unwrapped[0] - x).abs() < 1e-14, "from {x}: {unwrapped:?}");
        }
    }

    #[test]
    fn walls_mirror_position_and_velocity() {
        let mut particles = one(3.5, 2.0);
        domain(Boundary::Reflecting).reflect(&mut particles);
        assert_eq!((particles.position[0][0], particles.velocity[0][0]), (2.5, -2.0));
        let mut particles = one(-1.25, -2.0);
        domain(Boundary::Reflecting).reflect(&mut particles);
        assert_eq!((particles.position[0][0], particles.velocity[0][0]), (-0.75, 2.0));
    }
}
