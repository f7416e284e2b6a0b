//! Lennard-Jones sums from the textbook formula. They share no code with the engine: no cells, no
//! ghosts, no vectors.

use super::{ForceRow, Random};
use md_core::Dimension;

/// Term subtracted from the pair energy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shift {
    /// No term.
    None,
    /// The value of the energy at the cutoff.
    Energy,
    /// The tangent of the energy at the cutoff.
    Force,
}

impl Shift {
    /// Returns the name that a scenario uses.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Energy => "energy",
            Self::Force => "force",
        }
    }
}

/// Pair potential with epsilon = sigma = 1.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pair {
    pub(crate) cutoff: f64,
    pub(crate) shift: Shift,
}

impl Pair {
    /// Returns the energy and its derivative at a distance within the cutoff.
    pub(crate) fn energy_and_slope(self, r: f64) -> (f64, f64) {
        let plain = |r: f64| (4.0 * (r.powi(-12) - r.powi(-6)), 24.0 * (r.powi(-7) - 2.0 * r.powi(-13)));
        let ((energy, slope), (energy_at_cutoff, slope_at_cutoff)) = (plain(r), plain(self.cutoff));
        match self.shift {
            Shift::None => (energy, slope),
            Shift::Energy => (energy - energy_at_cutoff, slope),
            Shift::Force => {
                let tangent = energy_at_cutoff + (r - self.cutoff) * slope_at_cutoff;
                (energy - tangent, slope - slope_at_cutoff)
            }
        }
    }
}

/// Particles in a box with its lower corner at the origin.
#[derive(Debug, Clone)]
pub(crate) struct Configuration {
    pub(crate) lengths: [f64; 3],
    pub(crate) periodic: [bool; 3],
    pub(crate) positions: Vec<[f64; 3]>,
}

/// Sums over all pairs of a configuration.
#[derive(Debug, Clone)]
pub(crate) struct ReferenceSums {
    pub(crate) energy: f64,
    /// Sum of r . f.
    pub(crate) virial: f64,
    /// Sum of r f: xx, yy, zz, xy, xz, yz.
    pub(crate) virial_tensor: [f64; 6],
    /// Forces, with ids that count from 1 and type 1.
    pub(crate) forces: Vec<ForceRow>,
    /// Largest sum over one particle of the magnitudes of its pair forces. Rounding errors are
    /// relative to this value.
    pub(crate) scale: f64,
}

impl Configuration {
    /// Creates clusters of particles with empty space between them. In two dimensions all particles
    /// lie in one layer.
    pub(crate) fn clustered(
        random: &mut Random,
        lengths: [f64; 3],
        periodic: [bool; 3],
        count: usize,
        dimension: Dimension,
    ) -> Self {
        const RADIUS: f64 = 2.0;
        let centres: Vec<[f64; 3]> =
            (0..3).map(|_| lengths.map(|length| length * random.uniform())).collect();
        Self { lengths, periodic, positions: Vec::new() }.filled(random, count, dimension, |random| {
            let centre = centres[random.below(centres.len())];
            [0, 1, 2].map(|dim| {
                let x = centre[dim] + RADIUS * random.signed() * random.uniform();
                if periodic[dim] { x.rem_euclid(lengths[dim]) } else { x.clamp(0.0, lengths[dim]) }
            })
        })
    }

    /// Creates particles at random positions.
    pub(crate) fn scattered(
        random: &mut Random,
        lengths: [f64; 3],
        periodic: [bool; 3],
        count: usize,
        dimension: Dimension,
    ) -> Self {
        let anywhere = |random: &mut Random| lengths.map(|length| length * random.uniform());
        Self { lengths, periodic, positions: Vec::new() }.filled(random, count, dimension, anywhere)
    }

    /// Fills the configuration with particles at the positions that `place` returns, at least 0.85
    /// apart, also across periodic faces. Creates fewer particles than requested if they do not
    /// fit.
    fn filled(
        mut self,
        random: &mut Random,
        count: usize,
        dimension: Dimension,
        mut place: impl FnMut(&mut Random) -> [f64; 3],
    ) -> Self {
        const DISTANCE: f64 = 0.85;
        const ATTEMPTS: usize = 40;
        for _ in 0..ATTEMPTS * count {
            if self.positions.len() == count {
                break;
            }
            let [x, y, z] = place(random);
            let position = [x, y, if dimension == Dimension::Two { 0.0 } else { z }];
            if self.positions.iter().all(|other| self.distance(position, *other) > DISTANCE) {
                self.positions.push(position);
            }
        }
        self
    }

    /// Returns the distance to the nearest image.
    fn distance(&self, a: [f64; 3], b: [f64; 3]) -> f64 {
        norm([0, 1, 2].map(|dim| {
            let (d, length) = (a[dim] - b[dim], self.lengths[dim]);
            if self.periodic[dim] { d - length * (d / length).round() } else { d }
        }))
    }

    /// Returns the vectors from `b` and its nearest images to `a`. They suffice as long as the
    /// cutoff is not longer than a periodic side.
    fn images(&self, a: [f64; 3], b: [f64; 3]) -> impl Iterator<Item = [f64; 3]> {
        let Self { lengths, periodic, .. } = *self;
        let range = move |dim: usize| if periodic[dim] { -1..=1 } else { 0..=0 };
        range(0).flat_map(move |i| {
            range(1).flat_map(move |j| {
                range(2).map(move |k| {
                    [(0, i), (1, j), (2, k)]
                        .map(|(dim, image)| a[dim] - b[dim] - f64::from(image) * lengths[dim])
                })
            })
        })
    }

    /// Sums over all pairs of particles, including images.
    pub(crate) fn sums(&self, pair: Pair) -> ReferenceSums {
        let mut sums = ReferenceSums {
            energy: 0.0,
            virial: 0.0,
            virial_tensor: [0.0; 6],
            forces: Vec::new(),
            scale: 0.0,
        };
        for (i, &position) in self.positions.iter().enumerate() {
            let (mut force, mut magnitudes) = ([0.0; 3], 0.0);
            for (j, &other) in self.positions.iter().enumerate() {
                for vector in self.images(position, other) {
                    let r = norm(vector);
                    // A particle interacts with its own images, not with itself.
                    if r >= pair.cutoff || (i == j && r == 0.0) {
                        continue;
                    }
                    let (energy, slope) = pair.energy_and_slope(r);
                    sums.energy += 0.5 * energy;
                    sums.virial -= 0.5 * slope * r;
                    let products = [[0, 0], [1, 1], [2, 2], [0, 1], [0, 2], [1, 2]];
                    for (sum, [a, b]) in sums.virial_tensor.iter_mut().zip(products) {
                        *sum -= 0.5 * slope / r * vector[a] * vector[b];
                    }
                    magnitudes += slope.abs();
                    for dim in 0..3 {
                        force[dim] -= slope * vector[dim] / r;
                    }
                }
            }
            sums.scale = magnitudes.max(sums.scale);
            sums.forces.push(ForceRow { id: i as u64 + 1, kind: 1, position, force });
        }
        sums
    }

    /// Returns the particles as extended XYZ, with species A.
    pub(crate) fn extxyz(&self) -> String {
        let [lx, ly, lz] = self.lengths;
        let mut text = format!(
            "{}\nLattice=\"{lx:?} 0 0 0 {ly:?} 0 0 0 {lz:?}\" Properties=species:S:1:pos:R:3\n",
            self.positions.len()
        );
        for [x, y, z] in &self.positions {
            text += &format!("A {x:?} {y:?} {z:?}\n");
        }
        text
    }
}

fn norm([x, y, z]: [f64; 3]) -> f64 {
    (x * x + y * y + z * z).sqrt()
}
