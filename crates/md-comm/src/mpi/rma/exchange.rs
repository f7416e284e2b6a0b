//! The contract, for every scheme.

use std::rc::Rc;

use super::super::ffi::Memory;
use super::super::world::Inner;
use super::arena::Plan;
use super::{Parts, Scheme};
use crate::negotiation::Change;
use crate::patience::Patience;
use crate::{Arrival, CommError, EdgeId, Exchange, ExchangeSpec, Growth, RmaOptions, Traffic, WindowKind};

/// What the ranks agree on in a negotiation if some slot is too small; above all levels of [`Change`].
const NEW_WINDOW: u64 = 3;

/// A context over a window.
#[derive(Debug)]
pub(in crate::mpi) struct OneSided<S> {
    pub(super) parts: Parts,
    scheme: S,
    /// Negotiations until writing into slots is rehearsed again.
    pub(super) until_rehearsal: u32,
}

impl<S: Scheme + 'static> OneSided<S> {
    /// *Collective.*
    pub(in crate::mpi) fn open(
        world: Rc<Inner>,
        spec: ExchangeSpec,
        options: RmaOptions,
    ) -> Result<Self, CommError> {
        let memory = match (S::MEMORY, options.window) {
            (Memory::Shared, _) => Memory::Shared,
            (_, WindowKind::Allocate) => Memory::Allocated,
            (_, WindowKind::Create) => Memory::Created,
            (_, WindowKind::Dynamic) => Memory::Attached,
        };
        let mut parts = Parts::open(
            world,
            spec,
            Plan { backend: S::BACKEND, memory, flags: S::FLAGS, form: S::FORM, options },
        )?;
        let scheme = begin(&mut parts)?;
        Ok(Self { parts, scheme, until_rehearsal: 0 })
    }
}

/// Opens the first epoch; nobody puts before all have done so. *Collective.*
fn begin<S: Scheme>(parts: &mut Parts) -> Result<S, CommError> {
    let scheme = S::open(parts)?;
    parts.world.control.barrier(parts.world.limit())?;
    Ok(scheme)
}

impl<S: Scheme + 'static> Exchange for OneSided<S> {
    fn spec(&self) -> &ExchangeSpec {
        self.parts.ledger.spec()
    }

    /// Waits for a free slot.
    fn send_buffer(&mut self, edge: EdgeId, bytes: usize) -> Result<&mut [u8], CommError> {
        let Self { parts, scheme, .. } = self;
        parts.ledger.pack(edge, bytes)?;
        parts.book_length(edge, bytes);
        if parts.leads_home(edge) {
            return parts.origin(edge, bytes);
        }
        let mut patience = Patience::new(parts.world.watchdog());
        while !scheme.may_pack(parts, edge)? {
            parts.poke()?;
            patience.pause().map_err(|expired| {
                let (peer, channel) = (parts.edge(edge).peer, parts.edge(edge).send_channel);
                parts
                    .ledger
                    .timeout(expired.waited_s, format!("a free slot of rank {peer} (channel {channel})"))
            })?;
        }
        if parts.overflows(edge) {
            return parts.overflow.buffer(&parts.world, &parts.ledger, (edge, bytes));
        }
        scheme.buffer(parts, edge, bytes)
    }

    fn start(&mut self, edge: EdgeId) -> Result<(), CommError> {
        let Self { parts, scheme, .. } = self;
        parts.ledger.start(edge)?;
        if parts.leads_home(edge) {
            return Ok(());
        }
        if parts.overflows(edge) {
            parts.overflow.send(&parts.world, &parts.ledger, edge)?;
        }
        parts.jitter.pause();
        scheme.start(parts, edge)
    }

    fn initiate(&mut self) -> Result<(), CommError> {
        let Self { parts, scheme, .. } = self;
        parts.ledger.initiate()?;
        parts.notice_own();
        parts.jitter.pause();
        scheme.initiate(parts)
    }

    fn progress(&mut self) -> Result<(), CommError> {
        self.parts.world.poke()
    }

    fn has_arrival(&mut self) -> Result<bool, CommError> {
        let Self { parts, scheme, .. } = self;
        parts.ledger.expect_initiated()?;
        if !parts.any_ready() && !parts.ledger.all_arrived() {
            scheme.poll(parts)?;
            parts.settle()?;
            if !parts.any_ready() {
                parts.poke()?;
            }
        }
        Ok(parts.any_ready())
    }

    fn next(&mut self) -> Result<Option<Arrival<'_>>, CommError> {
        let Self { parts, scheme, .. } = self;
        parts.ledger.expect_initiated()?;
        if parts.ledger.all_arrived() {
            return Ok(None);
        }
        let mut patience = Patience::new(parts.world.watchdog());
        while !parts.any_ready() {
            scheme.poll(parts)?;
            parts.settle()?;
            if !parts.any_ready() {
                parts.poke()?;
                let awaited = || parts.ledger.awaited_edges();
                patience.pause().map_err(|expired| parts.ledger.timeout(expired.waited_s, awaited()))?;
            }
        }
        parts.deliver()
    }

    fn complete(&mut self) -> Result<(), CommError> {
        let Self { parts, scheme, .. } = self;
        parts.ledger.complete()?;
        parts.poison_read()?;
        parts.jitter.pause();
        scheme.complete(parts)?;
        parts.next_exchange();
        Ok(())
    }

    fn reverse(&self) -> Result<Box<dyn Exchange>, CommError> {
        let parts = &self.parts;
        let (world, spec) = (Rc::clone(&parts.world), parts.ledger.reversed_spec());
        Ok(Box::new(Self::open(world, spec, parts.options())?))
    }

    fn negotiate(&mut self, need: &[usize]) -> Result<Growth, CommError> {
        let Self { parts, scheme, .. } = self;
        let mine = parts.ledger.change(need)?;
        parts.overflow.finish(&parts.world, &parts.ledger)?;
        scheme.close(parts)?;
        let fits = parts.arena.has_room(parts.ledger.capacities_for(need));
        let mine = if fits { mine.level().into() } else { NEW_WINDOW };
        let level = parts.world.control.highest(mine, parts.world.limit())?;
        let change = Change::from_level(level);
        if change != Change::None {
            parts.ledger.apply(need);
            parts.resize(level == NEW_WINDOW)?;
        }
        *scheme = begin(parts)?;
        self.rehearse_now_and_then(level == NEW_WINDOW)?;
        Ok(change.growth())
    }

    fn traffic(&self) -> Traffic {
        self.parts.ledger.traffic()
    }

    fn finalise(mut self: Box<Self>) -> Result<(), CommError> {
        self.parts.ledger.expect_idle("finalised")?;
        let Self { parts, scheme, .. } = &mut *self;
        parts.overflow.finish(&parts.world, &parts.ledger)?;
        scheme.close(parts)?;
        let Parts { arena, number, backward_number, overflow, world, .. } = parts;
        world.control.barrier(world.limit())?;
        arena.window.free()?;
        world.numbers.borrow_mut().release(*number);
        world.numbers.borrow_mut().release(*backward_number);
        overflow.release(world);
        Ok(())
    }
}
