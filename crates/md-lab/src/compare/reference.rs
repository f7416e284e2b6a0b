//! Reference forces for every strategy, computed once in another way: each rank's particles are
//! sent to all ranks, which add up the forces without neighbour lists, halo or transport. In small
//! systems the reference is first confirmed by a direct sum over all pairs and periodic images: the
//! reference shares cells and their periodicity with the strategies, the direct sum does not.
//!
//! The bound on the difference is 1e-10 of the rms force: sums in another order differ by about
//! 1e-13, and a message that is missing, stale or mistaken for another shows at 1e-3 and more. (A
//! flipped bit among the last twenty of a coordinate would pass; the tests of md verify that all
//! transports agree bit by bit.) Mixed precision differs by some 1e-6, so its bound is 1e-4; the
//! reference is computed in double precision.

use md_comm::monitor::Heartbeat;
use md_comm::{Reduction, World};
use md_core::force::Precision;
use md_core::words::counted;
use md_engine::{EngineError, ParticleRow, Setup, for_each_rank, forces_by_direct_sum, forces_without_halo};

use super::measure::Place;

/// Returns the largest accepted difference of a force, in units of the rms force.
fn force_bound(precision: Precision) -> f64 {
    match precision {
        Precision::Double => 1e-10,
        Precision::Mixed => 1e-4,
    }
}

/// Lower bound of the rms force, in units of the potential's unit of force: in a perfect lattice
/// from a file all forces are rounding errors.
const LEAST_FORCE: f64 = 1e-3;

/// Largest number of particles for which the reference is confirmed by a direct sum, which then
/// takes a second or less.
const MOST_DIRECT: u64 = 4000;

/// Reasons for which there is no reference.
#[derive(Debug, thiserror::Error)]
pub enum ReferenceError {
    /// Two ways to compute it disagree.
    #[error(
        "nothing can be judged: the forces by direct sum are not those by adjacent cells (the reference): {difference}"
    )]
    Disagreement {
        /// Difference in words.
        difference: String,
    },
    /// The forces could not be computed.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// Properties of the configuration that a reference depends on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReferenceConditions {
    /// Diameter of a particle, the unit in which the initial state is displaced.
    pub diameter: f64,
    /// Order of magnitude of a pair force.
    pub force_unit: f64,
    /// Precision of the strategies.
    pub precision: Precision,
}

/// Forces of the displaced initial state, distributed over the ranks.
#[derive(Debug)]
pub struct Reference {
    /// Forces on some of the particles, sorted by id.
    rows: Vec<ParticleRow>,
    /// Number of all particles.
    atoms: u64,
    /// Rms force, not less than its lower bound.
    scale: f64,
    terms: ReferenceConditions,
}

impl Reference {
    /// Computes the forces of the displaced initial state. *Collective.*
    ///
    /// # Errors
    /// [`ReferenceError`].
    pub fn compute(
        world: &dyn World,
        setup: &Setup,
        terms: ReferenceConditions,
    ) -> Result<Self, ReferenceError> {
        let setup = setup.displaced(terms.diameter);
        let reference = Self::new(world, forces_without_halo(world, &setup)?, terms)?;
        if reference.atoms <= MOST_DIRECT {
            reference.confirm(world, &forces_by_direct_sum(world, &setup)?)?;
        }
        Ok(reference)
    }

    /// Compares the reference with forces computed in another way, to rounding. *Collective.*
    fn confirm(&self, world: &dyn World, rows: &[ParticleRow]) -> Result<(), ReferenceError> {
        let place = Place { world, heartbeat: &Heartbeat::default() };
        match self.compare(place, rows, force_bound(Precision::Double))? {
            Ok(()) => Ok(()),
            Err(difference) => Err(ReferenceError::Disagreement { difference }),
        }
    }

    fn new(
        world: &dyn World,
        mut rows: Vec<ParticleRow>,
        terms: ReferenceConditions,
    ) -> Result<Self, EngineError> {
        rows.sort_by_key(|row| row.id);
        let squares: f64 = rows.iter().flat_map(|row| row.vector).map(|force| force * force).sum();
        let mut sums = [squares, rows.len() as f64];
        world.sum(&mut sums)?;
        let [squares, atoms] = sums;
        let scale = (squares / atoms.max(1.0)).sqrt().max(LEAST_FORCE * terms.force_unit);
        Ok(Self { rows, atoms: atoms as u64, scale, terms })
    }

    /// Returns the number of particles.
    pub fn atoms(&self) -> u64 {
        self.atoms
    }

    /// Returns the diameter of a particle.
    pub fn diameter(&self) -> f64 {
        self.terms.diameter
    }

    /// Compares forces on this rank's particles, in any distribution, with the reference. Returns
    /// the difference in words, identical on all ranks. *Collective.*
    ///
    /// # Errors
    /// Failed communication.
    pub fn check(&self, place: Place, rows: &[ParticleRow]) -> Result<Result<(), String>, EngineError> {
        self.compare(place, rows, force_bound(self.terms.precision))
    }

    fn compare(
        &self,
        Place { world, heartbeat }: Place,
        rows: &[ParticleRow],
        bound: f64,
    ) -> Result<Result<(), String>, EngineError> {
        let (mut is_found, mut worst) = (vec![false; self.rows.len()], (0.0, 0));
        for_each_rank(&rows.iter().copied(), world, |row| {
            heartbeat.beat();
            let Ok(index) = self.rows.binary_search_by_key(&row.id, |reference| reference.id) else { return };
            is_found[index] = true;
            let difference = self.difference(&row, &self.rows[index]);
            if (difference, row.id) >= worst {
                worst = (difference, row.id);
            }
        })?;
        let mut counts =
            [rows.len(), is_found.iter().filter(|&&is_found| is_found).count()].map(|n| n as f64);
        world.sum(&mut counts)?;
        let [particles, found] = counts;
        if counts != [self.atoms as f64; 2] {
            return Ok(Err(format!(
                "{}, among them {found} of the reference's {}",
                counted(particles, "particle"),
                self.atoms
            )));
        }
        let mut largest = [worst.0];
        world.max(&mut largest)?;
        let mut id = [if largest == [worst.0] { worst.1 } else { 0 }];
        world.reduce(&mut id, Reduction::Highest)?;
        let ([id], [largest]) = (id, largest);
        if largest <= bound {
            return Ok(Ok(()));
        }
        Ok(Err(format!(
            "wrong forces: that on particle {id} differs by {largest:.1e} of the rms force from that of the \
             reference (bound {bound:.0e})"
        )))
    }

    fn difference(&self, row: &ParticleRow, reference: &ParticleRow) -> f64 {
        let pairs = row.vector.iter().zip(&reference.vector);
        let difference =
            pairs.map(|(force, reference)| (force - reference).powi(2)).sum::<f64>().sqrt() / self.scale;
        if difference.is_nan() { f64::INFINITY } else { difference }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use md_comm::local;

    use super::*;

    fn rows(forces: &[[f64; 3]]) -> Vec<ParticleRow> {
        let row = |(id, &vector)| ParticleRow { id, kind: 1, vector, ..ParticleRow::default() };
        (1..).zip(forces).map(row).collect()
    }

    /// Returns the common result of two ranks, each with the reference of one half and the forces
    /// of the other.
    fn on_two_ranks<T: Send + PartialEq>(
        reference: &[[f64; 3]],
        found: &[[f64; 3]],
        judge: impl Fn(&Reference, &dyn World, &[ParticleRow]) -> T + Sync,
    ) -> T {
        let ended = local::run(2, Duration::from_secs(20), |world| {
            let half = |rows: Vec<ParticleRow>, wanted: usize| {
                rows.into_iter().filter(|row| row.id as usize % 2 == wanted).collect::<Vec<_>>()
            };
            let terms = ReferenceConditions { diameter: 1.0, force_unit: 1.0, precision: Precision::Double };
            let reference = Reference::new(world, half(rows(reference), world.rank()), terms).unwrap();
            judge(&reference, world, &half(rows(found), 1 - world.rank()))
        });
        let mut said = ended.into_iter().map(Result::unwrap);
        let first = said.next().unwrap();
        assert!(said.all(|other| other == first));
        first
    }

    #[test]
    fn a_direct_sum_that_differs_is_an_error_that_names_both() {
        let confirm = |found| {
            on_two_ranks(&[[3.0, 0.0, 0.0], [0.0, 4.0, 0.0]], found, |reference, world, rows| {
                reference.confirm(world, rows).map_err(|error| error.to_string())
            })
        };
        assert_eq!(confirm(&[[3.0, 0.0, 1e-13], [0.0, 4.0, 0.0]]), Ok(()));
        insta::assert_snapshot!(confirm(&[[3.0, 0.0, 0.0], [0.0, 4.0, 1e-6]]).unwrap_err(), @"nothing can be judged: the forces by direct sum are not those by adjacent cells (the reference): wrong forces: that on particle 2 differs by 2.8e-7 of the rms force from that of the reference (bound 1e-10)");
    }

    fn check(reference: &[[f64; 3]], found: &[[f64; 3]]) -> Result<(), String> {
        on_two_ranks(reference, found, |reference, world, rows| {
            reference.check(Place { world, heartbeat: &Heartbeat::default() }, rows).unwrap()
        })
    }

    #[test]
    fn rounding_passes_and_a_missing_force_does_not() {
        let reference = [[3.0, 0.0, 0.0], [0.0, 4.0, 0.0]];
        assert_eq!(check(&reference, &[[3.0, 0.0, 1e-13], [0.0, 4.0, 0.0]]), Ok(()));
        insta::assert_snapshot!(check(&reference, &[[3.0, 0.0, 0.0], [0.0; 3]]).unwrap_err(), @"wrong forces: that on particle 2 differs by 1.1e0 of the rms force from that of the reference (bound 1e-10)");
        assert!(check(&reference, &[[3.0, 0.0, 0.0], [f64::NAN; 3]]).is_err());
        assert_eq!(
            check(&reference, &[[3.0, 0.0, 0.0]]).unwrap_err(),
            "1 particle, among them 1 of the reference's 2"
        );
    }

    #[test]
    fn a_perfect_lattice_is_compared_with_the_unit_of_force() {
        assert_eq!(check(&[[1e-15, 0.0, 0.0]], &[[-1e-15, 0.0, 0.0]]), Ok(()));
    }
}
