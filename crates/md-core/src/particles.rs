//! Particles as structure-of-arrays: one aligned column per component.
//!
//! ```text
//! 0 .. owned            particles of this rank, sorted by cell after each rebuild
//! owned .. ghost_start  padding to a whole cache line (values meaningless)
//! ghost_start .. len    ghosts: copies of other ranks' particles and periodic images, by ghost cell
//! ```
//!
//! Velocities exist for owned particles only. Advantage: a kernel loads eight x in one instruction, and packing a halo
//! is copying runs. Disadvantage: sorting moves eight columns.

use crate::aligned::{Column, LINE};
use crate::threads::Threads;

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
}

impl Default for Particles {
    fn default() -> Self {
        Self::new()
    }
}

impl Particles {
    /// No particles.
    pub fn new() -> Self {
        Self {
            owned: 0,
            position: Column::three_from_place(0),
            velocity: Column::three_from_place(3),
            force: Column::three_from_place(6),
            id: Column::at_place(9),
            species: Column::at_place(10),
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

    /// Overwrites the owned particle at `index`; no force acts on it yet.
    pub fn put(&mut self, index: usize, particle: Particle) {
        for dim in 0..3 {
            self.position[dim][index] = particle.position[dim];
            self.velocity[dim][index] = particle.velocity[dim];
            self.force[dim][index] = 0.0;
        }
        self.id[index] = particle.id;
        self.species[index] = u64::from(particle.species);
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
        for column in &mut self.velocity {
            column.set_len(owned);
        }
    }

    /// Makes room for `ghosts` ghosts behind the owned particles.
    pub fn set_ghosts(&mut self, ghosts: usize) {
        self.set_len(self.ghost_start() + ghosts);
        let padding = self.owned..self.ghost_start();
        for column in &mut self.position {
            column[padding.clone()].fill(0.0);
        }
    }

    fn set_len(&mut self, len: usize) {
        for column in self.position.iter_mut().chain(&mut self.force) {
            column.set_len(len);
        }
        self.id.set_len(len);
        self.species.set_len(len);
    }

    /// Sets all forces to zero, ghosts and padding included.
    pub fn clear_forces(&mut self, threads: &Threads) {
        let force = self.force.each_mut().map(Column::padded_mut);
        threads.each(force, |force| force.into_iter().for_each(|column| column.fill(0.0)));
    }

    /// Whether nothing has been added to the forces on owned particles since they were cleared or used up.
    pub fn owned_forces_are_zero(&self) -> bool {
        self.force.iter().all(|column| column[..self.owned].iter().all(|&force| force == 0.0))
    }

    /// Sets the forces on ghosts and padding to zero.
    pub fn clear_ghost_forces(&mut self, threads: &Threads) {
        let force = self.force.each_mut().map(|column| &mut column.padded_mut()[self.owned..]);
        threads.each(force, |force| force.into_iter().for_each(|column| column.fill(0.0)));
    }

    /// Bytes of memory held by the columns.
    pub fn bytes(&self) -> usize {
        let floats = self.position.iter().chain(&self.velocity).chain(&self.force);
        floats.map(Column::bytes).sum::<usize>() + self.id.bytes() + self.species.bytes()
    }
}

impl FromIterator<Particle> for Particles {
    fn from_iter<I: IntoIterator<Item = Particle>>(particles: I) -> Self {
        let mut all = Self::new();
        for particle in particles {
            all.push(particle);
        }
        all
    }
}
