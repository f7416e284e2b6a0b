//! The force paths that every truth is checked on.

use super::{Backend, Run, p2p_available};

/// Numbers of ranks.
pub(crate) const RANKS: [usize; 5] = [1, 2, 3, 4, 8];

const METHODS: [&str; 3] = ["clusters", "cells", "direct-sum"];
const SHELLS: [&str; 2] = ["full", "half"];
const PARTITIONS: [&str; 2] = ["rect", "stripe"];

/// Combinations of method, shell and partition.
const NUMBERED: usize = METHODS.len() * SHELLS.len() * PARTITIONS.len();

/// Combinations beside them.
const FURTHER: usize = 6;

/// One way to compute forces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) backend: Backend,
    pub(crate) ranks: usize,
    pub(crate) method: &'static str,
    pub(crate) shell: &'static str,
    pub(crate) partition: &'static str,
    pub(crate) exchange: &'static str,
    pub(crate) precision: &'static str,
    pub(crate) protocol: &'static str,
}

/// Method, shell, partition, exchange and protocol of the cases for divisions that the others do not have.
const DIVISIONS: [[&str; 5]; 8] = [
    ["clusters", "half", "rcb", "direct", "one"],
    ["clusters", "eighth", "hilbert", "direct", "one"],
    ["cells", "full", "metis", "direct", "one"],
    ["clusters", "full", "scattered", "staged", "one"],
    ["cells", "half", "hilbert", "staged", "one"],
    ["clusters", "half", "metis", "staged", "one"],
    ["cells", "half", "stripe", "direct", "simple"],
    ["cells", "half", "scattered", "direct", "dist"],
];

impl Case {
    /// Case number `index` of [`NUMBERED`].
    fn numbered(backend: Backend, ranks: usize, index: usize) -> Self {
        let (shell, partition, method) = (SHELLS[index % 2], PARTITIONS[index / 2 % 2], METHODS[index / 4]);
        Self {
            backend,
            ranks,
            method,
            shell,
            partition,
            exchange: "direct",
            precision: "double",
            protocol: "one",
        }
    }

    /// Case number `index` of [`FURTHER`] that meet the eighth shell and the staged exchange.
    fn further(backend: Backend, ranks: usize, index: usize) -> Self {
        let (method, shell, partition, exchange) = [
            ("clusters", "eighth", "rect", "direct"),
            ("direct-sum", "eighth", "stripe", "direct"),
            ("cells", "eighth", "rect", "staged"),
            ("clusters", "half", "stripe", "staged"),
            ("clusters", "full", "rect", "staged"),
            ("clusters", "eighth", "stripe", "direct"),
        ][index];
        Self { backend, ranks, method, shell, partition, exchange, precision: "double", protocol: "one" }
    }

    /// Case number `index` of [`DIVISIONS`].
    fn divided(backend: Backend, ranks: usize, index: usize) -> Self {
        let [method, shell, partition, exchange, protocol] = DIVISIONS[index];
        Self { backend, ranks, method, shell, partition, exchange, precision: "double", protocol }
    }

    /// Case number `index` of 6 in mixed precision with the direct exchange: all shells and partitions.
    fn mixed(backend: Backend, ranks: usize, index: usize) -> Self {
        let (shell, partition) = (["full", "half", "eighth"][index % 3], PARTITIONS[index / 3]);
        Self { method: "clusters", shell, partition, precision: "mixed", ..Self::numbered(backend, ranks, 0) }
    }

    /// Whether it is one of the methods for daily use.
    pub(crate) fn is_fast(self) -> bool {
        self.method != "direct-sum"
    }

    /// The call, this way.
    pub(crate) fn apply(self, run: &Run) -> Run {
        let Self { backend, ranks, method, shell, partition, exchange, precision, protocol } = self;
        run.clone()
            .on(backend, ranks)
            .set(format!("neighbor.method={method:?}"))
            .set(format!("neighbor.precision={precision:?}"))
            .set(format!("parallel.shell={shell:?}"))
            .set(format!("parallel.partition={partition:?}"))
            .set(format!("parallel.exchange={exchange:?}"))
            .set(format!("parallel.protocol={protocol:?}"))
    }
}

/// All combinations over threads, with the direct exchange and the full and half shell; and the further ones.
pub(crate) fn local_cases() -> impl Iterator<Item = Case> {
    RANKS.into_iter().flat_map(|ranks| {
        let further = (0..FURTHER).map(move |index| Case::further(Backend::Local, ranks, index));
        (0..NUMBERED).map(move |index| Case::numbered(Backend::Local, ranks, index)).chain(further)
    })
}

/// For each number of ranks one with the eighth shell or staged, and two combinations with nothing in common, so that
/// every value meets every number of ranks; another pair for each number, so that the values also meet each other. All
/// combinations would take too long: ranks outnumber cores. Empty where MPI is not available.
pub(crate) fn p2p_cases() -> impl Iterator<Item = Case> {
    let case = |(turn, ranks): (usize, usize)| {
        let index = turn % (NUMBERED / 2);
        let all = [index, NUMBERED - 1 - index].map(|index| Case::numbered(Backend::P2p, ranks, index));
        all.into_iter().chain([Case::further(Backend::P2p, ranks, turn)])
    };
    RANKS.into_iter().enumerate().flat_map(case).filter(|_| p2p_available())
}

/// Both.
pub(crate) fn every_case() -> impl Iterator<Item = Case> {
    local_cases().chain(p2p_cases())
}

/// Mixed precision: over threads all shells, partitions and numbers of ranks, and for each number one staged exchange;
/// over MPI one of each number.
pub(crate) fn mixed_cases() -> impl Iterator<Item = Case> {
    RANKS.into_iter().enumerate().flat_map(|(turn, ranks)| {
        let direct = (0..6).map(move |index| Case::mixed(Backend::Local, ranks, index));
        let staged = Case { exchange: "staged", ..Case::mixed(Backend::Local, ranks, turn) };
        let over_mpi = p2p_available().then(|| Case::mixed(Backend::P2p, ranks, 5 - turn));
        direct.chain([staged]).chain(over_mpi)
    })
}

/// Divisions and protocols that the others do not have: over threads half of them on each number of ranks, the other half on the next; over MPI one
/// on each. `simple` needs two layers of cells, of so many, for each rank.
pub(crate) fn divided_cases(layers: usize) -> impl Iterator<Item = Case> {
    let cases = |(turn, ranks): (usize, usize)| {
        let indices = (0..DIVISIONS.len()).filter(move |index| (index + turn) % 2 == 1);
        let local = indices.map(move |index| Case::divided(Backend::Local, ranks, index));
        let over_mpi = p2p_available()
            .then(|| Case::divided(Backend::P2p, ranks, (turn + DIVISIONS.len() - 3) % DIVISIONS.len()));
        local.chain(over_mpi)
    };
    let all = RANKS.into_iter().enumerate().flat_map(cases);
    all.filter(move |case| case.protocol != "simple" || 2 * case.ranks <= layers)
}
