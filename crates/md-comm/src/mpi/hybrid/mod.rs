//! `hybrid`: edges inside a node go through shared memory, the others through another backend.
//!
//! Structure: one context made of two, over disjoint sets of the edges: `shm` has those whose peer is on this rank's node
//! (also those that lead back to the rank itself), the backend of `parallel.between_nodes` the rest. Every rank opens,
//! negotiates and ends both, because that is collective, even if one has no edges here.
//! Relies on: the two ends of an edge find the same half, because being on one node is mutual.
//! Cost: per message that of its half; a wait looks at both halves in turn.
//! Advantage: each edge takes its fastest way; on one node it is `shm`, with one rank per node the other backend.
//! Disadvantage: waiting means polling both; two windows or sets of requests per context.

mod routes;
mod transport;

use std::rc::Rc;

use super::world::Inner;
use crate::ledger::Ledger;
use crate::{CommError, Exchange, ExchangeSpec};
use routes::{Half, Routes};

/// A context of two halves.
#[derive(Debug)]
pub(super) struct Hybrid {
    routes: Routes,
    /// Indexed by [`Half`].
    halves: [Exchange; 2],
    /// The half to look at first: the one that was not looked at last.
    first: Half,
    world: Rc<Inner>,
}

impl Hybrid {
    /// Opens both halves, `inside` first. *Collective.*
    pub(super) fn open(
        world: Rc<Inner>,
        ledger: &mut Ledger,
        inside: impl FnOnce(ExchangeSpec) -> Result<Exchange, CommError>,
        between: impl FnOnce(ExchangeSpec) -> Result<Exchange, CommError>,
    ) -> Result<Self, CommError> {
        let spec = ledger.spec();
        let node = world.find_node()?;
        let half = |peer| if node.member(peer).is_some() { Half::Inside } else { Half::Between };
        let routes = Routes::new(&spec.edges, |edge| half(edge.peer));
        let halves = [
            inside(routes.part_of_spec(Half::Inside, spec))?,
            between(routes.part_of_spec(Half::Between, spec))?,
        ];
        let hybrid = Self { routes, halves, first: Half::Inside, world };
        hybrid.learn_capacities(ledger);
        Ok(hybrid)
    }
}
