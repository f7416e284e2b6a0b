//! Letters: none is lost, changed or overtakes another of the same rank, whatever the delays.

use std::time::Duration;

use super::random::Random;
use super::{Check, Flaws};
use crate::{CommError, Letter, Mailbox, World};

pub(super) const CHECKS: &[Check] = &[
    Check::new("letters to any ranks, long and short", to_any),
    Check::new("letters held back", held_back),
    Check::new("questions are answered by those who wait for answers", questions),
    Check::new("letters of two mailboxes and a barrier do not mix", apart),
    Check::new("a letter that is not taken is told", not_taken),
];

/// Letters from each rank to each.
const LETTERS: usize = 8;
/// Longer than any library sends before the receive is posted.
const LONGEST: usize = 100_000;
/// Letters that end a rank's questions.
const OVER: &[u8] = b"over";

fn bytes_of(from: usize, to: usize, number: usize) -> Vec<u8> {
    let mut random = Random::keyed(&[from as u64, to as u64, number as u64]);
    let most = [1, 100, 10_000, LONGEST][random.below(4)];
    let length = random.below(most);
    (0..length).map(|_| random.next() as u8).collect()
}

fn sleep(random: &mut Random) {
    if random.below(4) == 0 {
        std::thread::sleep(Duration::from_micros(random.below(300) as u64));
    }
}

/// Every rank sends and takes in an order of its own, sleeping now and then.
fn exchange(world: &dyn World, flaws: &Flaws, letters: &mut dyn Mailbox, seed: u64) -> Result<(), CommError> {
    let (rank, ranks) = (world.rank(), world.ranks());
    let mut random = Random::keyed(&[seed, rank as u64]);
    let mut order: Vec<usize> = (0..ranks).flat_map(|to| [to; LETTERS]).collect();
    random.shuffle(&mut order);
    let (mut sent, mut seen) = (vec![0; ranks], vec![0; ranks]);
    let take = |Letter { from, bytes }: Letter, seen: &mut Vec<usize>| {
        let expected = bytes_of(from, rank, seen[from]);
        flaws.expect(bytes.bytes() == expected, || format!("letter {} from rank {from}", seen[from]));
        seen[from] += 1;
    };
    for to in order {
        letters.send(to, &bytes_of(rank, to, sent[to]))?;
        sent[to] += 1;
        sleep(&mut random);
        if let Some(letter) = letters.take()? {
            take(letter, &mut seen);
        }
    }
    while seen.iter().sum::<usize>() < ranks * LETTERS {
        take(letters.wait(&|| "letters".to_owned())?, &mut seen);
        sleep(&mut random);
    }
    flaws.expect(seen.iter().all(|&seen| seen == LETTERS), || format!("{seen:?} letters"));
    flaws.expect(letters.take()?.is_none(), || "one letter too many".to_owned());
    flaws.expect(letters.traffic().messages == (ranks * LETTERS) as u64, || {
        "letters were not counted".to_owned()
    });
    Ok(())
}

fn to_any(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    let mut letters = world.mailbox("letters")?;
    exchange(world, flaws, &mut *letters, 1)?;
    letters.finalise()
}

fn held_back(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    for seed in 2..4 {
        let mut letters = HeldBack::new(world.mailbox("letters")?, seed + world.rank() as u64);
        exchange(world, flaws, &mut letters, seed)?;
        Box::new(letters).finalise()?;
    }
    Ok(())
}

/// Every rank sends questions to others, and answers their questions while it waits. It goes on
/// answering until no rank has questions left.
fn questions(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    let (rank, ranks) = (world.rank(), world.ranks());
    let mut letters = world.mailbox("letters")?;
    let mut random = Random::keyed(&[rank as u64]);
    let mut over = 0;
    // Returns the requested number if a letter is an answer.
    let mut answer = |Letter { from, bytes }: Letter, letters: &mut dyn Mailbox| match bytes.bytes() {
        OVER => {
            over += 1;
            Ok((over, None))
        }
        [b'?', number] => letters.send(from, &[b'!', *number, from as u8 ^ *number]).map(|()| (over, None)),
        other => Ok((over, Some(other.to_vec()))),
    };
    for number in 0..20_u8 {
        letters.send(random.below(ranks), &[b'?', number])?;
        let answered = loop {
            let letter = letters.wait(&|| "an answer".to_owned())?;
            if let (_, Some(answered)) = answer(letter, &mut *letters)? {
                break answered;
            }
        };
        flaws.expect(answered == [b'!', number, rank as u8 ^ number], || format!("{answered:?} to {number}"));
    }
    (0..ranks).try_for_each(|to| letters.send(to, OVER))?;
    loop {
        let letter = letters.wait(&|| "the others' end".to_owned())?;
        if answer(letter, &mut *letters)?.0 == ranks {
            return letters.finalise();
        }
    }
}

fn apart(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    let (rank, ranks) = (world.rank(), world.ranks());
    let (next, before) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
    let mut first = world.mailbox("first")?;
    let mut second = world.mailbox("second")?;
    first.send(next, b"first")?;
    world.barrier()?;
    second.send(next, b"second")?;
    for (letters, expected) in [(&mut second, &b"second"[..]), (&mut first, b"first")] {
        let Letter { from, bytes } = letters.wait(&|| "a letter".to_owned())?;
        flaws.expect((from, bytes.bytes()) == (before, expected), || {
            format!("{:?} from {from}", bytes.bytes())
        });
    }
    first.finalise()?;
    second.finalise()
}

fn not_taken(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    let mut letters = world.mailbox("letters")?;
    // A letter to the rank itself: it arrives at once with every library.
    letters.send(world.rank(), b"?")?;
    let said = letters.finalise().map_err(|error| error.to_string());
    let expected = format!("letters: a letter from rank {} was not taken", world.rank());
    flaws.expect(said == Err(expected), || format!("{said:?}"));
    Ok(())
}

/// Letters as from a network that is slower for some ranks: letters of one rank are held back, and
/// later ones of others come first. The order of each sender is kept.
#[derive(Debug)]
pub struct HeldBack {
    inner: Box<dyn Mailbox>,
    /// In the order of arrival.
    held: Vec<Letter>,
    random: Random,
}

impl HeldBack {
    /// Wraps a mailbox; the seed chooses the order.
    pub fn new(inner: Box<dyn Mailbox>, seed: u64) -> Self {
        Self { inner, held: Vec::new(), random: Random::keyed(&[seed]) }
    }

    fn collect(&mut self) -> Result<(), CommError> {
        while let Some(letter) = self.inner.take()? {
            self.held.push(letter);
        }
        Ok(())
    }

    /// Returns the first letter of one of the senders.
    fn choose(&mut self) -> Option<Letter> {
        if self.held.is_empty() {
            return None;
        }
        let from = self.held[self.random.below(self.held.len())].from;
        let first = self.held.iter().position(|letter| letter.from == from)?;
        Some(self.held.remove(first))
    }
}

impl Mailbox for HeldBack {
    fn send(&mut self, to: crate::Rank, bytes: &[u8]) -> Result<(), CommError> {
        self.inner.send(to, bytes)
    }

    /// Often returns none although there is one.
    fn take(&mut self) -> Result<Option<Letter>, CommError> {
        self.collect()?;
        Ok(if self.random.below(2) == 0 { self.choose() } else { None })
    }

    fn wait(&mut self, awaited: &dyn Fn() -> String) -> Result<Letter, CommError> {
        sleep(&mut self.random);
        self.collect()?;
        match self.choose() {
            Some(letter) => Ok(letter),
            None => self.inner.wait(awaited),
        }
    }

    fn traffic(&self) -> crate::Traffic {
        self.inner.traffic()
    }

    fn finalise(self: Box<Self>) -> Result<(), CommError> {
        match self.held.first() {
            Some(letter) => Err(crate::mailbox::left_over("held back", letter.from)),
            None => self.inner.finalise(),
        }
    }
}
