//! Fields: the quantities of every particle, and how they are treated when particles move and
//! ghosts are made.
//!
//! | field | components | with a particle that changes rank | on ghosts |
//! | --- | --- | --- | --- |
//! | position | 3 | moves | copied with every border, shifted by whole boxes |
//! | velocity | 3 | moves | none |
//! | force | 3 | recomputed | allocated |
//! | id, species | 1 | moves | copied with every border |
//! | image counts | 1 | moves | none |
//! | registered by a method or a user | any | as specified | as specified |
//!
//! Sorting, migration and the border use this table, so a new field only has to be registered
//! ([`crate::Particles::register`]) in order to move with its particles.

use std::ops::RangeInclusive;

/// A field of [`crate::Particles`].
///
/// ```
/// use md_core::{Field, Particle, Particles};
///
/// let moving = Particle { velocity: [3.0, 0.0, 4.0], ..Particle::default() };
/// let particles: Particles = [moving].into_iter().collect();
/// let velocity = particles.components(Field::VELOCITY);
/// let squared_speed: f64 = velocity.iter().map(|column| column[0] * column[0]).sum();
/// assert_eq!(squared_speed.sqrt(), 5.0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Field(pub(crate) usize);

impl Field {
    /// Positions, \[length\].
    pub const POSITION: Self = Self(BuiltIn::Position as usize);
    /// Velocities, \[length / time\].
    pub const VELOCITY: Self = Self(BuiltIn::Velocity as usize);
    /// Forces, \[energy / length\].
    pub const FORCE: Self = Self(BuiltIn::Force as usize);
    /// Global ids.
    pub const ID: Self = Self(BuiltIn::Id as usize);
    /// Species indices.
    pub const SPECIES: Self = Self(BuiltIn::Species as usize);
    /// Image counts, packed: see [`ImageCounts`].
    pub const IMAGES: Self = Self(BuiltIn::Images as usize);

    /// Returns whether the field consists of real numbers.
    pub(crate) fn is_real(self) -> bool {
        !matches!(self, Self::ID | Self::SPECIES | Self::IMAGES)
    }
}

/// What happens to a field when its particle changes its rank or its place in memory.
///
/// ```
/// use md_core::{Field, OnMigration, Particles};
///
/// // A particle keeps its velocity on another rank; its force is computed there.
/// let particles = Particles::default();
/// assert_eq!(particles.spec(Field::VELOCITY).on_migration, OnMigration::Moves);
/// assert_eq!(particles.spec(Field::FORCE).on_migration, OnMigration::Recomputed);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnMigration {
    /// The value moves with the particle.
    Moves,
    /// The value is dropped, because it is computed again before it is read.
    Recomputed,
}

/// The part of a field that ghosts have.
///
/// ```
/// use md_core::{Field, OnGhosts, Particles};
///
/// // Pair forces depend on the positions of ghosts, but not on their velocities.
/// let mut particles = Particles::default();
/// assert_eq!(particles.spec(Field::POSITION).on_ghosts, OnGhosts::Copied);
/// assert_eq!(particles.spec(Field::VELOCITY).on_ghosts, OnGhosts::Absent);
/// particles.set_ghosts(3);
/// assert_eq!((particles.position[0].len(), particles.velocity[0].len()), (3, 0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnGhosts {
    /// Nothing: the field exists for owned particles only.
    Absent,
    /// Storage, which a gather fills from the owners, and which a scatter-add sends to the owners.
    Allocated,
    /// The owner's value at the time the border is made. A gather updates it.
    Copied,
}

/// The description of a field.
///
/// ```
/// use md_core::{FieldSpec, OnGhosts, OnMigration, Particle, Particles};
///
/// // Charges, which ghosts need too.
/// let mut particles: Particles = [Particle::default(); 2].into_iter().collect();
/// let charges = particles.register(FieldSpec {
///     name: "charges",
///     components: 1,
///     on_migration: OnMigration::Moves,
///     on_ghosts: OnGhosts::Copied,
/// });
/// particles.components_mut(charges)[0].copy_from_slice(&[1.0, -1.0]);
/// let total: f64 = particles.components(charges)[0].iter().sum();
/// assert_eq!(total, 0.0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldSpec {
    /// Name, in the plural, for messages.
    pub name: &'static str,
    /// Numbers per particle.
    pub components: usize,
    /// What happens to it when its particle moves.
    pub on_migration: OnMigration,
    /// The part that ghosts have.
    pub on_ghosts: OnGhosts,
}

impl FieldSpec {
    const fn new(
        name: &'static str,
        components: usize,
        on_migration: OnMigration,
        on_ghosts: OnGhosts,
    ) -> Self {
        Self { name, components, on_migration, on_ghosts }
    }
}

/// The fields that all particles have, in the order of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::VariantArray)]
pub(crate) enum BuiltIn {
    Position,
    Velocity,
    Force,
    Id,
    Species,
    Images,
}

impl BuiltIn {
    pub(crate) const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;

    pub(crate) fn spec(self) -> &'static FieldSpec {
        use OnGhosts::{Absent, Allocated, Copied};
        use OnMigration::{Moves, Recomputed};
        match self {
            Self::Position => &const { FieldSpec::new("positions", 3, Moves, Copied) },
            Self::Velocity => &const { FieldSpec::new("velocities", 3, Moves, Absent) },
            Self::Force => &const { FieldSpec::new("forces", 3, Recomputed, Allocated) },
            Self::Id => &const { FieldSpec::new("ids", 1, Moves, Copied) },
            Self::Species => &const { FieldSpec::new("species", 1, Moves, Copied) },
            Self::Images => &const { FieldSpec::new("images", 1, Moves, Absent) },
        }
    }
}

/// Net number of times that a particle has crossed each pair of periodic faces, upwards minus
/// downwards. The unwrapped position is the position plus this number of box lengths. Counted
/// modulo 2^21.
///
/// ```
/// use md_core::{Boundary, Dimension, Domain, ImageCounts};
///
/// // A particle that leaves through the upper face along x comes back at the lower one.
/// let (origin, lengths, boundary) = ([0.0; 3], [10.0; 3], [Boundary::Periodic; 3]);
/// let domain = Domain { dimension: Dimension::Three, origin, lengths, boundary };
/// let (position, images) = domain.wrap_counting([10.5, 2.0, 3.0], ImageCounts::default());
/// assert_eq!((position, images), ([0.5, 2.0, 3.0], ImageCounts([1, 0, 0])));
/// assert_eq!(domain.unwrap_position(position, images), [10.5, 2.0, 3.0]);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct ImageCounts(pub [i32; 3]);

impl ImageCounts {
    const BITS: u32 = 21;
    const MASK: u64 = (1 << Self::BITS) - 1;
    /// Range of the counts that can be represented.
    pub const RANGE: RangeInclusive<i32> = -(1 << (Self::BITS - 1))..=(1 << (Self::BITS - 1)) - 1;

    /// Adds a number of box lengths along a dimension.
    #[must_use]
    pub(crate) fn crossed(mut self, dim: usize, boxes: i32) -> Self {
        self.0[dim] = self.0[dim].saturating_add(boxes);
        self
    }

    /// Unpacks a word of [`Field::IMAGES`].
    pub fn unpack(word: u64) -> Self {
        // Shift to the top and back, which extends the sign.
        let count =
            |dim: u32| ((word >> (dim * Self::BITS)) << (64 - Self::BITS)) as i64 >> (64 - Self::BITS);
        Self([0, 1, 2].map(|dim| count(dim) as i32))
    }

    /// Packs the counts into a word of [`Field::IMAGES`].
    pub fn pack(self) -> u64 {
        let part = |dim: usize| (self.0[dim] as u64 & Self::MASK) << (dim as u32 * Self::BITS);
        part(0) | part(1) | part(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn image_counts_survive_packing() {
        for counts in [[0, 0, 0], [1, -1, 3], [-1_048_576, 1_048_575, -7]] {
            assert_eq!(ImageCounts::unpack(ImageCounts(counts).pack()), ImageCounts(counts));
        }
        assert_eq!(ImageCounts::unpack(0), ImageCounts::default());
    }
}
