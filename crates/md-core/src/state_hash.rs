//! A hash of the state of all particles that depends neither on their order nor on their owners.
//!
//! It is the sum, modulo 2^128, of one hash per particle: XXH3 with 128 bits of id, species,
//! position, velocity and image counts. Nothing is sorted or gathered, and ranks add up their sums.

use std::fmt;
use std::ops::Add;

use twox_hash::XxHash3_128;

use crate::domain::Domain;
use crate::fields::ImageCounts;
use crate::particles::{Particle, Particles};

/// Number of bits in a limb, see [`StateHash::limbs`].
const LIMB_BITS: usize = 16;

/// Hash of the state of some particles. The hash of two disjoint sets is the sum of their hashes.
///
/// ```
/// use md_core::state_hash::StateHash;
/// use md_core::{Boundary, Dimension, Domain, Particle, Particles};
///
/// let (origin, lengths, boundary) = ([0.0; 3], [9.0; 3], [Boundary::Periodic; 3]);
/// let domain = Domain { dimension: Dimension::Three, origin, lengths, boundary };
/// let at = |id, x| Particle { id, position: [x, 0.0, 0.0], ..Particle::default() };
/// let hash = |particles: &[Particle]| {
///     let particles: Particles = particles.iter().copied().collect();
///     StateHash::of(&particles, &domain)
/// };
/// let (a, b) = (at(1, 2.0), at(2, 3.0));
/// assert_eq!(hash(&[a, b]), hash(&[b]) + hash(&[a]));
/// assert_ne!(hash(&[a]), hash(&[at(1, 2.0_f64.next_up())]));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StateHash(pub u128);

impl StateHash {
    /// Number of limbs.
    pub const LIMBS: usize = 128 / LIMB_BITS;

    /// Returns the hash of the owned particles. Positions outside the box are wrapped first, so
    /// that it does not depend on the step in which that is done.
    pub fn of(particles: &Particles, domain: &Domain) -> Self {
        (0..particles.owned())
            .map(|i| Self::of_one(&particles.get(i), domain))
            .fold(Self::default(), Add::add)
    }

    fn of_one(particle: &Particle, domain: &Domain) -> Self {
        let (position, ImageCounts(images)) = domain.wrap_counting(particle.position, particle.images);
        // Zero has two representations, of which this sum is one.
        let bits = |number: f64| (number + 0.0).to_bits();
        let [x, y, z] = position.map(bits);
        let [vx, vy, vz] = particle.velocity.map(bits);
        let [nx, ny, nz] = images.map(|count| u64::from(count.cast_unsigned()));
        let words = [particle.id, particle.species.into(), x, y, z, vx, vy, vz, nx, ny, nz];
        let bytes = words.map(u64::to_le_bytes);
        Self(XxHash3_128::oneshot(bytes.as_flattened()))
    }

    /// Returns the digits to the base 2^16, of which sums over ranks are exact in f64.
    pub fn limbs(self) -> [f64; Self::LIMBS] {
        std::array::from_fn(|limb| f64::from((self.0 >> (LIMB_BITS * limb)) as u16))
    }

    /// Returns the hash of sums of [`Self::limbs`], each below 2^53.
    pub fn from_limbs(limbs: [f64; Self::LIMBS]) -> Self {
        let shifted = |(limb, &sum): (usize, &f64)| (sum as u128) << (LIMB_BITS * limb);
        Self(limbs.iter().enumerate().map(shifted).fold(0, u128::wrapping_add))
    }
}

impl Add for StateHash {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.wrapping_add(other.0))
    }
}

impl fmt::Display for StateHash {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "{:032x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn limbs_add_up_like_hashes(a: u128, b: u128, c: u128) {
            let mut limbs = [0.0; StateHash::LIMBS];
            for part in [a, b, c] {
                limbs.iter_mut().zip(StateHash(part).limbs()).for_each(|(sum, limb)| *sum += limb);
            }
            prop_assert_eq!(StateHash::from_limbs(limbs), StateHash(a) + StateHash(b) + StateHash(c));
        }
    }
}
