//! Particles as a structure of arrays: one aligned column per component of each [`Field`].
//!
//! ```text
//! 0 .. owned            particles of this rank, sorted by cell after each rebuild
//! owned .. ghost_start  padding to a whole cache line (values meaningless)
//! ghost_start .. len    ghosts: copies of other ranks' particles and images, by ghost cell
//! ```
//!
//! Some fields exist for owned particles only ([`crate::fields`]). Advantage: a kernel loads eight
//! x coordinates with one instruction, and a halo is packed by copying runs of consecutive
//! elements. Disadvantage: sorting moves every column.

use crate::aligned::{Column, LINE, Place, Storage};
use crate::fields::{BuiltIn, Field, FieldSpec, ImageCounts, OnGhosts, OnMigration};
use crate::quantum::{POSITION_QUANTUM, VELOCITY_QUANTUM, rounded};
use crate::threads::Threads;
use bytemuck::TransparentWrapper;
use std::slice;

/// A single particle, as used in initial states, migration tests and error messages.
///
/// ```
/// use md_core::Particle;
///
/// let particle = Particle { id: 7, position: [1.0, 2.0, 3.0], ..Particle::default() };
/// // The rest: the first species, no velocity, no face crossed.
/// assert_eq!((particle.species, particle.velocity, particle.images.0), (0, [0.0; 3], [0; 3]));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Particle {
    /// Global id.
    pub id: u64,
    /// Index of the species, from 0.
    pub species: u32,
    /// Position in units of sigma.
    pub position: [f64; 3],
    /// Velocity in units of sigma / tau.
    pub velocity: [f64; 3],
    /// Image counts: the net number of crossings of the periodic faces.
    pub images: ImageCounts,
}

/// The particles of one rank.
///
/// ```
/// use md_core::force::Summation;
/// use md_core::momentum::MotionSums;
/// use md_core::{Particle, Particles};
///
/// // Two particles that fly apart: sum of m v = 0, sum of m v^2 = 2 * 3 * 2^2.
/// let particle = |id, vx| Particle { id, velocity: [vx, 0.0, 0.0], ..Particle::default() };
/// let particles: Particles = [particle(1, 2.0), particle(2, -2.0)].into_iter().collect();
/// assert_eq!(particles.owned(), 2);
/// assert_eq!(particles.velocity[0][1], -2.0);
/// let sums = MotionSums::of(&particles, &[3.0], Summation::Rounded);
/// assert_eq!((sums.momentum, sums.twice_kinetic), ([0.0; 3], 24.0));
/// ```
#[derive(Debug, Clone)]
pub struct Particles {
    owned: usize,
    /// Positions of owned particles and ghosts, per dimension, \[length\].
    pub position: [Column<f64>; 3],
    /// Velocities of owned particles, per dimension, \[length / time\].
    pub velocity: [Column<f64>; 3],
    /// Forces on owned particles and ghosts, per dimension, \[energy / length\].
    pub force: [Column<f64>; 3],
    /// Global ids of owned particles and ghosts.
    pub id: Column<u64>,
    /// Species indices (from 0) of owned particles and ghosts. Each takes eight bytes, so that
    /// vectors of species have as many lanes as vectors of coordinates.
    pub species: Column<u64>,
    /// Image counts of owned particles, packed ([`ImageCounts`]).
    pub images: Column<u64>,
    registered: Vec<(FieldSpec, Vec<Column<f64>>)>,
}

impl Default for Particles {
    fn default() -> Self {
        Self {
            owned: 0,
            position: Column::three_from(Place::Position),
            velocity: Column::three_from(Place::Velocity),
            force: Column::three_from(Place::Force),
            id: Column::at(Place::Id),
            species: Column::at(Place::Species),
            images: Column::at(Place::Other),
            registered: Vec::new(),
        }
    }
}

impl Particles {
    /// Adds a field of real numbers, which is zero for the existing particles. All ranks must
    /// register the same fields in the same order.
    pub fn register(&mut self, spec: FieldSpec) -> Field {
        self.registered.push((spec, vec![Column::at(Place::Other); spec.components]));
        self.set_len(self.len());
        Field(BuiltIn::ALL.len() + self.registered.len() - 1)
    }

    /// Returns the description of a field.
    pub fn spec(&self, field: Field) -> &FieldSpec {
        match BuiltIn::ALL.get(field.0) {
            Some(field) => field.spec(),
            None => &self.registered[field.0 - BuiltIn::ALL.len()].0,
        }
    }

    /// Returns the columns of a field of real numbers, one per component. Returns an empty slice
    /// for ids, species and image counts, which have their own columns.
    #[inline]
    pub fn components(&self, field: Field) -> &[Column<f64>] {
        if field.is_real() { Column::wrap_slice(self.columns(field)) } else { &[] }
    }

    /// Returns [`Self::components`] for writing.
    #[inline]
    pub fn components_mut(&mut self, field: Field) -> &mut [Column<f64>] {
        if field.is_real() { Column::wrap_slice_mut(self.columns_mut(field)) } else { &mut [] }
    }

    /// Returns the number of values per particle in `fields`.
    pub fn width(&self, fields: impl IntoIterator<Item = Field>) -> usize {
        fields.into_iter().map(|field| self.spec(field).components).sum()
    }

    /// Returns all fields.
    pub(crate) fn all(&self) -> impl DoubleEndedIterator<Item = Field> + use<> {
        (0..BuiltIn::ALL.len() + self.registered.len()).map(Field)
    }

    /// Returns whether a field moves with its particles.
    pub(crate) fn moves(&self, field: Field) -> bool {
        self.spec(field).on_migration == OnMigration::Moves
    }

    /// Returns the fields that move with their particles, in the order of messages.
    fn moving(&self) -> impl Iterator<Item = Field> {
        self.all().filter(|&field| self.moves(field))
    }

    /// Returns the fields that the border contains, in the order of messages.
    pub(crate) fn copied(&self) -> impl Iterator<Item = Field> {
        self.all().filter(|&field| self.spec(field).on_ghosts == OnGhosts::Copied)
    }

    /// Returns the columns of a field of any type.
    pub(crate) fn columns(&self, field: Field) -> &[Storage] {
        match field {
            Field::POSITION => Column::peel_slice(&self.position),
            Field::VELOCITY => Column::peel_slice(&self.velocity),
            Field::FORCE => Column::peel_slice(&self.force),
            Field::ID => Column::peel_slice(slice::from_ref(&self.id)),
            Field::SPECIES => Column::peel_slice(slice::from_ref(&self.species)),
            Field::IMAGES => Column::peel_slice(slice::from_ref(&self.images)),
            Field(number) => Column::peel_slice(&self.registered[number - BuiltIn::ALL.len()].1),
        }
    }

    pub(crate) fn columns_mut(&mut self, field: Field) -> &mut [Storage] {
        match field {
            Field::POSITION => Column::peel_slice_mut(&mut self.position),
            Field::VELOCITY => Column::peel_slice_mut(&mut self.velocity),
            Field::FORCE => Column::peel_slice_mut(&mut self.force),
            Field::ID => Column::peel_slice_mut(slice::from_mut(&mut self.id)),
            Field::SPECIES => Column::peel_slice_mut(slice::from_mut(&mut self.species)),
            Field::IMAGES => Column::peel_slice_mut(slice::from_mut(&mut self.images)),
            Field(number) => Column::peel_slice_mut(&mut self.registered[number - BuiltIn::ALL.len()].1),
        }
    }

    /// Returns the number of owned particles.
    #[inline]
    pub fn owned(&self) -> usize {
        self.owned
    }

    /// Returns the index of the first ghost: the first cache line after the owned particles.
    #[inline]
    pub fn ghost_start(&self) -> usize {
        self.owned.next_multiple_of(LINE)
    }

    /// Returns the number of owned particles, padding elements and ghosts.
    #[inline]
    pub fn len(&self) -> usize {
        self.id.len()
    }

    /// Returns whether there are no particles.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of ghosts.
    pub fn ghosts(&self) -> usize {
        self.len().saturating_sub(self.ghost_start())
    }

    /// Appends an owned particle and drops all ghosts.
    pub fn push(&mut self, particle: Particle) {
        self.set_owned(self.owned + 1);
        self.put(self.owned - 1, particle);
    }

    /// Overwrites the owned particle at `index` and sets its force to zero.
    pub fn put(&mut self, index: usize, particle: Particle) {
        for dim in 0..3 {
            self.position[dim][index] = particle.position[dim];
            self.velocity[dim][index] = particle.velocity[dim];
            self.force[dim][index] = 0.0;
        }
        self.id[index] = particle.id;
        self.species[index] = u64::from(particle.species);
        self.images[index] = particle.images.pack();
        for column in self.registered.iter_mut().flat_map(|(_, columns)| columns) {
            column[index] = 0.0;
        }
    }

    /// Returns the number of words per particle in a migration message and in a checkpoint.
    pub fn moving_words(&self) -> usize {
        self.width(self.moving())
    }

    /// Appends everything that moves with the owned particle at `index` to a message: position,
    /// velocity, id, species, image counts and registered fields. Real numbers are stored as their
    /// bits.
    pub fn append_to(&self, message: &mut Vec<u64>, index: usize) {
        let columns = self.moving().flat_map(|field| self.columns(field));
        message.extend(columns.map(|column| column[index]));
    }

    /// Appends an owned particle from the words of [`Self::append_to`] and sets its force to zero.
    pub fn push_words(&mut self, words: &[u64]) {
        let index = self.owned;
        self.set_owned(index + 1);
        let mut words = words.iter();
        for field in self.all() {
            let moves = self.moves(field);
            for column in self.columns_mut(field) {
                column[index] = if moves { words.next().copied().unwrap_or(0) } else { 0 };
            }
        }
    }

    /// Removes the owned particle at `index`. The last one takes its place, with zero force.
    pub(crate) fn swap_remove(&mut self, index: usize) {
        let last = self.owned - 1;
        for field in self.all() {
            let moves = self.moves(field);
            for column in self.columns_mut(field) {
                column[index] = if moves { column[last] } else { 0 };
            }
        }
        self.set_owned(last);
    }

    /// Returns the image counts of the owned particle at `index`.
    pub fn images_of(&self, index: usize) -> ImageCounts {
        ImageCounts::unpack(self.images[index])
    }

    /// Returns the owned particle at `index`.
    pub fn get(&self, index: usize) -> Particle {
        Particle {
            id: self.id[index],
            species: self.species[index] as u32,
            position: self.position_of(index),
            velocity: [0, 1, 2].map(|dim| self.velocity[dim][index]),
            images: self.images_of(index),
        }
    }

    /// Returns the position of an owned particle or ghost.
    #[inline]
    pub fn position_of(&self, index: usize) -> [f64; 3] {
        [self.position[0][index], self.position[1][index], self.position[2][index]]
    }

    /// Returns the force on an owned particle or ghost.
    pub fn force_of(&self, index: usize) -> [f64; 3] {
        [self.force[0][index], self.force[1][index], self.force[2][index]]
    }

    /// Sets the number of owned particles and drops the ghosts.
    pub fn set_owned(&mut self, owned: usize) {
        self.owned = owned;
        self.set_len(owned);
    }

    /// Makes room for `ghosts` ghosts after the owned particles.
    pub fn set_ghosts(&mut self, ghosts: usize) {
        self.set_len(self.ghost_start() + ghosts);
        let padding = self.owned..self.ghost_start();
        for column in &mut self.position {
            column[padding.clone()].fill(0.0);
        }
    }

    /// Sets the length of all columns; columns that ghosts do not have get only the owned part.
    fn set_len(&mut self, len: usize) {
        for field in self.all() {
            let is_absent = self.spec(field).on_ghosts == OnGhosts::Absent;
            let len = if is_absent { self.owned } else { len };
            self.columns_mut(field).iter_mut().for_each(|column| column.set_len(len));
        }
    }

    /// Sets all forces to zero, ghosts and padding included.
    pub fn clear_forces(&mut self, threads: &Threads) {
        let force = self.force.each_mut().map(Column::padded_mut);
        threads.each(force, |force| force.into_iter().for_each(|column| column.fill(0.0)));
    }

    /// Sets a field of real numbers to zero, ghosts and padding included.
    pub fn clear(&mut self, field: Field) {
        self.components_mut(field).iter_mut().for_each(|column| column.padded_mut().fill(0.0));
    }

    /// Returns whether all forces on owned particles are zero, as they are after clearing or after
    /// the integrator has used them.
    pub fn owned_forces_are_zero(&self) -> bool {
        self.force.iter().all(|column| column[..self.owned].iter().all(|&force| force == 0.0))
    }

    /// Moves the owned particles with a box that is stretched by `factors` about its lower corner
    /// `origin`.
    pub fn stretch_positions(&mut self, origin: [f64; 3], factors: [f64; 3], threads: &Threads) {
        let owned = self.owned;
        let position = self.position.each_mut().map(|column| &mut column[..owned]);
        threads.each(position, |position| {
            for ((column, factor), origin) in position.into_iter().zip(factors).zip(origin) {
                column.iter_mut().for_each(|value| *value = origin + (*value - origin) * factor);
            }
        });
    }

    /// Rounds positions and velocities of owned particles to multiples of their quanta
    /// ([`crate::quantum`]).
    pub fn round_to_quanta(&mut self) {
        let owned = self.owned;
        let rounding = [(&mut self.position, POSITION_QUANTUM), (&mut self.velocity, VELOCITY_QUANTUM)];
        for (columns, quantum) in rounding {
            for column in columns {
                column[..owned].iter_mut().for_each(|number| *number = rounded(*number, quantum));
            }
        }
    }

    /// Multiplies each velocity component of the owned particles by its factor.
    pub fn scale_velocities(&mut self, factors: [f64; 3], threads: &Threads) {
        self.scale_velocities_about([0.0; 3], factors, threads);
    }

    /// Multiplies the velocities of owned particles relative to `common`, each component by its
    /// factor.
    pub fn scale_velocities_about(&mut self, common: [f64; 3], factors: [f64; 3], threads: &Threads) {
        let owned = self.owned;
        let velocity = self.velocity.each_mut().map(|column| &mut column[..owned]);
        threads.each(velocity, |velocity| {
            for ((column, common), factor) in velocity.into_iter().zip(common).zip(factors) {
                if common == 0.0 {
                    column.iter_mut().for_each(|value| *value *= factor);
                } else {
                    column.iter_mut().for_each(|value| *value = common + (*value - common) * factor);
                }
            }
        });
    }

    /// Sets the forces on ghosts and padding to zero.
    pub fn clear_ghost_forces(&mut self, threads: &Threads) {
        let force = self.force.each_mut().map(|column| &mut column.padded_mut()[self.owned..]);
        threads.each(force, |force| force.into_iter().for_each(|column| column.fill(0.0)));
    }
}

impl FromIterator<Particle> for Particles {
    fn from_iter<I: IntoIterator<Item = Particle>>(particles: I) -> Self {
        let mut all = Self::default();
        for particle in particles {
            all.push(particle);
        }
        all
    }
}
