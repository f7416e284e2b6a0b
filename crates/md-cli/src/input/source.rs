//! The text of a particle file, line by line, so that nobody holds all of it.
//!
//! Under MPI rank 0 reads, the others are told, and each keeps the particles whose ids fall to it: what stands in several places of a
//! file for one particle meets on one rank. What a rank finds wrong with its particles all ranks have to learn.

use std::path::Path;

use md_comm::{Reduction, World};
use md_engine::{FirstOfAll, Share};

use super::InputParticles;
use super::error::{InputError, Problem};
use crate::error::RunError;
use crate::memory;
use crate::text_file::{Blocks, told};

/// A particle file and who reads it.
#[derive(Clone, Copy)]
pub(crate) struct Source<'s> {
    /// Its name in messages.
    pub(super) name: &'s str,
    text: Text<'s>,
    /// The ranks that read it together; `None` for a process of its own.
    world: Option<&'s dyn World>,
}

#[derive(Clone, Copy)]
enum Text<'s> {
    Given(&'s str),
    File(&'s Path),
}

impl<'s> Source<'s> {
    /// A text, for a process of its own.
    pub(super) fn given(name: &'s str, text: &'s str) -> Self {
        Self { name, text: Text::Given(text), world: None }
    }

    /// A file.
    pub(crate) fn file(name: &'s str, path: &'s Path, world: Option<&'s dyn World>) -> Self {
        Self { name, text: Text::File(path), world }
    }

    /// Its name in messages.
    pub(crate) fn name(&self) -> &'s str {
        self.name
    }

    /// How many ranks read it.
    pub(crate) fn ranks(&self) -> usize {
        self.world.map_or(1, World::ranks)
    }

    /// Shows every line with its number, from 1, and its end. An error ends that; it must be the same on all ranks. *Collective.*
    pub(super) fn lines(
        &self,
        mut visit: impl FnMut(usize, &str) -> Result<(), InputError>,
    ) -> Result<(), RunError> {
        let mut number = 0;
        let mut show = |number: &mut usize, text: &str| {
            text.split_inclusive('\n').try_for_each(|line| {
                *number += 1;
                visit(*number, line)
            })
        };
        let path = match self.text {
            Text::Given(text) => return Ok(show(&mut number, text)?),
            Text::File(path) => path,
        };
        let mut blocks = None;
        let mut next = |lines| match &mut blocks {
            None => blocks.insert(Blocks::open(path, self.ranks())?).next(lines),
            Some(blocks) => blocks.next(lines),
        };
        while let Some(block) = told(self.world, path, || next(number))? {
            show(&mut number, &block)?;
        }
        Ok(())
    }

    /// Whether this rank keeps the particle with this id. What is no id all ranks look at, and find out.
    pub(super) fn keeps(&self, id: impl FnOnce() -> Option<u64>) -> bool {
        /// 2^64 over the golden ratio: multiples of it lie evenly whatever the steps between ids are.
        const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
        let Some(world) = self.world.filter(|world| world.ranks() > 1) else { return true };
        let Some(id) = id() else { return true };
        let ranks = world.ranks() as u128;
        (u128::from(id.wrapping_mul(GOLDEN)) * ranks) >> 64 == world.rank() as u128
    }

    /// How many of so many particles this rank will keep, about. Asked for at once, memory that is missing is an error; later it would
    /// be a signal.
    pub(super) fn expect_room(&self, particles: u64, overview: &Overview) -> Result<usize, RunError> {
        /// Of a particle as it is read and as it is kept.
        const BYTES: usize = 320;
        let share = usize::try_from(particles).unwrap_or(usize::MAX) / self.ranks();
        let room = Vec::<u8>::new().try_reserve_exact(share.saturating_mul(BYTES));
        room.map(|()| share).map_err(|_| RunError::NoRoom {
            path: self.name.to_owned(),
            size: memory::in_words(overview.bytes as f64),
        })
    }

    /// What any rank has found wrong, that of the first line, on all ranks. *Collective.*
    pub(crate) fn agree<T>(&self, mine: Result<T, InputError>) -> Result<T, RunError> {
        let Some(world) = self.world else { return Ok(mine?) };
        let line = |error: &InputError| error.line.unwrap_or_default() as u64;
        // The lowest line is the highest complement.
        let own = mine.as_ref().err().map_or(0, |error| !line(error));
        let mut highest = [own];
        world.reduce(&mut highest, Reduction::Highest)?;
        if highest == [0] {
            return Ok(mine?);
        }
        let mut speaker = [if highest == [own] { world.rank() as u64 } else { 0 }];
        world.reduce(&mut speaker, Reduction::Highest)?;
        let mut words = mine.err().map_or_else(Vec::new, |error| error.problem.to_string().into_bytes());
        world.broadcast(speaker[0] as usize, &mut words)?;
        let problem = Problem::Told(String::from_utf8_lossy(&words).into_owned());
        Err(InputError { file: self.name.to_owned(), line: Some(!highest[0] as usize), problem }.into())
    }

    /// Tells all ranks what holds for the particles of all. *Collective.*
    pub(super) fn share(&self, atoms: u64, particles: &mut InputParticles) -> Result<(), RunError> {
        let Some(world) = self.world.filter(|world| world.ranks() > 1) else { return Ok(()) };
        let own = particles.ids.first().map_or(0, |id| !id);
        let mut highest = [own, particles.largest_type.into()];
        world.reduce(&mut highest, Reduction::Highest)?;
        let has_first = highest[0] == own;
        let z = particles.positions.first().filter(|_| has_first).map_or(0, |position| position[2].to_bits());
        let mut bits = [z];
        world.reduce(&mut bits, Reduction::Highest)?;
        particles.largest_type = u32::try_from(highest[1]).unwrap_or(u32::MAX);
        let first = FirstOfAll { id: !highest[0], z: f64::from_bits(bits[0]) };
        particles.share = Some(Share { atoms, first });
        Ok(())
    }
}

/// What one look at all lines tells of a text.
#[derive(Debug, Default)]
pub(super) struct Overview {
    bytes: usize,
    /// Number of lines.
    pub(super) lines: usize,
    /// Whether there is anything but white space.
    pub(super) has_words: bool,
    /// The last line if it has no end.
    unfinished: String,
}

impl Overview {
    /// Takes down the next line.
    pub(super) fn note(&mut self, line: &str) {
        self.bytes += line.len();
        self.lines += 1;
        self.has_words = self.has_words || !line.trim().is_empty();
        if !line.ends_with('\n') {
            line.clone_into(&mut self.unfinished);
        }
    }

    /// Refuses a text whose last field may be cut; what to do if it is follows the message.
    pub(super) fn check_end(&self, file: &str, otherwise: String) -> Result<(), InputError> {
        let last = &self.unfinished;
        let Some(field) = last.split_whitespace().last() else { return Ok(()) };
        if last.ends_with(char::is_whitespace) || last.contains('#') {
            return Ok(());
        }
        let problem = Problem::NoNewline { field: field.to_owned(), otherwise };
        Err(InputError { file: file.to_owned(), line: Some(self.lines), problem })
    }
}
