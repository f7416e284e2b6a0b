//! Particles of a checkpoint: their checks, and their way back to their owners.

use md_comm::{Message, Reduction, World, deliver};
use md_core::{Domain, Particles};

use super::{Continuation, ID, POSITION, Restored, SPECIES, Shared, WORDS_BEHIND};
use crate::collective::expect_room;
use crate::config::SimdChoice;
use crate::error::EngineError;
use crate::setup::Setup;

/// Words that move with every particle.
const LEAST_MOVING: usize = 9;
/// Largest distance of a particle from the corner of the box, in box lengths; beyond it, wrapping
/// would lose digits of the position.
const MOST_LENGTHS: f64 = 1e6;

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
        let is_named = matches!(own.config.parallel.simd, SimdChoice::Named(_));
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
