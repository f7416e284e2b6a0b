//! Text of a particle file, line by line, so that no rank holds all of it.
//!
//! Under MPI, rank 0 first finds the layout of the file and sends it to the other ranks. Then every
//! rank reads pieces of the text. Each rank keeps particles by their ids, so that data of one
//! particle from several places of the file meet on one rank. An error on one rank is sent to all.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

use bytemuck::Pod;
use md_comm::{CommError, Message, Rank, Reduction, World, deliver, deliver_items};
use md_engine::{FirstOfAll, Share};
use md_scenario::failure::RunError;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::{InputError, Position, Problem};
use super::overview::{Fingerprint, GOLDEN, Overview, Piece};
use super::{InputParticles, NoRoom};
use crate::text_file::{Blocks, broadcast_read};

/// Largest number of pieces of the text that rank 0 holds at once, for as many ranks.
const MOST_AHEAD: usize = 8;

/// A particle file and the ranks that read it.
///
/// ```
/// use md_comm::local;
/// use md_files::input::Source;
/// use std::{path::Path, time::Duration};
///
/// // Three ranks read ten particles together.
/// let parts = local::run(3, Duration::from_secs(60), |world| {
///     Source::file("melt.data", Path::new("melt.data"), Some(world)).part(10)
/// });
/// assert_eq!(parts, [Ok(0..3), Ok(3..6), Ok(6..10)]);
/// ```
#[derive(Clone, Copy)]
pub struct Source<'s> {
    /// Name of the file in messages.
    pub(super) name: &'s str,
    text: Text<'s>,
    /// Ranks that read the file together, or `None` for a single process.
    world: Option<&'s dyn World>,
}

#[derive(Clone, Copy)]
enum Text<'s> {
    /// Texts of the first and the second pass.
    Given([&'s str; 2]),
    File(&'s Path),
}

impl<'s> Source<'s> {
    /// Returns the source of a text, for a single process.
    pub(super) fn given(name: &'s str, text: &'s str) -> Self {
        Self { name, text: Text::Given([text; 2]), world: None }
    }

    /// Returns the source of a text that changes between the two passes.
    #[cfg(test)]
    pub(super) fn changing(name: &'s str, texts: [&'s str; 2]) -> Self {
        Self { name, text: Text::Given(texts), world: None }
    }

    /// Returns the source of a file.
    pub fn file(name: &'s str, path: &'s Path, world: Option<&'s dyn World>) -> Self {
        Self { name, text: Text::File(path), world }
    }

    /// Returns the name of the file in messages.
    pub fn name(&self) -> &'s str {
        self.name
    }

    /// Returns the path of the file.
    pub(super) fn path(&self) -> &'s Path {
        match self.text {
            Text::File(path) => path,
            Text::Given(_) => Path::new(self.name),
        }
    }

    /// Returns the number of this rank.
    fn rank(&self) -> usize {
        self.world.map_or(0, World::rank)
    }

    /// Returns the number of ranks that read the file.
    pub fn ranks(&self) -> usize {
        self.world.map_or(1, World::ranks)
    }

    /// Opens a binary file, whose data are at byte positions instead of lines. Returns the file and
    /// its size in bytes.
    ///
    /// # Errors
    /// Returns an error if the file cannot be opened or has no fixed size.
    pub(super) fn opened(&self) -> Result<(File, u64), Problem> {
        let told = |error: std::io::Error| Problem::Told(error.to_string());
        let file = File::open(self.path()).map_err(told)?;
        let there = file.metadata().map_err(told)?;
        if there.is_file() {
            Ok((file, there.len()))
        } else {
            Err(Problem::Told("it is not a regular file".to_owned()))
        }
    }

    /// Returns which of `particles` particles, in the order of the file, this rank reads.
    pub fn part(&self, particles: u64) -> Range<u64> {
        let cut = |rank: usize| (u128::from(particles) * rank as u128 / self.ranks() as u128) as u64;
        cut(self.rank())..cut(self.rank() + 1)
    }

    /// Passes every line with its number, from 1, and its newline to `visit` on rank 0. The result
    /// is sent to all ranks. An error ends the pass. *Collective.*
    pub(super) fn overview<T: Serialize + DeserializeOwned>(
        &self,
        mut found: T,
        mut visit: impl FnMut(&mut T, usize, &str) -> Result<(), InputError>,
    ) -> Result<(T, Fingerprint), RunError> {
        let (mut seen, mut next, mut fault) = (Fingerprint::default(), self.reader(0), None);
        // The other ranks receive a message per block, so that none waits for long.
        let mut look = || {
            let Some(block) = next(&mut seen)? else { return Ok(None) };
            let mut lines = seen.note(&block);
            fault = lines.try_for_each(|(number, line)| visit(&mut found, number, line)).err();
            Ok(fault.is_none().then(String::new))
        };
        while broadcast_read(self.world, Path::new(self.name), &mut look)?.is_some() {}
        self.agree(fault.map_or(Ok(()), Err))?;
        let Some(world) = self.shared() else { return Ok((found, seen)) };
        let mut text = Vec::new();
        if world.rank() == 0 {
            text = serde_json::to_vec(&(found, seen)).unwrap_or_default();
        }
        world.broadcast(0, &mut text)?;
        let misuse =
            |error: serde_json::Error| CommError::Misuse { context: "file", what: error.to_string() };
        Ok(serde_json::from_slice(&text).map_err(misuse)?)
    }

    /// Passes the wanted lines a second time, each on one rank, in pieces. Each rank reads its own
    /// pieces from the file; if not every rank can do this, as for a compressed file, rank 0
    /// distributes them. Returns an error if the text has changed, in which case the lines that
    /// were visited are meaningless. *Collective.*
    pub(super) fn lines_again(
        &self,
        before: &Fingerprint,
        wanted: &[Range<usize>],
        mut visit: impl FnMut(usize, &str),
    ) -> Result<(), RunError> {
        let mut visit_piece = |first: usize, bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes);
            let lines = (first..).zip(text.split_inclusive('\n'));
            lines
                .filter(|(number, _)| wanted.iter().any(|lines| lines.contains(number)))
                .for_each(|(number, line)| visit(number, line));
        };
        let is_wanted = |piece: &Piece| wanted.iter().any(|lines| piece.has_any(lines));
        let after = match self.opened_by_all(before)? {
            Some(file) => self.read_own(&file, before, is_wanted, &mut visit_piece)?,
            None => Some(self.dealt(is_wanted, &mut visit_piece)?),
        };
        let Some(after) = after else { return Ok(()) };
        let has_read = self.world.is_none_or(|world| world.rank() == 0);
        let problem = Problem::Changed { before: before.size(), after: after.size_beside(before) };
        let changed = || Position { file: self.name, line: None }.error(problem);
        self.agree(if has_read && after != *before { Err(changed()) } else { Ok(()) })
    }

    /// Returns the file on this rank, if there are several ranks, each can open it, and lines are
    /// where they were found. *Collective.*
    fn opened_by_all(&self, before: &Fingerprint) -> Result<Option<File>, RunError> {
        let (Some(_), Text::File(path)) = (self.shared(), self.text) else { return Ok(None) };
        // A compressed file has other bytes, and one with a byte order mark has more bytes.
        let is_same =
            |file: &File| file.metadata().is_ok_and(|it| it.is_file() && it.len() == before.bytes as u64);
        let file = File::open(path).ok().filter(is_same);
        let mut missing = [u64::from(file.is_none())];
        self.highest(&mut missing)?;
        Ok(file.filter(|_| missing == [0]))
    }

    /// Reads this rank's pieces. If any piece has changed, returns the fingerprint of the present
    /// text, on rank 0. *Collective.*
    fn read_own(
        &self,
        file: &File,
        before: &Fingerprint,
        is_wanted: impl Fn(&Piece) -> bool,
        visit: &mut impl FnMut(usize, &[u8]),
    ) -> Result<Option<Fingerprint>, RunError> {
        let (mut bytes, mut changed) = (Vec::new(), [0]);
        let wanted = before.pieces.iter().filter(|piece| is_wanted(piece));
        for piece in wanted.skip(self.rank()).step_by(self.ranks()) {
            bytes.resize(piece.bytes, 0);
            if file.read_exact_at(&mut bytes, piece.at).is_err() || !piece.is(&bytes) {
                changed = [1];
                break;
            }
            visit(piece.first, &bytes);
        }
        self.highest(&mut changed)?;
        if changed == [0] { Ok(None) } else { Ok(Some(self.dealt(|_| false, &mut |_, _| ())?)) }
    }

    /// Reads the text on rank 0 and distributes the wanted pieces. Returns the fingerprint of the
    /// present text, on rank 0. *Collective.*
    fn dealt(
        &self,
        is_wanted: impl Fn(&Piece) -> bool,
        visit: &mut impl FnMut(usize, &[u8]),
    ) -> Result<Fingerprint, RunError> {
        let (mut after, mut next, mut turn) = (Fingerprint::default(), self.reader(1), 0);
        loop {
            let mut pieces = Vec::new();
            let mut read = || {
                for ahead in 0..self.ranks().min(MOST_AHEAD) {
                    let first = after.lines + 1;
                    let Some(block) = next(&mut after)? else { return Ok((ahead > 0).then(String::new)) };
                    after.note(&block).for_each(drop);
                    if after.pieces.last().is_some_and(&is_wanted) {
                        let bytes = [&first.to_le_bytes()[..], block.as_bytes()].concat();
                        pieces.push(Message { to: turn % self.ranks(), bytes });
                        turn += 1;
                    }
                }
                Ok(Some(String::new()))
            };
            if broadcast_read(self.world, Path::new(self.name), &mut read)?.is_none() {
                return Ok(after);
            }
            let own = match self.world {
                Some(world) => deliver(world, pieces)?,
                None => pieces.into_iter().map(|piece| piece.bytes).collect(),
            };
            for (first, block) in own.iter().filter_map(|piece| piece.split_first_chunk()) {
                visit(usize::from_le_bytes(*first), block);
            }
        }
    }

    /// Returns a function that reads the text piece by piece, each after the text read so far.
    fn reader(
        &self,
        time: usize,
    ) -> impl FnMut(&mut Fingerprint) -> Result<Option<String>, String> + use<'s> {
        let (text, ranks, mut blocks) = (self.text, self.ranks(), None);
        let mut is_given = false;
        move |seen| {
            let path = match text {
                Text::Given(texts) => {
                    return Ok((!std::mem::replace(&mut is_given, true)).then(|| texts[time].to_owned()));
                }
                Text::File(path) => path,
            };
            let blocks = match &mut blocks {
                Some(blocks) => blocks,
                None => blocks.insert(Blocks::open(path, ranks)?),
            };
            let block = blocks.next(seen.lines)?;
            seen.is_cut = blocks.is_cut();
            Ok(block)
        }
    }

    /// Returns the world, if it has several ranks.
    fn shared(&self) -> Option<&'s dyn World> {
        self.world.filter(|world| world.ranks() > 1)
    }

    /// Distributes the rows of all ranks, and returns those of the particles that this rank keeps,
    /// by their ids. *Collective.*
    pub(super) fn kept<T: Pod>(&self, rows: Vec<T>, id: fn(&T) -> u64) -> Result<Vec<T>, RunError> {
        let Some(world) = self.shared() else { return Ok(rows) };
        let keeper = |id: u64| (u128::from(id.wrapping_mul(GOLDEN)) * world.ranks() as u128) >> 64;
        Ok(deliver_items(world, rows.into_iter().map(|row| (keeper(id(&row)) as Rank, row)))?)
    }

    /// Replaces each word by the largest of all ranks. *Collective.*
    pub fn highest(&self, words: &mut [u64]) -> Result<(), RunError> {
        self.world.map_or(Ok(()), |world| Ok(world.reduce(words, Reduction::Highest)?))
    }

    /// Returns the largest number of particles, of `particles`, that this rank may have to read.
    /// Their memory is requested at once, because a lack of memory is an error here, but a signal
    /// later.
    pub(super) fn expect_room(&self, particles: u64, overview: &Overview) -> Result<usize, RunError> {
        /// Number of bytes of a particle while it is read, plus those while it is kept.
        const BYTES: usize = 352;
        /// Largest number of particles in a piece of the text.
        const MOST: usize = Blocks::BYTES as usize / "1 A 0 0 0\n".len();
        let all = usize::try_from(particles).unwrap_or(usize::MAX);
        let share = all.min(all / self.ranks() + MOST);
        let room = Vec::<u8>::new().try_reserve_exact(share.saturating_mul(BYTES));
        room.map(|()| share).map_err(|_| {
            RunError::from(NoRoom {
                path: self.name.to_owned(),
                size: md_lab::in_words(overview.text.bytes as f64),
            })
        })
    }

    /// Returns the error of the first line among all ranks, on all ranks. *Collective.*
    pub fn agree<T>(&self, mine: Result<T, InputError>) -> Result<T, RunError> {
        let Some(world) = self.world else { return Ok(mine?) };
        // The lowest line is the highest complement. An error without a line comes first.
        let line = |error: &InputError| error.line.unwrap_or_default() as u64;
        let own = mine.as_ref().err().map_or(0, |error| !line(error));
        let mut highest = [own];
        self.highest(&mut highest)?;
        if highest == [0] {
            return Ok(mine?);
        }
        let mut speaker = [if highest == [own] { world.rank() as u64 } else { 0 }];
        self.highest(&mut speaker)?;
        let mut words = mine.err().map_or_else(Vec::new, |error| error.problem.to_string().into_bytes());
        world.broadcast(speaker[0] as usize, &mut words)?;
        let problem = Problem::Told(String::from_utf8_lossy(&words).into_owned());
        let line = Some(!highest[0] as usize).filter(|line| *line > 0);
        Err(InputError { file: self.name.to_owned(), line, problem }.into())
    }

    /// Checks that all ranks together have found as many items as the text promises. *Collective.*
    pub(super) fn check_count(&self, what: &'static str, promised: u64, own: usize) -> Result<(), RunError> {
        let mut found = [own as u64];
        self.world.map_or(Ok(()), |world| world.reduce(&mut found, Reduction::Sum))?;
        let [found] = found;
        if found == promised {
            return Ok(());
        }
        Err(Position { file: self.name, line: None }.error(Problem::Lost { what, promised, found }).into())
    }

    /// Sets the data about the particles of all ranks, on all ranks. *Collective.*
    pub(super) fn share(&self, atoms: u64, particles: &mut InputParticles) -> Result<(), RunError> {
        if self.shared().is_none() {
            return Ok(());
        }
        let own = particles.ids.first().map_or(0, |id| !id);
        let mut highest = [own, particles.largest_type.into()];
        self.highest(&mut highest)?;
        let has_first = highest[0] == own;
        let z = particles.positions.first().filter(|_| has_first).map_or(0, |position| position[2].to_bits());
        let mut bits = [z];
        self.highest(&mut bits)?;
        particles.largest_type = u32::try_from(highest[1]).unwrap_or(u32::MAX);
        let first = FirstOfAll { id: !highest[0], z: f64::from_bits(bits[0]) };
        particles.share = Some(Share { atoms, first });
        Ok(())
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
                let ((), before) = source.overview((), |_, _, _| Ok(())).unwrap();
                world.barrier().unwrap();
                if world.rank() == 0 {
                    fs::write(&path, again).unwrap();
                }
                source.lines_again(&before, std::slice::from_ref(&(0..usize::MAX)), |_, _| ())
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
