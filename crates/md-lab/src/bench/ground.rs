//! What is measured, with what, and how far from each other.

use md_comm::{Backend, Blocking, Polling, Rank, RmaOptions};

/// What moves the data of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mechanism {
    /// Contexts over a transport.
    Context(Backend),
    /// Contexts over `rma-notify` whose flags are read by MPI's calls, not in memory.
    StrictNotify,
    /// Something else.
    Other(&'static str),
}

/// The mechanism of what the world does.
pub(super) const COLLECTIVE: &str = "collective";
/// That of what a rank does alone.
pub(super) const MEMORY: &str = "memory";

impl Mechanism {
    /// Whether it is windows of MPI's own.
    #[cfg(feature = "mpi")]
    pub(super) fn has_plain_windows(self) -> bool {
        matches!(self, Self::Other(name) if ![COLLECTIVE, MEMORY].contains(&name))
    }

    /// In tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Context(backend) => backend.name(),
            Self::StrictNotify => "rma-notify-strict",
            Self::Other(name) => name,
        }
    }

    /// The backend of its world, and its options; what is no context has the first.
    pub(super) fn carrier(self, first: Backend) -> (Backend, RmaOptions) {
        match self {
            Self::Context(backend) => (backend, RmaOptions::default()),
            Self::StrictNotify => {
                (Backend::RmaNotify, RmaOptions { polling: Polling::Strict, ..RmaOptions::default() })
            }
            Self::Other(_) => (first, RmaOptions::default()),
        }
    }

    /// Its place in the order of measurement: two-sided messages first; last what can stand still in the library.
    pub(super) fn turn(self) -> Option<usize> {
        match self.carrier(Backend::P2p).0 {
            Backend::Local => None,
            Backend::P2p if self == Self::Context(Backend::P2p) => None,
            backend => Blocking::ALL.iter().position(|&group| group == backend.blocking()),
        }
    }
}

/// How far the ranks of a case are from each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Distance {
    /// There is one rank.
    Own,
    /// On one node; where its core complexes are known, on one of these.
    Inside,
    /// On one node, on two core complexes, which share no cache.
    Across,
    /// On two nodes.
    Between,
    /// Some on one node and some on others.
    Mixed,
}

/// Where benchmarks run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ground {
    /// The transports that are wanted.
    pub backends: Vec<Backend>,
    /// The sizes that are wanted, bytes; `None`: the benchmark's own.
    pub sizes: Option<Vec<usize>>,
    /// Whether MPI's own calls are measured beside transports.
    pub has_calls: bool,
    /// Node of each rank, by its lowest rank.
    pub nodes: Vec<Rank>,
    /// Core complex of each rank on its node, by a hardware thread; `None` where a rank may run on several or nothing tells.
    pub complexes: Vec<Option<usize>>,
}

impl Ground {
    /// Every transport with every size.
    pub(super) fn each(&self, own_sizes: &[usize], distance: Distance, peer: Rank) -> Vec<Case> {
        let sizes = self.sizes.as_deref().unwrap_or(own_sizes);
        let with = |&backend: &Backend| {
            let mechanism = Mechanism::Context(backend);
            sizes.iter().map(move |&bytes| Case { mechanism, bytes, distance, peer })
        };
        self.backends.iter().flat_map(with).collect()
    }

    /// Something of all ranks that does not depend on the transport.
    pub(super) fn once(&self, name: &'static str, own_sizes: &[usize]) -> Vec<Case> {
        let (mechanism, distance) = (Mechanism::Other(name), self.distance());
        let sizes = self.sizes.as_deref().unwrap_or(own_sizes);
        sizes.iter().map(|&bytes| Case { mechanism, bytes, distance, peer: 0 }).collect()
    }

    /// Calls of MPI's own between rank 0 and its partners.
    #[cfg(feature = "mpi")]
    pub(super) fn plain(&self, names: &[&'static str], own_sizes: &[usize]) -> Vec<Case> {
        let sizes = self.sizes.as_deref().unwrap_or(own_sizes);
        let partners = self.partners();
        let cases = |&name: &&'static str| {
            let mechanism = Mechanism::Other(name);
            let with = move |(peer, distance)| {
                sizes.iter().map(move |&bytes| Case { mechanism, bytes, distance, peer })
            };
            partners.clone().into_iter().flat_map(with)
        };
        names.iter().flat_map(cases).collect()
    }

    /// Of all ranks: on one node `Inside`, whatever its complexes.
    pub(super) fn distance(&self) -> Distance {
        match &self.nodes[..] {
            [_] => Distance::Own,
            [first, others @ ..] if others.iter().all(|other| other == first) => Distance::Inside,
            _ => Distance::Mixed,
        }
    }

    /// Partners of rank 0: the nearest at each distance; itself if it is alone.
    pub(super) fn partners(&self) -> Vec<(Rank, Distance)> {
        let far = [Distance::Inside, Distance::Across, Distance::Between];
        let nearest = |distance| (1..self.nodes.len()).find(|&rank| self.distance_to_first(rank) == distance);
        let found: Vec<_> = far.into_iter().filter_map(|it| Some((nearest(it)?, it))).collect();
        if found.is_empty() { vec![(0, Distance::Own)] } else { found }
    }

    fn distance_to_first(&self, rank: Rank) -> Distance {
        let complex = |rank: Rank| self.complexes.get(rank).copied().flatten();
        match (complex(0), complex(rank)) {
            _ if self.nodes[rank] != self.nodes[0] => Distance::Between,
            (Some(first), Some(other)) if first != other => Distance::Across,
            _ => Distance::Inside,
        }
    }
}

/// One measurement of a benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Case {
    /// What moves the data.
    pub mechanism: Mechanism,
    /// Of one message.
    pub bytes: usize,
    /// Of the ranks.
    pub distance: Distance,
    /// Rank 0's partner, where there are two.
    pub peer: Rank,
}

#[cfg(test)]
mod tests {
    use super::Distance::{Across, Between, Inside, Own};
    use super::*;

    #[test]
    fn partners_are_the_nearest_at_each_distance() {
        let partners = |nodes: &[Rank], complexes: &[Option<usize>]| {
            let (nodes, complexes) = (nodes.to_vec(), complexes.to_vec());
            Ground { backends: Vec::new(), sizes: None, has_calls: false, nodes, complexes }.partners()
        };
        assert_eq!(partners(&[0], &[Some(0)]), [(0, Own)]);
        assert_eq!(partners(&[0, 0, 0], &[None, Some(0), Some(8)]), [(1, Inside)]);
        let two_sockets = [Some(0), Some(8), Some(0), Some(8)];
        assert_eq!(partners(&[0, 0, 0, 0], &two_sockets), [(2, Inside), (1, Across)]);
        let complexes = [Some(0), Some(8), Some(8), Some(0)];
        assert_eq!(partners(&[0, 0, 2, 2], &complexes), [(1, Across), (2, Between)]);
    }
}
