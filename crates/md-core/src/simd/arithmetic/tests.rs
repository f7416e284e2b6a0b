use super::{Arithmetic, Double, Inversion, Single};
use crate::simd::SimdLevel;
use pulp::{Simd, WithSimd};
use std::marker::PhantomData;

/// Runs a check at every level of this CPU.
fn at_every_level<K: WithSimd<Output = ()> + Copy>(check: K) {
    SimdLevel::ALL.into_iter().filter(|level| level.is_available()).for_each(|level| level.dispatch(check));
}

/// A vector whose lanes are first, first + 1, ...
fn counting<P: Arithmetic, S: Simd>(simd: S, first: f64) -> P::Lanes<S> {
    let mut lanes = P::splat(simd, 0.0);
    let numbers: &mut [P::Number] = bytemuck::cast_slice_mut(std::slice::from_mut(&mut lanes));
    for (lane, number) in numbers.iter_mut().enumerate() {
        *number = bytemuck::cast_slice::<_, P::Number>(&[P::splat(simd, first + lane as f64)])[0];
    }
    lanes
}

#[derive(Clone, Copy)]
struct Sums<P>(PhantomData<P>);

impl<P: Arithmetic> WithSimd for Sums<P> {
    type Output = ();

    fn with_simd<S: Simd>(self, simd: S) {
        let width = P::width::<S>() as f64;
        let vectors = [1.0, 100.0, 1000.0].map(|first| counting::<P, S>(simd, first));
        let [x, y, z, _] = P::sums(simd, vectors).map(P::value);
        let sum = |first: f64| width * first + width * (width - 1.0) / 2.0;
        assert_eq!([x, y, z], [sum(1.0), sum(100.0), sum(1000.0)], "{width} lanes");
    }
}

#[test]
fn sums_of_three_vectors() {
    at_every_level(Sums::<Double>(PhantomData));
    at_every_level(Sums::<Single>(PhantomData));
}

#[derive(Clone, Copy)]
struct Less<P>(PhantomData<P>);

impl<P: Arithmetic> WithSimd for Less<P> {
    type Output = ();

    fn with_simd<S: Simd>(self, simd: S) {
        let width = P::width::<S>();
        let (a, bound) = (counting::<P, S>(simd, 0.0), P::splat(simd, 3.0));
        for lanes in [0_u16, 0b1, 0b10, 0b1010, 0b1100, u16::MAX] {
            let lanes = (u32::from(lanes) & ((1 << width) - 1)) as u16;
            let less = P::less_than(simd, (a, bound), (lanes, P::lane_bits(simd)));
            let chosen = P::select(simd, less, P::splat(simd, 1.0), P::splat(simd, 0.0));
            let expected = (0..width.min(3)).filter(|lane| lanes >> lane & 1 == 1).count();
            assert_eq!(P::sum(simd, chosen), expected as f64, "{width} lanes, {lanes:b}");
            assert_eq!(P::any(simd, less), expected > 0, "{width} lanes, {lanes:b}");
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
            let (a, inverse): (&[P::Number], &[P::Number]) = (
                bytemuck::cast_slice(std::slice::from_ref(&a)),
                bytemuck::cast_slice(std::slice::from_ref(&inverse)),
            );
            for (&a, &inverse) in a.iter().zip(inverse) {
                let error = P::value(a) * P::value(inverse) - 1.0;
                assert!(
                    error.abs() <= 2.0 * precision,
                    "{inversion:?}: 1 / {} is off by {error}",
                    P::value(a)
                );
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
