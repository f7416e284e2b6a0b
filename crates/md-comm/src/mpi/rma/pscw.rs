//! `rma-pscw`: post, start, complete, wait: epochs among neighbours instead of all ranks.
//!
//! Structure: `post` admits the ranks that send to this one: at the end of `complete`, or, with two
//! buffers, as soon as the last messages have arrived; with `epoch = "initiate"` when the exchange
//! begins. `start` comes with the first edge packed and waits until the receivers have posted: it
//! is the credit. `MPI_Win_complete` is in `initiate`; arrivals are found by `MPI_Win_test`, all at
//! once.
//! Relies on: test or wait succeed only when all admitted ranks have completed and their puts are
//! visible (MPI-3.1 section 11.5.2). Never `MPI_MODE_NOCHECK`: Open MPI's osc/sm then returns from
//! wait before the puts have arrived (all of 4.1 and 5.0).
//! Cost: two latencies (post, complete), of which the post is hidden behind the computation between
//! two exchanges.
//! Advantage: skew spreads only to neighbours.
//! Disadvantage: two control messages per neighbour; one slow neighbour delays the messages of all
//! others, because an epoch ends as a whole.

use super::super::ffi::{Assertion, Group};
use super::{Scheme, WindowContext};
use crate::{Backend, CommError, EdgeId};

/// Epochs of one context.
#[derive(Debug)]
pub(crate) struct Pscw {
    /// Ranks that put here, and ranks that this one puts to.
    sources: Group,
    targets: Group,
    accessing: bool,
    exposed: bool,
    /// Whether all messages of this exchange have arrived.
    arrived: bool,
    /// Whether the part has been zeroed and not been posted since: these are the only stores of its
    /// owner.
    zeroed: bool,
}

impl Pscw {
    fn expose(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        if !self.sources.is_empty() && !self.exposed {
            let assertions: &[Assertion] = if self.zeroed { &[] } else { &[Assertion::NoStore] };
            context.arena.window.post(&self.sources, assertions)?;
            (self.exposed, self.zeroed) = (true, false);
        }
        Ok(())
    }

    /// Admits the senders of the next exchange, unless they are to be admitted at its beginning.
    fn expose_ahead(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        if context.opens_ahead() { self.expose(context) } else { Ok(()) }
    }

    fn access(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        if !self.targets.is_empty() && !self.accessing {
            context.arena.window.start(&self.targets)?;
            self.accessing = true;
        }
        Ok(())
    }

    fn end_access(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        if std::mem::take(&mut self.accessing) { context.arena.window.complete() } else { Ok(()) }
    }

    fn end_exposure(&mut self, context: &mut WindowContext) -> Result<bool, CommError> {
        if self.exposed && context.arena.window.test()? {
            self.exposed = false;
        }
        Ok(!self.exposed)
    }
}

impl Scheme for Pscw {
    const BACKEND: Backend = Backend::RmaPscw;

    fn open(context: &mut WindowContext) -> Result<Self, CommError> {
        let peers = |edges: Vec<EdgeId>| edges.into_iter().map(|edge| context.edge(edge).peer).collect();
        let sources = Group::new(&context.world.communicator, peers(context.receiving().collect()))?;
        let targets = Group::new(&context.world.communicator, peers(context.sending().collect()))?;
        let mut scheme =
            Self { sources, targets, accessing: false, exposed: false, arrived: false, zeroed: true };
        scheme.expose_ahead(context)?;
        Ok(scheme)
    }

    /// Opens the epoch again. The groups stay: peers do not change, and making a group of some
    /// ranks takes a table of all.
    fn reopen(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        (self.arrived, self.zeroed) = (false, true);
        self.expose_ahead(context)
    }

    /// Starts the epoch. Blocks until the receivers have posted, which is the same wait as for a
    /// credit.
    fn may_pack(&mut self, context: &mut WindowContext, _: EdgeId) -> Result<bool, CommError> {
        self.expose(context)?;
        self.access(context)?;
        Ok(true)
    }

    fn initiate(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        self.expose(context)?;
        self.end_access(context)
    }

    fn poll(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        if !self.arrived && !self.sources.is_empty() && self.end_exposure(context)? {
            self.arrived = true;
            context.notice_all();
            if context.arena.buffers > 1 {
                self.expose_ahead(context)?;
            }
        }
        Ok(())
    }

    fn complete(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        self.arrived = false;
        self.expose_ahead(context)
    }

    /// Ends the epoch that was opened ahead, without puts.
    fn close(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        if context.opens_ahead() {
            self.access(context)?;
            self.end_access(context)?;
        }
        context.wait_for("the end of the last epoch", |context| self.end_exposure(context))
    }
}
