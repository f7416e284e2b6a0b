//! Tests of special points, shifts, overrides and tails.

use super::*;

const UNIT: Well = Well { epsilon: 1.0, sigma: 1.0 };

fn argon(shift: Shift) -> LennardJones {
    LennardJones::new(&[UNIT], Mixing::LorentzBerthelot, &[], 2.5, shift).unwrap()
}

#[test]
fn special_points() {
    let lj = argon(Shift::None);
    let zero_crossing = lj.term(0, 0, 1.0);
    assert_eq!(zero_crossing, PairTerm { energy: 0.0, force_over_r: 24.0 });
    let well = lj.term(0, 0, 2f64.powf(1.0 / 3.0));
    assert!((well.energy + 1.0).abs() < 1e-15 && well.force_over_r.abs() < 1e-13);
    // At r = 2 sigma: 4 (2^-12 - 2^-6) = -63/1024.
    assert_eq!(lj.term(0, 0, 4.0).energy, -63.0 / 1024.0);
}

#[test]
fn shifts_vanish_at_the_cutoff() {
    let just_inside = 2.5f64 * 2.5;
    assert!(argon(Shift::Energy).term(0, 0, just_inside).energy.abs() < 1e-16);
    let force_shifted = argon(Shift::Force).term(0, 0, just_inside);
    assert!(force_shifted.energy.abs() < 1e-15 && force_shifted.force_over_r.abs() < 1e-16);
}

#[test]
fn force_is_the_derivative_of_the_energy() {
    for shift in [Shift::None, Shift::Energy, Shift::Force] {
        let lj = argon(shift);
        for r in [0.9, 1.0, 1.3, 1.9, 2.4] {
            let h = 1e-6;
            let (low, high) = (lj.term(0, 0, (r - h) * (r - h)), lj.term(0, 0, (r + h) * (r + h)));
            let numerical = -(high.energy - low.energy) / (2.0 * h);
            let force = lj.term(0, 0, r * r).force_over_r * r;
            assert!((force - numerical).abs() < 1e-6 * force.abs().max(1.0), "{shift:?} at {r}");
        }
    }
}

#[test]
fn overrides_beat_mixing_in_both_orders() {
    let other = Well { epsilon: 0.25, sigma: 3.0 };
    let special = Well { epsilon: 1.5, sigma: 0.8 };
    let mixed = LennardJones::new(&[UNIT, other], Mixing::LorentzBerthelot, &[], 5.0, Shift::None).unwrap();
    assert_eq!(mixed.wells.get(0, 1), Well { epsilon: 0.5, sigma: 2.0 });
    let lj = LennardJones::new(
        &[UNIT, other],
        Mixing::Geometric,
        &[SpeciesPair { species: [1, 0], parameters: special }],
        5.0,
        Shift::None,
    )
    .unwrap();
    assert_eq!((lj.wells.get(0, 1), lj.wells.get(1, 0)), (special, special));
    assert!(
        LennardJones::new(
            &[UNIT],
            Mixing::Geometric,
            &[SpeciesPair { species: [0, 1], parameters: special }],
            5.0,
            Shift::None
        )
        .is_err()
    );
}

#[test]
fn units_far_from_one_do_not_fit_single_precision() {
    let fits = |epsilon: f64, sigma: f64| {
        let well = Well { epsilon, sigma };
        let lj = LennardJones::new(&[well], Mixing::LorentzBerthelot, &[], 2.5 * sigma, Shift::None).unwrap();
        lj.fits_single_precision()
    };
    assert!(fits(1.0, 1.0) && fits(0.0, 1.0) && fits(120.0, 3.4) && fits(1e-3, 0.34));
    // Argon in joules and metres.
    assert!(!fits(1.65e-21, 3.4e-10) && !fits(1.0, 1e-5) && !fits(1.0, 1e5) && !fits(1e-40, 1.0));
}

#[test]
fn tails_match_nist_and_a_numerical_integral() {
    let lj = LennardJones::new(&[UNIT], Mixing::LorentzBerthelot, &[], 3.0, Shift::None).unwrap();
    let tail = lj.tail(&[800], 1000.0, Dimension::Three);
    assert!((tail.energy - -198.49).abs() < 0.005, "NIST configuration 1: {}", tail.energy);
    for (dimension, shell) in [(Dimension::Three, 4.0 * PI), (Dimension::Two, 2.0 * PI)] {
        let tail = lj.tail(&[100], 200.0, dimension);
        let d = dimension.count();
        let (mut energy, mut virial, h) = (0.0, 0.0, 1e-3);
        for k in 0..400_000 {
            let r = 3.0 + (f64::from(k) + 0.5) * h;
            let term = lj.term(0, 0, r * r);
            let weight = 0.5 * 100.0 * 0.5 * shell * r.powi(d as i32 - 1) * h;
            energy += weight * term.energy;
            virial += weight * term.force_over_r * r * r;
        }
        assert!((tail.energy / energy - 1.0).abs() < 1e-5, "{dimension:?}: {} {energy}", tail.energy);
        let pressure = virial / (d as f64 * 200.0);
        assert!((tail.pressure / pressure - 1.0).abs() < 1e-5, "{dimension:?}: {} {pressure}", tail.pressure);
    }
}
