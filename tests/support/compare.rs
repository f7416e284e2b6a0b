//! Comparisons of numbers, with the deviation and the case in the message.
#![expect(clippy::panic, reason = "this is a part of tests")]

use super::{ForceRow, ThermoRow};

/// Checks that two numbers agree, relative to the expected value.
pub(crate) fn assert_close(actual: f64, expected: f64, relative: f64, what: &str) {
    let deviation = (actual - expected).abs() / expected.abs();
    assert!(deviation <= relative, "{what}: {actual:?} instead of {expected:?}, {deviation:.1e} relative");
}

/// Checks that a number agrees with all digits of a printed number, within half a unit of the last
/// digit.
pub(crate) fn assert_printed(actual: f64, printed: &str, what: &str) {
    let expected: f64 = printed.parse().unwrap_or_else(|_| panic!("`{printed}` is not a number"));
    let decimals = printed.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let half_unit = 0.5 * 10_f64.powi(-(decimals as i32));
    // Rounding to binary can put the expected number itself half a unit past the edge.
    let allowed = half_unit + 1e-14 * expected.abs();
    assert!((actual - expected).abs() <= allowed, "{what}: {actual:?} instead of {printed}");
}

/// Checks that particles and forces agree, up to `relative` times `scale`.
pub(crate) fn assert_forces(
    actual: &[ForceRow],
    expected: &[ForceRow],
    scale: f64,
    relative: f64,
    what: &str,
) {
    assert_eq!(actual.len(), expected.len(), "{what}: number of particles");
    for (row, reference) in actual.iter().zip(expected) {
        assert_eq!((row.id, row.kind), (reference.id, reference.kind), "{what}: id and type");
        for dim in 0..3 {
            let deviation = (row.force[dim] - reference.force[dim]).abs();
            assert!(
                deviation <= relative * scale,
                "{what}: the force on {} is {:?} instead of {:?}, {:.1e} of {scale}",
                row.id,
                row.force,
                reference.force,
                deviation / scale
            );
        }
    }
}

/// Checks that rows agree. Each value may differ by `relative` times itself, or times 1 where it is
/// smaller than 1, because pressures cross zero.
pub(crate) fn assert_thermo(actual: &[ThermoRow], expected: &[ThermoRow], relative: f64, what: &str) {
    assert_eq!(actual.len(), expected.len(), "{what}: number of rows");
    for (row, reference) in actual.iter().zip(expected) {
        assert_eq!(row.step, reference.step, "{what}: step");
        for (name, value, wanted) in
            row.values().into_iter().zip(reference.values()).map(|((n, v), (_, w))| (n, v, w))
        {
            let deviation = (value - wanted).abs() / wanted.abs().max(1.0);
            let step = row.step;
            assert!(
                deviation <= relative,
                "{what}: {name} at step {step} is {value:?} instead of {wanted:?}, off by {deviation:.1e}"
            );
        }
    }
}
