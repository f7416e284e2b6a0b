//! Who is measured together.
//!
//! Calls that hang inside the MPI library cannot be taken back: the job ends, and what has not been measured is lost. So
//! strategies are checked and measured group by group, those first that can hang least.

use md_comm::{Backend, Blocking};

use super::strategies::Strategy;

/// Numbers of the strategies of each group, in the order of measurement; a group may be empty.
pub(super) fn groups(strategies: &[Strategy], between_nodes: Backend) -> [(Blocking, Vec<usize>); 3] {
    Blocking::ALL.map(|blocking| {
        let belongs = |&number: &usize| blocking_of(strategies[number], between_nodes) == blocking;
        (blocking, (0..strategies.len()).filter(belongs).collect())
    })
}

fn blocking_of(strategy: Strategy, between_nodes: Backend) -> Blocking {
    strategy.mover(between_nodes).blocking()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Parallel;

    fn grouped(between_nodes: Backend) -> [Vec<usize>; 3] {
        let backends =
            [Backend::RmaFence, Backend::P2p, Backend::RmaRing, Backend::Hybrid, Backend::RmaBarrier];
        let own = Strategy::of(&Parallel::default());
        let strategies = backends.map(|backend| Strategy { backend, ..own });
        groups(&strategies, between_nodes).map(|(_, numbers)| numbers)
    }

    #[test]
    fn what_can_hang_comes_later() {
        assert_eq!(grouped(Backend::P2p), [vec![1, 3], vec![2, 4], vec![0]]);
    }

    #[test]
    fn hybrid_hangs_where_its_backend_between_nodes_does() {
        assert_eq!(grouped(Backend::RmaPscw), [vec![1], vec![2, 4], vec![0, 3]]);
    }
}
