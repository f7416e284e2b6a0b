//! Particles as structure-of-arrays: one aligned column per component of each [`Field`].
//!
//! ```text
//! 0 .. owned            particles of this rank, sorted by cell after each rebuild
//! owned .. ghost_start  padding to a whole cache line (values meaningless)
//! ghost_start .. len    ghosts: copies of other ranks' particles and periodic images, by ghost cell
//! ```
//!
//! Some fields exist for owned particles only ([`crate::fields`]). Advantage: a kernel loads eight x in one instruction, and packing a halo
//! is copying runs. Disadvantage: sorting moves every column.

use crate::aligned::{Column, LINE, Place, Storage};
use crate::fields::{BuiltIn, Field, FieldSpec, ImageCounts, OnGhosts, OnMigration};
use crate::threads::Threads;
use bytemuck::TransparentWrapper;
use std::slice;

/// One particle on its own: for initial states, migration tests and error messages.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Particle {
    /// Global id.
    pub id: u64,
    /// Index of the species, from 0.
    pub species: u32,
    /// Position in units of sigma.
    pub position: [f64; 3],
    /// Velocity in units of sigma / tau.
    pub velocity: [f64; 3],
}

/// The particles of one rank.
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
    /// Species indices (from 0) of owned particles and ghosts, eight bytes each so that they fill the same lanes as
    /// the coordinates.
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
    /// Adds a field of real numbers, zero for the particles there are. All ranks register the same fields in the same order.
    pub fn register(&mut self, spec: FieldSpec) -> Field {
        self.registered.push((spec, vec![Column::at(Place::Other); spec.components]));
        self.set_len(self.len());
        Field(BuiltIn::ALL.len() + self.registered.len() - 1)
    }

    /// The description of a field of these particles.
    pub fn spec(&self, field: Field) -> &FieldSpec {
        match BuiltIn::ALL.get(field.0) {
            Some(field) => field.spec(),
            None => &self.registered[field.0 - BuiltIn::ALL.len()].0,
        }
    }

    /// The columns of a field of real numbers, one per component; none for ids, species and image counts, which have
    /// columns of their own.
    #[inline]
    pub fn components(&self, field: Field) -> &[Column<f64>] {
        if field.is_real() { Column::wrap_slice(self.columns(field)) } else { &[] }
    }

    /// [`Self::components`], to be written.
    #[inline]
    pub fn components_mut(&mut self, field: Field) -> &mut [Column<f64>] {
        if field.is_real() { Column::wrap_slice_mut(self.columns_mut(field)) } else { &mut [] }
    }

    /// Numbers per particle of several fields.
    pub fn width(&self, fields: impl IntoIterator<Item = Field>) -> usize {
        fields.into_iter().map(|field| self.spec(field).components).sum()
    }

    /// All fields.
    pub(crate) fn all(&self) -> impl DoubleEndedIterator<Item = Field> + use<> {
        (0..BuiltIn::ALL.len() + self.registered.len()).map(Field)
    }

    /// Whether a field goes with its particles.
    pub(crate) fn moves(&self, field: Field) -> bool {
        self.spec(field).on_migration == OnMigration::Moves
    }

    /// Fields that go with their particles, in the order of messages.
    fn moving(&self) -> impl Iterator<Item = Field> {
        self.all().filter(|&field| self.moves(field))
    }

    /// Fields that come with the border, in the order of messages.
    pub(crate) fn copied(&self) -> impl Iterator<Item = Field> {
        self.all().filter(|&field| self.spec(field).on_ghosts == OnGhosts::Copied)
    }

    /// The columns of a field, whatever their type.
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

    /// Number of owned particles.
    #[inline]
    pub fn owned(&self) -> usize {
        self.owned
    }

    /// Index of the first ghost: the first cache line after the owned ones.
    #[inline]
    pub fn ghost_start(&self) -> usize {
        self.owned.next_multiple_of(LINE)
    }

    /// Owned particles, padding and ghosts.
    #[inline]
    pub fn len(&self) -> usize {
        self.id.len()
    }

    /// Whether there is no particle at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of ghosts.
    pub fn ghosts(&self) -> usize {
        self.len().saturating_sub(self.ghost_start())
    }

    /// Appends an owned particle. Ghosts, if any, are dropped.
    pub fn push(&mut self, particle: Particle) {
        self.set_owned(self.owned + 1);
        self.put(self.owned - 1, particle);
    }

    /// Overwrites the owned particle at `index`; no force acts on it yet, and it has crossed no face.
    pub fn put(&mut self, index: usize, particle: Particle) {
        for dim in 0..3 {
            self.position[dim][index] = particle.position[dim];
            self.velocity[dim][index] = particle.velocity[dim];
            self.force[dim][index] = 0.0;
        }
        self.id[index] = particle.id;
        self.species[index] = u64::from(particle.species);
        self.images[index] = 0;
        for column in self.registered.iter_mut().flat_map(|(_, columns)| columns) {
            column[index] = 0.0;
        }
    }

    /// Words of a particle in a migration message, and in a checkpoint.
    pub fn moving_words(&self) -> usize {
        self.width(self.moving())
    }

    /// Appends all that goes with the owned particle at `index` to a message: position, velocity, id, species, image counts, registered
    /// fields; numbers by their bits.
    pub fn append_to(&self, message: &mut Vec<u64>, index: usize) {
        let columns = self.moving().flat_map(|field| self.columns(field));
        message.extend(columns.map(|column| column[index]));
    }

    /// Appends an owned particle from the words of [`Self::append_to`]; no force acts on it yet.
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

    /// Removes the owned particle at `index`; the last one takes its place, without a force.
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

    /// How often the owned particle at `index` has crossed the periodic faces.
    pub fn images_of(&self, index: usize) -> ImageCounts {
        ImageCounts::unpack(self.images[index])
    }

    /// The owned particle at `index`.
    pub fn get(&self, index: usize) -> Particle {
        Particle {
            id: self.id[index],
            species: self.species[index] as u32,
            position: self.position_of(index),
            velocity: [0, 1, 2].map(|dim| self.velocity[dim][index]),
        }
    }

    /// Position of an owned particle or ghost.
    #[inline]
    pub fn position_of(&self, index: usize) -> [f64; 3] {
        [self.position[0][index], self.position[1][index], self.position[2][index]]
    }

    /// Force on an owned particle or ghost.
    pub fn force_of(&self, index: usize) -> [f64; 3] {
        [self.force[0][index], self.force[1][index], self.force[2][index]]
    }

    /// Sets the number of owned particles; drops the ghosts.
    pub fn set_owned(&mut self, owned: usize) {
        self.owned = owned;
        self.set_len(owned);
    }

    /// Makes room for `ghosts` ghosts behind the owned particles.
    pub fn set_ghosts(&mut self, ghosts: usize) {
        self.set_len(self.ghost_start() + ghosts);
        let padding = self.owned..self.ghost_start();
        for column in &mut self.position {
            column[padding.clone()].fill(0.0);
        }
    }

    /// The length of all columns, with what ghosts have of them.
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

    /// Whether nothing has been added to the forces on owned particles since they were cleared or used up.
    pub fn owned_forces_are_zero(&self) -> bool {
        self.force.iter().all(|column| column[..self.owned].iter().all(|&force| force == 0.0))
    }

    /// Moves owned particles as a box is stretched whose lower corner stays where it is.
    pub fn stretch_positions(&mut self, origin: [f64; 3], factors: [f64; 3], threads: &Threads) {
        let owned = self.owned;
        let position = self.position.each_mut().map(|column| &mut column[..owned]);
        threads.each(position, |position| {
            for ((column, factor), origin) in position.into_iter().zip(factors).zip(origin) {
                column.iter_mut().for_each(|value| *value = origin + (*value - origin) * factor);
            }
        });
    }

    /// Multiplies the velocities of owned particles, each component by its factor.
    pub fn scale_velocities(&mut self, factors: [f64; 3], threads: &Threads) {
        self.scale_velocities_about([0.0; 3], factors, threads);
    }

    /// Multiplies what the velocities of owned particles have beyond a common one, each component
    /// by its factor.
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
