use super::{Arithmetic, Double, Inversion, MOST_I_PARTICLES, MOST_IN_A_ROW, Quads, Single};
use crate::simd::{LevelKernel, Many, Registers, SimdLevel};
use pulp::{Simd, WithSimd};
use std::marker::PhantomData;

/// Runs a check at every level of this CPU.
fn at_every_level<K: LevelKernel<Output = ()> + Copy>(check: K) {
    SimdLevel::available().for_each(|level| level.dispatch(check));
}

/// Returns the number in the lanes whose bits are set, and 0 in the others.
fn in_lanes<P: Arithmetic, S: Simd>(simd: S, number: P::Lanes<S>, lanes: u16) -> P::Lanes<S> {
    let (zero, one) = (P::splat(simd, 0.0), P::splat(simd, 1.0));
    let mask = P::less_than::<S, Many>(simd, zero, one, lanes, P::lane_bits(simd));
    P::select(simd, mask, number, zero)
}

/// Returns a vector whose lanes are first, first + 1, ...
fn counting<P: Arithmetic, S: Simd>(simd: S, first: f64) -> P::Lanes<S> {
    (0..P::lanes::<S>()).fold(P::splat(simd, 0.0), |sum, lane| {
        let number = P::splat(simd, first + lane as f64);
        P::add(simd, sum, in_lanes::<P, S>(simd, number, 1 << lane))
    })
}

fn lane<P: Arithmetic, S: Simd>(simd: S, numbers: P::Lanes<S>, lane: usize) -> f64 {
    P::sum(simd, in_lanes::<P, S>(simd, numbers, 1 << lane))
}

#[derive(Clone, Copy)]
struct Sums<P>(PhantomData<P>);

impl<P: Arithmetic> WithSimd for Sums<P> {
    type Output = ();

    fn with_simd<S: Simd>(self, simd: S) {
        // A vector is shorter than a cluster.
        if P::i_particles::<S>() == 0 {
            return;
        }
        let (i_particles, width) = (P::i_particles::<S>(), P::width::<S>());
        let firsts = [1.0, 100.0, 1000.0];
        let vectors = firsts.map(|first| counting::<P, S>(simd, first));
        let mut to = [vec![0.5; i_particles], vec![0.25; i_particles], vec![0.0; i_particles]];
        P::add_to_i_particles(simd, to.each_mut().map(Vec::as_mut_slice), vectors, UNIT);
        for (particle, dim) in (0..i_particles).flat_map(|particle| (0..3).map(move |dim| (particle, dim))) {
            let sum: f64 = (0..width).map(|lane| firsts[dim] + (particle * width + lane) as f64).sum();
            let expected = [0.5, 0.25, 0.0][dim] + UNIT * sum;
            assert_eq!(
                to[dim][particle], expected,
                "{i_particles} i_particles of {width}: particle {particle}, dimension {dim}"
            );
        }
        for length in 0..=width {
            let mut to = vec![0.5; length];
            P::add_cluster(simd, &mut to, vectors[0], UNIT);
            let sum = |lane: usize| {
                (0..i_particles).map(|particle| 1.0 + (particle * width + lane) as f64).sum::<f64>()
            };
            let expected: Vec<f64> = (0..length).map(|lane| 0.5 + UNIT * sum(lane)).collect();
            assert_eq!(to, expected, "{i_particles} i_particles of {width}");
        }
    }
}

/// Unit of the forces.
const UNIT: f64 = 0.5;

#[test]
fn sums_for_i_particles_and_clusters() {
    at_every_level(Sums::<Double>(PhantomData));
    at_every_level(Sums::<Single>(PhantomData));
    at_every_level(Sums::<Quads>(PhantomData));
}

#[derive(Clone, Copy)]
struct Less<P>(PhantomData<P>);

impl<P: Arithmetic> LevelKernel for Less<P> {
    type Output = ();

    fn run<S: Simd, R: Registers>(self, simd: S) {
        let width = P::lanes::<S>();
        let (a, bound) = (counting::<P, S>(simd, 0.0), P::splat(simd, 3.0));
        for lanes in [0_u16, 0b1, 0b10, 0b1010, 0b1100, u16::MAX] {
            let lanes = (u32::from(lanes) & ((1 << width) - 1)) as u16;
            let less = P::less_than::<S, R>(simd, a, bound, lanes, P::lane_bits(simd));
            let chosen = P::select(simd, less, P::splat(simd, 1.0), P::splat(simd, 0.0));
            let expected = (0..width.min(3)).filter(|lane| lanes >> lane & 1 == 1).count();
            assert_eq!(P::sum(simd, chosen), expected as f64, "{width} lanes, {lanes:b}");
        }
    }
}

#[test]
fn less_than_among_lanes() {
    at_every_level(Less::<Double>(PhantomData));
    at_every_level(Less::<Single>(PhantomData));
}

#[derive(Clone, Copy)]
struct Inverses<P>(Inversion, f64, PhantomData<P>);

impl<P: Arithmetic> WithSimd for Inverses<P> {
    type Output = ();

    fn with_simd<S: Simd>(self, simd: S) {
        let Self(inversion, precision, _) = self;
        for first in [1e-3, 0.7, 1.0, 6.25, 1e6] {
            let a = counting::<P, S>(simd, first);
            let inverse = P::inverse_in_lengths(simd, a, P::splat(simd, 1.0), inversion);
            for number in 0..P::lanes::<S>() {
                let [a, inverse] = [a, inverse].map(|numbers| lane::<P, S>(simd, numbers, number));
                let error = a * inverse - 1.0;
                assert!(error.abs() <= 2.0 * precision, "{inversion:?}: 1 / {a} is off by {error}");
            }
        }
    }
}

#[test]
fn inverses_by_division_and_by_newton_steps() {
    for inversion in [Inversion::Division, Inversion::Newton] {
        at_every_level(Inverses::<Double>(inversion, f64::EPSILON, PhantomData));
        at_every_level(Inverses::<Single>(inversion, f64::from(f32::EPSILON), PhantomData));
    }
}

#[derive(Clone, Copy)]
struct Exponentials<P>([f64; 2], f64, PhantomData<P>);

impl<P: Arithmetic> WithSimd for Exponentials<P> {
    type Output = ();

    fn with_simd<S: Simd>(self, simd: S) {
        let Self([least, most], precision, _) = self;
        let steps = 5000;
        for step in 0..=steps {
            let first = least + (most - least) * f64::from(step) / f64::from(steps);
            let x = P::mul(simd, counting::<P, S>(simd, 0.0), P::splat(simd, 1.0 / 64.0));
            let x = P::sub(simd, P::splat(simd, first), x);
            let exponential = P::exp(simd, x);
            for number in 0..P::lanes::<S>() {
                let [x, exponential] = [x, exponential].map(|numbers| lane::<P, S>(simd, numbers, number));
                let error = if x < least { exponential } else { exponential / x.exp() - 1.0 };
                assert!(error.abs() <= 2.0 * precision, "exp({x}) is off by {error}");
            }
        }
        for (x, expected) in [(0.0, 1.0), (-1e4, 0.0), (f64::from(f32::MIN), 0.0)] {
            assert_eq!(lane::<P, S>(simd, P::exp(simd, P::splat(simd, x)), 0), expected);
        }
        let beyond = lane::<P, S>(simd, P::exp(simd, P::splat(simd, 2.0 * most)), 0);
        assert!((beyond / most.exp() - 1.0).abs() <= 2.0 * precision, "{beyond}");
    }
}

#[test]
fn exponentials_over_their_range() {
    at_every_level(Exponentials::<Double>([-708.0, 709.0], f64::EPSILON, PhantomData));
    at_every_level(Exponentials::<Single>([-87.0, 88.0], f64::from(f32::EPSILON), PhantomData));
    at_every_level(Exponentials::<Quads>([-87.0, 88.0], f64::from(f32::EPSILON), PhantomData));
}

#[derive(Clone, Copy)]
struct Gathered<P>(PhantomData<P>);

impl<P: Arithmetic> WithSimd for Gathered<P> {
    type Output = ();

    fn with_simd<S: Simd>(self, simd: S) {
        let table = [10.0, 11.0, 12.0, 13.0];
        let index = P::round(simd, counting::<P, S>(simd, 0.75));
        let gathered = P::gather(simd, &table, index);
        for number in 0..P::lanes::<S>() {
            let expected = table.get(number + 1).copied().unwrap_or(0.0);
            assert_eq!(lane::<P, S>(simd, gathered, number), expected);
        }
    }
}

#[test]
fn numbers_from_a_table() {
    at_every_level(Gathered::<Double>(PhantomData));
    at_every_level(Gathered::<Single>(PhantomData));
}

#[derive(Clone, Copy)]
struct BySpecies<P>(PhantomData<P>);

impl<P: Arithmetic> WithSimd for BySpecies<P> {
    type Output = ();

    fn with_simd<S: Simd>(self, simd: S) {
        let table: Vec<[f64; 2]> = (0..20_u8).map(f64::from).map(|n| [10.0 + n, -n]).collect();
        let mosts = [P::SPECIES_IN_A_ROW, MOST_IN_A_ROW, table.len()];
        for (most, first) in mosts.into_iter().flat_map(|most| (0..most).map(move |first| (most, first))) {
            let species = |lane: usize| (first + lane) % most;
            let mut kinds = P::lane_bits(simd);
            for lane in 0..P::lanes::<S>() {
                let bytes = bytemuck::bytes_of_mut(&mut kinds);
                let size = bytes.len() / P::lanes::<S>();
                bytes[lane * size..][..size].fill(0);
                bytes[lane * size] = species(lane) as u8;
            }
            let [gathered, negative] = P::gather_by_species(simd, &table, kinds);
            // Every particle of an i-cluster has different numbers.
            let numbers: [super::BySpecies; MOST_I_PARTICLES] = std::array::from_fn(|particle| {
                std::array::from_fn(|species| table[species][0] + 100.0 * particle as f64).into()
            });
            let looked_up = P::look_up(simd, P::row(simd, numbers.each_ref()), kinds);
            let looked_up_wide = P::look_up_wide(simd, P::wide_row(simd, numbers.each_ref()), kinds);
            for number in 0..P::lanes::<S>() {
                let [expected, next] = table[species(number)];
                assert_eq!(lane::<P, S>(simd, gathered, number), expected);
                assert_eq!(lane::<P, S>(simd, negative, number), next);
                let particle = number * P::i_particles::<S>() / P::lanes::<S>();
                let of_particle = numbers[particle].double[species(number) % MOST_IN_A_ROW];
                if most == P::SPECIES_IN_A_ROW {
                    assert_eq!(lane::<P, S>(simd, looked_up, number), of_particle, "lane {number}");
                }
                if most <= MOST_IN_A_ROW {
                    assert_eq!(lane::<P, S>(simd, looked_up_wide, number), of_particle, "lane {number}");
                }
            }
        }
    }
}

#[test]
fn numbers_by_species() {
    at_every_level(BySpecies::<Double>(PhantomData));
    at_every_level(BySpecies::<Single>(PhantomData));
    at_every_level(BySpecies::<Quads>(PhantomData));
}
