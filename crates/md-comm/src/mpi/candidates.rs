//! What `auto` chooses from over MPI.
//!
//! Not among them: `rma-fence` and `neighbor-collective`, whose contexts all ranks must use in one order, which
//! a caller of `auto` is not told to keep; `rma-barrier`, the negative control; `rma-notify-strict`, which is
//! `rma-notify` with a slower poll.

use super::node::Layout;
use super::world::MpiWorld;
use crate::auto::Market;
use crate::{Backend, CommError, Exchange, ExchangeSpec, World};

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

impl Market for MpiWorld {
    fn world(&self) -> &dyn World {
        self
    }

    /// `hybrid` takes the place of `shm` where there are several nodes and some node has several ranks. With one rank per
    /// node neither can gain anything: `shm` then says itself why it is refused.
    fn candidates(&self) -> Result<Vec<Backend>, CommError> {
        let layout = self.inner().find_node()?.layout;
        let fits = |backend: &Backend| match backend {
            Backend::Shm => layout != Layout::SharedNodes,
            Backend::Hybrid => layout == Layout::SharedNodes,
            _ => true,
        };
        Ok(ORDER.into_iter().filter(fits).collect())
    }

    fn open_candidate(&self, backend: Backend, spec: ExchangeSpec) -> Result<Box<dyn Exchange>, CommError> {
        let between = self.between_nodes();
        if backend == Backend::Hybrid && between.needs_same_order() {
            let reason =
                format!("with `{}` between nodes all contexts must be used in one order", between.name());
            return Err(CommError::Unavailable { backend: backend.name(), reason });
        }
        self.open_with(backend, spec)
    }
}
