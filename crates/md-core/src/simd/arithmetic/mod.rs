//! Pair arithmetic in double or single precision, written once: kernels are generic over [`Arithmetic`].
//!
//! | | [`Double`] | [`Single`] |
//! | --- | --- | --- |
//! | lanes, AVX-512 | 8 | 16 |
//! | lanes, AVX2, and AVX-512 on half-width units | 4 | 8 |
//! | particles of an i-cluster and of a cluster | one and as many as lanes | the same, or ([`Quads`]) two or four, and four |
//! | coordinates | f64 | fixed point, 32 bits over eight cells, wrapping |
//! | distances, pair terms | f64 | f32 |
//!
//! Why fixed point: a difference of two f32 coordinates loses digits far from the origin, a difference of two integers
//! does not. It costs one conversion per component. Integers wrap around, so that the resolution does not depend on the
//! size of the box either.

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

pub use double::Double;
pub(crate) use packing::{less_in, pack};
pub use quads::Quads;
pub use single::Single;

use super::{Inversion, Registers};
use pulp::Simd;

/// Where the forces on the particles of clusters add up during a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClusterForces {
    /// In the particles' forces themselves, which are of the same type.
    InPlace,
    /// Elsewhere, lane by lane, until [`Arithmetic::add_cluster`] is called.
    InAccumulators,
}

/// A row fills 256 bits.
const ROW_BYTES: usize = 32;

/// Species in a row, in either precision at most.
pub(crate) const MOST_IN_A_ROW: usize = ROW_BYTES / size_of::<f32>();

/// Particles of an i-cluster at most.
pub(crate) const MOST_I_PARTICLES: usize = 4;

/// A number for each species, in both precisions.
#[derive(Debug, Clone, Copy)]
pub struct BySpecies {
    /// As they are.
    pub double: [f64; MOST_IN_A_ROW],
    /// Rounded: to do so for each i-cluster takes longer than its pairs save.
    pub single: [f32; MOST_IN_A_ROW],
}

impl From<[f64; MOST_IN_A_ROW]> for BySpecies {
    fn from(double: [f64; MOST_IN_A_ROW]) -> Self {
        Self { double, single: double.map(|number| number as f32) }
    }
}

/// For each particle of an i-cluster a number for each species; the last particle's again where there are fewer particles.
pub(crate) type OfParticles<'a> = [&'a BySpecies; MOST_I_PARTICLES];

/// What a lane holds and how it is computed with.
pub trait Arithmetic: Copy + Send + Sync + std::fmt::Debug + 'static {
    /// One coordinate in memory.
    type Coordinate: bytemuck::Pod + Send + Sync;
    /// One species index in memory.
    type SpeciesIndex: bytemuck::Pod + Send + Sync;
    /// Coordinates of an i-cluster's particles, spread over the lanes.
    type Coordinates<S: Simd>: Copy;
    /// Coordinates of a cluster's particles, as they are in memory.
    type Cluster<S: Simd>: bytemuck::Pod;
    /// Species of a cluster's particles, as they are in memory.
    type ClusterSpecies<S: Simd>: bytemuck::Pod;
    /// A vector of numbers.
    type Lanes<S: Simd>: bytemuck::Pod;
    /// A vector of species indices.
    type SpeciesLanes<S: Simd>: bytemuck::Pod;
    /// A number for each of a few species, for each particle of an i-cluster.
    type Row: Copy;
    /// How many.
    const SPECIES_IN_A_ROW: usize;
    /// A number for each of `MOST_IN_A_ROW` species, for each particle of an i-cluster.
    type WideRow: Copy;
    /// A choice of lanes.
    type Mask<S: Simd>: Copy;
    /// Adding it to a number up to 2^51 (in f32 2^22) rounds that to an integer, which its last bits are then.
    const ROUNDING: f64;
    /// Lanes of f32 in the shortest vectors that lists are made for.
    const FEWEST_LANES: usize = 1;
    /// Where the forces of clusters add up.
    const CLUSTER_FORCES: ClusterForces;

    /// Lanes of a vector: one per pair of an i-cluster's particle and a cluster's, i-cluster by i-cluster.
    fn lanes<S: Simd>() -> usize;
    /// Particles i of an i-cluster.
    fn i_particles<S: Simd>() -> usize;
    /// Particles j of a cluster.
    #[inline(always)]
    fn width<S: Simd>() -> usize {
        Self::lanes::<S>() / Self::i_particles::<S>()
    }
    /// A coordinate of an i-cluster's particles, each in all of its lanes.
    fn spread<S: Simd>(simd: S, coordinates: &[Self::Coordinate]) -> Self::Coordinates<S>;
    /// a - b for every pair.
    fn difference<S: Simd>(simd: S, a: Self::Coordinates<S>, b: Self::Cluster<S>) -> Self::Lanes<S>;
    /// The species of a cluster's particles, beside every particle of an i-cluster.
    fn species_lanes<S: Simd>(simd: S, kinds: Self::ClusterSpecies<S>) -> Self::SpeciesLanes<S>;
    /// Adds the sums over the lanes of each of an i-cluster's particles, in three dimensions, times the unit, to that particle's
    /// forces.
    fn add_to_i_particles<S: Simd>(simd: S, to: [&mut [f64]; 3], sums: [Self::Lanes<S>; 3], unit: f64);
    /// Adds the sums over the lanes of each of a cluster's particles, times the unit, to that particle's forces; `to` may
    /// be shorter than the cluster.
    fn add_cluster<S: Simd>(simd: S, to: &mut [f64], sums: Self::Lanes<S>, unit: f64);
    /// A number in all lanes.
    fn splat<S: Simd>(simd: S, value: f64) -> Self::Lanes<S>;
    /// 1, 2, 4, ...
    fn lane_bits<S: Simd>(simd: S) -> Self::SpeciesLanes<S>;
    /// a + b.
    fn add<S: Simd>(simd: S, a: Self::Lanes<S>, b: Self::Lanes<S>) -> Self::Lanes<S>;
    /// a - b.
    fn sub<S: Simd>(simd: S, a: Self::Lanes<S>, b: Self::Lanes<S>) -> Self::Lanes<S>;
    /// a b.
    fn mul<S: Simd>(simd: S, a: Self::Lanes<S>, b: Self::Lanes<S>) -> Self::Lanes<S>;
    /// a b + c: fused where the CPU fuses. `pulp` would otherwise call a software routine for the exactly rounded
    /// result, at ten times the cost of the whole kernel.
    fn mul_add<S: Simd>(simd: S, a: Self::Lanes<S>, b: Self::Lanes<S>, c: Self::Lanes<S>) -> Self::Lanes<S>;
    /// -a.
    fn neg<S: Simd>(simd: S, a: Self::Lanes<S>) -> Self::Lanes<S>;
    /// Square root.
    fn sqrt<S: Simd>(simd: S, a: Self::Lanes<S>) -> Self::Lanes<S>;
    /// The nearest integer, of numbers up to 2^51 (in f32 2^22).
    #[inline(always)]
    fn round<S: Simd>(simd: S, a: Self::Lanes<S>) -> Self::Lanes<S> {
        let rounding = Self::splat(simd, Self::ROUNDING);
        Self::sub(simd, Self::add(simd, a, rounding), rounding)
    }
    /// e^a to the last bit or two; 0 below -708 (in f32 -87), e^709 (e^88) beyond that.
    fn exp<S: Simd>(simd: S, a: Self::Lanes<S>) -> Self::Lanes<S>;
    /// The numbers in a table at indices that are integers; 0 beyond its end. Lane by lane.
    fn gather<S: Simd>(simd: S, table: &[f64], index: Self::Lanes<S>) -> Self::Lanes<S>;
    /// a < b for numbers that are not negative, among the lanes whose bits are set, given [`Self::lane_bits`]. What is not a
    /// number is never less; from fixed point it does not arise.
    fn less_than<S: Simd, R: Registers>(
        simd: S,
        a: Self::Lanes<S>,
        b: Self::Lanes<S>,
        bits: u16,
        lane_bits: Self::SpeciesLanes<S>,
    ) -> Self::Mask<S>;
    /// Whether the mask is set in any lane.
    fn any<S: Simd>(simd: S, mask: Self::Mask<S>) -> bool;
    /// `yes` where the mask is set, else `no`.
    fn select<S: Simd>(
        simd: S,
        mask: Self::Mask<S>,
        yes: Self::Lanes<S>,
        no: Self::Lanes<S>,
    ) -> Self::Lanes<S>;
    /// The first [`Self::SPECIES_IN_A_ROW`] of each particle's numbers.
    fn row<S: Simd>(simd: S, numbers: OfParticles) -> Self::Row;
    /// The numbers of each lane's particle i for these species: a permutation with vectors of 256 bits and more.
    fn look_up<S: Simd>(simd: S, row: Self::Row, kinds: Self::SpeciesLanes<S>) -> Self::Lanes<S>;
    /// All of them.
    fn wide_row<S: Simd>(simd: S, numbers: OfParticles) -> Self::WideRow;
    /// The same for up to `MOST_IN_A_ROW` species: one permutation, or two.
    fn look_up_wide<S: Simd>(simd: S, row: Self::WideRow, kinds: Self::SpeciesLanes<S>) -> Self::Lanes<S>;
    /// The same from a table for as many species as you like. Lane by lane.
    fn gather_by_species<S: Simd, const N: usize>(
        simd: S,
        table: &[[f64; N]],
        kinds: Self::SpeciesLanes<S>,
    ) -> [Self::Lanes<S>; N];
    /// The species of an index in memory.
    fn species(kind: Self::SpeciesIndex) -> usize;
    /// A squared distance of coordinates as a squared length, given the squared length of their unit.
    fn in_lengths<S: Simd>(simd: S, r2: Self::Lanes<S>, unit2: Self::Lanes<S>) -> Self::Lanes<S>;
    /// The inverse of that, given the inverse of the unit's square: to the last bit or two; anything for zero and infinity.
    fn inverse_in_lengths<S: Simd>(
        simd: S,
        r2: Self::Lanes<S>,
        per_unit2: Self::Lanes<S>,
        inversion: Inversion,
    ) -> Self::Lanes<S>;
    /// Sum over the lanes.
    fn sum<S: Simd>(simd: S, a: Self::Lanes<S>) -> f64;
}

/// Whether a multiply-add is one instruction.
#[inline(always)]
fn is_fused<S: Simd>() -> bool {
    const LANES_OF_THE_BASELINE: usize = 2;
    S::F64_LANES > LANES_OF_THE_BASELINE || cfg!(target_arch = "aarch64")
}
