//! Cases of the benchmarks: mechanism, message size and distance between the ranks.

use md_comm::{Backend, Blocking, Polling, Rank, RmaOptions};

/// Mechanism that moves the data of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mechanism {
    /// Contexts over a transport.
    Context(Backend),
    /// Contexts over `rma-notify` whose flags are read by MPI calls, not in memory.
    StrictNotify,
    /// Any other mechanism, by its name.
    Other(&'static str),
}

/// Mechanism of collective operations of the world.
pub(super) const COLLECTIVE: &str = "collective";
/// Mechanism of work that each rank does alone.
pub(super) const MEMORY: &str = "memory";

impl Mechanism {
    /// Returns whether the mechanism uses plain MPI windows.
    #[cfg(feature = "mpi")]
    pub(super) fn has_plain_windows(self) -> bool {
        matches!(self, Self::Other(name) if ![COLLECTIVE, MEMORY].contains(&name))
    }

    /// Returns its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Context(backend) => backend.name(),
            Self::StrictNotify => "rma-notify-strict",
            Self::Other(name) => name,
        }
    }

    /// Returns the backend and options of its world; mechanisms other than contexts use `first`.
    pub(super) fn carrier(self, first: Backend) -> (Backend, RmaOptions) {
        match self {
            Self::Context(backend) => (backend, RmaOptions::default()),
            Self::StrictNotify => {
                (Backend::RmaNotify, RmaOptions { polling: Polling::Strict, ..RmaOptions::default() })
            }
            Self::Other(_) => (first, RmaOptions::default()),
        }
    }

    /// Returns its position in the order of measurement: two-sided messages first, mechanisms that
    /// can block inside the MPI library last.
    pub(super) fn turn(self) -> Option<usize> {
        match self.carrier(Backend::P2p).0 {
            Backend::Local => None,
            Backend::P2p if self == Self::Context(Backend::P2p) => None,
            backend => Blocking::ALL.iter().position(|&group| group == backend.blocking()),
        }
    }
}

/// Distance between the ranks of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Distance {
    /// A single rank.
    Own,
    /// One node; where its core complexes are known, one of them.
    Inside,
    /// Two core complexes of one node, which share no cache.
    Across,
    /// Two nodes.
    Between,
    /// All ranks, on several nodes.
    Mixed,
}

/// Ranks, transports and sizes that benchmarks run with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ground {
    /// Transports to measure.
    pub backends: Vec<Backend>,
    /// Message sizes in bytes; `None` for the defaults of each benchmark.
    pub sizes: Option<Vec<usize>>,
    /// Whether MPI's own calls are measured in addition to the transports.
    pub has_calls: bool,
    /// Node of each rank, identified by the lowest rank on it.
    pub nodes: Vec<Rank>,
    /// Core complex of each rank on its node, identified by a hardware thread; `None` where a rank
    /// may run on several or this is unknown.
    pub complexes: Vec<Option<usize>>,
}

impl Ground {
    /// Returns a case for every transport and size.
    pub(super) fn each(&self, own_sizes: &[usize], distance: Distance, peer: Rank) -> Vec<Case> {
        let sizes = self.sizes.as_deref().unwrap_or(own_sizes);
        let with = |&backend: &Backend| {
            let mechanism = Mechanism::Context(backend);
            sizes.iter().map(move |&bytes| Case { mechanism, bytes, distance, peer })
        };
        self.backends.iter().flat_map(with).collect()
    }

    /// Returns a case for every transport, size and partner of rank 0.
    pub(super) fn pairs(&self, own_sizes: &[usize]) -> Vec<Case> {
        let cases = |(peer, distance)| self.each(own_sizes, distance, peer);
        self.partners().into_iter().flat_map(cases).collect()
    }

    /// Like [`Self::pairs`], with cases of MPI's own one-sided calls.
    pub(super) fn pairs_and_calls(&self, own_sizes: &[usize]) -> Vec<Case> {
        #[cfg_attr(not(feature = "mpi"), expect(unused_mut, reason = "there are no such calls"))]
        let mut cases = self.pairs(own_sizes);
        #[cfg(feature = "mpi")]
        if self.has_calls {
            cases.extend(self.plain(&super::onesided::MECHANISMS, own_sizes));
        }
        cases
    }

    /// Returns a case per size for all ranks, independent of the transport.
    pub(super) fn once(&self, name: &'static str, own_sizes: &[usize]) -> Vec<Case> {
        let (mechanism, distance) = (Mechanism::Other(name), self.distance());
        let sizes = self.sizes.as_deref().unwrap_or(own_sizes);
        sizes.iter().map(|&bytes| Case { mechanism, bytes, distance, peer: 0 }).collect()
    }

    /// Returns cases of MPI's own calls between rank 0 and its partners.
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

    /// Returns the distance of all ranks; on one node this is `Inside`, whatever their core
    /// complexes.
    pub(super) fn distance(&self) -> Distance {
        match &self.nodes[..] {
            [_] => Distance::Own,
            [first, others @ ..] if others.iter().all(|other| other == first) => Distance::Inside,
            _ => Distance::Mixed,
        }
    }

    /// Returns the partners of rank 0: the first rank at each distance, or rank 0 if it is alone.
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
    /// Mechanism that moves the data.
    pub mechanism: Mechanism,
    /// Bytes of one message.
    pub bytes: usize,
    /// Distance between the ranks.
    pub distance: Distance,
    /// Partner of rank 0, in benchmarks of two ranks.
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
