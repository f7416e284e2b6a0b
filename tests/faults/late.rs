//! Late ranks on backend `local`, whose ranks are threads: messages that arrive late and in another
//! order, and a rank a hundred times slower than the others. A fault in every exchange delays the
//! ranks. Only the timing may change.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use md_comm::conformance::{self, Call, Delivery, Then};
use md_comm::{CommError, EdgeId, Exchange, ExchangeSpec, World, local};
use md_core::halo::ExchangePattern;
use md_core::lattice::{Lattice, LatticeKind};
use md_core::potential::LennardJones;
use md_engine::{Config, EngineError, ParticleRow, RowVector, Setup, Simulation};

use crate::support::Random;

const STEPS: u64 = 40;
/// Least number of rebuilds. With these and the temperature, particles change ranks.
const REBUILDS: u64 = 2;
const WATCHDOG: Duration = Duration::from_secs(10);
/// Longest delay of a rank before it sends, initiates or completes.
const LONGEST_DELAY_US: usize = 500;
/// Ratio of the slow rank's sleep to its work. The sleep is limited, so that the other ranks do not
/// give up.
const SLEEP_PER_WORK: u32 = 99;
const LONGEST_SLEEP: Duration = Duration::from_secs(2);

/// Cause of the delay of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lateness {
    None,
    /// Random delays, so that messages arrive in any order.
    Messages,
    /// The last rank is slow.
    Rank,
}

/// Record of one rank.
#[derive(Debug, Clone)]
struct Notes {
    /// Number of exchanges whose messages arrived in another order than those of the previous
    /// exchange.
    reordered: Cell<u32>,
    held_up: Cell<u32>,
    /// Time of the last delay.
    since: Cell<Instant>,
}

/// Particles at the end, complete on rank 0, and the sums of the records of all ranks.
struct Played {
    rows: Vec<ParticleRow>,
    reordered: u32,
    held_up: u32,
}

/// Runs a simulation without delays and with late ranks, and compares all positions, velocities and
/// forces bit by bit.
pub(crate) fn play(lateness: Lateness, ranks: usize) -> Result<(), String> {
    // For a slow rank, the order of messages does not matter.
    let patterns = match lateness {
        Lateness::Rank => &[ExchangePattern::Direct][..],
        Lateness::None | Lateness::Messages => &[ExchangePattern::Direct, ExchangePattern::Staged],
    };
    for &pattern in patterns {
        let [expected, late] = [Lateness::None, lateness].map(|lateness| simulate(lateness, ranks, pattern));
        let (expected, late) = (expected?, late?);
        if late.held_up == 0 || expected.held_up > 0 {
            return Err("nobody was held up".to_owned());
        }
        // With two ranks, each waits for only one message.
        if lateness == Lateness::Messages
            && ranks > 2
            && pattern == ExchangePattern::Direct
            && late.reordered == 0
        {
            return Err("all messages came in the same order".to_owned());
        }
        if expected.rows.is_empty() || late.rows != expected.rows {
            return Err(format!("{pattern:?}: particles are elsewhere than without delays"));
        }
    }
    Ok(())
}

fn simulate(lateness: Lateness, ranks: usize, pattern: ExchangePattern) -> Result<Played, String> {
    let lattice = Lattice::with_density(LatticeKind::Fcc, 0.8442, [6, 5, 5]);
    let mut config = Config::new(lattice, LennardJones::reduced(2.5));
    config.temperature = Some(3.0);
    config.parallel.exchange = pattern;
    let setup = Setup::new(config, ranks).map_err(|error| error.to_string())?;
    let ends = local::run(ranks, WATCHDOG, |inner| {
        let notes =
            Notes { reordered: Cell::new(0), held_up: Cell::new(0), since: Cell::new(Instant::now()) };
        let world = LateWorld { inner, lateness, notes: Rc::new(notes) };
        let mut simulation = Simulation::new(&world, &setup)?;
        simulation.run(STEPS, &mut [])?;
        let rebuilds = simulation.neighbor_report().rebuilds;
        let mut rows = simulation.gather_rows(RowVector::Velocity)?;
        rows.extend(simulation.gather_rows(RowVector::Force)?);
        simulation.finalise()?;
        Ok::<_, EngineError>((rows, rebuilds, world.notes.reordered.get(), world.notes.held_up.get()))
    });
    let mut played = Played { rows: Vec::new(), reordered: 0, held_up: 0 };
    for ended in ends {
        let ended = ended.map_err(|panic| panic.to_string())?.map_err(|error| error.to_string())?;
        let (rows, rebuilds, reordered, held_up) = ended;
        if rebuilds < REBUILDS {
            return Err(format!("only {rebuilds} rebuilds"));
        }
        played.rows.extend(rows);
        played.reordered += reordered;
        played.held_up += held_up;
    }
    Ok(played)
}

/// A world whose exchanges are delayed.
struct LateWorld<'w> {
    inner: &'w dyn World,
    lateness: Lateness,
    notes: Rc<Notes>,
}

/// The fault in one context.
struct Late {
    lateness: Lateness,
    is_slow: bool,
    random: Random,
    /// Edges in the order in which their messages arrived, in this exchange and in the previous
    /// one.
    arrived: [Vec<EdgeId>; 2],
    notes: Rc<Notes>,
}

impl Late {
    fn delay(&mut self) -> Duration {
        match self.lateness {
            Lateness::Messages => Duration::from_micros(self.random.below(LONGEST_DELAY_US) as u64),
            Lateness::Rank if self.is_slow => {
                (SLEEP_PER_WORK * self.notes.since.get().elapsed()).min(LONGEST_SLEEP)
            }
            Lateness::Rank | Lateness::None => Duration::ZERO,
        }
    }
}

impl conformance::Fault for Late {
    fn before(&mut self, call: Call) -> Result<Then, CommError> {
        let delay = self.delay();
        if !delay.is_zero() {
            std::thread::sleep(delay);
            self.notes.held_up.update(|times| times + 1);
        }
        self.notes.since.set(Instant::now());
        if call == Call::Complete {
            let [now, before] = &mut self.arrived;
            if now != before && now.len() == before.len() {
                self.notes.reordered.update(|times| times + 1);
            }
            *before = std::mem::take(now);
        }
        Ok(Then::Proceed)
    }

    fn falsify(&mut self, delivery: &mut Delivery) {
        self.arrived[0].push(delivery.edge);
    }
}

impl World for LateWorld<'_> {
    md_comm::forward_to_inner!(rank ranks open_unexpected open_file gather_all broadcast gather shift barrier abort platform);

    fn open(&self, spec: ExchangeSpec) -> Result<Exchange, CommError> {
        let (lateness, rank, notes) = (self.lateness, self.rank(), Rc::clone(&self.notes));
        let is_slow = rank + 1 == self.ranks();
        Ok(self.inner.open(spec)?.with_fault(move |_| {
            let (random, arrived) = (Random::new(rank as u64), [Vec::new(), Vec::new()]);
            Box::new(Late { lateness, is_slow, random, arrived, notes: Rc::clone(&notes) })
        }))
    }
}
