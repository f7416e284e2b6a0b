//! What `auto` chooses from over MPI.
//!
//! Not among them: `rma-fence` and `neighbor-collective`, whose contexts all ranks must use in one
//! order, which a caller of `auto` is not advised to keep; `rma-barrier` and `rma-lock-epoch`,
//! controls for experiments.

use super::node::Layout;
use super::world::MpiWorld;
use crate::auto::Candidates;
use crate::ledger::Ledger;
use crate::transport::Transport;
use crate::{Backend, CommError, World};

/// A candidate's place, most trusted first: two-sided messages are what libraries test best; shared
/// memory has no library in its way; then one-sided schemes by how little they ask of the library.
/// `None` for what is not tried.
///
/// `hybrid` takes the place of `shm` where there are several nodes and some node has several ranks.
/// With one rank per node neither can gain anything: `shm` then says itself why it is refused.
fn preference(backend: Backend, layout: Layout) -> Option<usize> {
    match backend {
        Backend::P2p => Some(0),
        Backend::P2pPersistent => Some(1),
        Backend::Shm => (layout != Layout::SharedNodes).then_some(2),
        Backend::Hybrid => (layout == Layout::SharedNodes).then_some(2),
        Backend::RmaLock => Some(3),
        Backend::RmaNotify => Some(4),
        Backend::RmaRing => Some(5),
        Backend::RmaPscw => Some(6),
        Backend::Local
        | Backend::NeighborCollective
        | Backend::RmaFence
        | Backend::RmaLockEpoch
        | Backend::RmaBarrier
        | Backend::Auto => None,
    }
}

impl Candidates for MpiWorld {
    fn world(&self) -> &dyn World {
        self
    }

    fn list(&self) -> Result<Vec<Backend>, CommError> {
        let layout = self.inner().find_node()?.layout;
        let mut list: Vec<_> =
            Backend::ALL.iter().copied().filter(|&one| preference(one, layout).is_some()).collect();
        list.sort_by_key(|&backend| preference(backend, layout));
        Ok(list)
    }

    fn open(&self, backend: Backend, ledger: &mut Ledger) -> Result<Box<dyn Transport>, CommError> {
        let between = self.between_nodes();
        if backend == Backend::Hybrid && between.needs_same_order() {
            let reason =
                format!("with `{}` between nodes all contexts must be used in one order", between.name());
            return Err(backend.unavailable(reason));
        }
        self.transport(backend, ledger)
    }
}
