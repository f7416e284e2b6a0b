//! Lid-driven cavity compared with Ghia, Ghia and Shin, J. Comput. Phys. 48, 387 (1982), tables I
//! and II.

use super::*;
use crate::lbm::{Face, MAGIC_OF_PLATES};

/// Velocity on a line through the centre, relative to the speed of the lid: (place, at Reynolds
/// number 100, at 400).
type Line = &'static [(f64, f64, f64)];

/// Velocity component along the lid's motion, on the line towards the lid.
const TOWARDS_LID: Line = &[
    (0.0547, -0.03717, -0.08186),
    (0.0625, -0.04192, -0.09266),
    (0.0703, -0.04775, -0.10338),
    (0.1016, -0.06434, -0.14612),
    (0.1719, -0.10150, -0.24299),
    (0.2813, -0.15662, -0.32726),
    (0.4531, -0.21090, -0.17119),
    (0.5000, -0.20581, -0.11477),
    (0.6172, -0.13641, 0.02135),
    (0.7344, 0.00332, 0.16256),
    (0.8516, 0.23151, 0.29093),
    (0.9531, 0.68717, 0.55892),
    (0.9609, 0.73722, 0.61756),
    (0.9688, 0.78871, 0.68439),
    (0.9766, 0.84123, 0.75837),
];

/// Velocity component towards the lid, on the line along its motion. 0.9063 is left out, since the
/// printed value for 400, -0.23827, does not lie on a smooth curve.
const ALONG_LID: Line = &[
    (0.0625, 0.09233, 0.18360),
    (0.0703, 0.10091, 0.19713),
    (0.0781, 0.10890, 0.20920),
    (0.0938, 0.12317, 0.22965),
    (0.1563, 0.16077, 0.28124),
    (0.2266, 0.17507, 0.30203),
    (0.2344, 0.17527, 0.30174),
    (0.5000, 0.05454, 0.05186),
    (0.8047, -0.24533, -0.38598),
    (0.8594, -0.22445, -0.44993),
    (0.9453, -0.10313, -0.22847),
    (0.9531, -0.08864, -0.19254),
    (0.9609, -0.07391, -0.15663),
    (0.9688, -0.05906, -0.12146),
];

enum Reynolds {
    R100,
    R400,
}

/// Returns the greatest difference to the tables, relative to the speed of the lid, of a cavity of
/// n x n nodes after some turnovers (n / speed steps).
fn greatest_difference(n: usize, reynolds: &Reynolds, turnovers: usize) -> f64 {
    const LID: f64 = 0.1;
    let number = match reynolds {
        Reynolds::R100 => 100.0,
        Reynolds::R400 => 400.0,
    };
    let mut walls = WallVelocities::default();
    walls.0[Face::YHigh as usize] = [0.0, 0.0, LID];
    let case = Case {
        nodes: [1, n, n],
        edges: [Edges::Periodic, Edges::Open, Edges::Open],
        collision: Collision::Trt { magic: MAGIC_OF_PLATES },
        viscosity: LID * n as f64 / number,
        walls,
        steps: turnovers * n * 10,
        ..Case::default()
    };
    let outcome = case.run::<f64>();
    let middle = n / 2;
    let towards = |at: usize| outcome.velocity([0, at, middle])[2] / LID;
    let along = |at: usize| outcome.velocity([0, middle, at])[1] / LID;
    let difference = |line: Line, velocity: &dyn Fn(usize) -> f64| {
        let of_row = |&(place, at_100, at_400): &(f64, f64, f64)| {
            let expected = match reynolds {
                Reynolds::R100 => at_100,
                Reynolds::R400 => at_400,
            };
            (interpolated(velocity, place * n as f64 - 0.5, n) - expected).abs()
        };
        line.iter().map(of_row).fold(0.0, f64::max)
    };
    difference(TOWARDS_LID, &towards).max(difference(ALONG_LID, &along))
}

/// Interpolates between nodes by the parabola through the three nearest.
fn interpolated(value: &dyn Fn(usize) -> f64, place: f64, n: usize) -> f64 {
    let middle = (place.round().max(1.0) as usize).min(n - 2);
    let t = place - middle as f64;
    let [low, at, high] = [value(middle - 1), value(middle), value(middle + 1)];
    at + 0.5 * t * (high - low) + 0.5 * t * t * (high - 2.0 * at + low)
}

#[test]
fn a_coarse_cavity_is_within_three_per_cent() {
    let difference = greatest_difference(33, &Reynolds::R100, 30);
    assert!(difference < 0.03, "{difference}");
}

#[test]
#[ignore = "minutes: `make test-all`"]
fn a_cavity_of_129_nodes_is_within_two_per_cent() {
    for reynolds in [Reynolds::R100, Reynolds::R400] {
        let difference = greatest_difference(129, &reynolds, 50);
        assert!(difference < 0.02, "{difference}");
    }
}
