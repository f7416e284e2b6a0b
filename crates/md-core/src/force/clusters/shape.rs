//! The numbers of particles of an i-cluster and of a j-cluster.

use crate::simd::{Arithmetic, LevelKernel, Registers, SimdLevel};
use pulp::{Simd, WithSimd};
use std::marker::PhantomData;

/// The numbers of particles of an i-cluster and of a j-cluster.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ClusterShape {
    pub i_particles: usize,
    pub width: usize,
}

impl ClusterShape {
    /// Returns the shape for an arithmetic at a level; empty if vectors are too short for it.
    pub(super) fn of<P: Arithmetic>(level: SimdLevel) -> Self {
        level.dispatch(Shape::<P>(PhantomData))
    }

    /// Returns the number of pairs of an entry.
    pub(super) fn lanes(self) -> usize {
        self.i_particles * self.width
    }

    /// Runs a kernel compiled for this shape and level.
    pub(super) fn dispatch<K: ShapeKernel>(self, level: SimdLevel, kernel: K) {
        match (self.i_particles, self.width) {
            (1, 1) => level.dispatch(Shaped::<K, 1, 1, 1>(kernel)),
            (1, 2) => level.dispatch(Shaped::<K, 1, 2, 2>(kernel)),
            (1, 4) => level.dispatch(Shaped::<K, 1, 4, 4>(kernel)),
            (1, 8) => level.dispatch(Shaped::<K, 1, 8, 8>(kernel)),
            (1, 16) => level.dispatch(Shaped::<K, 1, 16, 16>(kernel)),
            (2, 4) => level.dispatch(Shaped::<K, 2, 4, 8>(kernel)),
            (4, 4) => level.dispatch(Shaped::<K, 4, 4, 16>(kernel)),
            (i_particles, width) => unreachable!("no vector holds {i_particles} times {width} pairs"),
        }
    }
}

struct Shape<P>(PhantomData<P>);

impl<P: Arithmetic> LevelKernel for Shape<P> {
    type Output = ClusterShape;

    #[inline(always)]
    fn run<S: Simd, R: Registers>(self, _: S) -> ClusterShape {
        if const { S::F32_LANES < P::FEWEST_LANES } {
            return ClusterShape::default();
        }
        ClusterShape { i_particles: P::i_particles::<S>(), width: P::width::<S>() }
    }
}

/// A kernel that is compiled for every shape.
pub(super) trait ShapeKernel {
    /// Runs the kernel for i-clusters of `I` and j-clusters of `WIDTH` particles, with `LANES`
    /// pairs.
    fn run<S: Simd, const I: usize, const WIDTH: usize, const LANES: usize>(self, simd: S);
}

struct Shaped<K, const I: usize, const WIDTH: usize, const LANES: usize>(K);

impl<K: ShapeKernel, const I: usize, const WIDTH: usize, const LANES: usize> WithSimd
    for Shaped<K, I, WIDTH, LANES>
{
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        // Other combinations do not occur, and are not worth compiling.
        if const { LANES == S::F64_LANES || LANES == S::F32_LANES } {
            self.0.run::<S, I, WIDTH, LANES>(simd);
        }
    }
}
