//! What `auto` chooses from over MPI.
//!
//! Not among them: `rma-fence` and `neighbor-collective`, whose contexts all ranks must use in one order, which
//! a caller of `auto` is not advised to keep; `rma-barrier`, the negative control; `rma-notify-strict`, which is
//! `rma-notify` with a slower poll.

use super::node::Layout;
use super::world::MpiWorld;
use crate::auto::Candidates;
use crate::ledger::Ledger;
use crate::transport::Transport;
use crate::{Backend, CommError, World};

/// Most trusted first: two-sided messages are what libraries test best; shared memory has no library in its way; then
/// one-sided schemes by how little they ask of the library.
const ORDER: [Backend; 9] = [
    Backend::P2p,
    Backend::P2pPersistent,
    Backend::Shm,
    Backend::Hybrid,
    Backend::RmaLock,
    Backend::RmaNotify,
    Backend::RmaRing,
    Backend::RmaPscw,
    Backend::RmaLockEpoch,
];

impl Candidates for MpiWorld {
    fn world(&self) -> &dyn World {
        self
    }

    /// `hybrid` takes the place of `shm` where there are several nodes and some node has several ranks. With one rank per
    /// node neither can gain anything: `shm` then says itself why it is refused.
    fn list(&self) -> Result<Vec<Backend>, CommError> {
        let layout = self.inner().find_node()?.layout;
        let fits = |backend: &Backend| match backend {
            Backend::Shm => layout != Layout::SharedNodes,
            Backend::Hybrid => layout == Layout::SharedNodes,
            _ => true,
        };
        Ok(ORDER.into_iter().filter(fits).collect())
    }

    fn open(&self, backend: Backend, ledger: &mut Ledger) -> Result<Box<dyn Transport>, CommError> {
        let between = self.between_nodes();
        if backend == Backend::Hybrid && between.needs_same_order() {
            let reason =
                format!("with `{}` between nodes all contexts must be used in one order", between.name());
            return Err(CommError::Unavailable { backend: backend.name(), reason });
        }
        self.transport(backend, ledger)
    }
}
