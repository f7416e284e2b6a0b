//! Transfers into and out of another rank's memory.

use md_comm::mpi::{At, PlainMemory, PlainSpec, PlainWindow};
use md_comm::{Asserts, CommError, Rank};

use super::plain::{Windows, content, fill, verified};
use super::series::{Series, parts};
use super::walk::{LEAST_WALK, through};
use super::{Benchmark, Case, Distance, Ground, Stage};
use crate::Problem;
use crate::sampling::sample_one;

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
        let transfer = Transfer::new(*self, case, stage);
        let bytes = case.bytes;
        let mut gone_through = 0;
        let work = |window: &mut PlainWindow| {
            gone_through = window.bytes();
            transfer.sample(window, stage)
        };
        let right = |window: &PlainWindow, own: &[u8]| {
            let came = if *self == Self::Pull { window.got()? } else { own };
            Ok(transfer.partner.is_none_or(|partner| content(partner).first_wrong(came).is_none()))
        };
        let memory = match transfer.access {
            Access::Store => PlainMemory::Shared,
            Access::Put | Access::Get => PlainMemory::Allocated,
        };
        let [walked, least] = [stage.walk_bytes, LEAST_WALK.min(stage.walk_bytes)]
            .map(|walk_bytes| transfer.places_in(walk_bytes) * bytes);
        let spec = PlainSpec { memory, windows: 1, bytes: walked, asserts: Asserts::Off };
        let samples_s = verified(stage, Windows { spec, least_bytes: least, seen: bytes }, work, right)?;
        let mut series = parts(&[""], samples_s, bytes as f64);
        if gone_through > bytes {
            series.iter_mut().for_each(|series| series.note = through(gone_through));
        }
        Ok(series)
    }
}

/// Transfer of a message between this rank and its partner.
struct Transfer {
    access: Access,
    bytes: usize,
    distance: Distance,
    /// The rank at the other end; `None` on ranks that move no messages.
    partner: Option<Rank>,
}

impl Transfer {
    fn new(direction: Push, case: &Case, stage: &Stage) -> Self {
        let access = match direction {
            Push::Pull => Access::Get,
            Push::Push if case.mechanism.name() == STORE => Access::Store,
            Push::Push => Access::Put,
        };
        let ends = [(0, case.peer), (case.peer, 0)];
        let partner = ends.into_iter().find(|&(rank, _)| rank == stage.world.rank()).map(|(_, peer)| peer);
        Self { access, bytes: case.bytes, distance: case.distance, partner }
    }

    /// Returns the number of places for messages: within a node, caches would move small messages,
    /// so each goes to another place.
    fn places_in(&self, walk_bytes: usize) -> usize {
        if self.distance == Distance::Between { 1 } else { (walk_bytes / self.bytes.max(1)).max(1) }
    }

    /// Samples transfers to one place after another. *Collective.*
    fn sample(&self, window: &mut PlainWindow, stage: &Stage) -> Result<Vec<Vec<f64>>, Problem> {
        let Self { bytes, .. } = *self;
        let (world, places, mut place) = (stage.world, self.places_in(window.bytes()), 0);
        fill(window, world, bytes)?;
        window.with_own(0, |own| content(world.rank()).fill(&mut own[..bytes]))?;
        window.lock_all()?;
        // Access every page once.
        let page = (PAGE / bytes.max(1)).max(1);
        (0..places).step_by(page).try_for_each(|place| self.once(window, place))?;
        let samples_s = sample_one(world, stage.effort, || {
            place = (place + 1) % places;
            self.once(window, place)
        })?;
        self.once(window, 0)?;
        window.unlock_all()?;
        Ok(samples_s)
    }

    fn once(&self, window: &mut PlainWindow, place: usize) -> Result<(), CommError> {
        let Some(partner) = self.partner else { return Ok(()) };
        let at = At { offset: place * self.bytes, ..At::start_of(partner) };
        self.access.once(window, self.bytes, at)
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
