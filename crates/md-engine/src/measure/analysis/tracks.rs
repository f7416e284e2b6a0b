//! Values of a quantity of each particle at earlier times.
//!
//! Structure: a particle's history is stored on the rank given by its id modulo the number of
//! ranks, wherever the particle is. At every sample the ranks send the present values there.
//! Advantage: independent of migration, sorting and load balancing; nothing is moved between
//! samples.
//! Disadvantage: at every sample all particles except about one in P are sent on P ranks, 40 bytes
//! each.

use md_comm::{CommError, World, deliver_items};
use md_core::{Domain, Particles};

use crate::ObserverError;

/// A vector quantity of every particle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// Position without periodic wrapping, \[length\].
    UnwrappedPosition,
    /// Velocity, \[length / time\].
    Velocity,
}

impl Quantity {
    fn of(self, particles: &Particles, domain: &Domain, index: usize) -> [f64; 3] {
        match self {
            Self::UnwrappedPosition => {
                domain.unwrap_position(particles.position_of(index), particles.images_of(index))
            }
            Self::Velocity => [0, 1, 2].map(|dim: usize| particles.velocity[dim][index]),
        }
    }
}

/// Rows of words, one per particle, each beginning with the id.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rows {
    /// Words per row.
    pub width: usize,
    /// Rows, one after the other.
    pub words: Vec<u64>,
}

/// Present and earlier values of the particles whose history this rank stores, by ascending id.
#[derive(Debug, Clone, Default)]
pub struct Tracks {
    ids: Vec<u64>,
    /// Difference between consecutive ids, if it is constant.
    spacing: Option<u64>,
    /// Species of each particle.
    pub species: Vec<u32>,
    /// Values at the last sample.
    pub now: Vec<[f64; 3]>,
    /// Values at earlier times, the oldest first.
    pub then: Vec<Vec<[f64; 3]>>,
}

/// A particle in a message: id, species, bits of the vector.
type Row = [u64; 5];

impl Tracks {
    /// Sends the present values of all particles to the ranks that store their histories.
    /// *Collective.*
    ///
    /// # Errors
    /// Communication failures; a set of particles that differs from the earlier one.
    pub fn look(
        &mut self,
        quantity: Quantity,
        particles: &Particles,
        domain: &Domain,
        world: &dyn World,
    ) -> Result<(), ObserverError> {
        let row = |index: usize| -> Row {
            let [x, y, z] = quantity.of(particles, domain, index).map(f64::to_bits);
            [particles.id[index], particles.species[index], x, y, z]
        };
        let own = (0..particles.owned()).map(row);
        if world.ranks() == 1 {
            return self.put(own, particles.owned());
        }
        let come = deliver_items(world, own.map(|row| (home(row[0], world), row)))?;
        let count = come.len();
        self.put(come.into_iter(), count)
    }

    fn put(&mut self, rows: impl Iterator<Item = Row> + Clone, count: usize) -> Result<(), ObserverError> {
        if self.ids.is_empty() && self.then.is_empty() {
            *self = Self::of(rows.clone().map(|[id, ..]| id).collect());
        }
        if count != self.ids.len() {
            return Err(foreign());
        }
        for [id, species, vector @ ..] in rows {
            let slot = self.slot(id).ok_or_else(foreign)?;
            self.species[slot] = species as u32;
            self.now[slot] = vector.map(f64::from_bits);
        }
        Ok(())
    }

    /// Creates tracks without values.
    fn of(mut ids: Vec<u64>) -> Self {
        ids.sort_unstable();
        ids.dedup();
        let count = ids.len();
        let spacing = if let [first, second, ..] = ids[..] { second - first } else { 1 };
        let is_even = ids.windows(2).all(|pair| pair[1] - pair[0] == spacing);
        let spacing = is_even.then_some(spacing);
        Self { ids, spacing, species: vec![0; count], now: vec![[0.0; 3]; count], then: Vec::new() }
    }

    /// Returns the index of a particle. Usually the ids are contiguous.
    fn slot(&self, id: u64) -> Option<usize> {
        let Some(spacing) = self.spacing else { return self.ids.binary_search(&id).ok() };
        let distance = id.checked_sub(*self.ids.first()?)?;
        // Avoids a division, which is slow.
        let slot = if spacing == 1 { distance } else { distance / spacing };
        (slot < self.ids.len() as u64 && slot * spacing == distance).then_some(slot as usize)
    }

    /// Stores the present values.
    pub fn remember(&mut self) {
        self.then.push(self.now.clone());
    }

    /// Returns the stored values of the particles owned by this rank, in their order: three words
    /// per time. *Collective.*
    ///
    /// # Errors
    /// Communication failures; a set of particles that differs from the earlier one.
    pub fn rows(&self, particles: &Particles, world: &dyn World) -> Result<Vec<u64>, ObserverError> {
        let owned = particles.owned();
        let questions = (0..owned).map(|index| {
            let (id, from) = (particles.id[index], world.rank() as u64);
            (home(id, world), [id, from, index as u64])
        });
        let questions: Vec<[u64; 3]> = deliver_items(world, questions)?;
        let width = 3 * self.then.len();
        let mut rows = vec![0; owned * width];
        for then in 0..self.then.len() {
            let answer = |&[id, from, index]: &[u64; 3]| {
                let slot = self.slot(id).ok_or_else(foreign)?;
                let [x, y, z] = self.then[then][slot].map(f64::to_bits);
                Ok::<_, ObserverError>((from as usize, [index, x, y, z]))
            };
            let answers: Vec<_> = questions.iter().map(answer).collect::<Result<_, _>>()?;
            for [index, vector @ ..] in deliver_items(world, answers.into_iter())? {
                let place =
                    rows.get_mut(index as usize * width + 3 * then..).and_then(|rest| rest.first_chunk_mut());
                *place.ok_or_else(foreign)? = vector;
            }
        }
        Ok(rows)
    }

    /// Restores the values returned by [`Self::rows`], wherever the rows are now. *Collective.*
    ///
    /// # Errors
    /// Communication failures.
    pub fn recall(&mut self, rows: &Rows, world: &dyn World) -> Result<(), ObserverError> {
        let times = rows.width.saturating_sub(1) / 3;
        let own = || rows.words.chunks_exact(rows.width.max(1));
        *self = Self::of(deliver_items(world, own().map(|row| (home(row[0], world), row[0])))?);
        let count = self.ids.len();
        for time in 0..times {
            let item = |row: &[u64]| {
                let [x, y, z] = [1, 2, 3].map(|at: usize| row[3 * time + at]);
                (home(row[0], world), [row[0], x, y, z])
            };
            let mut then = vec![[0.0; 3]; count];
            for [id, vector @ ..] in deliver_items(world, own().map(item))? {
                if let Some(slot) = self.slot(id) {
                    then[slot] = vector.map(f64::from_bits);
                }
            }
            self.then.push(then);
        }
        Ok(())
    }
}

/// Returns the rank that stores a particle's history.
fn home(id: u64, world: &dyn World) -> usize {
    (id % world.ranks() as u64) as usize
}

fn foreign() -> ObserverError {
    CommError::Misuse { context: "tracks", what: "the particles are not those that there were".to_owned() }
        .into()
}
