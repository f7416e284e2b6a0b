//! Division of the work among ranks and threads, and exchange of the halo.

use md_comm::Buffering;
use md_core::{Dimension, Domain, ExchangePattern, PartitionKind, Shell, SimdLevel};

use super::{Balance, Protocol, SecondShare};

/// Whether inner pairs are computed while the halo is in flight.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Overlap {
    /// Inner pairs are computed first; then the halo is awaited.
    #[default]
    On,
    /// The halo is awaited first.
    Off,
}

/// Choice of the instruction set of the kernels, which also determines the shape of clusters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SimdChoice {
    /// The best one for the method that the CPU supports.
    Cpu,
    /// The one with which the initial force computation took the least time on the slowest rank.
    Measured,
    /// A given one, which this CPU supports.
    Named(SimdLevel),
}

/// Division of the work and exchange of the halo. The world determines the transport.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ParallelConfig {
    /// Owner rank of each cell.
    pub partition: PartitionKind,
    /// Ranks per dimension; `None` lets the partition choose.
    pub rank_grid: Option<[usize; 3]>,
    /// Method by which pairs of particles on different ranks get their forces.
    pub protocol: Protocol,
    /// Neighbouring cells that are imported, and the rank that computes a pair across ranks.
    pub shell: Shell,
    /// Direct or staged exchange.
    pub exchange: ExchangePattern,
    /// Whether inner pairs are computed while the halo is in flight.
    pub overlap: Overlap,
    /// Part of the inner pairs that is computed while forces are sent to their owners. Determines
    /// the order of the sums.
    pub second_share: SecondShare,
    /// Number of message buffers per edge.
    pub buffering: Buffering,
    /// Whether the division is adapted to the work during a run.
    pub balance: Balance,
    /// Threads per rank, including the calling one.
    pub threads: usize,
    /// Instruction set of the kernels.
    pub simd: SimdChoice,
}

impl Default for ParallelConfig {
    fn default() -> Self {
        Self {
            partition: PartitionKind::default(),
            rank_grid: None,
            protocol: Protocol::One,
            shell: Shell::Half,
            exchange: ExchangePattern::Direct,
            overlap: Overlap::On,
            second_share: SecondShare::default(),
            buffering: Buffering::default(),
            balance: Balance::Off,
            threads: 1,
            simd: SimdChoice::Cpu,
        }
    }
}

impl ParallelConfig {
    /// Returns the ranks per dimension if given or implied by the protocol: with `simple`, ranks
    /// own whole rows (2D) or layers (3D).
    pub(crate) fn rank_grid_for(&self, domain: &Domain, ranks: usize) -> Option<[usize; 3]> {
        match (self.protocol, domain.dimension) {
            (Protocol::Simple, Dimension::Two) => Some([1, ranks, 1]),
            (Protocol::Simple, Dimension::Three) => Some([1, 1, ranks]),
            (Protocol::One | Protocol::Dist, _) => self.rank_grid,
        }
    }
}
