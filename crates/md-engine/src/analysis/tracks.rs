//! What a quantity of each particle was at earlier times.
//!
//! Structure: a particle's history is kept by the rank that its id leaves as the remainder of a division, wherever the particle is. Whenever
//! somebody looks, ranks bring the present values there.
//! Advantage: no matter how particles move, are sorted or divided anew, each is found; nothing is moved between looks.
//! Disadvantage: all particles but one of P are sent at every look, 40 bytes each.

use md_comm::{CommError, World, deliver_items};
use md_core::{Domain, Particles};

use crate::ObserverError;

/// A vector that every particle has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// Where it would be without periodic faces, \[length\].
    UnwrappedPosition,
    /// \[length / time\]
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

/// Words of particles: id, then as many as there are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rows {
    /// Words of a row.
    pub width: usize,
    /// Rows, one after the other.
    pub words: Vec<u64>,
}

/// Present and earlier values of the particles that this rank keeps the history of, by ascending id.
#[derive(Debug, Clone, Default)]
pub struct Tracks {
    ids: Vec<u64>,
    /// From each id to the next, if it is the same everywhere.
    spacing: Option<u64>,
    /// Species of each.
    pub species: Vec<u32>,
    /// Values when somebody last looked.
    pub now: Vec<[f64; 3]>,
    /// Values at earlier times, the oldest first.
    pub then: Vec<Vec<[f64; 3]>>,
}

/// A particle in a message: id, species, bits of the vector.
type Row = [u64; 5];

impl Tracks {
    /// Brings the present values of all particles to where their histories are. *Collective.*
    ///
    /// # Errors
    /// Communication; another set of particles than before.
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

    /// Without values as yet.
    fn of(mut ids: Vec<u64>) -> Self {
        ids.sort_unstable();
        ids.dedup();
        let count = ids.len();
        let spacing = if let [first, second, ..] = ids[..] { second - first } else { 1 };
        let is_even = ids.windows(2).all(|pair| pair[1] - pair[0] == spacing);
        let spacing = is_even.then_some(spacing);
        Self { ids, spacing, species: vec![0; count], now: vec![[0.0; 3]; count], then: Vec::new() }
    }

    /// Mostly ids follow each other without gaps.
    fn slot(&self, id: u64) -> Option<usize> {
        let Some(spacing) = self.spacing else { return self.ids.binary_search(&id).ok() };
        let distance = id.checked_sub(*self.ids.first()?)?;
        // Divisions take time.
        let slot = if spacing == 1 { distance } else { distance / spacing };
        (slot < self.ids.len() as u64 && slot * spacing == distance).then_some(slot as usize)
    }

    /// Remembers the present values.
    pub fn remember(&mut self) {
        self.then.push(self.now.clone());
    }

    /// All that is remembered, for the particles of this rank, in their order: three words per time. *Collective.*
    ///
    /// # Errors
    /// Communication; another set of particles than before.
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

    /// Remembers what [`Self::rows`] has had, wherever the rows are now. *Collective.*
    ///
    /// # Errors
    /// Communication.
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

/// The rank that keeps a particle's history.
fn home(id: u64, world: &dyn World) -> usize {
    (id % world.ranks() as u64) as usize
}

fn foreign() -> ObserverError {
    CommError::Misuse { context: "tracks", what: "the particles are not those that there were".to_owned() }
        .into()
}
