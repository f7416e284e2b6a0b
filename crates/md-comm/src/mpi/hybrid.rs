//! `hybrid`: edges inside a node go through shared memory, the others through another backend.
//!
//! Structure: one context made of two, over disjoint sets of the edges: `shm` has those whose peer
//! is on this rank's node (also those that lead back to the rank itself), the backend of
//! `parallel.between_nodes` the rest. Every rank opens, negotiates and ends both, because that is
//! collective, even if one has no edges here.
//! Relies on: the two ends of an edge find the same half, because being on one node is mutual.
//! Cost: per message that of its half; a wait polls both halves in turn.
//! Advantage: each edge takes its fastest way. On one node the context is `shm`; with one rank per
//! node, the other backend.
//! Disadvantage: waiting means polling both; two windows or sets of requests per context.

use std::rc::Rc;

use crate::error::Refused;
use crate::ledger::Ledger;
use crate::mpi::world_state::WorldState;
use crate::transport::{Poll, Transport};
use crate::{CommError, Edge, EdgeId, Exchange, ExchangeSpec, Growth};

/// A context of two halves.
#[derive(Debug)]
pub(super) struct Hybrid {
    routes: Routes,
    /// Indexed by [`Half`].
    halves: [Exchange; 2],
    /// The half to poll first: the one that was not polled last.
    first: Half,
    world: Rc<WorldState>,
}

impl Hybrid {
    /// Opens both halves, `inside` first. *Collective.*
    pub(super) fn open(
        world: Rc<WorldState>,
        ledger: &mut Ledger,
        inside: impl FnOnce(ExchangeSpec) -> Result<Exchange, CommError>,
        between: impl FnOnce(ExchangeSpec) -> Result<Exchange, CommError>,
    ) -> Result<Self, CommError> {
        let spec = ledger.spec();
        let node = world.find_node()?;
        let half = |peer| if node.member(peer).is_some() { Half::Inside } else { Half::Between };
        let routes = Routes::new(&spec.edges, |edge| half(edge.peer));
        let inside = inside(routes.part_of_spec(Half::Inside, spec))?;
        let between = match between(routes.part_of_spec(Half::Between, spec)) {
            Ok(between) => between,
            Err(error) if error.refused() == Some(Refused::Everywhere) => {
                return inside.finalise().and(Err(error));
            }
            Err(error) => return Err(error),
        };
        let hybrid = Self { routes, halves: [inside, between], first: Half::Inside, world };
        hybrid.learn_capacities(ledger);
        Ok(hybrid)
    }
}

impl Hybrid {
    /// Returns the edge of the next message of either half. The half that had the last message is
    /// polled second, so that a busy half does not delay the other one's messages. A half without
    /// edges here costs nothing.
    fn probe(&mut self) -> Result<Option<EdgeId>, CommError> {
        let order = match self.first {
            Half::Inside => [Half::Inside, Half::Between],
            Half::Between => [Half::Between, Half::Inside],
        };
        for half in order {
            if self.routes.has_edges(half)
                && let Some(edge) = self.halves[half as usize].poll(Poll::Probe)?
            {
                self.first = order[usize::from(half == order[0])];
                return Ok(Some(self.routes.whole(half, edge)));
            }
        }
        Ok(None)
    }

    /// Stores the receive capacities of both halves in the ledger of the whole.
    pub(super) fn learn_capacities(&self, ledger: &mut Ledger) {
        let capacity = |edge| {
            let (half, edge) = self.routes.there(edge);
            self.halves[half as usize].receive_capacity(edge)
        };
        ledger.learn_capacities(&ledger.edge_ids().map(capacity).collect::<Vec<_>>());
    }
}

impl Transport for Hybrid {
    fn send_buffer(&mut self, edge: EdgeId, bytes: usize) -> Result<&mut [u8], CommError> {
        let (half, edge) = self.routes.there(edge);
        self.halves[half as usize].send_buffer(edge, bytes)
    }

    fn start(&mut self, edge: EdgeId, _: usize) -> Result<(), CommError> {
        let (half, edge) = self.routes.there(edge);
        self.halves[half as usize].start(edge)
    }

    fn initiate(&mut self) -> Result<(), CommError> {
        self.halves.iter_mut().try_for_each(Exchange::initiate)
    }

    fn poll(&mut self, ledger: &Ledger, poll: Poll) -> Result<Option<EdgeId>, CommError> {
        match poll {
            Poll::Progress => {
                return self.halves.iter_mut().try_for_each(Exchange::progress).map(|()| None);
            }
            Poll::Finish => return finish(&mut self.halves).map(|()| None),
            Poll::Probe | Poll::Wait => (),
        }
        poll.answer(self.world.watchdog(), ledger, self, Self::probe)
    }

    fn all_sent(&self) -> bool {
        !self.halves.iter().any(Exchange::in_flight)
    }

    fn message(&mut self, edge: EdgeId) -> Result<&[u8], CommError> {
        let (half, edge) = self.routes.there(edge);
        Ok(self.halves[half as usize].message(edge, None)?.bytes)
    }

    /// Completes shared memory first: that is quick, and a peer may be waiting for its buffer.
    fn complete(&mut self) -> Result<(), CommError> {
        self.halves.iter_mut().try_for_each(Exchange::complete)
    }

    fn negotiate(&mut self, ledger: &mut Ledger, need: &[usize]) -> Result<Growth, CommError> {
        let mut growth = Growth::Unchanged;
        for half in Half::BOTH {
            if self.halves[half as usize].negotiate(&self.routes.part(half, need))? == Growth::Grown {
                growth = Growth::Grown;
            }
        }
        ledger.apply(need);
        self.learn_capacities(ledger);
        Ok(growth)
    }

    fn finalise(self: Box<Self>) -> Result<(), CommError> {
        let Self { halves, .. } = *self;
        halves.into_iter().try_for_each(Exchange::finalise)
    }
}

/// Finishes the exchange after everything has arrived. A half may still have to wait until what it
/// has sent is taken.
fn finish(halves: &mut [Exchange]) -> Result<(), CommError> {
    halves.iter_mut().try_for_each(|half| half.poll(Poll::Finish).map(drop))
}

/// The two halves of a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Half {
    /// Edges that stay on the node.
    Inside,
    /// Edges that lead to other nodes.
    Between,
}

impl Half {
    pub(super) const BOTH: [Self; 2] = [Self::Inside, Self::Between];
}

/// Edge numbers of the whole context and of its halves, both ways.
#[derive(Debug)]
pub(super) struct Routes {
    /// Half, and number in it, of each edge of the whole.
    there: Vec<(Half, EdgeId)>,
    /// Number in the whole, for each half and edge of it.
    whole: [Vec<EdgeId>; 2],
}

impl Routes {
    pub(super) fn new(edges: &[Edge], half_of: impl Fn(&Edge) -> Half) -> Self {
        let mut routes = Self { there: Vec::with_capacity(edges.len()), whole: [Vec::new(), Vec::new()] };
        for (i, edge) in edges.iter().enumerate() {
            let half = half_of(edge);
            let whole = &mut routes.whole[half as usize];
            routes.there.push((half, EdgeId(whole.len())));
            whole.push(EdgeId(i));
        }
        routes
    }

    /// Returns the half of an edge of the whole, which must exist, and its number there.
    pub(super) fn there(&self, EdgeId(i): EdgeId) -> (Half, EdgeId) {
        self.there[i]
    }

    /// Returns the number in the whole of an edge of a half.
    pub(super) fn whole(&self, half: Half, EdgeId(i): EdgeId) -> EdgeId {
        self.whole[half as usize][i]
    }

    /// Returns whether a half has edges on this rank.
    pub(super) fn has_edges(&self, half: Half) -> bool {
        !self.whole[half as usize].is_empty()
    }

    /// Returns the values of a half's edges from values per edge of the whole.
    pub(super) fn part<T: Clone>(&self, half: Half, all: &[T]) -> Vec<T> {
        self.whole[half as usize].iter().map(|&EdgeId(i)| all[i].clone()).collect()
    }

    /// Returns a half's part of a spec.
    pub(super) fn part_of_spec(&self, half: Half, spec: &ExchangeSpec) -> ExchangeSpec {
        ExchangeSpec { edges: self.part(half, &spec.edges), ..spec.clone() }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::{Buffering, Flow, Sizes};

    fn spec() -> ExchangeSpec {
        let edge = |peer| Edge {
            peer,
            send_channel: 0,
            receive_channel: 0,
            flow: Flow::Both,
            send_capacity: 10 * peer,
        };
        let edges = [4, 1, 3, 0].map(edge).to_vec();
        ExchangeSpec { name: "whole", edges, sizes: Sizes::Fixed, buffering: Buffering::Double }
    }

    fn routes() -> Routes {
        Routes::new(&spec().edges, |edge| if edge.peer < 2 { Half::Inside } else { Half::Between })
    }

    #[test]
    fn numbers_lead_there_and_back() {
        let routes = routes();
        for i in 0..spec().edges.len() {
            let (half, there) = routes.there(EdgeId(i));
            assert_eq!(routes.whole(half, there), EdgeId(i));
        }
        assert_eq!(routes.there(EdgeId(2)), (Half::Between, EdgeId(1)));
    }

    /// Counts the calls that finish an exchange.
    struct Finished(Rc<Cell<u32>>);

    impl Transport for Finished {
        fn send_buffer(&mut self, _: EdgeId, _: usize) -> Result<&mut [u8], CommError> {
            Ok(&mut [])
        }
        fn start(&mut self, _: EdgeId, _: usize) -> Result<(), CommError> {
            Ok(())
        }
        fn initiate(&mut self) -> Result<(), CommError> {
            Ok(())
        }
        fn poll(&mut self, _: &Ledger, poll: Poll) -> Result<Option<EdgeId>, CommError> {
            self.0.set(self.0.get() + u32::from(poll == Poll::Finish));
            Ok(None)
        }
        fn message(&mut self, _: EdgeId) -> Result<&[u8], CommError> {
            Ok(&[])
        }
        fn complete(&mut self) -> Result<(), CommError> {
            Ok(())
        }
        fn negotiate(&mut self, _: &mut Ledger, _: &[usize]) -> Result<Growth, CommError> {
            Ok(Growth::Unchanged)
        }
        fn finalise(self: Box<Self>) -> Result<(), CommError> {
            Ok(())
        }
    }

    #[test]
    fn both_halves_learn_that_all_has_arrived() {
        let told = Rc::new(Cell::new(0));
        let half = || {
            let none = ExchangeSpec { edges: Vec::new(), ..spec() };
            let ledger = Ledger::new(0, 1, none).unwrap();
            let opener = move |_| Err(CommError::Setup("not reversed here".to_owned()));
            let mut half = Exchange::new(ledger, Box::new(Finished(Rc::clone(&told))), opener);
            half.initiate().unwrap();
            half
        };
        finish(&mut [half(), half()]).unwrap();
        assert_eq!(told.get(), 2);
    }

    #[test]
    fn parts_keep_the_order_of_the_whole() {
        let (routes, spec) = (routes(), spec());
        let [inside, between] = Half::BOTH.map(|half| routes.part_of_spec(half, &spec));
        let peers = |part: &ExchangeSpec| part.edges.iter().map(|edge| edge.peer).collect::<Vec<_>>();
        assert_eq!((peers(&inside), peers(&between)), (vec![1, 0], vec![4, 3]));
        assert_eq!(routes.part(Half::Inside, &[1, 2, 3, 4]), [2, 4]);
    }
}
