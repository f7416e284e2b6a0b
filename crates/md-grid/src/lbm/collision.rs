//! Collision at a node: relaxation of the populations towards the equilibrium of their density and
//! momentum.
//!
//! With two relaxation times (TRT, Ginzburg, Verhaeghe and d'Humieres 2008) a pair of opposite
//! populations is split into its even part `(f_i + f_-i)/2` and its odd part `(f_i - f_-i)/2`,
//! which relax with separate rates. The even rate determines the viscosity. The odd one is free:
//! the *magic parameter* (1 / even - 1/2) (1 / odd - 1/2) determines the exact position of a
//! bounce-back wall, with 3/16 half-way between the nodes. One relaxation time (BGK) is the case of
//! two equal rates, so one kernel serves both.
//!
//! Populations are stored as deviations `f_i - w_i` from a fluid of density 1 at rest. These are
//! small, so that no digits are spent on the constant (Skordos 1993; without this, single precision
//! is useless).

use std::marker::PhantomData;

use md_core::simd::{Arithmetic as _, Simd};

use super::d3q19::{
    PAIRS, POPULATIONS, VELOCITIES, WEIGHT_ALONG_AXIS, WEIGHT_AT_REST, WEIGHT_DIAGONAL, along, weight,
};
use super::lanes::{LaneReal, Lanes};
use crate::Real;

/// Relaxation of populations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Collision {
    /// One relaxation time (Bhatnagar, Gross and Krook 1954).
    Bgk,
    /// Two relaxation times.
    Trt {
        /// Magic parameter, above 0.
        magic: f64,
    },
}

/// Magic parameter for which a flow between plates is exact.
pub const MAGIC_OF_PLATES: f64 = 3.0 / 16.0;

/// Fraction of the difference to equilibrium removed per time step: between 0 and 2.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// Rate of even parts: the inverse of the relaxation time tau.
    pub even: f64,
    /// Rate of odd parts.
    pub odd: f64,
}

impl Rates {
    /// Returns the rates for a kinematic viscosity in lattice units: tau = 3 viscosity + 1/2.
    pub fn new(collision: Collision, viscosity: f64) -> Self {
        let excess = 3.0 * viscosity;
        let odd_excess = match collision {
            Collision::Bgk => excess,
            Collision::Trt { magic } => magic / excess,
        };
        Self { even: 1.0 / (excess + 0.5), odd: 1.0 / (odd_excess + 0.5) }
    }
}

impl Collision {
    /// Returns the magic parameter at a viscosity.
    pub fn magic(self, viscosity: f64) -> f64 {
        match self {
            Self::Bgk => (3.0 * viscosity).powi(2),
            Self::Trt { magic } => magic,
        }
    }

    /// Returns the slip velocity along the walls of a channel with force-driven flow, relative to
    /// the maximum velocity of the flow without slip: 16/3 (magic - 3/16) / width^2 (He, Zou, Luo
    /// and Dembo 1997; for BGK, magic is (tau - 1/2)^2). The slip velocity is added to the velocity
    /// at every node. `width`: number of nodes between the walls.
    pub fn slip(self, viscosity: f64, width: usize) -> f64 {
        16.0 / 3.0 * (self.magic(viscosity) - MAGIC_OF_PLATES) / (width as f64).powi(2)
    }
}

/// Density and velocity of a node in or near equilibrium.
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
    /// Returns the deviation of a population: second-order equilibrium, and the first-order part
    /// due to the gradient (Chapman and Enskog), without which the initial state has a transient.
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

/// Density and momentum of a node, computed from its deviations.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Moments {
    /// Density minus 1.
    pub excess_density: f64,
    /// Momentum per volume, without the half step of the body force.
    pub momentum: [f64; 3],
}

impl Moments {
    /// Returns the moments of one node.
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

    /// Returns the velocity under a body force: the momentum of a state lacks half a step of the
    /// force.
    pub fn velocity(&self, force: [f64; 3]) -> [f64; 3] {
        [0, 1, 2].map(|axis| (self.momentum[axis] + 0.5 * force[axis]) / (1.0 + self.excess_density))
    }
}

/// Constants of a collision: all inputs of its kernel except the populations.
#[derive(Debug, Clone, Copy)]
pub(super) struct Coefficients<T> {
    /// Fraction kept of even parts (halved, for use with the sum of a pair), of odd parts
    /// (likewise), and of the population at rest.
    even_kept: T,
    odd_kept: T,
    rest_kept: T,
    /// Even rate times weight: at rest, along an axis, diagonal.
    even_weights: [T; 3],
    /// Even rate times 9/2 of the weight: along an axis, diagonal.
    quadratic_weights: [T; 2],
    /// Odd rate times 3 times the weight: along an axis, diagonal.
    odd_weights: [T; 2],
    half_force: [T; 3],
    forces: ForceTerms<T>,
}

/// Force term of Guo, Zheng and Shi (2002), separated into even and odd parts.
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
            even_kept: T::from_f64(0.5 - 0.5 * rates.even),
            odd_kept: T::from_f64(0.5 - 0.5 * rates.odd),
            rest_kept: T::from_f64(1.0 - rates.even),
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

/// Whether a kernel computes a body force; compiled separately, since most flows have none.
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

/// Access to the populations of the nodes in a collision.
pub(super) trait Node<V> {
    fn get(&self, population: usize) -> V;
    /// Writes a population. The destination may be the place from which it or its opposite was
    /// read.
    fn put(&mut self, population: usize, value: V);
}

/// Arithmetic of a collision. It is always inlined into the kernel: a closure that is used often
/// becomes a call, and vectors are then passed through memory.
struct Arithmetic<S, T> {
    simd: S,
    kind: PhantomData<T>,
}

impl<S: Simd, T: LaneReal> Arithmetic<S, T> {
    #[inline(always)]
    fn add(&self, a: Lanes<S, T>, b: Lanes<S, T>) -> Lanes<S, T> {
        T::Numbers::add(self.simd, a, b)
    }

    #[inline(always)]
    fn sub(&self, a: Lanes<S, T>, b: Lanes<S, T>) -> Lanes<S, T> {
        T::Numbers::sub(self.simd, a, b)
    }

    #[inline(always)]
    fn mul(&self, a: Lanes<S, T>, b: Lanes<S, T>) -> Lanes<S, T> {
        T::Numbers::mul(self.simd, a, b)
    }

    /// Multiplies by a constant.
    #[inline(always)]
    fn times(&self, factor: T, b: Lanes<S, T>) -> Lanes<S, T> {
        self.mul(self.splat(factor), b)
    }

    #[inline(always)]
    fn splat(&self, value: T) -> Lanes<S, T> {
        T::Numbers::splat(self.simd, value.to_f64())
    }

    /// Returns the sum and difference of a population and its opposite.
    #[inline(always)]
    fn pair(&self, node: &impl Node<Lanes<S, T>>, pair: usize) -> (Lanes<S, T>, Lanes<S, T>) {
        let (one, opposite) = (node.get(2 * pair + 1), node.get(2 * pair + 2));
        (self.add(one, opposite), self.sub(one, opposite))
    }

    /// Returns the density minus 1, and the momentum.
    #[inline(always)]
    fn moments(&self, node: &impl Node<Lanes<S, T>>) -> (Lanes<S, T>, [Lanes<S, T>; 3]) {
        // Pairs that share a plane are combined at once, so that few registers are occupied until
        // the end.
        let ((s0, d0), (s1, d1), (s2, d2)) = (self.pair(node, 0), self.pair(node, 1), self.pair(node, 2));
        let axes = self.add(self.add(s0, s1), s2);
        let [xy, xy_sum, xy_difference] = self.plane(node, 3);
        let [xz, xz_sum, xz_difference] = self.plane(node, 5);
        let [yz, yz_sum, yz_difference] = self.plane(node, 7);
        let diagonals = self.add(self.add(xy, xz), yz);
        let excess = self.add(self.add(node.get(0), axes), diagonals);
        let jx = self.add(d0, self.add(xy_sum, xz_sum));
        let jy = self.add(d1, self.add(xy_difference, yz_sum));
        let jz = self.add(d2, self.add(xz_difference, yz_difference));
        (excess, [jx, jy, jz])
    }

    /// Returns for the two pairs along the diagonals of a plane the sum of all populations, and the
    /// sum and difference of the momenta along the diagonals.
    #[inline(always)]
    fn plane(&self, node: &impl Node<Lanes<S, T>>, first: usize) -> [Lanes<S, T>; 3] {
        let ((s0, d0), (s1, d1)) = (self.pair(node, first), self.pair(node, first + 1));
        [self.add(s0, s1), self.add(d0, d1), self.sub(d0, d1)]
    }
}

/// Collides the populations of some nodes. Opposite directions enter only through their sum and
/// difference, so that a mirrored node (every direction and the force replaced by its opposite)
/// gives identical bits: see `kernel`.
///
/// Populations are read twice: once for the quantities shared by all pairs, and again pair by pair.
/// AVX2 has 16 registers for 19 populations, and any values kept for later would be spilled to the
/// stack.
#[inline(always)]
pub(super) fn collide<S: Simd, T: LaneReal, F: Forcing>(
    simd: S,
    c: &Coefficients<T>,
    node: &mut impl Node<Lanes<S, T>>,
) {
    let a = Arithmetic::<S, T> { simd, kind: PhantomData };
    let (excess, mut j) = a.moments(node);
    if F::IS_FORCED {
        let [x, y, z] = c.half_force;
        j = [a.add(j[0], a.splat(x)), a.add(j[1], a.splat(y)), a.add(j[2], a.splat(z))];
    }
    let [jx, jy, jz] = j;
    let inverse = T::div_lanes(simd, a.splat(T::ONE), a.add(a.splat(T::ONE), excess));
    let square = a.add(a.add(a.mul(jx, jx), a.mul(jy, jy)), a.mul(jz, jz));
    let isotropic = a.sub(excess, a.times(T::from_f64(1.5), a.mul(square, inverse)));
    let work = if F::IS_FORCED {
        let [x, y, z] = c.forces.force;
        a.mul(a.add(a.add(a.times(x, jx), a.times(y, jy)), a.times(z, jz)), inverse)
    } else {
        isotropic
    };

    let mut rest = a.add(a.times(c.rest_kept, node.get(0)), a.times(c.even_weights[0], isotropic));
    if F::IS_FORCED {
        rest = a.sub(rest, a.times(c.forces.isotropic[0], work));
    }
    node.put(0, rest);
    let axes = shared::<S, T, F>(&a, c, 0, [isotropic, inverse, work]);
    relax::<S, T, F>(&a, c, node, 0, jx, &axes);
    relax::<S, T, F>(&a, c, node, 1, jy, &axes);
    relax::<S, T, F>(&a, c, node, 2, jz, &axes);
    let diagonals = shared::<S, T, F>(&a, c, 1, [isotropic, inverse, work]);
    relax::<S, T, F>(&a, c, node, 3, a.add(jx, jy), &diagonals);
    relax::<S, T, F>(&a, c, node, 4, a.sub(jx, jy), &diagonals);
    relax::<S, T, F>(&a, c, node, 5, a.add(jx, jz), &diagonals);
    relax::<S, T, F>(&a, c, node, 6, a.sub(jx, jz), &diagonals);
    relax::<S, T, F>(&a, c, node, 7, a.add(jy, jz), &diagonals);
    relax::<S, T, F>(&a, c, node, 8, a.sub(jy, jz), &diagonals);
}

/// Quantities shared by the pairs along axes, or by the diagonal pairs.
struct Shared<T, V> {
    /// Even rate times the shared part of the equilibria, minus the shared part of the body force.
    common: V,
    /// Factor of the squared momentum along a pair.
    quadratic: V,
    inverse: V,
    odd_weight: T,
}

#[inline(always)]
fn shared<S: Simd, T: LaneReal, F: Forcing>(
    a: &Arithmetic<S, T>,
    c: &Coefficients<T>,
    kind: usize,
    [isotropic, inverse, work]: [Lanes<S, T>; 3],
) -> Shared<T, Lanes<S, T>> {
    let mut common = a.times(c.even_weights[1 + kind], isotropic);
    if F::IS_FORCED {
        common = a.sub(common, a.times(c.forces.isotropic[1 + kind], work));
    }
    let quadratic = a.times(c.quadratic_weights[kind], inverse);
    Shared { common, quadratic, inverse, odd_weight: c.odd_weights[kind] }
}

/// Relaxes a pair, with momentum `ej` along it. Called nine times, since a loop over pairs is not
/// always unrolled.
#[inline(always)]
fn relax<S: Simd, T: LaneReal, F: Forcing>(
    a: &Arithmetic<S, T>,
    c: &Coefficients<T>,
    node: &mut impl Node<Lanes<S, T>>,
    pair: usize,
    ej: Lanes<S, T>,
    shared: &Shared<T, Lanes<S, T>>,
) {
    let equilibrium = a.add(shared.common, a.mul(shared.quadratic, a.mul(ej, ej)));
    let (sum, difference) = a.pair(node, pair);
    let mut even = a.add(a.times(c.even_kept, sum), equilibrium);
    let mut odd = a.add(a.times(c.odd_kept, difference), a.times(shared.odd_weight, ej));
    if F::IS_FORCED {
        even = a.add(even, a.times(c.forces.even[pair], a.mul(ej, shared.inverse)));
        odd = a.add(odd, a.splat(c.forces.odd[pair]));
    }
    node.put(2 * pair + 1, a.add(even, odd));
    node.put(2 * pair + 2, a.sub(even, odd));
}
