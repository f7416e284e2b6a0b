//! Lattice D3Q19: 19 populations per node, one at rest and one for each of the 6 nearest and 12
//! second-nearest neighbours (Qian, d'Humieres and Lallemand 1992).
//!
//! Opposite directions are adjacent, so that a collision works on pairs: directions 2 p + 1 and 2 p
//! + 2 are pair p.

/// Number of populations per node.
pub const POPULATIONS: usize = 19;

/// Number of pairs of opposite directions.
pub(super) const PAIRS: usize = 9;

/// Displacement of each population in one time step, in nodes along x, y and z.
pub const VELOCITIES: [[i8; 3]; POPULATIONS] = [
    [0, 0, 0],
    [1, 0, 0],
    [-1, 0, 0],
    [0, 1, 0],
    [0, -1, 0],
    [0, 0, 1],
    [0, 0, -1],
    [1, 1, 0],
    [-1, -1, 0],
    [1, -1, 0],
    [-1, 1, 0],
    [1, 0, 1],
    [-1, 0, -1],
    [1, 0, -1],
    [-1, 0, 1],
    [0, 1, 1],
    [0, -1, -1],
    [0, 1, -1],
    [0, -1, 1],
];

/// Weight of the population at rest.
pub(super) const WEIGHT_AT_REST: f64 = 1.0 / 3.0;
/// Weight of a direction along an axis.
pub(super) const WEIGHT_ALONG_AXIS: f64 = 1.0 / 18.0;
/// Weight of a direction along two axes.
pub(super) const WEIGHT_DIAGONAL: f64 = 1.0 / 36.0;

/// Square of the speed of sound, in lattice units.
pub const SOUND_SPEED_SQUARED: f64 = 1.0 / 3.0;

/// Returns the population with the opposite velocity.
pub(super) const fn opposite(population: usize) -> usize {
    match population {
        0 => 0,
        odd if odd % 2 == 1 => odd + 1,
        even => even - 1,
    }
}

/// Returns the weight of a population: its share of the density of a fluid at rest.
pub(super) fn weight(population: usize) -> f64 {
    match population {
        0 => WEIGHT_AT_REST,
        1..=6 => WEIGHT_ALONG_AXIS,
        _ => WEIGHT_DIAGONAL,
    }
}

/// Returns the scalar product of a population's velocity and a vector.
pub(super) fn along(population: usize, vector: [f64; 3]) -> f64 {
    (0..3).map(|axis| f64::from(VELOCITIES[population][axis]) * vector[axis]).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The condition for isotropy to fourth order, and so for the Navier-Stokes equations.
    #[test]
    fn moments_of_the_weights_are_those_of_a_maxwell_distribution() {
        let moment = |of: &dyn Fn([f64; 3]) -> f64| -> f64 {
            (0..POPULATIONS).map(|i| weight(i) * of(VELOCITIES[i].map(f64::from))).sum()
        };
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-15, "{a} is not {b}");
        close(moment(&|_| 1.0), 1.0);
        for a in 0..3 {
            close(moment(&|e| e[a]), 0.0);
            for b in 0..3 {
                let delta = |a: usize, b: usize| f64::from(u8::from(a == b));
                close(moment(&|e| e[a] * e[b]), SOUND_SPEED_SQUARED * delta(a, b));
                close(moment(&|e| e[a] * e[a] * e[b] * e[b]), (1.0 + 2.0 * delta(a, b)) / 9.0);
            }
        }
    }

    #[test]
    fn opposite_populations_move_the_other_way() {
        for (population, velocity) in VELOCITIES.into_iter().enumerate() {
            assert_eq!(VELOCITIES[opposite(population)], velocity.map(|step| -step));
            assert_eq!(opposite(opposite(population)), population);
        }
    }
}
