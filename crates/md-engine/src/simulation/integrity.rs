//! Checks of a reproducible run ([`Summation::Exact`]): that sums have stayed exact, and that the
//! sum of all pair forces is zero to the last bit, as Newton's third law says. It is not zero after
//! a bit has flipped in a force, in a message with forces or in a sum.

use md_core::force::Summation;
use md_core::observables::SystemSums;
use md_core::quantum::{
    FORCE_QUANTUM, LARGEST_ENERGY, LARGEST_FORCE, LARGEST_TOTAL, POSITION_QUANTUM, sum_in_quanta,
};
use md_core::{PairSums, SymmetricTensor};

use super::Simulation;
use crate::error::EngineError;

/// Number of bits of a digit, of which sums over ranks are exact in f64.
const DIGIT_BITS: u32 = 32;

impl Simulation<'_> {
    /// Returns how often the sum of all forces has been checked, and found zero.
    pub fn integrity_checks(&self) -> u64 {
        self.accounts.integrity_checks
    }

    /// Returns an error if sums shall be exact and forces, energy or virial of this rank are too
    /// large for that.
    pub(super) fn expect_exact_sums(&self, pairs: &PairSums) -> Result<(), EngineError> {
        if self.setup.config.neighbor.summation == Summation::Rounded {
            return Ok(());
        }
        let owned = self.state.particles.owned();
        let forces = self.state.particles.force.each_ref().map(|column| largest_of(&column[..owned]));
        let PairSums { energy, virial: SymmetricTensor(virial), .. } = pairs;
        let energies = virial.iter().chain([energy]);
        let sums = [
            ("the largest component of a force", largest_of(&forces), LARGEST_FORCE),
            ("the energy or virial of a rank", largest_of(energies), LARGEST_ENERGY),
        ];
        match sums.into_iter().find(|(_, size, most)| size >= most || size.is_nan()) {
            Some((what, size, most)) => Err(EngineError::Inexact { step: self.state.step, what, size, most }),
            None => Ok(()),
        }
    }

    /// Returns an error if sums over all ranks shall be exact and are too large for that.
    pub(super) fn expect_exact_totals(&self, sums: &SystemSums) -> Result<(), EngineError> {
        let SystemSums { pairs: PairSums { energy, virial: SymmetricTensor(virial), .. }, .. } = sums;
        let kinetic = sums.twice_kinetic();
        let size = largest_of(virial.iter().chain([energy, &kinetic]));
        match self.setup.config.neighbor.summation {
            Summation::Exact if size >= LARGEST_TOTAL => {
                let (step, what) = (self.state.step, "the kinetic or potential energy or the virial");
                Err(EngineError::Inexact { step, what, size, most: LARGEST_TOTAL })
            }
            Summation::Exact | Summation::Rounded => Ok(()),
        }
    }

    /// Checks that positions are multiples of their quantum, if sums shall be exact: those of a
    /// checkpoint may not be. *Collective.*
    ///
    /// # Errors
    /// [`EngineError::NotReproducible`]
    pub(super) fn expect_quanta(&self) -> Result<(), EngineError> {
        if self.setup.config.neighbor.summation == Summation::Rounded {
            return Ok(());
        }
        let owned = self.state.particles.owned();
        let are_multiples = |column: &[f64]| sum_in_quanta(&column[..owned], POSITION_QUANTUM).is_some();
        let is_kept = self.state.particles.position.iter().all(|column| are_multiples(column));
        let mut broken =
            [if is_kept && self.state.domain == self.state.domain.in_quanta() { 0.0 } else { 1.0 }];
        self.world.max(&mut broken)?;
        if broken == [0.0] {
            return Ok(());
        }
        Err(EngineError::NotReproducible("a checkpoint of a reproducible run".to_owned()))
    }

    /// Checks that the sum of all forces is exactly zero, if sums are exact and there are only pair
    /// forces. *Collective.*
    pub(super) fn check_sum_of_forces(&mut self) -> Result<(), EngineError> {
        let config = &self.setup.config;
        let are_pairs = config.walls.is_empty() && config.forces.pair_potential().is_some();
        if config.neighbor.summation == Summation::Rounded || !are_pairs {
            return Ok(());
        }
        let owned = self.state.particles.owned();
        let sum = |column: &[f64]| sum_in_quanta(&column[..owned], FORCE_QUANTUM);
        let sums = self.state.particles.force.each_ref().map(|column| sum(column));
        // Two digits of each sum, and the number of ranks on which a force is no multiple.
        let digits = |sum: Option<i64>| {
            let sum = sum.unwrap_or_default().cast_unsigned();
            [sum as u32, (sum >> DIGIT_BITS) as u32].map(f64::from)
        };
        let [[x0, x1], [y0, y1], [z0, z1]] = sums.map(digits);
        let broken = if sums.contains(&None) { 1.0 } else { 0.0 };
        let mut all = [x0, x1, y0, y1, z0, z1, broken];
        self.world.sum(&mut all)?;
        let [x0, x1, y0, y1, z0, z1, broken] = all;
        let whole = |low: f64, high: f64| (low as u64).wrapping_add((high as u64) << DIGIT_BITS);
        let sums = [whole(x0, x1), whole(y0, y1), whole(z0, z1)].map(u64::cast_signed);
        self.accounts.integrity_checks += 1;
        if sums == [0; 3] && broken == 0.0 {
            return Ok(());
        }
        let sum = sums.map(|sum| sum as f64 * FORCE_QUANTUM);
        Err(EngineError::Integrity { step: self.state.step, sum })
    }
}

/// Returns the largest size of a number. The bits of positive numbers have the order of the
/// numbers, and are faster to compare.
fn largest_of<'a>(numbers: impl IntoIterator<Item = &'a f64>) -> f64 {
    let bits = numbers.into_iter().map(|number| number.abs().to_bits());
    f64::from_bits(bits.fold(0, u64::max))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use md_core::lattice::{Lattice, LatticeKind};
    use md_core::potential::LennardJones;

    use super::*;
    use crate::{Config, Setup};

    fn melt(summation: Summation) -> Config {
        let lattice = Lattice::with_density(LatticeKind::Fcc, 0.8442, [5; 3]);
        let mut config = Config::new(lattice, LennardJones::reduced(2.5));
        (config.temperature, config.neighbor.summation) = (Some(1.44), summation);
        config
    }

    /// Flips a bit of a force on rank 1 after ten steps, and returns the errors of both ranks.
    fn flipped(summation: Summation, bit: u32) -> Vec<Option<String>> {
        let ended = md_comm::local::run(2, Duration::from_secs(60), |world| {
            let mut simulation = Simulation::new(world, &Setup::new(melt(summation), 2)?)?;
            simulation.run(10, &mut [])?;
            simulation.check_sum_of_forces()?;
            if world.rank() == 1 {
                let force = &mut simulation.state.particles.force[2][7];
                *force = f64::from_bits(force.to_bits() ^ 1 << bit);
            }
            Ok::<_, EngineError>(simulation.check_sum_of_forces().err().map(|error| error.to_string()))
        });
        ended.into_iter().map(|ended| ended.unwrap().unwrap()).collect()
    }

    /// All bits of the fraction, and the sign.
    #[test]
    fn a_flipped_bit_of_a_force_is_found_on_all_ranks() {
        for bit in (0..52).step_by(7).chain([63]) {
            for error in flipped(Summation::Exact, bit) {
                let error = error.unwrap();
                assert!(
                    error.starts_with("step 10: the forces of all particles add up to ["),
                    "{bit}: {error}"
                );
            }
        }
        assert_eq!(flipped(Summation::Rounded, 40), [None, None], "it is not checked");
    }
}
