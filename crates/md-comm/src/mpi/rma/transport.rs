//! The transport, common to all schemes.

use std::rc::Rc;

use super::super::edge_words::{self, Heard};
use super::super::world_state::WorldState;
use super::arena::WindowRequest;
use super::{Parts, Scheme};
use crate::error::Refused;
use crate::ledger::Ledger;
use crate::transport::{Poll, Transport};
use crate::{CommError, Edge, EdgeId, Growth, RmaOptions};

/// What a negotiation changes. The highest value of all ranks decides for all.
#[derive(Debug, Clone, Copy)]
enum Change {
    Nothing,
    Capacities,
    /// Some buffer is too small.
    Window,
}

/// A context over a window.
#[derive(Debug)]
pub(crate) struct OneSided<S> {
    pub(super) parts: Parts,
    scheme: S,
    /// Negotiations until the stores into shared memory are timed again.
    pub(super) until_rehearsal: u32,
}

impl<S: Scheme + 'static> OneSided<S> {
    /// Opens the context. *Collective.*
    pub(crate) fn open(
        world: Rc<WorldState>,
        ledger: &mut Ledger,
        options: RmaOptions,
    ) -> Result<Self, CommError> {
        let request = WindowRequest {
            backend: S::BACKEND,
            memory: S::memory(options),
            flags: S::FLAGS,
            form: S::FORM,
            options,
        };
        let mut parts = Parts::open(world, ledger, request)?;
        let scheme = S::open(&mut parts);
        // No rank puts before all have opened their first epoch.
        match scheme.and_then(|scheme| parts.world.barrier().map(|()| scheme)) {
            Ok(scheme) => Ok(Self { parts, scheme, until_rehearsal: 0 }),
            Err(error) if error.refused() == Some(Refused::Everywhere) => parts.end().and(Err(error)),
            Err(error) => Err(error),
        }
    }
}

impl<S: Scheme + 'static> Transport for OneSided<S> {
    /// Returns the send buffer, waiting for a free one.
    fn send_buffer(&mut self, edge: EdgeId, bytes: usize) -> Result<&mut [u8], CommError> {
        let Self { parts, scheme, .. } = self;
        parts.book_length(edge, bytes);
        if parts.is_to_self(edge) {
            return parts.origin(edge, bytes);
        }
        let Edge { peer, send_channel, .. } = *parts.edge(edge);
        let awaited = format_args!("a free buffer of rank {peer} (channel {send_channel})");
        parts.wait_for(awaited, |parts| {
            let is_free = scheme.may_pack(parts, edge)?;
            if !is_free {
                parts.drive_progress()?;
            }
            Ok(is_free)
        })?;
        if parts.overflows(edge) {
            return parts.overflow.buffer(&parts.world, &parts.terms, edge, bytes);
        }
        scheme.buffer(parts, edge, bytes)
    }

    fn start(&mut self, edge: EdgeId, _: usize) -> Result<(), CommError> {
        let Self { parts, scheme, .. } = self;
        if parts.is_to_self(edge) {
            return Ok(());
        }
        if parts.overflows(edge) {
            parts.overflow.send(&parts.world, &parts.terms, edge)?;
        }
        parts.jitter.pause();
        scheme.start(parts, edge)
    }

    fn initiate(&mut self) -> Result<(), CommError> {
        let Self { parts, scheme, .. } = self;
        parts.notice_own();
        parts.jitter.pause();
        scheme.initiate(parts)
    }

    fn poll(&mut self, ledger: &Ledger, poll: Poll) -> Result<Option<EdgeId>, CommError> {
        let parts = &self.parts;
        match poll {
            Poll::Progress => return parts.world.drive_progress().map(|()| None),
            Poll::Finish => return Ok(None),
            Poll::Probe if ledger.all_arrived() => return Ok(None),
            Poll::Probe | Poll::Wait => (),
        }
        poll.answer(parts.world.watchdog(), ledger, self, |Self { parts, scheme, .. }| {
            if let Some(edge) = parts.take_ready() {
                return Ok(Some(edge));
            }
            scheme.poll(parts)?;
            parts.settle()?;
            let edge = parts.take_ready();
            if edge.is_none() {
                parts.drive_progress()?;
            }
            Ok(edge)
        })
    }

    fn message(&mut self, edge: EdgeId) -> Result<&[u8], CommError> {
        self.parts.deliver(edge)
    }

    fn complete(&mut self) -> Result<(), CommError> {
        let Self { parts, scheme, .. } = self;
        parts.poison_read()?;
        parts.jitter.pause();
        scheme.complete(parts)?;
        parts.next_exchange();
        Ok(())
    }

    fn negotiate(&mut self, ledger: &mut Ledger, need: &[usize]) -> Result<Growth, CommError> {
        let Self { parts, scheme, .. } = self;
        let before = ledger.terms();
        parts.overflow.finish(&parts.world, &parts.terms)?;
        scheme.close(parts)?;
        let mine = if !parts.arena.has_room(ledger.capacities_for(need)) {
            Change::Window
        } else if ledger.changes(need) {
            Change::Capacities
        } else {
            Change::Nothing
        };
        let change = parts.world.highest(mine as u64)?;
        if change > Change::Nothing as u64 {
            ledger.apply(need);
            edge_words::tell_capacities(&parts.world, ledger, parts.number, Heard::Receivers)?;
            parts.terms = ledger.terms();
        }
        if change == Change::Window as u64 {
            parts.renew_window()?;
            self.until_rehearsal = 0;
        }
        scheme.reopen(parts)?;
        parts.world.barrier()?;
        self.rehearse_now_and_then(ledger)?;
        Ok(ledger.growth_since(&before))
    }

    fn finalise(mut self: Box<Self>) -> Result<(), CommError> {
        let Self { parts, scheme, .. } = &mut *self;
        parts.overflow.finish(&parts.world, &parts.terms)?;
        scheme.close(parts)?;
        scheme.end()?;
        parts.end()
    }
}
