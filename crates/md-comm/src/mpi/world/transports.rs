//! The transport of each backend, and contexts made of them.

use std::rc::Rc;

use super::MpiWorld;
use crate::auto::{self, Auto};
use crate::ledger::Ledger;
#[cfg(feature = "conformance")]
use crate::mpi::adversity::Adversity;
use crate::mpi::collective::Collective;
use crate::mpi::hybrid::Hybrid;
use crate::mpi::p2p::{P2p, Requests};
#[cfg(feature = "conformance")]
use crate::mpi::rma::FlagFirst;
use crate::mpi::rma::{
    AllRanks, Barrier, Fence, Lock, MessageBarriers, NeighbourRanks, Notify, OneSided, Pscw, Ring, Scheme,
    SharedRing, Shm,
};
use crate::mpi::world_state::WorldState;
use crate::transport::Transport;
use crate::{
    Backend, BarrierCount, CommError, Exchange, ExchangeSpec, Notice, Polling, RingForm, RmaOptions, Sizes,
};

impl MpiWorld {
    /// Opens a context with another backend than the world's own; the world's number of ranks does
    /// not change. *Collective.*
    ///
    /// # Errors
    /// Fails as [`World::open`](crate::World::open) does; also [`CommError::Unavailable`] if the
    /// backend cannot serve this context.
    pub fn open_with(&self, backend: Backend, spec: ExchangeSpec) -> Result<Exchange, CommError> {
        let mut ledger = Ledger::new(self.state.rank, self.state.ranks, spec)?;
        let is_chosen = backend == Backend::Auto && ledger.spec().sizes == Sizes::Fixed;
        let opened = self.transport(backend, &mut ledger)?;
        let transport: Box<dyn Transport> =
            if is_chosen { Box::new(Auto::new(Box::new(self.clone()), self.trials, opened)) } else { opened };
        let world = self.clone();
        Ok(Exchange::new(ledger, transport, move |spec| world.open_with(backend, spec)))
    }

    /// Opens the transport of a context. *Collective.*
    pub(crate) fn transport(
        &self,
        backend: Backend,
        ledger: &mut Ledger,
    ) -> Result<Box<dyn Transport>, CommError> {
        let (world, options) = (Rc::clone(&self.state), self.options);
        #[cfg(feature = "conformance")]
        let wrong = world.adversity.get() == Adversity::FlagFirst;
        Ok(match backend {
            // `with_backend` refuses `local`.
            Backend::P2p | Backend::Local => Box::new(P2p::open(world, ledger, Requests::Fresh, self.chunk)?),
            Backend::P2pPersistent => Box::new(P2p::open(world, ledger, Requests::Persistent, self.chunk)?),
            Backend::NeighborCollective => Box::new(Collective::open(world, ledger)?),
            #[cfg(feature = "conformance")]
            Backend::Shm if wrong => one_sided::<FlagFirst<Shm>>(world, ledger, options)?,
            Backend::Shm => one_sided::<Shm>(world, ledger, RmaOptions::default())?,
            Backend::RmaFence => one_sided::<Fence>(world, ledger, options)?,
            Backend::RmaPscw => one_sided::<Pscw>(world, ledger, options)?,
            Backend::RmaLock => locked::<true>(world, ledger, options)?,
            Backend::RmaLockEpoch => locked::<false>(world, ledger, options)?,
            Backend::RmaBarrier => match options.barriers {
                BarrierCount::PerExchange => one_sided::<Barrier<AllRanks>>(world, ledger, options)?,
                BarrierCount::PerMessage => one_sided::<MessageBarriers>(world, ledger, options)?,
            },
            #[cfg(feature = "conformance")]
            Backend::RmaNotify if wrong => one_sided::<FlagFirst<Notify<false>>>(world, ledger, options)?,
            Backend::RmaNotify => match options.polling {
                Polling::Fast => one_sided::<Notify<false>>(world, ledger, options)?,
                Polling::Strict => one_sided::<Notify<true>>(world, ledger, options)?,
            },
            Backend::RmaRing => match options.ring {
                RingForm::PerEdge => one_sided::<Ring>(world, ledger, options)?,
                RingForm::Shared => one_sided::<SharedRing>(world, ledger, options)?,
            },
            Backend::Hybrid => {
                let inside = |spec| self.open_with(Backend::Shm, spec);
                let between = |spec| self.open_with(self.between_nodes, spec);
                Box::new(Hybrid::open(world, ledger, inside, between)?)
            }
            Backend::Auto => self.transport(auto::PREFERRED, ledger)?,
        })
    }
}

fn locked<const HELD: bool>(
    world: Rc<WorldState>,
    ledger: &mut Ledger,
    options: RmaOptions,
) -> Result<Box<dyn Transport>, CommError> {
    match options.notice {
        Notice::Message => one_sided::<Lock<HELD>>(world, ledger, options),
        Notice::NeighborBarrier => one_sided::<Barrier<NeighbourRanks<HELD>>>(world, ledger, options),
    }
}

fn one_sided<S: Scheme + 'static>(
    world: Rc<WorldState>,
    ledger: &mut Ledger,
    options: RmaOptions,
) -> Result<Box<dyn Transport>, CommError> {
    Ok(Box::new(OneSided::<S>::open(world, ledger, options)?))
}
