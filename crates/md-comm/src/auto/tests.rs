//! `auto` over `local` worlds, in which each candidate is delayed by a time that the test sets.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use super::*;
use crate::conformance::{Call, Fault, Faulty, Then};
use crate::ledger::Ledger;
use crate::local::{LocalWorld, run_on};
use crate::{
    Buffering, Choice, CommError, Edge, EdgeId, Exchange, ExchangeSpec, Flow, Growth, Outcome, Sizes, World,
};

const WATCHDOG: Duration = Duration::from_secs(60);
const TRIALS: Trials = Trials { exchanges_per_block: 2, blocks: 3, watched_blocks: 1 };
/// A delay far longer than a scheduler takes a core away.
const SLOW: Duration = Duration::from_millis(20);
const RANKS: usize = 2;
/// p2p, shm and rma-ring run; rma-lock is refused everywhere, rma-pscw on one rank.
const ENTRIES: usize = 3;
/// Exchanges of a trial.
const TRIAL: u64 = 2 * 3 * ENTRIES as u64;

#[derive(Clone)]
struct Stalls {
    world: LocalWorld,
    /// Delay of p2p, shm, rma-ring; may change while contexts are open.
    delays: Rc<Cell<[Duration; ENTRIES]>>,
    /// Fails when lengths grow, on rank 1.
    failing: Option<Backend>,
    /// Number of attempts to open `rma-lock`, which is refused.
    attempts: Rc<Cell<u32>>,
}

impl Stalls {
    fn exchange(&self, spec: ExchangeSpec) -> Exchange {
        let sizes = spec.sizes;
        let mut ledger = Ledger::new(self.world.rank(), self.world.ranks(), spec).unwrap();
        let preferred = Candidates::open(self, PREFERRED, &mut ledger).unwrap();
        let transport = match sizes {
            Sizes::Variable => preferred,
            Sizes::Fixed => Box::new(Auto::new(Box::new(self.clone()), TRIALS, preferred)),
        };
        let world = self.clone();
        Exchange::new(ledger, transport, move |spec| Ok(world.exchange(spec)))
    }
}

/// Delays a candidate, or makes it fail when lengths grow.
struct Stall {
    delays: Rc<Cell<[Duration; ENTRIES]>>,
    which: usize,
    fails: bool,
}

impl Fault for Stall {
    fn before(&mut self, call: Call) -> Result<Then, CommError> {
        if call == Call::Initiate {
            std::thread::sleep(self.delays.get()[self.which]);
        }
        Ok(Then::Proceed)
    }

    fn report(&mut self, growth: Growth) -> Result<Growth, CommError> {
        let message = "no window of this length".to_owned();
        if self.fails && growth == Growth::Grown {
            Err(CommError::Mpi { call: "MPI_Win_allocate", message })
        } else {
            Ok(growth)
        }
    }
}

impl Candidates for Stalls {
    fn world(&self) -> &dyn World {
        &self.world
    }

    fn list(&self) -> Result<Vec<Backend>, CommError> {
        use Backend::{P2p, RmaLock, RmaPscw, RmaRing, Shm};
        Ok(vec![P2p, Shm, RmaLock, RmaPscw, RmaRing])
    }

    fn open(&self, backend: Backend, ledger: &mut Ledger) -> Result<Box<dyn Transport>, CommError> {
        let refuse =
            |reason: &str| Err(CommError::Unavailable { backend: backend.name(), reason: reason.to_owned() });
        if backend == Backend::RmaPscw {
            // Opening is collective, even if only one rank has a reason to refuse.
            let opened = self.world.transport(ledger)?;
            return if self.world.rank() == 1 { refuse("rank 1 cannot") } else { Ok(opened) };
        }
        let known = [Backend::P2p, Backend::Shm, Backend::RmaRing];
        let Some(which) = known.iter().position(|&known| known == backend) else {
            self.attempts.set(self.attempts.get() + 1);
            return refuse(&format!("there is no {} here", backend.name()));
        };
        let fails = self.world.rank() == 1 && self.failing == Some(backend);
        let stall = Stall { delays: Rc::clone(&self.delays), which, fails };
        Ok(Box::new(Faulty::new(self.world.transport(ledger)?, Box::new(stall))))
    }
}

/// One rank of a pair that exchanges messages of eight bytes.
struct Player {
    exchange: Exchange,
    rank: u8,
    bytes: usize,
}

impl Player {
    fn open(stalls: &Stalls, sizes: Sizes) -> Self {
        let edge = Edge {
            peer: 1 - stalls.world.rank(),
            send_channel: 0,
            receive_channel: 0,
            flow: Flow::Both,
            send_capacity: 8,
        };
        let spec = ExchangeSpec { name: "pair", edges: vec![edge], sizes, buffering: Buffering::Double };
        let exchange = stalls.exchange(spec);
        Self { exchange, rank: stalls.world.rank() as u8, bytes: 8 }
    }

    fn play(&mut self, exchanges: u64) {
        for i in 0..exchanges {
            let stamp = i as u8 ^ self.rank;
            self.exchange.send_buffer(EdgeId(0), self.bytes).unwrap().fill(stamp);
            self.exchange.start(EdgeId(0)).unwrap();
            self.exchange.initiate().unwrap();
            let expected = i as u8 ^ (1 - self.rank);
            while let Some(arrival) = self.exchange.next().unwrap() {
                assert!(arrival.bytes.len() == self.bytes && arrival.bytes.iter().all(|&b| b == expected));
            }
            self.exchange.complete().unwrap();
        }
    }

    fn negotiate(&mut self, bytes: usize) {
        self.bytes = bytes;
        self.exchange.negotiate(&[bytes]).unwrap();
    }

    /// Uses the context, after which the candidates are opened.
    fn begin_trial(&mut self) {
        self.play(1);
        self.negotiate(self.bytes);
    }

    fn choice(&self) -> Choice {
        self.exchange.choice().unwrap()
    }
}

/// Runs `work` on both ranks and returns the result of rank 0; that of rank 1 must be the same.
fn on_both<T: Send + PartialEq + std::fmt::Debug>(work: impl Fn(&Stalls) -> T + Sync) -> T {
    with_failing(None, work)
}

fn with_failing<T: Send + PartialEq + std::fmt::Debug>(
    failing: Option<Backend>,
    work: impl Fn(&Stalls) -> T + Sync,
) -> T {
    let fast_ring = [SLOW, SLOW, Duration::ZERO];
    let ends = run_on(RANKS, WATCHDOG, |world| {
        let (delays, attempts) = (Rc::new(Cell::new(fast_ring)), Rc::default());
        work(&Stalls { world: world.clone(), delays, failing, attempts })
    });
    let [first, second] = ends.try_into().unwrap_or_else(|ends| panic!("{ends:?}"));
    assert_eq!(first, second);
    first.unwrap()
}

fn why(choice: &Choice, backend: Backend) -> String {
    match &choice.candidates.iter().find(|tried| tried.backend == backend).unwrap().outcome {
        Outcome::NotTimed { why } => why.clone(),
        Outcome::Timed { median_s } => format!("timed: {median_s}"),
    }
}

#[test]
fn the_fastest_is_chosen_and_the_refused_are_named() {
    let choice = on_both(|stalls| {
        let mut pair = Player::open(stalls, Sizes::Fixed);
        pair.begin_trial();
        pair.play(TRIAL);
        pair.negotiate(8);
        pair.play(5);
        let sent = pair.exchange.traffic();
        assert_eq!((sent.messages, sent.bytes), (TRIAL + 6, 8 * (TRIAL + 6)));
        let choice = pair.choice();
        pair.exchange.finalise().unwrap();
        choice
    });
    assert_eq!((choice.chosen, choice.rechecks), (Some(Backend::RmaRing), 0), "{choice:?}");
    assert_eq!(why(&choice, Backend::RmaLock), "there is no rma-lock here");
    assert_eq!(why(&choice, Backend::RmaPscw), "rank 1 cannot");
    assert!(why(&choice, Backend::P2p).starts_with("timed: 0.0"), "{choice:?}");
    assert!(choice.reason.starts_with("`rma-ring` was the fastest"), "{choice:?}");
}

#[test]
fn a_run_that_is_too_short_says_so() {
    let (none, first, short, waiting) = on_both(|stalls| {
        let mut pair = Player::open(stalls, Sizes::Fixed);
        pair.negotiate(8);
        pair.negotiate(8);
        let none = pair.choice();
        pair.play(1);
        let first = pair.choice();
        pair.negotiate(8);
        pair.play(4);
        pair.negotiate(8);
        let short = pair.choice();
        pair.play(TRIAL - 4);
        let waiting = pair.choice();
        pair.exchange.finalise().unwrap();
        (none, first, short, waiting)
    });
    assert!([&none, &first, &short, &waiting].iter().all(|choice| choice.chosen.is_none()));
    assert_eq!((none.reason.as_str(), none.candidates.len()), ("the run had no such exchange", 0));
    assert!(first.reason.contains("at the negotiation after the first exchange"), "{first:?}");
    assert_eq!(short.reason, "the run was too short: 4 of the 18 exchanges of a trial were made");
    assert!(waiting.reason.contains("no negotiation followed"), "{waiting:?}");
    assert_eq!(why(&short, Backend::Shm), "the trial is not over");
}

#[test]
fn other_sizes_bring_a_new_trial() {
    let choices = on_both(|stalls| {
        let mut pair = Player::open(stalls, Sizes::Fixed);
        pair.begin_trial();
        pair.play(TRIAL);
        pair.negotiate(8);
        pair.negotiate(11);
        let slightly = pair.choice();
        // One exchange of the chosen backend is timed, which must not count in the new trial.
        pair.play(1);
        pair.negotiate(40);
        let much = pair.choice();
        stalls.delays.set([SLOW, Duration::ZERO, SLOW]);
        pair.play(TRIAL);
        pair.negotiate(40);
        pair.play(3);
        let choices = [slightly, much, pair.choice()];
        assert_eq!(stalls.attempts.get(), 1, "what was refused is not tried again");
        pair.exchange.finalise().unwrap();
        choices
    });
    assert_eq!(choices.clone().map(|choice| choice.rechecks), [0, 1, 1]);
    assert!(choices[1].reason.contains("80 bytes, at the choice it had 16;"), "{choices:?}");
    assert_eq!(choices[2].chosen, Some(Backend::Shm), "{choices:?}");
    assert_eq!(why(&choices[2], Backend::RmaLock), "there is no rma-lock here");
}

#[test]
fn a_candidate_that_fails_when_lengths_change_is_refused_on_all_ranks() {
    for (failing, played) in [(Backend::RmaRing, 0), (Backend::RmaRing, 4), (Backend::P2p, 0)] {
        let choice = with_failing(Some(failing), |stalls| {
            let mut pair = Player::open(stalls, Sizes::Fixed);
            stalls.delays.set([SLOW, Duration::ZERO, SLOW]);
            pair.begin_trial();
            pair.play(played);
            pair.negotiate(40);
            pair.play(2 * TRIAL / 3);
            pair.negotiate(40);
            let choice = pair.choice();
            pair.exchange.finalise().unwrap();
            choice
        });
        assert_eq!(why(&choice, failing), "MPI_Win_allocate failed: no window of this length");
        assert_eq!(choice.chosen, Some(Backend::Shm), "{choice:?}");
    }
}

#[test]
fn a_backend_that_has_become_slow_is_tried_again() {
    let choice = on_both(|stalls| {
        let mut pair = Player::open(stalls, Sizes::Fixed);
        pair.begin_trial();
        pair.play(TRIAL);
        pair.negotiate(8);
        stalls.delays.set([Duration::ZERO, SLOW, SLOW]);
        pair.play(2);
        pair.negotiate(8);
        let why = pair.choice().reason;
        assert!(why.contains("times as long as at the choice"), "{why}");
        pair.play(TRIAL);
        pair.negotiate(8);
        let choice = pair.choice();
        pair.exchange.finalise().unwrap();
        choice
    });
    assert_eq!((choice.chosen, choice.rechecks), (Some(Backend::P2p), 1), "{choice:?}");
}

#[test]
fn a_reverse_context_has_a_trial_of_its_own() {
    let choices = on_both(|stalls| {
        let mut forward = Player::open(stalls, Sizes::Fixed);
        forward.begin_trial();
        forward.play(TRIAL);
        forward.negotiate(8);
        let exchange = forward.exchange.reverse().unwrap();
        let mut back = Player { exchange, rank: forward.rank, bytes: 8 };
        back.begin_trial();
        back.play(3);
        let early = back.choice().chosen;
        back.play(TRIAL - 3);
        back.negotiate(8);
        let choices = [early, back.choice().chosen, forward.choice().chosen];
        back.exchange.finalise().unwrap();
        forward.exchange.finalise().unwrap();
        choices
    });
    assert_eq!(choices, [None, Some(Backend::RmaRing), Some(Backend::RmaRing)]);
}

#[test]
fn varying_lengths_are_not_worth_a_trial() {
    let chosen = on_both(|stalls| {
        let mut pair = Player::open(stalls, Sizes::Variable);
        pair.play(2);
        let choice = pair.exchange.choice();
        pair.exchange.finalise().unwrap();
        choice
    });
    assert_eq!(chosen, None);
}
