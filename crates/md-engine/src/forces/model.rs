//! Forces of a configuration, from which every rank creates its own.

use std::fmt;
use std::sync::Arc;

use md_core::PairPotential;
use md_core::force::Precision;

use super::force::Force;
use super::pair::PairForces;
use super::protocol::CellForces;
use crate::error::EngineError;
use crate::settings::{NeighborConfig, ParallelConfig};

/// Force of a configuration: its parameters, which all ranks share.
pub trait ForceModel: fmt::Debug + Send + Sync {
    /// Returns the largest distance of two particles that interact, \[length\].
    fn cutoff(&self) -> f64;

    /// Returns the number of species for which it has parameters, or `None` for any number.
    fn species(&self) -> Option<usize> {
        None
    }

    /// Returns the potential if this is a plain pair potential, for references to compare with.
    fn pair_potential(&self) -> Option<&dyn PairPotential> {
        None
    }

    /// Checks that the force supports these settings.
    ///
    /// # Errors
    /// [`EngineError::Config`] that names the setting; [`EngineError::SinglePrecision`].
    fn check(&self, neighbor: &NeighborConfig, parallel: &ParallelConfig) -> Result<(), EngineError>;

    /// Creates the force of one rank.
    fn force(&self, neighbor: &NeighborConfig, parallel: &ParallelConfig) -> Box<dyn Force>;
}

/// A pair potential, for [`PairForces`].
#[derive(Debug, Clone)]
struct Pairs(Arc<dyn PairPotential>);

impl ForceModel for Pairs {
    fn cutoff(&self) -> f64 {
        self.0.cutoff()
    }

    fn species(&self) -> Option<usize> {
        Some(self.0.species())
    }

    fn pair_potential(&self) -> Option<&dyn PairPotential> {
        Some(&*self.0)
    }

    fn check(&self, neighbor: &NeighborConfig, _: &ParallelConfig) -> Result<(), EngineError> {
        if neighbor.precision == Precision::Mixed && !self.0.fits_single_precision() {
            return Err(EngineError::SinglePrecision);
        }
        Ok(())
    }

    fn force(&self, neighbor: &NeighborConfig, parallel: &ParallelConfig) -> Box<dyn Force> {
        match CellForces::new(&self.0, *neighbor, parallel) {
            Some(forces) => Box::new(forces),
            None => Box::new(PairForces::new(Arc::clone(&self.0), *neighbor, parallel)),
        }
    }
}

/// Forces between the particles of a configuration, which are added up.
///
/// ```
/// use md_core::potential::LennardJones;
/// use md_engine::Forces;
///
/// assert_eq!(Forces::from(LennardJones::reduced(2.5)).cutoff(), 2.5);
/// ```
#[derive(Debug, Clone)]
pub struct Forces {
    models: Vec<Arc<dyn ForceModel>>,
    /// Cutoff of forces that the caller passes to [`crate::Simulation::with_forces`], \[length\].
    own_cutoff: Option<f64>,
}

impl Forces {
    /// Returns the forces of one model.
    pub fn new(model: impl ForceModel + 'static) -> Self {
        Self { models: vec![Arc::new(model)], own_cutoff: None }
    }

    /// Returns the forces of a pair potential.
    pub fn pairs(potential: Arc<dyn PairPotential>) -> Self {
        Self::new(Pairs(potential))
    }

    /// Returns forces that are passed to [`crate::Simulation::with_forces`] alone. Cells are made
    /// for this cutoff, which must be at least theirs, \[length\].
    pub fn own(cutoff: f64) -> Self {
        Self { models: Vec::new(), own_cutoff: Some(cutoff) }
    }

    /// Returns these forces and others.
    ///
    /// ```
    /// use md_core::potential::LennardJones;
    /// use md_engine::Forces;
    ///
    /// let long = LennardJones::reduced(3.0);
    /// assert_eq!(Forces::from(LennardJones::reduced(2.5)).and(long).cutoff(), 3.0);
    /// ```
    #[must_use]
    pub fn and(mut self, others: impl Into<Self>) -> Self {
        let Self { models, own_cutoff } = others.into();
        self.models.extend(models);
        self.own_cutoff = self.own_cutoff.into_iter().chain(own_cutoff).reduce(f64::max);
        self
    }

    /// Returns the largest distance of two particles that interact, \[length\].
    pub fn cutoff(&self) -> f64 {
        let cutoffs = self.models.iter().map(|model| model.cutoff());
        cutoffs.chain(self.own_cutoff).fold(0.0, f64::max)
    }

    /// Returns the potential if these are the forces of one pair potential alone.
    pub fn pair_potential(&self) -> Option<&dyn PairPotential> {
        match &self.models[..] {
            [model] if self.own_cutoff.is_none() => model.pair_potential(),
            _ => None,
        }
    }

    /// Returns the models in the order in which their forces are added.
    pub(crate) fn models(&self) -> impl Iterator<Item = &dyn ForceModel> {
        self.models.iter().map(|model| &**model)
    }

    /// Returns whether the caller must pass forces.
    pub(crate) fn are_own(&self) -> bool {
        self.own_cutoff.is_some()
    }
}

impl<P: PairPotential + 'static> From<P> for Forces {
    fn from(potential: P) -> Self {
        Self::pairs(Arc::new(potential))
    }
}
