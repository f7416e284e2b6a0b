//! Transfers into and out of another rank's memory.

use md_comm::mpi::{At, PlainMemory, PlainSpec, PlainWindow};
use md_comm::{Asserts, CommError};

use super::plain::{Windows, content, fill, verified};
use super::series::{Series, parts};
use super::walk::{LEAST_WALK, through};
use super::{Benchmark, Case, Distance, Ground, Stage};
use crate::Problem;
use crate::sampling::sample_in_turn;

const SIZES: [usize; 6] = [8, 512, 8 << 10, 128 << 10, 1 << 20, 8 << 20];
const STORE: &str = "store";
/// Page size, bytes. A page of another process's memory is mapped at its first access, which takes
/// longer than any later one.
const PAGE: usize = 4 << 10;

/// Direction of the transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Push {
    /// Put and flush; also streaming stores where ranks share memory.
    Push,
    /// Get and flush.
    Pull,
}

impl Benchmark for Push {
    fn name(&self) -> &'static str {
        if *self == Self::Push { "push" } else { "pull" }
    }

    fn cases(&self, ground: &Ground) -> Vec<Case> {
        let mechanisms: &[_] = if *self == Self::Push { &["put", STORE] } else { &["get"] };
        let mut cases = ground.plain(mechanisms, &SIZES);
        let shares = ground.distance() != Distance::Mixed;
        cases.retain(|case| case.mechanism.name() != STORE || shares);
        cases
    }

    /// Measures rank 0 and its partner at the same time.
    fn run(&self, case: &Case, stage: &Stage) -> Result<Vec<Series>, Problem> {
        let (world, bytes, peer) = (stage.world, case.bytes, case.peer);
        let partner = [(0, peer), (peer, 0)].into_iter().find(|&(rank, _)| rank == world.rank());
        let access = match self {
            Self::Pull => Access::Get,
            Self::Push if case.mechanism.name() == STORE => Access::Store,
            Self::Push => Access::Put,
        };
        // Within a node, caches would move small messages, so each goes to another place.
        let mut gone_through = 0;
        let places_in = |walk_bytes: usize| {
            if case.distance == Distance::Between { 1 } else { (walk_bytes / bytes.max(1)).max(1) }
        };
        let work = |window: &mut PlainWindow| {
            gone_through = window.bytes();
            let (places, mut place) = (places_in(gone_through), 0);
            fill(window, world, bytes)?;
            window.with_own(0, |own| content(world.rank()).fill(&mut own[..bytes]))?;
            window.lock_all()?;
            let once = |window: &mut PlainWindow, place: usize| {
                let Some((_, rank)) = partner else { return Ok(()) };
                access.once(window, bytes, At { offset: place * bytes, ..At::start_of(rank) })
            };
            // Access every page once.
            (0..places).step_by((PAGE / bytes.max(1)).max(1)).try_for_each(|place| once(window, place))?;
            let samples_s = sample_in_turn(world, 1, stage.effort, |_, iterations| {
                for _ in 0..iterations {
                    place = (place + 1) % places;
                    once(window, place)?;
                }
                Ok::<_, Problem>(())
            })?;
            once(window, 0)?;
            window.unlock_all()?;
            Ok(samples_s)
        };
        let right = |window: &PlainWindow, own: &[u8]| {
            let came = if *self == Self::Pull { window.got()? } else { own };
            Ok(partner.is_none_or(|(_, rank)| content(rank).first_wrong(came).is_none()))
        };
        let memory =
            if case.mechanism.name() == STORE { PlainMemory::Shared } else { PlainMemory::Allocated };
        let [walked, least] = [stage.walk_bytes, LEAST_WALK.min(stage.walk_bytes)]
            .map(|walk_bytes| places_in(walk_bytes) * bytes);
        let spec = PlainSpec { memory, windows: 1, bytes: walked, asserts: Asserts::Off };
        let samples_s = verified(stage, Windows { spec, least_bytes: least, seen: bytes }, work, right)?;
        let mut series = parts(&[""], samples_s, bytes as f64);
        if gone_through > bytes {
            series.iter_mut().for_each(|series| series.note = through(gone_through));
        }
        Ok(series)
    }
}

/// Operation that moves a message.
#[derive(Debug, Clone, Copy)]
enum Access {
    Put,
    Get,
    Store,
}

impl Access {
    /// Moves a message and waits until it has arrived.
    fn once(self, window: &mut PlainWindow, bytes: usize, at: At) -> Result<(), CommError> {
        match self {
            Self::Put => window.put(0..bytes, at)?,
            Self::Get => window.get(bytes, at)?,
            Self::Store => window.store(0..bytes, at)?,
        }
        window.flush()
    }
}
