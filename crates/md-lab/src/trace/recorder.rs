//! Recorder of one rank's events.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use bytemuck::{Pod, Zeroable};
use md_comm::{CommError, Edge, MessageObserver};
use md_core::Threads;
use md_core::threads::Share;
use md_engine::Phase;
use md_engine::clock::PhaseObserver;

/// Kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub(super) enum Kind {
    /// A phase; `channel` is its number.
    Phase,
    /// A message has left this rank.
    Sent,
    /// A message has arrived; the event begins where the wait for it began.
    Received,
    /// A collective that waits for all ranks; `exchange` is its number, `detail` the time of entry.
    Collective,
    /// A thread's share of a phase; `channel` is the phase's number, `peer` the thread's.
    Share,
}

impl Kind {
    pub(super) const ALL: [Self; 5] =
        [Self::Phase, Self::Sent, Self::Received, Self::Collective, Self::Share];
}

/// An event, with times in nanoseconds of the rank's own clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Event {
    pub(super) begun_ns: u64,
    pub(super) ended_ns: u64,
    /// Size of a message in bytes.
    pub(super) detail: u64,
    pub(super) exchange: u32,
    pub(super) context: u32,
    pub(super) peer: u32,
    pub(super) channel: u16,
    pub(super) kind: u16,
}

/// The last events of one rank, in memory that is allocated beforehand.
#[derive(Debug)]
pub(super) struct Recorder {
    pub(super) origin: Instant,
    ring: RefCell<Ring>,
    /// Names of the contexts, in the order in which all ranks opened them.
    contexts: RefCell<Vec<&'static str>>,
    collectives: Cell<u32>,
    /// Threads of the rank, once recording has started.
    threads: RefCell<Threads>,
}

#[derive(Debug)]
struct Ring {
    events: Vec<Event>,
    next: usize,
    recorded: u64,
    is_on: bool,
}

impl Recorder {
    /// Creates a recorder for `capacity` events; it records nothing before [`Self::start`].
    ///
    /// # Errors
    /// [`CommError::OutOfMemory`].
    pub(super) fn new(capacity: usize) -> Result<Rc<Self>, CommError> {
        let mut events = Vec::new();
        let bytes = capacity.saturating_mul(size_of::<Event>());
        events.try_reserve_exact(capacity).map_err(|_| CommError::OutOfMemory { bytes })?;
        // Writing to the memory now makes it resident, so that events do not pay for it.
        events.resize(capacity, Event { kind: u16::MAX, ..Event::zeroed() });
        let ring = RefCell::new(Ring { events, next: 0, recorded: 0, is_on: false });
        let (origin, contexts) = (Instant::now(), RefCell::default());
        let (collectives, threads) = (Cell::new(0), RefCell::default());
        Ok(Rc::new(Self { origin, ring, contexts, collectives, threads }))
    }

    /// Starts recording.
    pub(super) fn start(&self) {
        let threads = Threads::present();
        threads.watch();
        self.threads.replace(threads);
        self.ring.borrow_mut().is_on = true;
    }

    /// Stops recording.
    pub(super) fn stop(&self) {
        self.threads.borrow().stop_watching();
        self.ring.borrow_mut().is_on = false;
    }

    /// Returns the number of threads of the rank.
    pub(super) fn threads(&self) -> usize {
        self.threads.borrow().count()
    }

    /// Returns the time on this rank's clock.
    pub(super) fn now_ns(&self) -> u64 {
        self.ns(Instant::now())
    }

    /// Returns the number of events kept, and of those that were overwritten.
    pub(super) fn counts(&self) -> [u64; 2] {
        let ring = self.ring.borrow();
        let kept = ring.recorded.min(ring.events.len() as u64);
        [kept, ring.recorded - kept]
    }

    /// Returns `count` events after the `skipped` oldest ones, from the oldest on.
    pub(super) fn events(&self, skipped: usize, count: usize) -> Vec<Event> {
        let ring = self.ring.borrow();
        let (newer, older) = ring.events.split_at(ring.next);
        let older = if ring.recorded > ring.next as u64 { older } else { &[] };
        older.iter().chain(newer).skip(skipped).take(count).copied().collect()
    }

    pub(super) fn context_names(&self) -> Vec<&'static str> {
        self.contexts.borrow().clone()
    }

    /// Returns the observer of the next context.
    pub(super) fn context(self: &Rc<Self>, name: &'static str) -> Box<dyn MessageObserver> {
        let mut contexts = self.contexts.borrow_mut();
        contexts.push(name);
        let number = contexts.len() as u32 - 1;
        Box::new(ContextRecorder { recorder: Rc::clone(self), number, exchange: Cell::new(0) })
    }

    /// Records a collective that was entered at `entered` and waited for since `begun`.
    pub(super) fn collective(&self, entered: Instant, begun: Instant) {
        let (begun_ns, detail) = (self.ns(begun), self.ns(entered));
        let (exchange, kind) = (self.collectives.get(), Kind::Collective as u16);
        self.collectives.set(exchange.wrapping_add(1));
        self.record(Event { begun_ns, ended_ns: self.now_ns(), detail, exchange, kind, ..Event::zeroed() });
    }

    /// Records the threads' shares since the end of the last phase: as part of this phase if they
    /// began in it, otherwise as [`Phase::Other`].
    fn shares(&self, phase: Phase, begun_ns: u64) {
        let record = |Share { thread, begun, ended }: Share| {
            let (share_ns, ended_ns) = (self.ns(begun), self.ns(ended));
            let phase = if share_ns >= begun_ns { phase } else { Phase::Other };
            let (channel, peer, kind) = (phase as u16, thread as u32, Kind::Share as u16);
            self.record(Event { begun_ns: share_ns, ended_ns, channel, peer, kind, ..Event::zeroed() });
        };
        self.threads.borrow().take_shares(record);
    }

    fn ns(&self, time: Instant) -> u64 {
        time.saturating_duration_since(self.origin).as_nanos() as u64
    }

    fn record(&self, event: Event) {
        let Ring { events, next, recorded, is_on } = &mut *self.ring.borrow_mut();
        if let (true, Some(place)) = (*is_on, events.get_mut(*next)) {
            *place = event;
            *recorded += 1;
            *next = if *next + 1 == events.len() { 0 } else { *next + 1 };
        }
    }
}

impl Drop for Recorder {
    /// Stops watching the threads, which a run that ended early has not done.
    fn drop(&mut self) {
        self.threads.borrow().stop_watching();
    }
}

impl PhaseObserver for Recorder {
    fn phase(&self, phase: Phase, begun: Instant, lasted: Duration) {
        let begun_ns = self.ns(begun);
        let ended_ns = begun_ns + lasted.as_nanos() as u64;
        let (channel, kind) = (phase as u16, Kind::Phase as u16);
        // The time in flight has no shares of threads: these belong to the phases that hide it.
        if phase != Phase::HaloHidden {
            self.shares(phase, begun_ns);
        }
        self.record(Event { begun_ns, ended_ns, channel, kind, ..Event::zeroed() });
    }
}

/// Observer of one context.
struct ContextRecorder {
    recorder: Rc<Recorder>,
    number: u32,
    exchange: Cell<u32>,
}

impl ContextRecorder {
    fn record(&self, peer: usize, channel: u16, bytes: usize, kind: Kind, since: Option<Instant>) {
        let ended_ns = self.recorder.now_ns();
        self.recorder.record(Event {
            begun_ns: since.map_or(ended_ns, |since| self.recorder.ns(since)),
            ended_ns,
            detail: bytes as u64,
            exchange: self.exchange.get(),
            context: self.number,
            peer: peer as u32,
            channel,
            kind: kind as u16,
        });
    }
}

impl MessageObserver for ContextRecorder {
    fn started(&self, edge: &Edge, bytes: usize) {
        self.record(edge.peer, edge.send_channel, bytes, Kind::Sent, None);
    }

    fn arrived(&self, edge: &Edge, bytes: usize, waits_since: Option<Instant>) {
        self.record(edge.peer, edge.receive_channel, bytes, Kind::Received, waits_since);
    }

    fn completed(&self) {
        self.exchange.set(self.exchange.get().wrapping_add(1));
    }
}
