//! Counter-based random numbers: every draw is a function of (seed, purpose, particle id) and does
//! not depend on the number of ranks or on the order in which particles are made.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{ChiSquared, Distribution, StandardNormal, StandardUniform};

/// Purpose of a draw; each purpose has its own independent streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Velocity = 1,
    Species = 2,
    Thermostat = 3,
    Barostat = 4,
}

fn generator(seed: u64, purpose: Purpose, id: u64) -> ChaCha8Rng {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8] = purpose as u8;
    let mut generator = ChaCha8Rng::from_seed(key);
    generator.set_stream(id);
    generator
}

/// Returns three standard normal numbers for a particle.
pub fn normal_vector(seed: u64, id: u64) -> [f64; 3] {
    let mut generator = generator(seed, Purpose::Velocity, id);
    std::array::from_fn(|_| StandardNormal.sample(&mut generator))
}

/// Returns a uniform number in \[0, 1) for a particle.
pub fn uniform(seed: u64, id: u64) -> f64 {
    StandardUniform.sample(&mut generator(seed, Purpose::Species, id))
}

/// Returns the three numbers between -0.5 and 0.5 that LAMMPS draws for a particle at this position
/// (`velocity all create T SEED loop geom`). They depend on all bits of the position.
///
/// A hash (Jenkins 1997, one at a time) of seed and position starts the generator of Park and
/// Miller (1988).
pub fn lammps_vector(seed: i32, position: [f64; 3]) -> [f64; 3] {
    const FACTOR: u64 = 16807;
    const MODULUS: u64 = (1 << 31) - 1;
    const HASH_BITS: u32 = (1 << 27) - 1;
    const WARM_UP: usize = 5;
    let mut hash = 0u32;
    for byte in seed.to_le_bytes().into_iter().chain(position.into_iter().flat_map(f64::to_le_bytes)) {
        // LAMMPS reads the bytes as `char`, which has a sign on x86.
        hash = hash.wrapping_add_signed(i32::from(byte as i8));
        hash = hash.wrapping_add(hash << 10);
        hash ^= hash >> 6;
    }
    hash = hash.wrapping_add(hash << 3);
    hash ^= hash >> 11;
    hash = hash.wrapping_add(hash << 15);
    let mut state = u64::from(hash & HASH_BITS).max(1);
    let mut uniform = || {
        state = FACTOR * state % MODULUS;
        (1.0 / MODULUS as f64) * state as f64
    };
    for _ in 0..WARM_UP {
        uniform();
    }
    std::array::from_fn(|_| uniform() - 0.5)
}

/// Random numbers that a stochastic thermostat draws in a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ThermostatDraw {
    /// A standard normal number.
    pub normal: f64,
    /// The sum of the squares of further normal numbers.
    pub squares: f64,
}

/// Draws a normal number and the sum of the squares of `others` more for a step, the same on all
/// ranks.
pub fn thermostat_draw(seed: u64, step: u64, others: f64) -> ThermostatDraw {
    let mut generator = generator(seed, Purpose::Thermostat, step);
    let normal = StandardNormal.sample(&mut generator);
    let squares = ChiSquared::new(others).map_or(0.0, |squares| squares.sample(&mut generator));
    ThermostatDraw { normal, squares }
}

/// Returns three standard normal numbers for the box in a step, the same on all ranks.
pub fn barostat_draw(seed: u64, step: u64) -> [f64; 3] {
    let mut generator = generator(seed, Purpose::Barostat, step);
    std::array::from_fn(|_| StandardNormal.sample(&mut generator))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_depend_on_seed_and_id_only() {
        assert_eq!(normal_vector(1, 7), normal_vector(1, 7));
        assert_ne!(normal_vector(1, 7), normal_vector(1, 8));
        assert_ne!(normal_vector(1, 7), normal_vector(2, 7));
    }

    /// Velocities of particles 1, 2 and 5 in `tests/data/melt2048`, which LAMMPS wrote. They were
    /// shifted and scaled after they had been drawn, so only ratios of differences remain.
    #[test]
    fn vectors_of_lammps_are_those_that_it_draws() {
        const SIDE: f64 = 1.6795961913825073;
        const HALF: f64 = 0.8397980956912536;
        let drawn =
            [[0.0; 3], [HALF, HALF, 0.0], [SIDE, 0.0, 0.0]].map(|position| lammps_vector(16180, position));
        let written = [
            [-0.20007234292236412, -1.125133799808142, 0.6859856331040896],
            [1.631587005401246, 0.5713657955667854, 1.5956982319313666],
            [1.4604303493463981, 0.8963365177333131, 0.07035155579449259],
        ];
        for dim in 0..3 {
            let ratio = |[a, b, c]: [[f64; 3]; 3]| (a[dim] - b[dim]) / (a[dim] - c[dim]);
            assert!((ratio(drawn) / ratio(written) - 1.0).abs() < 1e-12, "{dim}");
        }
        assert!(drawn.as_flattened().iter().all(|number| number.abs() <= 0.5));
    }

    #[test]
    fn moments_are_those_of_the_distributions() {
        let n = 20_000;
        let normals: Vec<f64> = (0..n).flat_map(|id| normal_vector(5, id)).collect();
        let mean = normals.iter().sum::<f64>() / normals.len() as f64;
        let variance = normals.iter().map(|v| v * v).sum::<f64>() / normals.len() as f64;
        assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.03, "{mean} {variance}");
        let uniform_mean = (0..n).map(|id| uniform(5, id)).sum::<f64>() / n as f64;
        assert!((uniform_mean - 0.5).abs() < 0.01, "{uniform_mean}");
    }
}
