//! Pair arithmetic in double or single precision from the same source: kernels are generic over
//! [`Arithmetic`].
//!
//! | | [`Double`] | [`Single`] |
//! | --- | --- | --- |
//! | lanes, AVX-512 | 8 | 16 |
//! | lanes, AVX2, and AVX-512 on half-width units | 4 | 8 |
//! | particles of an i-cluster and of a cluster | one and as many as lanes | the same, or ([`Quads`]) two or four, and four |
//! | coordinates | f64 | fixed point, 32 bits over eight cells, wrapping |
//! | distances, pair terms | f64 | f32 |
//!
//! Reason for fixed point: a difference of two f32 coordinates loses digits far from the origin,
//! but a difference of two integers does not. It costs one conversion per component. Integers wrap
//! around, so the resolution does not depend on the size of the box either.

#![cfg_attr(
    not(target_arch = "x86_64"),
    expect(unused_variables, dead_code, reason = "parts that only instructions of x86_64 need")
)]

#[macro_use]
mod lanes;
mod double;
mod exp;
mod packing;
mod quads;
mod single;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use double::{Double, DoubleWith, Reproducible};
pub(crate) use packing::{less_in, pack};
pub use quads::Quads;
pub use single::Single;

use super::{Inversion, Registers};
use pulp::Simd;

/// Place in which the forces on the particles of clusters are added up during a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClusterForces {
    /// Directly in the particles' forces, which have the same type.
    InPlace,
    /// In accumulators with one element per lane, until [`Arithmetic::add_cluster`] is called.
    InAccumulators,
}

/// Which arithmetic, where it must be known before a loop is compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArithmeticKind {
    /// [`Double`].
    Double,
    /// [`Reproducible`].
    Reproducible,
    /// [`Single`].
    Single,
    /// [`Quads`].
    Quads,
}

/// Bytes of a row: 256 bits.
const ROW_BYTES: usize = 32;

/// Largest number of species in a row, in either precision.
pub(crate) const MOST_IN_A_ROW: usize = ROW_BYTES / size_of::<f32>();

/// Largest number of particles of an i-cluster.
pub(crate) const MOST_I_PARTICLES: usize = 4;

/// One number per species, in both precisions.
#[derive(Debug, Clone, Copy)]
pub struct BySpecies {
    /// The original numbers.
    pub double: [f64; MOST_IN_A_ROW],
    /// The rounded numbers. Rounding them for each i-cluster would take longer than its pairs save.
    pub single: [f32; MOST_IN_A_ROW],
}

impl From<[f64; MOST_IN_A_ROW]> for BySpecies {
    fn from(double: [f64; MOST_IN_A_ROW]) -> Self {
        Self { double, single: double.map(|number| number as f32) }
    }
}

/// For each particle of an i-cluster one number per species. If there are fewer particles, the last
/// one is repeated.
pub(crate) type OfParticles<'a> = [&'a BySpecies; MOST_I_PARTICLES];

/// The type of the lanes and the operations on them.
pub trait Arithmetic: Copy + Send + Sync + std::fmt::Debug + 'static {
    /// One coordinate in memory.
    type Coordinate: bytemuck::Pod + Send + Sync;
    /// One species index in memory.
    type SpeciesIndex: bytemuck::Pod + Send + Sync;
    /// Coordinates of an i-cluster's particles, distributed over the lanes.
    type Coordinates<S: Simd>: Copy;
    /// Coordinates of a cluster's particles as stored in memory.
    type Cluster<S: Simd>: bytemuck::Pod;
    /// Species of a cluster's particles as stored in memory.
    type ClusterSpecies<S: Simd>: bytemuck::Pod;
    /// A vector of numbers.
    type Lanes<S: Simd>: bytemuck::Pod;
    /// A vector of species indices.
    type SpeciesLanes<S: Simd>: bytemuck::Pod;
    /// One number per species, for a few species, for each particle of an i-cluster.
    type Row: Copy;
    /// Number of species in a row.
    const SPECIES_IN_A_ROW: usize;
    /// One number for each of `MOST_IN_A_ROW` species, for each particle of an i-cluster.
    type WideRow: Copy;
    /// A selection of lanes.
    type Mask<S: Simd>: Copy;
    /// Number that rounds another one of at most 2^51 (in f32 2^22) to an integer when added to it.
    /// The integer is in the last bits of the sum.
    const ROUNDING: f64;
    /// Number of f32 lanes in the shortest vectors for which lists are made.
    const FEWEST_LANES: usize = 1;
    /// Which arithmetic this is.
    const KIND: ArithmeticKind;
    /// Whether the terms of sums are rounded to multiples of a quantum, so that the sums are exact.
    const EXACT_SUMS: bool = false;
    /// Place in which the forces of clusters are added up.
    const CLUSTER_FORCES: ClusterForces;

    /// Returns the number of lanes of a vector: one per pair of an i-cluster's particle and a
    /// cluster's particle, ordered by the former.
    fn lanes<S: Simd>() -> usize;
    /// Returns the number of particles i of an i-cluster.
    fn i_particles<S: Simd>() -> usize;
    /// Returns the number of particles j of a cluster.
    #[inline(always)]
    fn width<S: Simd>() -> usize {
        Self::lanes::<S>() / Self::i_particles::<S>()
    }
    /// Returns one coordinate of an i-cluster's particles, each repeated in all of its lanes.
    fn spread<S: Simd>(simd: S, coordinates: &[Self::Coordinate]) -> Self::Coordinates<S>;
    /// Returns a - b for every pair.
    fn difference<S: Simd>(simd: S, a: Self::Coordinates<S>, b: Self::Cluster<S>) -> Self::Lanes<S>;
    /// Returns the species of a cluster's particles, repeated for every particle of an i-cluster.
    fn species_lanes<S: Simd>(simd: S, kinds: Self::ClusterSpecies<S>) -> Self::SpeciesLanes<S>;
    /// Adds the sums over the lanes of each of an i-cluster's particles, in three dimensions, times
    /// the unit, to that particle's forces.
    fn add_to_i_particles<S: Simd>(simd: S, to: [&mut [f64]; 3], sums: [Self::Lanes<S>; 3], unit: f64);
    /// Adds the sums over the lanes of each of a cluster's particles, times the unit, to that
    /// particle's forces. `to` may be shorter than the cluster.
    fn add_cluster<S: Simd>(simd: S, to: &mut [f64], sums: Self::Lanes<S>, unit: f64);
    /// Returns a number in all lanes.
    fn splat<S: Simd>(simd: S, value: f64) -> Self::Lanes<S>;
    /// Returns 1, 2, 4, ...
    fn lane_bits<S: Simd>(simd: S) -> Self::SpeciesLanes<S>;
    /// Returns a + b.
    fn add<S: Simd>(simd: S, a: Self::Lanes<S>, b: Self::Lanes<S>) -> Self::Lanes<S>;
    /// Returns a - b.
    fn sub<S: Simd>(simd: S, a: Self::Lanes<S>, b: Self::Lanes<S>) -> Self::Lanes<S>;
    /// Returns a b.
    fn mul<S: Simd>(simd: S, a: Self::Lanes<S>, b: Self::Lanes<S>) -> Self::Lanes<S>;
    /// Returns a b + c, fused if the CPU has such an instruction. Otherwise `pulp` would call a
    /// software routine for the exactly rounded result, which costs ten times as much as the whole
    /// kernel.
    fn mul_add<S: Simd>(simd: S, a: Self::Lanes<S>, b: Self::Lanes<S>, c: Self::Lanes<S>) -> Self::Lanes<S>;
    /// Returns a b, rounded to a multiple of `quantum`, a power of two. Its size must be below 2^51
    /// (in f32 2^22) quanta.
    #[inline(always)]
    fn rounded_product<S: Simd>(
        simd: S,
        a: Self::Lanes<S>,
        b: Self::Lanes<S>,
        quantum: f64,
    ) -> Self::Lanes<S> {
        let rounding = Self::splat(simd, Self::ROUNDING * quantum);
        Self::sub(simd, Self::mul_add(simd, a, b, rounding), rounding)
    }
    /// Returns -a.
    fn neg<S: Simd>(simd: S, a: Self::Lanes<S>) -> Self::Lanes<S>;
    /// Returns the square root.
    fn sqrt<S: Simd>(simd: S, a: Self::Lanes<S>) -> Self::Lanes<S>;
    /// Returns the nearest integers of numbers up to 2^51 (in f32 2^22).
    #[inline(always)]
    fn round<S: Simd>(simd: S, a: Self::Lanes<S>) -> Self::Lanes<S> {
        let rounding = Self::splat(simd, Self::ROUNDING);
        Self::sub(simd, Self::add(simd, a, rounding), rounding)
    }
    /// Returns e^a, correct up to the last one or two bits; 0 below -708 (in f32 -87), and e^709
    /// (e^88) for larger arguments than that.
    fn exp<S: Simd>(simd: S, a: Self::Lanes<S>) -> Self::Lanes<S>;
    /// Returns the numbers in a table at indices that are integers, and 0 beyond its end. Works
    /// lane by lane.
    fn gather<S: Simd>(simd: S, table: &[f64], index: Self::Lanes<S>) -> Self::Lanes<S>;
    /// Returns the mask of a < b for non-negative numbers, restricted to the lanes whose bits are
    /// set, given [`Self::lane_bits`]. NaN is never less; it does not occur with fixed point.
    fn less_than<S: Simd, R: Registers>(
        simd: S,
        a: Self::Lanes<S>,
        b: Self::Lanes<S>,
        bits: u16,
        lane_bits: Self::SpeciesLanes<S>,
    ) -> Self::Mask<S>;
    /// Returns `yes` in the lanes where the mask is set, and `no` in the others.
    fn select<S: Simd>(
        simd: S,
        mask: Self::Mask<S>,
        yes: Self::Lanes<S>,
        no: Self::Lanes<S>,
    ) -> Self::Lanes<S>;
    /// Returns the first [`Self::SPECIES_IN_A_ROW`] of each particle's numbers.
    fn row<S: Simd>(simd: S, numbers: OfParticles) -> Self::Row;
    /// Returns the numbers of each lane's particle i for these species, by a permutation for
    /// vectors of 256 bits and more.
    fn look_up<S: Simd>(simd: S, row: Self::Row, kinds: Self::SpeciesLanes<S>) -> Self::Lanes<S>;
    /// Returns all of each particle's numbers.
    fn wide_row<S: Simd>(simd: S, numbers: OfParticles) -> Self::WideRow;
    /// Does what `look_up` does for up to `MOST_IN_A_ROW` species, by one or two permutations.
    fn look_up_wide<S: Simd>(simd: S, row: Self::WideRow, kinds: Self::SpeciesLanes<S>) -> Self::Lanes<S>;
    /// Returns the results of a function of each number and species, lane by lane.
    fn map_lanes<S: Simd, const N: usize>(
        simd: S,
        numbers: Self::Lanes<S>,
        kinds: Self::SpeciesLanes<S>,
        of_lane: impl Fn(f64, usize) -> [f64; N],
    ) -> [Self::Lanes<S>; N];
    /// Does what `look_up` does with a table for any number of species. Works lane by lane.
    #[inline(always)]
    fn gather_by_species<S: Simd, const N: usize>(
        simd: S,
        table: &[[f64; N]],
        kinds: Self::SpeciesLanes<S>,
    ) -> [Self::Lanes<S>; N] {
        // Lanes of padding are masked, but may have any species.
        let last = table.len() - 1;
        Self::map_lanes(simd, Self::splat(simd, 0.0), kinds, |_, kind| table[kind.min(last)])
    }
    /// Returns the species for an index in memory.
    fn species(kind: Self::SpeciesIndex) -> usize;
    /// Returns the squared length for a squared distance of coordinates, given the squared length
    /// of their unit.
    fn in_lengths<S: Simd>(simd: S, r2: Self::Lanes<S>, unit2: Self::Lanes<S>) -> Self::Lanes<S>;
    /// Returns the inverse of that squared length, given the inverse of the unit's square, correct
    /// up to the last one or two bits. The result for zero and infinity is unspecified.
    fn inverse_in_lengths<S: Simd>(
        simd: S,
        r2: Self::Lanes<S>,
        per_unit2: Self::Lanes<S>,
        inversion: Inversion,
    ) -> Self::Lanes<S>;
    /// Returns the sum over the lanes.
    fn sum<S: Simd>(simd: S, a: Self::Lanes<S>) -> f64;
}

/// Returns whether a multiply-add is one instruction.
#[inline(always)]
pub(crate) fn is_fused<S: Simd>() -> bool {
    const LANES_OF_THE_BASELINE: usize = 2;
    S::F64_LANES > LANES_OF_THE_BASELINE || cfg!(target_arch = "aarch64")
}
