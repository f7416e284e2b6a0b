//! The forces every strategy must give: computed once, on rank 0 alone, by other means.
//!
//! Other means: one rank, so that nothing is exchanged; full shell, so that no force returns; every pair of particles
//! where there are few enough. The bound on the difference is 1e-10 of the rms force: sums in another order differ by
//! about 1e-13, and a message that is missing, stale or mistaken for another shows at 1e-3 and more. (A flipped bit among
//! the last twenty of a coordinate would pass; that all transports agree bit by bit is for the tests of md to show.)
//! Mixed precision differs by some 1e-6, so its bound is 1e-4; the reference is computed in double.

use std::time::Duration;

use md_comm::{Backend, CommError, World, local};
use md_core::Shell;
use md_core::force::{MethodKind, Precision};
use md_core::halo::ExchangePattern;
use md_core::partition::PartitionKind;
use md_engine::{RowVector, Setup, Simulation};

use crate::error::RunError;
use crate::inputs::Inputs;
use crate::scenario::Parallel;
use crate::{memory, setup};
use md_engine::ParticleRow;

/// Largest difference of a force, in units of the rms force.
fn force_bound(precision: Precision) -> f64 {
    match precision {
        Precision::Double => 1e-10,
        Precision::Mixed => 1e-4,
    }
}

/// Up to this many particles all pairs are computed.
const DIRECT_SUM_LIMIT: u64 = 4000;

/// The rms force is taken to be at least this share of the potential's unit of force: in a perfect lattice from a file there is none
/// but rounding.
const LEAST_FORCE: f64 = 1e-3;

/// One rank never waits.
const WATCHDOG: Duration = Duration::from_secs(3600);

/// Forces of the displaced initial state.
#[derive(Debug)]
pub(super) struct Reference {
    /// By id.
    rows: Vec<ParticleRow>,
    /// The rms force.
    scale: f64,
    /// See [`force_bound`].
    bound: f64,
}

/// The initial state on one rank, which has the memory of this machine to itself meanwhile.
///
/// # Errors
/// As [`setup::of_scenario`] and [`memory::expect`].
pub(super) fn setup(inputs: &Inputs) -> Result<Setup, RunError> {
    let mut scenario = inputs.scenario.clone();
    scenario.parallel = Parallel {
        backend: Backend::Local,
        shell: Shell::Full,
        exchange: ExchangePattern::Direct,
        partition: PartitionKind::Rect,
        ..Parallel::default()
    };
    scenario.neighbor.precision = Precision::Double;
    let setup = setup::of_scenario(inputs, &scenario, 1)?;
    memory::expect(inputs, &setup, memory::of_machine())?;
    Ok(setup)
}

impl Reference {
    /// Computes the forces of a [`setup()`]. Not collective.
    ///
    /// # Errors
    /// As [`Simulation::new`].
    pub(super) fn compute(inputs: &Inputs, setup: &Setup) -> Result<Self, RunError> {
        let scenario = &inputs.scenario;
        let mut setup = setup.displaced(scenario.interaction.diameter(&scenario.species));
        setup.config.neighbor.method =
            if setup.atoms() <= DIRECT_SUM_LIMIT { MethodKind::DirectSum } else { MethodKind::Cells };
        let ended = local::run(1, WATCHDOG, |world| forces(world, &setup));
        let rows = ended.into_iter().next().unwrap_or_else(|| Ok(Ok(Vec::new())));
        let rows = rows.map_err(|panic| CommError::Setup(panic.to_string()))??;
        let bound = force_bound(scenario.neighbor.precision);
        Ok(Self::new(rows, LEAST_FORCE * scenario.interaction.force_unit(&scenario.species), bound))
    }

    fn new(mut rows: Vec<ParticleRow>, least_force: f64, bound: f64) -> Self {
        rows.sort_by_key(|row| row.id);
        let squares: f64 = rows.iter().flat_map(|row| row.vector).map(|force| force * force).sum();
        let scale = (squares / rows.len().max(1) as f64).sqrt().max(least_force);
        Self { rows, scale, bound }
    }

    /// Number of particles.
    pub(super) fn atoms(&self) -> u64 {
        self.rows.len() as u64
    }

    /// Compares forces in any order with the reference.
    ///
    /// # Errors
    /// What is wrong with them, in words.
    pub(super) fn check(&self, mut rows: Vec<ParticleRow>) -> Result<(), String> {
        rows.sort_by_key(|row| row.id);
        if !rows.iter().map(|row| row.id).eq(self.rows.iter().map(|row| row.id)) {
            return Err(format!("{} particles, not the {} of the reference", rows.len(), self.rows.len()));
        }
        let worst =
            rows.iter().zip(&self.rows).map(|(row, reference)| (row.id, self.difference(row, reference)));
        let (id, difference) = worst.max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0, 0.0));
        if difference <= self.bound {
            return Ok(());
        }
        Err(format!(
            "wrong forces: that on particle {id} differs by {difference:.1e} of the rms force from the serial one \
             (bound {:.0e})",
            self.bound
        ))
    }

    fn difference(&self, row: &ParticleRow, reference: &ParticleRow) -> f64 {
        let pairs = row.vector.iter().zip(&reference.vector);
        let difference =
            pairs.map(|(force, reference)| (force - reference).powi(2)).sum::<f64>().sqrt() / self.scale;
        if difference.is_nan() { f64::INFINITY } else { difference }
    }
}

fn forces(world: &dyn World, setup: &Setup) -> Result<Vec<ParticleRow>, RunError> {
    let mut simulation = Simulation::new(world, setup)?;
    let rows = simulation.gather_rows(RowVector::Force)?;
    simulation.finalise()?;
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(forces: &[[f64; 3]]) -> Vec<ParticleRow> {
        let row = |(id, &vector)| ParticleRow { id, kind: 1, vector, ..ParticleRow::default() };
        (1..).zip(forces).map(row).collect()
    }

    #[test]
    fn rounding_passes_and_a_missing_force_does_not() {
        let reference = Reference::new(
            rows(&[[3.0, 0.0, 0.0], [0.0, 4.0, 0.0]]),
            LEAST_FORCE,
            force_bound(Precision::Double),
        );
        let mut right = rows(&[[3.0, 0.0, 1e-13], [0.0, 4.0, 0.0]]);
        right.reverse();
        assert_eq!(reference.check(right), Ok(()));
        insta::assert_snapshot!(reference.check(rows(&[[3.0, 0.0, 0.0], [0.0; 3]])).unwrap_err(), @"wrong forces: that on particle 2 differs by 1.1e0 of the rms force from the serial one (bound 1e-10)");
        assert!(reference.check(rows(&[[3.0, 0.0, 0.0], [f64::NAN; 3]])).is_err());
        assert!(reference.check(rows(&[[3.0, 0.0, 0.0]])).is_err());
    }

    #[test]
    fn a_perfect_lattice_is_compared_with_the_unit_of_force() {
        let reference =
            Reference::new(rows(&[[1e-15, 0.0, 0.0]]), LEAST_FORCE, force_bound(Precision::Double));
        assert_eq!(reference.check(rows(&[[-1e-15, 0.0, 0.0]])), Ok(()));
    }
}
