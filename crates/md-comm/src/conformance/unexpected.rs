//! Unexpected messages: none is lost, changed or overtakes another of the same rank, whatever the
//! delays.

use std::time::Duration;

use super::random::Random;
use super::{Check, Flaws};
use crate::{CommError, UnexpectedMessage, UnexpectedMessages, World};

pub(super) const CHECKS: &[Check] = &[
    Check::new("unexpected messages to any ranks, long and short", to_any),
    Check::new("unexpected messages held back", held_back),
    Check::new("questions are answered by those who wait for answers", questions),
    Check::new("unexpected messages of two contexts and a barrier do not mix", apart),
    Check::new("an unexpected message that is not taken is told", not_taken),
];

/// Messages from each rank to each.
const MESSAGES: usize = 8;
/// Longer than any library sends before the receive is posted.
const LONGEST: usize = 100_000;
/// Messages that end a rank's questions.
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
fn exchange(
    world: &dyn World,
    flaws: &Flaws,
    messages: &mut dyn UnexpectedMessages,
    seed: u64,
) -> Result<(), CommError> {
    let (rank, ranks) = (world.rank(), world.ranks());
    let mut random = Random::keyed(&[seed, rank as u64]);
    let mut order: Vec<usize> = (0..ranks).flat_map(|to| [to; MESSAGES]).collect();
    random.shuffle(&mut order);
    let (mut sent, mut seen) = (vec![0; ranks], vec![0; ranks]);
    let take = |UnexpectedMessage { from, bytes }: UnexpectedMessage, seen: &mut Vec<usize>| {
        let expected = bytes_of(from, rank, seen[from]);
        flaws.expect(bytes.bytes() == expected, || format!("message {} from rank {from}", seen[from]));
        seen[from] += 1;
    };
    for to in order {
        messages.send(to, &bytes_of(rank, to, sent[to]))?;
        sent[to] += 1;
        sleep(&mut random);
        if let Some(message) = messages.take()? {
            take(message, &mut seen);
        }
    }
    while seen.iter().sum::<usize>() < ranks * MESSAGES {
        take(messages.wait(&|| "messages".to_owned())?, &mut seen);
        sleep(&mut random);
    }
    flaws.expect(seen.iter().all(|&seen| seen == MESSAGES), || format!("{seen:?} messages"));
    flaws.expect(messages.take()?.is_none(), || "one message too many".to_owned());
    flaws.expect(messages.traffic().messages == (ranks * MESSAGES) as u64, || {
        "messages were not counted".to_owned()
    });
    Ok(())
}

fn to_any(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    let mut messages = world.open_unexpected("messages")?;
    exchange(world, flaws, &mut *messages, 1)?;
    messages.finalise()
}

fn held_back(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    for seed in 2..4 {
        let mut messages = HeldBack::new(world.open_unexpected("messages")?, seed + world.rank() as u64);
        exchange(world, flaws, &mut messages, seed)?;
        Box::new(messages).finalise()?;
    }
    Ok(())
}

/// Every rank sends questions to others, and answers their questions while it waits. It goes on
/// answering until no rank has questions left.
fn questions(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    let (rank, ranks) = (world.rank(), world.ranks());
    let mut messages = world.open_unexpected("messages")?;
    let mut random = Random::keyed(&[rank as u64]);
    let mut over = 0;
    // Returns the requested number if a message is an answer.
    let mut answer = |UnexpectedMessage { from, bytes }: UnexpectedMessage,
                      messages: &mut dyn UnexpectedMessages| match bytes.bytes() {
        OVER => {
            over += 1;
            Ok((over, None))
        }
        [b'?', number] => messages.send(from, &[b'!', *number, from as u8 ^ *number]).map(|()| (over, None)),
        other => Ok((over, Some(other.to_vec()))),
    };
    for number in 0..20_u8 {
        messages.send(random.below(ranks), &[b'?', number])?;
        let answered = loop {
            let message = messages.wait(&|| "an answer".to_owned())?;
            if let (_, Some(answered)) = answer(message, &mut *messages)? {
                break answered;
            }
        };
        flaws.expect(answered == [b'!', number, rank as u8 ^ number], || format!("{answered:?} to {number}"));
    }
    (0..ranks).try_for_each(|to| messages.send(to, OVER))?;
    loop {
        let message = messages.wait(&|| "the others' end".to_owned())?;
        if answer(message, &mut *messages)?.0 == ranks {
            return messages.finalise();
        }
    }
}

fn apart(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    let (rank, ranks) = (world.rank(), world.ranks());
    let (next, before) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
    let mut first = world.open_unexpected("first")?;
    let mut second = world.open_unexpected("second")?;
    first.send(next, b"first")?;
    world.barrier()?;
    second.send(next, b"second")?;
    for (messages, expected) in [(&mut second, &b"second"[..]), (&mut first, b"first")] {
        let UnexpectedMessage { from, bytes } = messages.wait(&|| "a message".to_owned())?;
        flaws.expect((from, bytes.bytes()) == (before, expected), || {
            format!("{:?} from {from}", bytes.bytes())
        });
    }
    first.finalise()?;
    second.finalise()
}

fn not_taken(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    let mut messages = world.open_unexpected("messages")?;
    // A message to the rank itself: it arrives at once with every library.
    messages.send(world.rank(), b"?")?;
    let said = messages.finalise().map_err(|error| error.to_string());
    let expected = format!("messages: an unexpected message from rank {} was not taken", world.rank());
    flaws.expect(said == Err(expected), || format!("{said:?}"));
    Ok(())
}

/// Messages as from a network that is slower for some ranks: those of one rank are held back, and
/// later ones of others come first. The order of each sender is kept.
#[derive(Debug)]
pub struct HeldBack {
    inner: Box<dyn UnexpectedMessages>,
    /// In the order of arrival.
    held: Vec<UnexpectedMessage>,
    random: Random,
}

impl HeldBack {
    /// Wraps a context; the seed chooses the order.
    pub fn new(inner: Box<dyn UnexpectedMessages>, seed: u64) -> Self {
        Self { inner, held: Vec::new(), random: Random::keyed(&[seed]) }
    }

    fn collect(&mut self) -> Result<(), CommError> {
        while let Some(message) = self.inner.take()? {
            self.held.push(message);
        }
        Ok(())
    }

    /// Returns the first message of one of the senders.
    fn choose(&mut self) -> Option<UnexpectedMessage> {
        if self.held.is_empty() {
            return None;
        }
        let from = self.held[self.random.below(self.held.len())].from;
        let first = self.held.iter().position(|message| message.from == from)?;
        Some(self.held.remove(first))
    }
}

impl UnexpectedMessages for HeldBack {
    fn send(&mut self, to: crate::Rank, bytes: &[u8]) -> Result<(), CommError> {
        self.inner.send(to, bytes)
    }

    /// Often returns none although there is one.
    fn take(&mut self) -> Result<Option<UnexpectedMessage>, CommError> {
        self.collect()?;
        Ok(if self.random.below(2) == 0 { self.choose() } else { None })
    }

    fn wait(&mut self, awaited: &dyn Fn() -> String) -> Result<UnexpectedMessage, CommError> {
        sleep(&mut self.random);
        self.collect()?;
        match self.choose() {
            Some(message) => Ok(message),
            None => self.inner.wait(awaited),
        }
    }

    fn traffic(&self) -> crate::Traffic {
        self.inner.traffic()
    }

    fn finalise(self: Box<Self>) -> Result<(), CommError> {
        match self.held.first() {
            Some(message) => Err(crate::unexpected::left_over("held back", message.from)),
            None => self.inner.finalise(),
        }
    }
}
