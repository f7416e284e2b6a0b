//! Which edge of a context goes through which half, and under which number.

use crate::{Edge, EdgeId, ExchangeSpec};

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
    /// Per edge of the whole: its half, and its number there.
    there: Vec<(Half, EdgeId)>,
    /// Per half and edge of it: its number in the whole.
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

    /// Half and number there of an edge of the whole, which must exist.
    pub(super) fn there(&self, EdgeId(i): EdgeId) -> (Half, EdgeId) {
        self.there[i]
    }

    /// Number in the whole of an edge of a half.
    pub(super) fn whole(&self, half: Half, EdgeId(i): EdgeId) -> EdgeId {
        self.whole[half as usize][i]
    }

    /// Whether a half has edges on this rank.
    pub(super) fn has_edges(&self, half: Half) -> bool {
        !self.whole[half as usize].is_empty()
    }

    /// What a half has of values per edge.
    pub(super) fn part<T: Clone>(&self, half: Half, all: &[T]) -> Vec<T> {
        self.whole[half as usize].iter().map(|&EdgeId(i)| all[i].clone()).collect()
    }

    /// A half's part of a spec.
    pub(super) fn part_of_spec(&self, half: Half, spec: &ExchangeSpec) -> ExchangeSpec {
        ExchangeSpec { edges: self.part(half, &spec.edges), ..spec.clone() }
    }
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn parts_keep_the_order_of_the_whole() {
        let (routes, spec) = (routes(), spec());
        let [inside, between] = Half::BOTH.map(|half| routes.part_of_spec(half, &spec));
        let peers = |part: &ExchangeSpec| part.edges.iter().map(|edge| edge.peer).collect::<Vec<_>>();
        assert_eq!((peers(&inside), peers(&between)), (vec![1, 0], vec![4, 3]));
        assert_eq!(routes.part(Half::Inside, &[1, 2, 3, 4]), [2, 4]);
    }
}
