//! Kernels with which each loop over pairs is compiled.
//!
//! A loop is compiled once per kernel, level and evaluation, and each of these takes about a
//! second. It is therefore compiled only with kernels that it is ever run with. These get the
//! constants of a pair of species from registers, a row of registers, or memory:
//!
//! | loop | one species | up to 4 | up to 8 | more |
//! | --- | --- | --- | --- | --- |
//! | linked cells, AVX2 and AVX-512 | registers | row | memory | memory |
//! | cluster lists, AVX2 and AVX-512 | registers | row | wide row | memory |
//! | both, SSE4.2 and NEON | registers | memory | memory | memory |
//!
//! At the level `Baseline`, the scalar form of every potential is evaluated. Particles of a cluster
//! list in f32 that must not be of several species (`PairPotential::takes_unlike_particles`) get
//! constants from registers or memory at every level.

use super::pair_kernel::ConstantSource;
use crate::simd::{ArithmeticKind, MOST_IN_A_ROW, SimdLevel};

/// Length of the vectors of a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Vectors {
    /// One number.
    Scalar,
    /// 128 bits.
    Short,
    /// 256 bits or more, with instructions that permute numbers.
    Long,
}

impl Vectors {
    /// Returns the length at a level.
    pub(super) const fn at(level: SimdLevel) -> Self {
        match level {
            SimdLevel::Baseline => Self::Scalar,
            SimdLevel::Sse4 | SimdLevel::Neon => Self::Short,
            SimdLevel::Avx2 | SimdLevel::Avx512Vl | SimdLevel::Avx512 => Self::Long,
        }
    }

    /// Returns the length for a number of lanes in f64.
    pub(super) const fn of(f64_lanes: usize) -> Self {
        match f64_lanes {
            1 => Self::Scalar,
            2 => Self::Short,
            _ => Self::Long,
        }
    }
}

/// A loop, as far as the choice of the kernel depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LoopKind {
    /// Linked cells.
    Cells,
    /// Cluster lists.
    Clusters(ArithmeticKind),
}

impl LoopKind {
    /// Returns the source of constants for a number of species.
    pub(super) const fn constants(self, species: usize, vectors: Vectors) -> ConstantSource {
        match (species, self, vectors) {
            (1, ..) => ConstantSource::Registers,
            (2..=FEW, _, Vectors::Long) if self.has_rows() => ConstantSource::Row,
            (2..=MOST_IN_A_ROW, Self::Clusters(_), Vectors::Long) if self.has_rows() => {
                ConstantSource::WideRow
            }
            _ => ConstantSource::Memory,
        }
    }

    /// Returns whether the loop can look up constants in a row.
    const fn has_rows(self) -> bool {
        use ArithmeticKind::{Double, Quads, Reproducible};
        matches!(self, Self::Cells | Self::Clusters(Double | Reproducible | Quads))
    }

    /// Returns whether the loop is ever run with a kernel.
    pub(super) const fn runs(self, kernel: ConstantSource, vectors: Vectors) -> bool {
        let is_scalar = matches!(vectors, Vectors::Scalar);
        let is_long = matches!(vectors, Vectors::Long);
        let has_quads = matches!(self, Self::Clusters(ArithmeticKind::Quads));
        // I-clusters of several particles need long vectors.
        if has_quads && !is_long {
            return false;
        }
        match kernel {
            ConstantSource::Terms => true,
            ConstantSource::Own | ConstantSource::Registers => !is_scalar,
            ConstantSource::Row => is_long && self.has_rows(),
            ConstantSource::WideRow => is_long && self.has_rows() && matches!(self, Self::Clusters(_)),
            // Particles of an i-cluster are of several species only if all constants fit into a row.
            ConstantSource::Memory => !is_scalar && !has_quads,
        }
    }
}

/// Number of species in a row, in f64 and with four particles i.
const FEW: usize = MOST_IN_A_ROW / 2;

#[cfg(test)]
mod tests {
    use super::*;
    use pulp::Simd;

    #[test]
    fn kernels_that_are_chosen_are_compiled() {
        use ArithmeticKind::{Double, Quads, Single};
        for vectors in [Vectors::Short, Vectors::Long] {
            for species in 1..=MOST_IN_A_ROW + 2 {
                for kind in [LoopKind::Cells, LoopKind::Clusters(Double), LoopKind::Clusters(Single)] {
                    let own = [ConstantSource::Own, ConstantSource::Terms];
                    assert!(own.into_iter().all(|source| kind.runs(source, vectors)), "{kind:?}");
                    assert!(kind.runs(kind.constants(species, vectors), vectors), "{kind:?} {species}");
                }
            }
        }
        let quads = LoopKind::Clusters(Quads);
        let runs = |species| quads.runs(quads.constants(species, Vectors::Long), Vectors::Long);
        assert!((1..=MOST_IN_A_ROW).all(runs) && !runs(MOST_IN_A_ROW + 1));
    }

    #[test]
    fn levels_have_their_vectors() {
        struct Lanes;
        impl pulp::WithSimd for Lanes {
            type Output = usize;
            #[inline(always)]
            fn with_simd<S: Simd>(self, _: S) -> usize {
                S::F64_LANES
            }
        }
        for level in SimdLevel::available() {
            assert_eq!(Vectors::of(level.dispatch(Lanes)), Vectors::at(level), "{level:?}");
        }
    }
}
