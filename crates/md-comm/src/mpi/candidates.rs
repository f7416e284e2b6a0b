//! The candidates of `auto` over MPI.
//!
//! Not among them: `rma-fence` and `neighbor-collective`, because all ranks must use their contexts
//! in one order, and callers of `auto` need not do so; `rma-barrier` and `rma-lock-epoch`, which
//! are controls for experiments.

use super::node::Layout;
use super::world::MpiWorld;
use crate::auto::Candidates;
use crate::ledger::Ledger;
use crate::transport::Transport;
use crate::{Backend, CommError, World};

/// Returns a candidate's place in the order of preference, or `None` for a backend that is not
/// tried.
///
/// `hybrid` takes the place of `shm` if there are several nodes and some node has several ranks.
/// With one rank per node neither can gain anything; `shm` itself then returns the reason for its
/// refusal.
fn preference(backend: Backend, layout: Layout) -> Option<usize> {
    let not_here = if layout == Layout::SharedNodes { Backend::Shm } else { Backend::Hybrid };
    if backend == not_here { None } else { backend.preference() }
}

impl Candidates for MpiWorld {
    fn world(&self) -> &dyn World {
        self
    }

    fn list(&self) -> Result<Vec<Backend>, CommError> {
        let layout = self.state().find_node()?.layout;
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
