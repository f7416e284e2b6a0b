//! What happens at a node: populations relax towards the equilibrium of their density and momentum.
//!
//! With two relaxation times (TRT, Ginzburg, Verhaeghe and d'Humieres 2008) a pair of opposite populations is taken apart
//! into its even part `(f_i + f_-i) / 2` and its odd part `(f_i - f_-i) / 2`, which relax with rates of their own. The even rate
//! is the viscosity; the odd one is free, and the *magic parameter*
//! (1 / even - 1/2) (1 / odd - 1/2) decides where exactly a bounce-back wall stands: with 3/16 half-way between the nodes.
//! One relaxation time (BGK) is the case of two equal rates, so one kernel serves both.
//!
//! Stored are deviations `f_i - w_i` from a fluid of density 1 at rest, which are small: so digits are not spent on
//! the constant (Skordos 1993; single precision is of no use without).

use md_core::simd::Simd;

use super::d3q19::{
    PAIRS, POPULATIONS, VELOCITIES, WEIGHT_ALONG_AXIS, WEIGHT_AT_REST, WEIGHT_DIAGONAL, along, weight,
};
use super::lanes::LaneReal;
use crate::Real;

/// How populations relax.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Collision {
    /// With one relaxation time (Bhatnagar, Gross and Krook 1954).
    Bgk,
    /// With two.
    Trt {
        /// The magic parameter, above 0.
        magic: f64,
    },
}

/// The magic parameter with which a flow between plates is exact.
pub const MAGIC_OF_PLATES: f64 = 3.0 / 16.0;

/// Per time step, the part of the difference to equilibrium that goes away: between 0 and 2.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// Of even parts: the inverse of the relaxation time tau.
    pub even: f64,
    /// Of odd parts.
    pub odd: f64,
}

impl Rates {
    /// Of a fluid with this kinematic viscosity in lattice units: tau = 3 viscosity + 1/2.
    pub fn new(collision: Collision, viscosity: f64) -> Self {
        let excess = 3.0 * viscosity;
        let odd_excess = match collision {
            Collision::Bgk => excess,
            Collision::Trt { magic } => magic / excess,
        };
        Self { even: 1.0 / (excess + 0.5), odd: 1.0 / (odd_excess + 0.5) }
    }
}

/// Density and velocity of a node in equilibrium, or near to it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct FlowState {
    /// Density minus 1.
    pub excess_density: f64,
    /// Velocity in nodes per step.
    pub velocity: [f64; 3],
    /// Derivative of velocity component b along axis a, at `[a][b]`.
    pub gradient: [[f64; 3]; 3],
}

impl FlowState {
    /// The deviation of a population: equilibrium of second order, and the first-order part that belongs to the gradient
    /// (Chapman and Enskog), without which a flow starts with a jolt.
    pub fn population(&self, population: usize, rates: Rates) -> f64 {
        let Self { excess_density, velocity, gradient } = *self;
        let density = 1.0 + excess_density;
        let along_u = along(population, velocity);
        let square: f64 = velocity.iter().map(|u| u * u).sum();
        let e = VELOCITIES[population].map(f64::from);
        let strain = |a: usize, b: usize| {
            let kronecker = if a == b { 1.0 / 3.0 } else { 0.0 };
            (e[a] * e[b] - kronecker) * gradient[a][b]
        };
        let strains: f64 = (0..9).map(|at| strain(at / 3, at % 3)).sum();
        let equilibrium = excess_density + density * (3.0 * along_u + 4.5 * along_u * along_u - 1.5 * square);
        weight(population) * (equilibrium - 3.0 * density / rates.even * strains)
    }
}

/// Density and momentum of a node, from its deviations.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Moments {
    /// Density minus 1.
    pub excess_density: f64,
    /// Momentum per volume, without the half step of the body force.
    pub momentum: [f64; 3],
}

impl Moments {
    /// Of one node.
    pub fn of<T: Real>(deviations: &[T; POPULATIONS]) -> Self {
        let mut sums = Self::default();
        for (population, &deviation) in deviations.iter().enumerate() {
            let deviation = deviation.to_f64();
            sums.excess_density += deviation;
            for (sum, step) in sums.momentum.iter_mut().zip(VELOCITIES[population]) {
                *sum += f64::from(step) * deviation;
            }
        }
        sums
    }

    /// Velocity under a body force: momentum is measured half a step before and after the force has acted.
    pub fn velocity(&self, force: [f64; 3]) -> [f64; 3] {
        [0, 1, 2].map(|axis| (self.momentum[axis] + 0.5 * force[axis]) / (1.0 + self.excess_density))
    }
}

/// The constants of a collision: all that its kernel reads beside populations.
#[derive(Debug, Clone, Copy)]
pub(super) struct Coefficients<T> {
    half_even: T,
    half_odd: T,
    /// Even rate times weight: at rest, along an axis, diagonal.
    even_weights: [T; 3],
    /// Even rate times nine halves of the weight: along an axis, diagonal.
    quadratic_weights: [T; 2],
    /// Odd rate times three times the weight: along an axis, diagonal.
    odd_weights: [T; 2],
    half_force: [T; 3],
    forces: ForceTerms<T>,
}

/// Guo, Zheng and Shi's force (2002), even and odd parts apart.
#[derive(Debug, Clone, Copy)]
struct ForceTerms<T> {
    /// 9 w (1 - even / 2) e F of each pair, to be multiplied by e u.
    even: [T; PAIRS],
    /// 3 w (1 - odd / 2) e F of each pair.
    odd: [T; PAIRS],
    /// 3 w (1 - even / 2): at rest, along an axis, diagonal; to be multiplied by u F.
    isotropic: [T; 3],
    force: [T; 3],
}

impl<T: Real> Coefficients<T> {
    pub(super) fn new(rates: Rates, force: [f64; 3]) -> Self {
        let weights = [WEIGHT_AT_REST, WEIGHT_ALONG_AXIS, WEIGHT_DIAGONAL];
        let [_, moving @ ..] = weights;
        let (even_left, odd_left) = (1.0 - 0.5 * rates.even, 1.0 - 0.5 * rates.odd);
        let of_pair = |factor: f64| {
            std::array::from_fn(|pair| {
                let population = 2 * pair + 1;
                T::from_f64(factor * weight(population) * along(population, force))
            })
        };
        Self {
            half_even: T::from_f64(0.5 * rates.even),
            half_odd: T::from_f64(0.5 * rates.odd),
            even_weights: weights.map(|weight| T::from_f64(rates.even * weight)),
            quadratic_weights: moving.map(|weight| T::from_f64(4.5 * rates.even * weight)),
            odd_weights: moving.map(|weight| T::from_f64(3.0 * rates.odd * weight)),
            half_force: force.map(|component| T::from_f64(0.5 * component)),
            forces: ForceTerms {
                even: of_pair(9.0 * even_left),
                odd: of_pair(3.0 * odd_left),
                isotropic: weights.map(|weight| T::from_f64(3.0 * even_left * weight)),
                force: force.map(T::from_f64),
            },
        }
    }
}

/// Whether a kernel computes a body force: compiled apart, since most flows have none.
pub(super) trait Forcing {
    const IS_FORCED: bool;
}

pub(super) struct Unforced;

impl Forcing for Unforced {
    const IS_FORCED: bool = false;
}

pub(super) struct Forced;

impl Forcing for Forced {
    const IS_FORCED: bool = true;
}

/// Populations of some nodes after their collision. Opposite directions enter by their sum and difference only, so that a node
/// seen in a mirror (every direction and the force replaced by its opposite) gives the same bits: see `kernel`.
#[inline(always)]
pub(super) fn collide<S: Simd, T: LaneReal, F: Forcing>(
    simd: S,
    coefficients: &Coefficients<T>,
    f: [T::Lanes<S>; POPULATIONS],
) -> [T::Lanes<S>; POPULATIONS] {
    let add = |a, b| T::add_lanes(simd, a, b);
    let sub = |a, b| T::sub_lanes(simd, a, b);
    let mul = |a, b| T::mul_lanes(simd, a, b);
    let splat = |value| T::splat(simd, value);
    let c = coefficients;

    let sums: [_; PAIRS] = std::array::from_fn(|pair| add(f[2 * pair + 1], f[2 * pair + 2]));
    let differences: [_; PAIRS] = std::array::from_fn(|pair| sub(f[2 * pair + 1], f[2 * pair + 2]));
    let [s0, s1, s2, s3, s4, s5, s6, s7, s8] = sums;
    let axes = add(add(s0, s1), s2);
    let diagonals = add(add(add(s3, s4), add(s5, s6)), add(s7, s8));
    let excess = add(add(f[0], axes), diagonals);

    let [d0, d1, d2, d3, d4, d5, d6, d7, d8] = differences;
    let mut jx = add(d0, add(add(d3, d4), add(d5, d6)));
    let mut jy = add(d1, add(sub(d3, d4), add(d7, d8)));
    let mut jz = add(d2, add(sub(d5, d6), sub(d7, d8)));
    if F::IS_FORCED {
        jx = add(jx, splat(c.half_force[0]));
        jy = add(jy, splat(c.half_force[1]));
        jz = add(jz, splat(c.half_force[2]));
    }
    let inverse = T::div_lanes(simd, splat(T::ONE), add(splat(T::ONE), excess));
    let square = add(add(mul(jx, jx), mul(jy, jy)), mul(jz, jz));
    let isotropic = sub(excess, mul(splat(T::from_f64(1.5)), mul(square, inverse)));
    let work = if F::IS_FORCED {
        let [x, y, z] = c.forces.force.map(splat);
        mul(add(add(mul(jx, x), mul(jy, y)), mul(jz, z)), inverse)
    } else {
        isotropic
    };

    let rest = sub(mul(splat(twice(c.half_even)), f[0]), mul(splat(c.even_weights[0]), isotropic));
    let mut after = f;
    after[0] = sub(f[0], rest);
    if F::IS_FORCED {
        after[0] = sub(after[0], mul(splat(c.forces.isotropic[0]), work));
    }
    // Of pairs along an axis, and of diagonal ones: the even rate times what equilibria have in common, and times what the square of
    // the momentum along a pair is multiplied by.
    let common = [1, 2].map(|kind| mul(splat(c.even_weights[kind]), isotropic));
    let quadratic = c.quadratic_weights.map(|weight| mul(splat(weight), inverse));
    let along_j = [jx, jy, jz, add(jx, jy), sub(jx, jy), add(jx, jz), sub(jx, jz), add(jy, jz), sub(jy, jz)];
    for pair in 0..PAIRS {
        let kind = usize::from(pair >= 3);
        let ej = along_j[pair];
        let equilibrium = add(common[kind], mul(quadratic[kind], mul(ej, ej)));
        let mut even = sub(mul(splat(c.half_even), sums[pair]), equilibrium);
        let mut odd = sub(mul(splat(c.half_odd), differences[pair]), mul(splat(c.odd_weights[kind]), ej));
        if F::IS_FORCED {
            let along_force = mul(splat(c.forces.even[pair]), mul(ej, inverse));
            even = sub(even, sub(along_force, mul(splat(c.forces.isotropic[1 + kind]), work)));
            odd = sub(odd, splat(c.forces.odd[pair]));
        }
        after[2 * pair + 1] = sub(sub(f[2 * pair + 1], even), odd);
        after[2 * pair + 2] = add(sub(f[2 * pair + 2], even), odd);
    }
    after
}

/// Twice a number: the population at rest is its own opposite.
#[inline(always)]
fn twice<T: Real>(half: T) -> T {
    half + half
}
