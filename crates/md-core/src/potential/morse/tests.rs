//! Tests of special points, shifts, derivatives and tails. The SIMD kernels are tested in
//! `tests/potentials.rs`.

use super::*;

const PAIR: MorsePair = MorsePair { depth: 0.8, alpha: 3.0, r0: 1.1 };

fn morse(shift: Shift) -> Morse {
    Morse::new(1, &[SpeciesPair { species: [0, 0], parameters: PAIR }], 2.5, shift).unwrap()
}

#[test]
fn special_points() {
    let minimum = morse(Shift::None).term(0, 0, PAIR.r0 * PAIR.r0);
    assert!((minimum.energy + PAIR.depth).abs() < 1e-15 && minimum.force_over_r.abs() < 1e-14);
    let zero_crossing = PAIR.r0 - 2f64.ln() / PAIR.alpha;
    assert!(morse(Shift::None).term(0, 0, zero_crossing * zero_crossing).energy.abs() < 1e-14);
}

#[test]
fn shifts_vanish_at_the_cutoff() {
    assert!(morse(Shift::Energy).term(0, 0, 6.25).energy.abs() < 1e-16);
    let force_shifted = morse(Shift::Force).term(0, 0, 6.25);
    assert!(force_shifted.energy.abs() < 1e-15 && force_shifted.force_over_r.abs() < 1e-16);
}

#[test]
fn force_is_the_derivative_of_the_energy() {
    for shift in [Shift::None, Shift::Energy, Shift::Force] {
        let morse = morse(shift);
        for r in [0.6, 0.9, 1.1, 1.5, 2.4] {
            let h = 1e-6;
            let [low, high] = [r - h, r + h].map(|r: f64| morse.term(0, 0, r * r).energy);
            let (numerical, force) = (-(high - low) / (2.0 * h), morse.term(0, 0, r * r).force_over_r * r);
            assert!((force - numerical).abs() < 1e-7 * force.abs().max(1.0), "{shift:?} at {r}");
        }
    }
}

#[test]
fn parameters_are_checked() {
    let new = |pair, species| {
        Morse::new(species, &[SpeciesPair { species: [0, 0], parameters: pair }], 2.5, Shift::None)
    };
    assert_eq!(new(PAIR, 2).unwrap_err(), PotentialError::MissingPair(0, 1));
    assert!(new(MorsePair { alpha: 0.0, ..PAIR }, 1).is_err());
    assert!(new(MorsePair { alpha: 400.0, r0: 1.0, ..PAIR }, 1).is_err());
    let fits = |pair| new(pair, 1).unwrap().fits_single_precision();
    assert!(fits(PAIR) && fits(MorsePair { depth: 0.0, ..PAIR }));
    assert!(!fits(MorsePair { alpha: 50.0, ..PAIR }) && !fits(MorsePair { depth: 1e-40, ..PAIR }));
}

#[test]
fn tails_match_a_numerical_integral() {
    let morse = morse(Shift::None);
    for (dimension, shell) in [(Dimension::Three, 4.0 * PI), (Dimension::Two, 2.0 * PI)] {
        let tail = morse.tail(&[100], 200.0, dimension);
        let d = dimension.count();
        let (mut energy, mut virial, h) = (0.0, 0.0, 1e-4);
        for k in 0..200_000 {
            let r = 2.5 + (f64::from(k) + 0.5) * h;
            let term = morse.term(0, 0, r * r);
            let weight = 0.5 * 100.0 * 0.5 * shell * r.powi(d as i32 - 1) * h;
            energy += weight * term.energy;
            virial += weight * term.force_over_r * r * r;
        }
        assert!((tail.energy / energy - 1.0).abs() < 1e-6, "{dimension:?}: {} {energy}", tail.energy);
        let pressure = virial / (d as f64 * 200.0);
        assert!((tail.pressure / pressure - 1.0).abs() < 1e-6, "{dimension:?}: {} {pressure}", tail.pressure);
    }
}
