//! Which backend is which type.

use std::rc::Rc;

use super::MpiWorld;
use crate::mpi::adversity::Adversity;
use crate::mpi::collective::Collective;
use crate::mpi::hybrid::Hybrid;
use crate::mpi::p2p::{P2p, Requests};
use crate::mpi::rma::{Barrier, Fence, FlagFirst, Lock, Notify, OneSided, Pscw, Ring, SharedRing, Shm};
use crate::{Backend, CommError, Exchange, ExchangeSpec, Polling, RingForm, RmaOptions, auto};

impl MpiWorld {
    /// Opens a context with another backend than the world's own; the world's number of ranks stays what it is.
    /// *Collective.*
    ///
    /// # Errors
    /// As [`World::open`](crate::World::open), and [`CommError::Unavailable`] if the backend cannot serve this context.
    pub fn open_with(&self, backend: Backend, spec: ExchangeSpec) -> Result<Box<dyn Exchange>, CommError> {
        let (world, options) = (Rc::clone(&self.inner), self.options);
        let wrong = world.adversity.get() == Adversity::FlagFirst;
        Ok(match backend {
            // `with_backend` does not let it in.
            Backend::P2p | Backend::Local => Box::new(P2p::open(world, spec, Requests::Fresh)?),
            Backend::P2pPersistent => Box::new(P2p::open(world, spec, Requests::Persistent)?),
            Backend::NeighborCollective => Box::new(Collective::open(world, spec)?),
            Backend::Shm if wrong => Box::new(OneSided::<FlagFirst<Shm>>::open(world, spec, options)?),
            Backend::Shm => Box::new(OneSided::<Shm>::open(world, spec, RmaOptions::default())?),
            Backend::RmaFence => Box::new(OneSided::<Fence>::open(world, spec, options)?),
            Backend::RmaPscw => Box::new(OneSided::<Pscw>::open(world, spec, options)?),
            Backend::RmaLock => Box::new(OneSided::<Lock<true>>::open(world, spec, options)?),
            Backend::RmaLockEpoch => Box::new(OneSided::<Lock<false>>::open(world, spec, options)?),
            Backend::RmaBarrier => Box::new(OneSided::<Barrier>::open(world, spec, options)?),
            Backend::RmaNotify if wrong => {
                Box::new(OneSided::<FlagFirst<Notify<false>>>::open(world, spec, options)?)
            }
            Backend::RmaNotify if options.polling == Polling::Strict => {
                Box::new(OneSided::<Notify<true>>::open(world, spec, options)?)
            }
            Backend::RmaNotify => Box::new(OneSided::<Notify<false>>::open(world, spec, options)?),
            Backend::RmaRing if options.ring == RingForm::Shared => {
                Box::new(OneSided::<SharedRing>::open(world, spec, options)?)
            }
            Backend::RmaRing => Box::new(OneSided::<Ring>::open(world, spec, options)?),
            Backend::Hybrid => {
                let inside = |spec| self.open_with(Backend::Shm, spec);
                let between = |spec| self.open_with(self.between_nodes, spec);
                Box::new(Hybrid::open(world, spec, inside, between)?)
            }
            Backend::Auto => auto::open(self, self.trials, spec)?,
        })
    }
}
