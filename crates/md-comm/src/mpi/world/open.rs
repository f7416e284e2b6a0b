//! Which backend is which type.

use std::rc::Rc;

use super::{Inner, MpiWorld};
use crate::auto::{self, Auto};
use crate::ledger::Ledger;
#[cfg(feature = "conformance")]
use crate::mpi::adversity::Adversity;
use crate::mpi::collective::Collective;
use crate::mpi::hybrid::Hybrid;
use crate::mpi::p2p::{P2p, Requests};
#[cfg(feature = "conformance")]
use crate::mpi::rma::FlagFirst;
use crate::mpi::rma::{Barrier, Fence, Lock, Notify, OneSided, Pscw, Ring, Scheme, SharedRing, Shm};
use crate::transport::Transport;
use crate::{Backend, CommError, Exchange, ExchangeSpec, Polling, RingForm, RmaOptions, Sizes};

impl MpiWorld {
    /// Opens a context with another backend than the world's own; the world's number of ranks stays what it is.
    /// *Collective.*
    ///
    /// # Errors
    /// As [`World::open`](crate::World::open), and [`CommError::Unavailable`] if the backend cannot serve this context.
    pub fn open_with(&self, backend: Backend, spec: ExchangeSpec) -> Result<Exchange, CommError> {
        let mut ledger = Ledger::new(self.inner.rank, self.inner.ranks, spec)?;
        let is_chosen = backend == Backend::Auto && ledger.spec().sizes == Sizes::Fixed;
        let transport = self.transport(backend, &mut ledger)?;
        let world = self.clone();
        let exchange = Exchange::new(ledger, transport, move |spec| world.open_with(backend, spec));
        let auto = || Auto::new(Box::new(self.clone()), self.trials);
        Ok(if is_chosen { exchange.with_choice(auto()) } else { exchange })
    }

    /// *Collective.*
    pub(crate) fn transport(
        &self,
        backend: Backend,
        ledger: &mut Ledger,
    ) -> Result<Box<dyn Transport>, CommError> {
        let (world, options) = (Rc::clone(&self.inner), self.options);
        #[cfg(feature = "conformance")]
        let wrong = world.adversity.get() == Adversity::FlagFirst;
        Ok(match backend {
            // `with_backend` does not let `local` in.
            Backend::P2p | Backend::Local => Box::new(P2p::open(world, ledger, Requests::Fresh)?),
            Backend::P2pPersistent => Box::new(P2p::open(world, ledger, Requests::Persistent)?),
            Backend::NeighborCollective => Box::new(Collective::open(world, ledger)?),
            #[cfg(feature = "conformance")]
            Backend::Shm if wrong => one_sided::<FlagFirst<Shm>>(world, ledger, options)?,
            Backend::Shm => one_sided::<Shm>(world, ledger, RmaOptions::default())?,
            Backend::RmaFence => one_sided::<Fence>(world, ledger, options)?,
            Backend::RmaPscw => one_sided::<Pscw>(world, ledger, options)?,
            Backend::RmaLock => one_sided::<Lock<true>>(world, ledger, options)?,
            Backend::RmaLockEpoch => one_sided::<Lock<false>>(world, ledger, options)?,
            Backend::RmaBarrier => one_sided::<Barrier>(world, ledger, options)?,
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

fn one_sided<S: Scheme + 'static>(
    world: Rc<Inner>,
    ledger: &mut Ledger,
    options: RmaOptions,
) -> Result<Box<dyn Transport>, CommError> {
    Ok(Box::new(OneSided::<S>::open(world, ledger, options)?))
}
