//! Plays exchanges of one context and checks every arrival.

use std::time::Duration;

use super::flaws::Flaws;
use super::random::Random;
use super::script::{Direction, Rule, Script};
use crate::monitor::WaitingTime;
use crate::{
    ALIGNMENT, Buffering, CommError, Edge, EdgeId, Exchange, ExchangeSpec, Growth, Rank, Sizes, World,
};

/// A polling receive gives up after this time.
const POLLING_LIMIT: Duration = Duration::from_secs(30);
/// Longest sleep of a delayed rank.
const LONGEST_SLEEP_US: usize = 200;
/// Longest sleep of a lagging rank.
const LONGEST_LAG_US: usize = 5000;

/// Whether ranks are delayed at random.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pace {
    Steady,
    Skewed,
    /// Skewed, and now and then for so long that the others get as far ahead as the buffers allow.
    Lagging,
}

/// How messages are received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Receive {
    /// With `next`.
    Waiting,
    /// With `progress` and `try_next`.
    Polling,
}

/// One context being exercised on one rank.
pub(super) struct Player<'w> {
    flaws: &'w Flaws,
    pub(super) exchange: Exchange,
    pub(super) script: Script,
    pub(super) pace: Pace,
    random: Random,
    seen: Vec<bool>,
    sent_bytes: u64,
    /// Longest message sent per edge.
    longest_sent: Vec<usize>,
}

impl<'w> Player<'w> {
    /// Opens a context; `salt` distinguishes its messages from those of other contexts.
    pub(super) fn open(
        world: &dyn World,
        flaws: &'w Flaws,
        edges: Vec<Edge>,
        rule: Rule,
        buffering: Buffering,
        salt: u64,
    ) -> Result<Self, CommError> {
        Self::open_with(world, flaws, edges, rule, buffering, salt, |_, need| need)
    }

    /// Opens a context with capacities of 0 and 1 byte.
    pub(super) fn open_too_small(
        world: &dyn World,
        flaws: &'w Flaws,
        edges: Vec<Edge>,
        rule: Rule,
        buffering: Buffering,
        salt: u64,
    ) -> Result<Self, CommError> {
        Self::open_with(world, flaws, edges, rule, buffering, salt, |edge, _| edge % 2)
    }

    fn open_with(
        world: &dyn World,
        flaws: &'w Flaws,
        edges: Vec<Edge>,
        rule: Rule,
        buffering: Buffering,
        salt: u64,
        capacity: impl Fn(usize, usize) -> usize,
    ) -> Result<Self, CommError> {
        let (direction, sequence, step, grower) = (Direction::Forward, 0, 0, None);
        let mut script = Script { rank: world.rank(), edges, rule, direction, salt, sequence, step, grower };
        for (i, need) in script.needs().into_iter().enumerate() {
            script.edges[i].send_capacity = capacity(i, need);
        }
        let sizes = match rule {
            Rule::Fixed(_) => Sizes::Fixed,
            Rule::Varying(_) => Sizes::Variable,
        };
        let edges = script.edges.clone();
        let exchange = world.open(ExchangeSpec { name: "conformance", edges, sizes, buffering })?;
        Ok(Self::new(flaws, exchange, script))
    }

    fn new(flaws: &'w Flaws, exchange: Exchange, script: Script) -> Self {
        let random = Random::keyed(&[script.salt, script.rank as u64]);
        let seen = vec![false; script.edges.len()];
        let longest_sent = vec![0; script.edges.len()];
        Self { flaws, exchange, script, pace: Pace::Steady, random, seen, sent_bytes: 0, longest_sent }
    }

    /// Opens the context along the same edges in the opposite direction.
    pub(super) fn reversed(&self, salt: u64) -> Result<Self, CommError> {
        let exchange = self.exchange.reverse()?;
        let edges = exchange.spec().edges.clone();
        let direction = Direction::Reversed;
        let script = Script { direction, salt, edges, sequence: 0, ..self.script.clone() };
        Ok(Self::new(self.flaws, exchange, script))
    }

    /// Plays one whole exchange.
    pub(super) fn play(&mut self) -> Result<(), CommError> {
        self.send()?;
        self.receive(Receive::Waiting)?;
        self.complete()
    }

    /// Plays `count` exchanges.
    pub(super) fn rounds(&mut self, count: usize) -> Result<(), CommError> {
        (0..count).try_for_each(|_| self.play())
    }

    /// Packs and starts all edges in a random order, then initiates.
    pub(super) fn send(&mut self) -> Result<(), CommError> {
        let edges = &self.script.edges;
        let mut order: Vec<usize> = (0..edges.len()).filter(|&i| edges[i].flow.sends()).collect();
        self.random.shuffle(&mut order);
        for i in order {
            self.dawdle();
            self.pack(EdgeId(i))?;
            self.exchange.start(EdgeId(i))?;
        }
        self.exchange.initiate()
    }

    fn pack(&mut self, edge: EdgeId) -> Result<(), CommError> {
        let (stamp, length) = self.script.outgoing(edge);
        let bytes = self.exchange.send_buffer(edge, length)?;
        let aligned = (bytes.as_ptr() as usize).is_multiple_of(ALIGNMENT);
        self.flaws
            .expect(bytes.len() == length, || format!("send buffer of {stamp:?}: {} bytes", bytes.len()));
        self.flaws.expect(aligned, || format!("send buffer of {stamp:?} is not aligned"));
        stamp.fill(bytes);
        self.sent_bytes += length as u64;
        self.longest_sent[edge.0] = self.longest_sent[edge.0].max(length);
        Ok(())
    }

    /// Receives and verifies everything; afterwards neither `next` nor `try_next` may have more.
    pub(super) fn receive(&mut self, how: Receive) -> Result<(), CommError> {
        self.seen.fill(false);
        match how {
            Receive::Waiting => while self.arrival(Receive::Waiting)? {},
            Receive::Polling => self.poll_for_all()?,
        }
        for i in 0..self.seen.len() {
            let expected = self.script.edges[i].flow.receives();
            self.flaws.expect(self.seen[i] == expected, || format!("edge {i}: delivered {}", self.seen[i]));
        }
        let more = self.exchange.try_next()?.is_some() || self.exchange.next()?.is_some();
        self.flaws.expect(!more, || "a message after the last one".to_owned());
        Ok(())
    }

    fn poll_for_all(&mut self) -> Result<(), CommError> {
        // A pause of the whole job does not count.
        let mut waited = WaitingTime::start();
        let awaited = self.script.edges.iter().filter(|edge| edge.flow.receives()).count();
        let mut arrived = 0;
        while arrived < awaited && waited.so_far() < POLLING_LIMIT {
            self.exchange.progress()?;
            if self.arrival(Receive::Polling)? {
                arrived += 1;
            } else {
                std::thread::yield_now();
            }
        }
        Ok(())
    }

    /// Takes and verifies one message. Returns whether there was one.
    fn arrival(&mut self, how: Receive) -> Result<bool, CommError> {
        self.dawdle();
        let arrival = match how {
            Receive::Waiting => self.exchange.next()?,
            Receive::Polling => self.exchange.try_next()?,
        };
        let Some(arrival) = arrival else { return Ok(false) };
        // Gives a rank that writes to the buffer too early the time to do so.
        dawdle(self.pace, &mut self.random);
        if let Some(flaw) = self.script.flaw(&arrival) {
            self.flaws.note(flaw);
        }
        let EdgeId(i) = arrival.edge;
        let again = self.seen.get_mut(i).is_some_and(|seen| std::mem::replace(seen, true));
        self.flaws.expect(!again, || format!("edge {i} delivered twice"));
        Ok(true)
    }

    pub(super) fn complete(&mut self) -> Result<(), CommError> {
        self.dawdle();
        self.exchange.complete()?;
        self.script.sequence += 1;
        Ok(())
    }

    /// Negotiates the lengths of a growth step and compares the transport's report.
    pub(super) fn negotiate(&mut self, step: u32, expected: Growth) -> Result<(), CommError> {
        self.script.step = step;
        let needs = self.script.needs();
        let growth = self.exchange.negotiate(&needs)?;
        self.flaws.expect(growth == expected, || format!("growth step {step}: {growth:?}, not {expected:?}"));
        let spec = self.exchange.spec();
        for (i, (edge, need)) in spec.edges.iter().zip(needs).enumerate() {
            let enough = match spec.sizes {
                Sizes::Fixed => edge.send_capacity == need,
                Sizes::Variable => edge.send_capacity >= need,
            };
            let flaw = || format!("edge {i} has {} bytes, needs {need}", edge.send_capacity);
            self.flaws.expect(enough || !edge.flow.sends(), flaw);
        }
        Ok(())
    }

    /// Returns whether some message of this rank was longer than its edge's capacity.
    pub(super) fn has_outgrown(&self) -> bool {
        self.has_outgrown_towards(|_| true)
    }

    /// Does what `has_outgrown` does for messages to some of the ranks.
    pub(super) fn has_outgrown_towards(&self, counts: impl Fn(Rank) -> bool) -> bool {
        let edges = self.exchange.spec().edges.iter().zip(&self.longest_sent);
        edges.into_iter().any(|(edge, &longest)| longest > edge.send_capacity && counts(edge.peer))
    }

    /// Negotiates without any need: there is room for all that has been sent so far.
    pub(super) fn catch_up(&mut self, expected: Growth) -> Result<(), CommError> {
        let growth = self.exchange.negotiate(&vec![0; self.script.edges.len()])?;
        self.flaws.expect(growth == expected, || format!("catching up: {growth:?}, not {expected:?}"));
        self.flaws.expect(!self.has_outgrown(), || {
            let capacities: Vec<_> =
                self.exchange.spec().edges.iter().map(|edge| edge.send_capacity).collect();
            format!("capacities {capacities:?} after messages of {:?} bytes", self.longest_sent)
        });
        Ok(())
    }

    /// Restricts growth to one rank's messages.
    pub(super) fn only_grower(&mut self, rank: Rank) {
        self.script.grower = Some(rank);
    }

    /// Compares the traffic counters and ends the context.
    pub(super) fn close(self) -> Result<(), CommError> {
        let sending = self.script.edges.iter().filter(|edge| edge.flow.sends()).count() as u64;
        let traffic = self.exchange.traffic();
        let (messages, bytes) = (sending * self.script.sequence, self.sent_bytes);
        let right = traffic.messages == messages && traffic.bytes == bytes;
        self.flaws.expect(right, || format!("{traffic:?}, sent were {messages} messages, {bytes} bytes"));
        self.exchange.finalise()
    }

    fn dawdle(&mut self) {
        dawdle(self.pace, &mut self.random);
    }
}

/// Plays one exchange of three contexts at once: everything is under way before any rank waits, and
/// every rank receives in another order if it may.
pub(super) fn play_interleaved(
    world: &dyn World,
    players: &mut [Player<'_>; 3],
    round: usize,
) -> Result<(), CommError> {
    let mut order = [0, 1, 2];
    let own = if world.needs_same_order() { 0 } else { world.rank() };
    order.rotate_left((own + round) % players.len());
    order.into_iter().try_for_each(|i| players[i].send())?;
    order.into_iter().try_for_each(|i| players[i].receive(Receive::Waiting))?;
    order.into_iter().rev().try_for_each(|i| players[i].complete())
}

fn dawdle(pace: Pace, random: &mut Random) {
    let longest_us = match pace {
        Pace::Steady => return,
        Pace::Lagging if random.below(16) == 0 => LONGEST_LAG_US,
        Pace::Skewed | Pace::Lagging => LONGEST_SLEEP_US,
    };
    match random.below(8) {
        0 => std::thread::sleep(Duration::from_micros(random.below(longest_us) as u64)),
        1 | 2 => std::thread::yield_now(),
        _ => {}
    }
}
