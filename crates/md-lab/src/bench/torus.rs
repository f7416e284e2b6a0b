//! All ranks as a torus of two or three dimensions, each with all its neighbours.

use md_comm::{Channel, Edge, Flow, Rank};

/// Number of neighbours of a rank in three dimensions, counting the rank itself and repeated
/// neighbours.
pub(super) const NEIGHBOURS: usize = Torus::Three.neighbours();

/// Dimensions of the torus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Torus {
    Two,
    Three,
}

impl Torus {
    /// Returns the number of neighbours of each rank, counting the rank itself and repeated ones.
    pub(super) const fn neighbours(self) -> usize {
        match self {
            Self::Two => 8,
            Self::Three => 26,
        }
    }

    /// Returns the ranks along each dimension, as equal as the number allows, largest first.
    pub(super) fn shape(self, ranks: usize) -> [usize; 3] {
        let divisors = |number: usize| (1..=number).filter(move |divisor| number.is_multiple_of(*divisor));
        let shapes = divisors(ranks).flat_map(|x| divisors(ranks / x).map(move |y| [x, y, ranks / x / y]));
        let is_sorted = |[x, y, z]: &[usize; 3]| x >= y && y >= z && (self == Self::Three || *z == 1);
        shapes.filter(is_sorted).min_by_key(|[x, y, z]| x * y + y * z + x * z).unwrap_or([ranks, 1, 1])
    }

    /// Returns a rank's edges to its neighbours, in both directions. A message sent in one
    /// direction arrives from the opposite one.
    pub(super) fn edges(self, rank: Rank, ranks: usize, bytes: usize) -> Vec<Edge> {
        let (shape, neighbours) = (self.shape(ranks), self.neighbours());
        let place = [rank % shape[0], rank / shape[0] % shape[1], rank / (shape[0] * shape[1])];
        let directions = (0..27)
            .map(|code| [code % 3, code / 3 % 3, code / 9])
            .filter(|direction| *direction != [1; 3] && (self == Self::Three || direction[2] == 1));
        let edge = |(number, direction): (usize, [usize; 3])| {
            let along = |dim: usize| (place[dim] + direction[dim] + shape[dim] - 1) % shape[dim];
            let peer = along(0) + shape[0] * (along(1) + shape[1] * along(2));
            let [send_channel, receive_channel] =
                [number, neighbours - 1 - number].map(|number| number as Channel);
            Edge { peer, send_channel, receive_channel, flow: Flow::Both, send_capacity: bytes }
        };
        directions.enumerate().map(edge).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_near_cubes() {
        let shapes = [1, 2, 4, 7, 8, 12, 24, 64, 1000].map(|ranks| Torus::Three.shape(ranks));
        let expected = [
            [1, 1, 1],
            [2, 1, 1],
            [2, 2, 1],
            [7, 1, 1],
            [2, 2, 2],
            [3, 2, 2],
            [4, 3, 2],
            [4, 4, 4],
            [10, 10, 10],
        ];
        assert_eq!(shapes, expected);
        let flat = [1, 2, 7, 12, 64, 1000].map(|ranks| Torus::Two.shape(ranks));
        assert_eq!(flat, [[1, 1, 1], [2, 1, 1], [7, 1, 1], [4, 3, 1], [8, 8, 1], [40, 25, 1]]);
    }

    #[test]
    fn every_message_has_an_edge_that_waits_for_it() {
        let kinds = [Torus::Two, Torus::Three];
        for (torus, ranks) in
            kinds.into_iter().flat_map(|torus| [1, 2, 3, 8, 12, 30].map(|ranks| (torus, ranks)))
        {
            let all: Vec<Vec<Edge>> = (0..ranks).map(|rank| torus.edges(rank, ranks, 8)).collect();
            for (rank, edges) in all.iter().enumerate() {
                assert_eq!(edges.len(), torus.neighbours());
                for edge in edges {
                    let waits =
                        |other: &Edge| other.peer == rank && other.receive_channel == edge.send_channel;
                    assert_eq!(
                        all[edge.peer].iter().filter(|other| waits(other)).count(),
                        1,
                        "{ranks}: {edge:?}"
                    );
                }
            }
        }
    }
}
