//! Checkpoints: everything on which later steps depend, as words that a file can hold.
//!
//! A checkpoint can be taken at any step and does not change the run. Between two rebuilds, a step
//! depends on more than the particles: on their order in memory, and on the pair lists, which were
//! built from the positions at the last rebuild. The row of a particle therefore also contains its
//! position at that time. It contains the force too, which would otherwise have to be computed a
//! second time:
//!
//! ```text
//! row     position, velocity, id, species, image counts, registered fields
//!         | position at the last rebuild | force
//! shared  step, time, box now and at the last rebuild, instruction set,
//!         history of the neighbourhood, of the energy and of the box,
//!         division of the work and its history, memory of the integrator
//! ```
//!
//! [`Continuation::Identical`] places every particle at its position at the last rebuild and
//! rebuilds, which reproduces the order of the particles, the ghosts and the lists. It then moves
//! the particles to their positions at the checkpoint, in the box as the barostat has changed it
//! since. From there on all bits are those of the uninterrupted run. [`Continuation::Anew`] sends
//! every particle to its owner in the present decomposition and recomputes the forces: the results
//! agree to rounding.

pub(crate) mod division;

use md_comm::{Message, Reduction, World, deliver};
use md_core::rebuild::RebuildHistory;
use md_core::{Domain, Particles, SimdLevel};

use crate::balance::BalanceReport;
use crate::collective::expect_room;
use crate::error::EngineError;
use crate::motion::barostat::BoxReport;
use crate::report::{EnergyReport, NeighborReport};
use crate::setup::Setup;

/// Words of a row after those that move with a particle: position at the last rebuild, force.
const WORDS_BEHIND: usize = 6;
/// Position in a row; the id and the species follow.
const POSITION: std::ops::Range<usize> = 0..3;
const ID: usize = 6;
const SPECIES: usize = 7;
/// Words that move with every particle.
const LEAST_MOVING: usize = 9;
/// Largest distance of a particle from the corner of the box, in box lengths; beyond it, wrapping
/// would lose digits of the position.
const MOST_LENGTHS: f64 = 1e6;
/// Upper limit of step counts: no run makes more steps, and counts can grow from here without
/// overflow.
pub(crate) const MOST_STEPS: u64 = u64::MAX / 2;

/// State of this rank from which a checkpoint is written.
#[derive(Debug, Clone, Copy)]
pub struct SavedState<'a> {
    /// Words that are the same on all ranks.
    pub shared: &'a [u64],
    pub(crate) particles: &'a Particles,
    pub(crate) reference: &'a [Vec<f64>; 3],
}

impl SavedState<'_> {
    /// Returns the number of words per particle.
    pub fn row_words(&self) -> usize {
        self.particles.moving_words() + WORDS_BEHIND
    }

    /// Returns the number of particles of this rank.
    pub fn rows(&self) -> usize {
        self.particles.owned()
    }

    /// Appends the row of the particle at `index`; floating-point numbers by their bits.
    pub fn append_row(&self, index: usize, words: &mut Vec<u64>) {
        self.particles.append_to(words, index);
        words.extend(self.reference.iter().map(|column| column[index].to_bits()));
        words.extend(self.particles.force_of(index).map(f64::to_bits));
    }
}

/// Returns the id of the particle in a row.
pub fn id_of_row(row: &[u64]) -> u64 {
    row.get(ID).copied().unwrap_or_default()
}

/// How a run continues from a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Continuation {
    /// To the last bit: every rank has the rows that it saved, in their order, and the
    /// configuration differs only in ways that do not affect the bits. If rows turn out to belong
    /// to other ranks now, the run continues as with [`Self::Anew`].
    Identical,
    /// From the same positions and velocities, with any configuration. Every row is on one rank.
    Anew,
}

/// Whether a quantity of the checkpoint's run is carried over, or begins anew because what it
/// refers to has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carried {
    /// Carried over.
    Over,
    /// Begins anew.
    Anew,
}

/// Contents of a checkpoint as read on this rank.
#[derive(Debug, Clone)]
pub struct Restored {
    /// Words of [`SavedState::shared`].
    pub shared: Vec<u64>,
    /// Words per particle.
    pub row_words: usize,
    /// Rows, one after the other.
    pub rows: Vec<u64>,
    /// How the run continues.
    pub continuation: Continuation,
    /// Memory of the integrator, such as the variables of a thermostat.
    pub integrator_memory: Carried,
    /// Initial conserved energy, from which the drift is measured.
    pub energy_reference: Carried,
}

/// Part of a checkpoint that is the same on all ranks.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Shared {
    pub(crate) step: u64,
    /// \[time\].
    pub(crate) time: f64,
    pub(crate) timestep: f64,
    /// Time of step 0, had all steps been made with this time step.
    pub(crate) time_at_start: f64,
    pub(crate) origin: [f64; 3],
    pub(crate) lengths: [f64; 3],
    pub(crate) lengths_at_rebuild: [f64; 3],
    pub(crate) simd: SimdLevel,
    pub(crate) history: RebuildHistory,
    pub(crate) neighborhood: NeighborReport,
    pub(crate) energy: EnergyReport,
    pub(crate) box_changes: BoxReport,
    /// Energy absorbed by the thermostats of earlier stages, and work done by the barostat,
    /// \[energy\].
    pub(crate) reservoirs: [f64; 2],
    /// Words of the division, and the history of the balancing.
    pub(crate) division: Vec<u64>,
    pub(crate) balance: BalanceReport,
    pub(crate) memory: Vec<f64>,
}

impl Shared {
    pub(crate) fn words(&self) -> Vec<u64> {
        let RebuildHistory { steps_since, known, growth } = self.history;
        let mut words = vec![self.step, level_number(self.simd), steps_since];
        let numbers = [self.time, self.timestep, self.time_at_start, known].into_iter();
        let numbers = numbers.chain(growth).chain(self.origin).chain(self.lengths);
        let numbers = numbers.chain(self.lengths_at_rebuild).chain(self.reservoirs);
        words.extend(numbers.map(f64::to_bits));
        words.extend(self.neighborhood.words());
        words.extend(self.energy.words());
        words.extend([self.box_changes.changes, self.box_changes.limited]);
        for part in [&self.division, &self.balance.words()] {
            words.push(part.len() as u64);
            words.extend(part);
        }
        words.extend(self.memory.iter().map(|number| number.to_bits()));
        words
    }

    /// Returns `None` if these are not the words of a state.
    pub(crate) fn from_words(words: &[u64]) -> Option<Self> {
        let (&[step, level, steps_since], words) = words.split_first_chunk()?;
        let (numbers, words) = words.split_first_chunk::<17>()?;
        let numbers = numbers.map(f64::from_bits);
        let [time, timestep, time_at_start, known, g0, g1, ox, oy, oz, lx, ly, lz, rx, ry, rz, earlier, work] =
            numbers;
        let (neighborhood, words) = words.split_first_chunk()?;
        let (energy, words) = words.split_first_chunk()?;
        let (&[changes, limited], words) = words.split_first_chunk()?;
        let (division, words) = counted(words)?;
        let (balance, memory) = counted(words)?;
        Some(Self {
            step,
            time,
            timestep,
            time_at_start,
            origin: [ox, oy, oz],
            lengths: [lx, ly, lz],
            lengths_at_rebuild: [rx, ry, rz],
            simd: *SimdLevel::ALL.get(usize::try_from(level).ok()?)?,
            history: RebuildHistory { steps_since, known, growth: [g0, g1] },
            neighborhood: NeighborReport::from_words(*neighborhood),
            energy: EnergyReport::from_words(*energy),
            box_changes: BoxReport { changes, limited },
            reservoirs: [earlier, work],
            division: division.to_vec(),
            balance: BalanceReport::from_words(balance)?,
            memory: memory.iter().copied().map(f64::from_bits).collect(),
        })
    }

    /// Returns whether a run can have been in this state.
    fn is_sound(&self) -> bool {
        let Self { time, timestep, time_at_start, origin, reservoirs, memory, .. } = self;
        let lengths = [self.lengths, self.lengths_at_rebuild].concat();
        let numbers = [time, timestep, time_at_start].into_iter().chain(origin).chain(reservoirs);
        let NeighborReport { rebuilds, dangerous_rebuilds, dangerous_checks, .. } = self.neighborhood;
        let counts = [self.step, self.history.steps_since, rebuilds, dangerous_rebuilds, dangerous_checks];
        let BoxReport { changes, limited } = self.box_changes;
        numbers.chain(&lengths).all(|number| number.is_finite())
            && lengths.iter().all(|&length| length > 0.0)
            // FIRE begins with an infinite force.
            && !memory.iter().any(|number| number.is_nan())
            && limited <= changes
            && counts.into_iter().chain([self.energy.looks, changes]).all(|count| count <= MOST_STEPS)
    }

    /// Returns the time of step 0 extrapolated from here with another time step.
    pub(crate) fn time_at_start(&self, timestep: f64) -> f64 {
        if timestep == self.timestep { self.time_at_start } else { self.time - self.step as f64 * timestep }
    }
}

/// Splits words that begin with a count: returns the counted words and the rest.
fn counted(words: &[u64]) -> Option<(&[u64], &[u64])> {
    let (&count, words) = words.split_first()?;
    words.split_at_checked(usize::try_from(count).ok()?)
}

fn level_number(level: SimdLevel) -> u64 {
    SimdLevel::ALL.iter().position(|&other| other == level).unwrap_or_default() as u64
}

/// Positions of particles at a checkpoint and the forces on them, in their order.
#[derive(Debug)]
pub(crate) struct AtCheckpoint {
    ids: Vec<u64>,
    positions: Vec<[f64; 3]>,
    forces: Vec<[f64; 3]>,
}

impl AtCheckpoint {
    fn of(rows: &[u64], row_words: usize) -> Result<Self, EngineError> {
        let count = rows.len() / row_words;
        let (mut ids, mut positions, mut forces) = (Vec::new(), Vec::new(), Vec::new());
        expect_room(&mut ids, count, ROWS)?;
        expect_room(&mut positions, count, ROWS)?;
        expect_room(&mut forces, count, ROWS)?;
        for row in rows.chunks_exact(row_words) {
            ids.push(row[ID]);
            positions.push(vector(&row[POSITION]));
            forces.push(vector(&row[row_words - 3..]));
        }
        Ok(Self { ids, positions, forces })
    }

    /// Moves the particles to these positions and restores the forces. *Collective.*
    ///
    /// # Errors
    /// [`EngineError::Config`], on all ranks: the order of the particles after the rebuild differs.
    pub(crate) fn put(self, particles: &mut Particles, world: &dyn World) -> Result<(), EngineError> {
        let same = particles.owned() == self.ids.len() && particles.id[..self.ids.len()] == self.ids[..];
        if any(!same, world)? {
            let what = "the particles of the checkpoint do not come to lie in their order again";
            return Err(EngineError::Config(what.to_owned()));
        }
        for (index, (position, force)) in self.positions.into_iter().zip(self.forces).enumerate() {
            for dim in 0..3 {
                particles.position[dim][index] = position[dim];
                particles.force[dim][index] = force[dim];
            }
        }
        Ok(())
    }
}

const ROWS: &str = "the particles of a checkpoint";

impl Restored {
    pub(crate) fn shared(&self) -> Result<Shared, EngineError> {
        let what = "the state of the checkpoint is not one of this version of md";
        let shared = Shared::from_words(&self.shared).filter(Shared::is_sound);
        shared.ok_or_else(|| EngineError::Config(what.to_owned()))
    }

    /// Returns the setup with the box in which the particles are placed, and with the instruction
    /// set of the checkpoint if this CPU supports it and the configuration does not name one.
    pub(crate) fn setup(
        shared: &Shared,
        setup: &Setup,
        continuation: Continuation,
    ) -> Result<Setup, EngineError> {
        let lengths = match continuation {
            Continuation::Identical => shared.lengths_at_rebuild,
            Continuation::Anew => shared.lengths,
        };
        let domain = Domain { origin: shared.origin, lengths, ..setup.domain };
        let foreign = |error| {
            EngineError::Config(format!("the box of the checkpoint is not one for this scenario: {error}"))
        };
        let mut own =
            if domain == setup.domain { setup.clone() } else { setup.in_box(domain).map_err(foreign)? };
        let is_named = matches!(own.config.parallel.simd, crate::config::SimdChoice::Named(_));
        if !is_named && shared.simd.is_available() {
            own.simd = shared.simd;
        }
        Ok(own)
    }

    /// Returns whether rows belong, at the last rebuild, to other ranks than those that hold them,
    /// so that the run cannot continue to the last bit. *Collective.*
    pub(crate) fn is_elsewhere(&self, setup: &Setup, world: &dyn World) -> Result<bool, EngineError> {
        let is_elsewhere = |row| setup.division.owner(at_rebuild(row)) != world.rank();
        any(self.rows.chunks_exact(self.row_words).any(is_elsewhere), world)
    }

    /// Fills in this rank's particles, whose fields are registered; [`Self::check`] must have found
    /// nothing. With [`Continuation::Identical`], the particles are at their positions at the last
    /// rebuild, and those at the checkpoint are returned. *Collective.*
    pub(crate) fn place(
        self,
        particles: &mut Particles,
        setup: &Setup,
        world: &dyn World,
    ) -> Result<Option<AtCheckpoint>, EngineError> {
        let Self { row_words, rows, continuation, .. } = self;
        let moving = row_words - WORDS_BEHIND;
        if continuation == Continuation::Identical {
            for row in rows.chunks_exact(row_words) {
                particles.push_words(&row[..moving]);
                let index = particles.owned() - 1;
                let then = at_rebuild(row);
                (0..3).for_each(|dim| particles.position[dim][index] = then[dim]);
            }
            return AtCheckpoint::of(&rows, row_words).map(Some);
        }
        let wrapped = |row: &[u64]| setup.division.owner(setup.domain.wrap_position(vector(&row[POSITION])));
        let own = send(&rows, row_words, wrapped, world)?;
        drop(rows);
        let mut order = Vec::new();
        expect_room(&mut order, own.len() / row_words, ROWS)?;
        order.extend(own.chunks_exact(row_words).map(|row| row[ID]).zip(0_usize..));
        order.sort_unstable();
        order.iter().for_each(|&(_, row)| particles.push_words(&own[row * row_words..][..moving]));
        Ok(None)
    }

    /// Checks that these rows are particles of the setup. *Collective.*
    pub(crate) fn check(
        &self,
        particles: &Particles,
        setup: &Setup,
        world: &dyn World,
    ) -> Result<(), EngineError> {
        let wrong = |what: String| Err(EngineError::Config(what));
        let (own, found) = (particles.moving_words() + WORDS_BEHIND, self.row_words);
        if own != found || self.row_words < LEAST_MOVING + WORDS_BEHIND {
            return wrong(format!(
                "a particle of the checkpoint has {found} words, one of this simulation {own}: fields are registered that were \
                 not there, or the other way round"
            ));
        }
        let mut count = [(self.rows.len() / self.row_words) as u64];
        world.reduce(&mut count, Reduction::Sum)?;
        let ([count], expected) = (count, setup.atoms());
        if count != expected {
            return wrong(format!("the checkpoint has {count} particles, the configuration {expected}"));
        }
        let species = setup.config.masses.len() as u64;
        let is_foreign = self.rows.chunks_exact(self.row_words).any(|row| row[SPECIES] >= species);
        if any(is_foreign, world)? {
            return wrong(format!("the checkpoint has particles of more than {species} species"));
        }
        if any(self.rows.chunks_exact(self.row_words).any(|row| is_unsound(row, setup)), world)? {
            return wrong("the checkpoint has numbers of a particle that no run has".to_owned());
        }
        match self.repeated_id(world)? {
            None => Ok(()),
            Some(id) => wrong(format!("the checkpoint has more than one particle with id {id}")),
        }
    }

    /// Returns the highest id that more than one particle has, on any ranks. *Collective.*
    fn repeated_id(&self, world: &dyn World) -> Result<Option<u64>, EngineError> {
        let mut ids = Vec::new();
        expect_room(&mut ids, self.rows.len() / self.row_words, ROWS)?;
        ids.extend(self.rows.chunks_exact(self.row_words).map(|row| row[ID]));
        let mut met = send(&ids, 1, |id| (id[0] % world.ranks() as u64) as usize, world)?;
        met.sort_unstable();
        let repeated = met.windows(2).rfind(|pair| pair[0] == pair[1]).map(|pair| pair[0]);
        let mut found = [u64::from(repeated.is_some()), repeated.unwrap_or_default()];
        world.reduce(&mut found, Reduction::Highest)?;
        let [is_found, id] = found;
        Ok((is_found != 0).then_some(id))
    }
}

/// Returns whether a row has a number that is not finite, a position too far away, or id 0 (ids
/// begin at 1).
fn is_unsound(row: &[u64], setup: &Setup) -> bool {
    let Domain { origin, lengths, .. } = setup.domain;
    let behind = &row[row.len() - WORDS_BEHIND..];
    let is_far =
        |place: [f64; 3]| (0..3).any(|dim| (place[dim] - origin[dim]).abs() > MOST_LENGTHS * lengths[dim]);
    let is_number = |word: &u64| f64::from_bits(*word).is_finite();
    row[ID] == 0
        || is_far(vector(row))
        || is_far(vector(behind))
        || !row[..ID].iter().chain(behind).all(is_number)
}

/// Sends rows to their owners and returns those received. *Collective.*
fn send(
    rows: &[u64],
    row_words: usize,
    owner: impl Fn(&[u64]) -> usize,
    world: &dyn World,
) -> Result<Vec<u64>, EngineError> {
    let mut messages = std::collections::BTreeMap::<usize, Vec<u8>>::new();
    for row in rows.chunks_exact(row_words) {
        let bytes = messages.entry(owner(row)).or_default();
        expect_room(bytes, size_of_val(row), ROWS)?;
        bytes.extend_from_slice(bytemuck::cast_slice(row));
    }
    let messages = messages.into_iter().map(|(to, bytes)| Message { to, bytes });
    let mut own = Vec::new();
    for bytes in deliver(world, messages.collect())? {
        expect_room(&mut own, bytes.len() / size_of::<u64>(), ROWS)?;
        own.extend(bytes.chunks_exact(size_of::<u64>()).map(bytemuck::pod_read_unaligned::<u64>));
    }
    Ok(own)
}

/// Returns whether `here` holds on any rank. *Collective.*
fn any(here: bool, world: &dyn World) -> Result<bool, EngineError> {
    let mut found = [u64::from(here)];
    world.reduce(&mut found, Reduction::Highest)?;
    Ok(found != [0])
}

/// Returns the position of a row's particle at the last rebuild.
fn at_rebuild(row: &[u64]) -> [f64; 3] {
    vector(&row[row.len() - WORDS_BEHIND..])
}

fn vector(words: &[u64]) -> [f64; 3] {
    [0, 1, 2].map(|dim| f64::from_bits(words[dim]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_words_are_read_back() {
        let neighborhood =
            NeighborReport { first_dangerous_step: Some(0), rebuilds: 7, ..Default::default() };
        let shared = Shared {
            step: 73,
            time: 0.365,
            timestep: 0.005,
            time_at_start: 0.0,
            origin: [0.0, -1.0, 2.0],
            lengths: [3.0; 3],
            lengths_at_rebuild: [2.0, 3.0, 4.0],
            simd: SimdLevel::Avx2,
            history: RebuildHistory { steps_since: 3, known: 0.1, growth: [0.0, f64::INFINITY] },
            neighborhood,
            energy: EnergyReport::from_words([1, 2, 3, 4, 5, 6, 7, 8, 9]),
            box_changes: BoxReport { changes: 9, limited: 4 },
            reservoirs: [1.5, -2.0],
            division: vec![7, 8, 9],
            balance: BalanceReport { checks: 1, imbalance_first: Some(1.5), ..Default::default() },
            memory: vec![0.5, -0.0],
        };
        let words = shared.words();
        assert_eq!(Shared::from_words(&words), Some(shared));
        assert!((0..words.len() - 2).all(|length| Shared::from_words(&words[..length]).is_none()));
    }

    #[test]
    fn time_goes_on_with_another_time_step() {
        let words = vec![0; 64];
        let mut shared = Shared::from_words(&words).unwrap();
        (shared.step, shared.time, shared.timestep) = (100, 0.5, 0.005);
        assert_eq!(shared.time_at_start(0.005), 0.0);
        assert_eq!(shared.time_at_start(0.001) + 101.0 * 0.001, 0.501);
    }
}
