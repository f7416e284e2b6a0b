//! The transport, common to all schemes.

use std::rc::Rc;

use super::super::edge_words::{self, Recipients};
use super::super::world_state::WorldState;
use super::arena::WindowRequest;
use super::{Scheme, WindowContext};
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
    pub(super) context: WindowContext,
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
        let mut context = WindowContext::open(world, ledger, request)?;
        let scheme = S::open(&mut context);
        // No rank puts before all have opened their first epoch.
        match scheme.and_then(|scheme| context.world.barrier().map(|()| scheme)) {
            Ok(scheme) => Ok(Self { context, scheme, until_rehearsal: 0 }),
            Err(error) if error.refused() == Some(Refused::Everywhere) => context.end().and(Err(error)),
            Err(error) => Err(error),
        }
    }
}

impl<S: Scheme + 'static> Transport for OneSided<S> {
    /// Returns the send buffer, waiting for a free one.
    fn send_buffer(&mut self, edge: EdgeId, bytes: usize) -> Result<&mut [u8], CommError> {
        let Self { context, scheme, .. } = self;
        context.book_length(edge, bytes);
        if context.is_to_self(edge) {
            return context.origin(edge, bytes);
        }
        let Edge { peer, send_channel, .. } = *context.edge(edge);
        let awaited = format_args!("a free buffer of rank {peer} (channel {send_channel})");
        context.wait_for(awaited, |context| {
            let is_free = scheme.may_pack(context, edge)?;
            if !is_free {
                context.drive_progress()?;
            }
            Ok(is_free)
        })?;
        if context.overflows(edge) {
            return context.overflow.buffer(&context.world, &context.layout, edge, bytes);
        }
        scheme.buffer(context, edge, bytes)
    }

    fn start(&mut self, edge: EdgeId, _: usize) -> Result<(), CommError> {
        let Self { context, scheme, .. } = self;
        if context.is_to_self(edge) {
            return Ok(());
        }
        if context.overflows(edge) {
            context.overflow.send(&context.world, &context.layout, edge)?;
        }
        context.jitter.pause();
        scheme.start(context, edge)
    }

    fn initiate(&mut self) -> Result<(), CommError> {
        let Self { context, scheme, .. } = self;
        context.notice_own();
        context.jitter.pause();
        scheme.initiate(context)
    }

    fn poll(&mut self, ledger: &Ledger, poll: Poll) -> Result<Option<EdgeId>, CommError> {
        let context = &self.context;
        match poll {
            Poll::Progress => return context.world.drive_progress().map(|()| None),
            Poll::Finish => return Ok(None),
            Poll::Probe if ledger.all_arrived() => return Ok(None),
            Poll::Probe | Poll::Wait => (),
        }
        poll.answer(context.world.watchdog(), ledger, self, |Self { context, scheme, .. }| {
            if let Some(edge) = context.take_ready() {
                return Ok(Some(edge));
            }
            scheme.poll(context)?;
            context.settle()?;
            let edge = context.take_ready();
            if edge.is_none() {
                context.drive_progress()?;
            }
            Ok(edge)
        })
    }

    fn message(&mut self, edge: EdgeId) -> Result<&[u8], CommError> {
        self.context.deliver(edge)
    }

    fn complete(&mut self) -> Result<(), CommError> {
        let Self { context, scheme, .. } = self;
        context.poison_read()?;
        context.jitter.pause();
        scheme.complete(context)?;
        context.next_exchange();
        Ok(())
    }

    fn negotiate(&mut self, ledger: &mut Ledger, need: &[usize]) -> Result<Growth, CommError> {
        let Self { context, scheme, .. } = self;
        let before = ledger.layout();
        context.overflow.finish(&context.world, &context.layout)?;
        scheme.close(context)?;
        let mine = if !context.arena.has_room(ledger.capacities_for(need)) {
            Change::Window
        } else if ledger.changes(need) {
            Change::Capacities
        } else {
            Change::Nothing
        };
        let change = context.world.highest(mine as u64)?;
        if change > Change::Nothing as u64 {
            ledger.apply(need);
            edge_words::tell_capacities(&context.world, ledger, context.number, Recipients::Receivers)?;
            context.layout = ledger.layout();
        }
        if change == Change::Window as u64 {
            context.renew_window()?;
            self.until_rehearsal = 0;
        }
        scheme.reopen(context)?;
        context.world.barrier()?;
        self.rehearse_now_and_then(ledger)?;
        Ok(ledger.growth_since(&before))
    }

    fn finalise(mut self: Box<Self>) -> Result<(), CommError> {
        let Self { context, scheme, .. } = &mut *self;
        context.overflow.finish(&context.world, &context.layout)?;
        scheme.close(context)?;
        scheme.end()?;
        context.end()
    }
}
