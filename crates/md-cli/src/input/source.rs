//! The text of a particle file, line by line, so that nobody holds all of it.
//!
//! Under MPI rank 0 reads, the others are told, and each keeps the particles whose ids fall to it: what stands in several places of a
//! file for one particle meets on one rank. What a rank finds wrong with its particles all ranks have to learn.

use std::path::Path;

use md_comm::{Reduction, World};
use md_engine::{FirstOfAll, Share};

use super::InputParticles;
use super::error::{Here, InputError, Problem};
use crate::error::RunError;
use crate::memory;
use crate::text_file::{Blocks, told};

/// 2^64 over the golden ratio: multiples of it lie evenly whatever the steps between numbers are.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

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
    /// What the first look at it finds, and the second.
    Given([&'s str; 2]),
    File(&'s Path),
}

impl<'s> Source<'s> {
    /// A text, for a process of its own.
    pub(super) fn given(name: &'s str, text: &'s str) -> Self {
        Self { name, text: Text::Given([text; 2]), world: None }
    }

    /// A text that changes between the looks at it.
    #[cfg(test)]
    pub(super) fn changing(name: &'s str, texts: [&'s str; 2]) -> Self {
        Self { name, text: Text::Given(texts), world: None }
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
        visit: impl FnMut(usize, &str) -> Result<(), InputError>,
    ) -> Result<Fingerprint, RunError> {
        self.look(0, visit)
    }

    /// Shows every line a second time. What the ranks find in a text that is another one by now means nothing. *Collective.*
    pub(super) fn lines_again(
        &self,
        before: Fingerprint,
        visit: impl FnMut(usize, &str) -> Result<(), InputError>,
    ) -> Result<(), RunError> {
        let after = self.look(1, visit)?;
        if after == before {
            return Ok(());
        }
        let others = "as many others".to_owned();
        let is_as_long = (after.lines, after.bytes) == (before.lines, before.bytes);
        let after = if is_as_long { others } else { after.size() };
        let problem = Problem::Changed { before: before.size(), after };
        Err(Here { file: self.name, line: None }.error(problem).into())
    }

    fn look(
        &self,
        time: usize,
        mut visit: impl FnMut(usize, &str) -> Result<(), InputError>,
    ) -> Result<Fingerprint, RunError> {
        let mut seen = Fingerprint::default();
        let mut show = |seen: &mut Fingerprint, text: &str| {
            seen.note(text);
            text.split_inclusive('\n').try_for_each(|line| {
                seen.lines += 1;
                visit(seen.lines, line)
            })
        };
        let path = match self.text {
            Text::Given(texts) => {
                show(&mut seen, texts[time])?;
                return Ok(seen);
            }
            Text::File(path) => path,
        };
        let mut blocks = None;
        let mut next = |lines| match &mut blocks {
            None => blocks.insert(Blocks::open(path, self.ranks())?).next(lines),
            Some(blocks) => blocks.next(lines),
        };
        while let Some(block) = told(self.world, path, || next(seen.lines))? {
            show(&mut seen, &block)?;
        }
        Ok(seen)
    }

    /// Whether this rank keeps the particle with this id. All ranks look at what is no id, and refuse it.
    pub(super) fn keeps(&self, id: impl FnOnce() -> Option<u64>) -> bool {
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
            size: memory::in_words(overview.text.bytes as f64),
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

    /// Whether all ranks together have found what the text promises. *Collective.*
    pub(super) fn check_count(&self, what: &'static str, promised: u64, own: usize) -> Result<(), RunError> {
        let mut found = [own as u64];
        self.world.map_or(Ok(()), |world| world.reduce(&mut found, Reduction::Sum))?;
        let [found] = found;
        if found == promised {
            return Ok(());
        }
        Err(Here { file: self.name, line: None }.error(Problem::Lost { what, promised, found }).into())
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

/// What tells a text from others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Fingerprint {
    /// Number of lines.
    pub(super) lines: usize,
    bytes: usize,
    checksum: u64,
}

impl Fingerprint {
    /// Takes down the next block, but for its lines.
    fn note(&mut self, block: &str) {
        // One word that is another always makes another sum.
        let mix = |sum: u64, word: u64| (sum ^ word).wrapping_mul(GOLDEN).rotate_left(29);
        let (words, rest) = block.as_bytes().as_chunks();
        let sum = words.iter().fold(self.checksum, |sum, word| mix(sum, u64::from_le_bytes(*word)));
        self.checksum = rest.iter().fold(sum, |sum, byte| mix(sum, u64::from(*byte)));
        self.bytes += block.len();
    }

    fn size(&self) -> String {
        format!("{} lines ({} bytes)", self.lines, self.bytes)
    }
}

/// What one look at all lines tells of a text.
#[derive(Debug, Default)]
pub(super) struct Overview {
    /// What a second look must find again; known when all lines have been seen.
    pub(super) text: Fingerprint,
    /// Whether there is anything but white space.
    pub(super) has_words: bool,
    /// The last line if it has no end.
    unfinished: String,
}

impl Overview {
    /// Takes down the next line.
    pub(super) fn note(&mut self, line: &str) {
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
        Err(InputError { file: file.to_owned(), line: Some(self.text.lines), problem })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use md_comm::local;

    use super::*;

    const RANKS: usize = 3;

    #[test]
    fn all_ranks_say_that_a_file_has_changed() {
        /// More than one block.
        const LINES: usize = 200_000;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p");
        let text = "12345678\n".repeat(LINES);
        let changed = [
            ("\n".repeat(4), "4 lines (4 bytes)"),
            (format!("{text}1\n"), "200001 lines (1800002 bytes)"),
            (text.replacen('7', "6", 1), "as many others"),
            (format!("{}87\n", &text[..text.len() - 3]), "as many others"),
        ];
        let looks = |again: &str| {
            fs::write(&path, &text).unwrap();
            local::run(RANKS, Duration::from_secs(60), |world| {
                let source = Source::file("p", &path, Some(world));
                let before = source.lines(|_, _| Ok(())).unwrap();
                world.barrier().unwrap();
                if world.rank() == 0 {
                    fs::write(&path, again).unwrap();
                }
                source.lines_again(before, |_, _| Ok(()))
            })
        };
        assert!(looks(&text).into_iter().all(|said| said.unwrap().is_ok()));
        for (again, then) in changed {
            for said in looks(&again) {
                let error = said.unwrap().unwrap_err();
                let begins =
                    "p: the file changed while it was read: 200000 lines (1800000 bytes) at first, then ";
                assert_eq!((error.to_string(), error.exit_code()), (format!("{begins}{then}"), 2));
            }
        }
    }

    #[test]
    fn all_ranks_say_that_particles_are_missing() {
        let check = |promised: u64| {
            local::run(RANKS, Duration::from_secs(60), |world| {
                let source = Source::file("p", Path::new("p"), Some(world));
                source.check_count("velocities", promised, world.rank() + 1)
            })
        };
        assert!(check(6).into_iter().all(|said| said.unwrap().is_ok()));
        for said in check(7) {
            let said = said.unwrap().unwrap_err().to_string();
            assert_eq!(said, "p: the file has 7 velocities, but 6 of them were kept");
        }
    }
}
