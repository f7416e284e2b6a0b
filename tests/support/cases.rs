//! The force paths on which every reference result is checked.

use super::{Backend, Run, p2p_available};

/// Numbers of ranks.
pub(crate) const RANKS: [usize; 5] = [1, 2, 3, 4, 8];

const METHODS: [&str; 3] = ["clusters", "cells", "direct-sum"];
const SHELLS: [&str; 2] = ["full", "half"];
const PARTITIONS: [&str; 2] = ["rect", "stripe"];

/// Number of combinations of method, shell and partition.
const NUMBERED: usize = METHODS.len() * SHELLS.len() * PARTITIONS.len();

/// Number of further combinations, see `Case::further`.
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

/// Method, shell, partition, exchange and protocol of the cases that use the remaining divisions.
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
    /// Returns case number `index` of [`NUMBERED`].
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

    /// Returns case number `index` of [`FURTHER`]. These cases use the eighth shell and the staged
    /// exchange.
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

    /// Returns case number `index` of [`DIVISIONS`].
    fn divided(backend: Backend, ranks: usize, index: usize) -> Self {
        let [method, shell, partition, exchange, protocol] = DIVISIONS[index];
        Self { backend, ranks, method, shell, partition, exchange, precision: "double", protocol }
    }

    /// Returns case number `index` of 6 in mixed precision with the direct exchange. The 6 cases
    /// cover all shells and partitions.
    fn mixed(backend: Backend, ranks: usize, index: usize) -> Self {
        let (shell, partition) = (["full", "half", "eighth"][index % 3], PARTITIONS[index / 3]);
        Self { method: "clusters", shell, partition, precision: "mixed", ..Self::numbered(backend, ranks, 0) }
    }

    /// Returns whether the method is one of those for daily use.
    pub(crate) fn is_fast(self) -> bool {
        self.method != "direct-sum"
    }

    /// Returns `run` with the settings of this case.
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

/// Returns all combinations over threads: the full and half shell with the direct exchange, and the
/// further cases.
pub(crate) fn local_cases() -> impl Iterator<Item = Case> {
    RANKS.into_iter().flat_map(|ranks| {
        let further = (0..FURTHER).map(move |index| Case::further(Backend::Local, ranks, index));
        (0..NUMBERED).map(move |index| Case::numbered(Backend::Local, ranks, index)).chain(further)
    })
}

/// Returns the cases over MPI, or none where MPI is not available.
///
/// All combinations would take too long, because the ranks outnumber the cores. Each number of
/// ranks gets one further case (eighth shell or staged exchange) and two combinations that have no
/// value in common, so that every value occurs with every number of ranks. The pair differs between
/// numbers of ranks, so that the values also occur with each other.
pub(crate) fn p2p_cases() -> impl Iterator<Item = Case> {
    let case = |(turn, ranks): (usize, usize)| {
        let index = turn % (NUMBERED / 2);
        let all = [index, NUMBERED - 1 - index].map(|index| Case::numbered(Backend::P2p, ranks, index));
        all.into_iter().chain([Case::further(Backend::P2p, ranks, turn)])
    };
    RANKS.into_iter().enumerate().flat_map(case).filter(|_| p2p_available())
}

/// Returns the cases over threads and over MPI.
pub(crate) fn every_case() -> impl Iterator<Item = Case> {
    local_cases().chain(p2p_cases())
}

/// Returns the cases in mixed precision. Over threads they cover all shells, partitions and numbers
/// of ranks, with one staged exchange for each number of ranks. Over MPI there is one case for each
/// number of ranks.
pub(crate) fn mixed_cases() -> impl Iterator<Item = Case> {
    RANKS.into_iter().enumerate().flat_map(|(turn, ranks)| {
        let direct = (0..6).map(move |index| Case::mixed(Backend::Local, ranks, index));
        let staged = Case { exchange: "staged", ..Case::mixed(Backend::Local, ranks, turn) };
        let over_mpi = p2p_available().then(|| Case::mixed(Backend::P2p, ranks, 5 - turn));
        direct.chain([staged]).chain(over_mpi)
    })
}

/// Returns the cases with the remaining divisions and protocols. Over threads, half of them run on
/// each number of ranks and the other half on the next. Over MPI, one runs on each number of ranks.
/// Partition `simple` needs two of the `layers` layers of cells for each rank.
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
