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
