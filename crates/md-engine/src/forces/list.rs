//! The forces of a running simulation, and the exchanges that they share.

use std::fmt;

use md_core::potential::Tail;
use md_core::{Domain, Evaluation, Field, HaloPlan, LocalCells, PairSums};

use super::context::{FORCES, ForceContext};
use super::force::Force;
use super::particle_shares::total_by_particle;
use crate::error::EngineError;
use crate::settings::Overlap;

/// Method of [`Force`] that adds forces.
type AddForces<'f> =
    fn(&mut (dyn Force + 'f), &mut ForceContext, Evaluation) -> Result<PairSums, EngineError>;

/// Forces of one rank, which are added up.
pub struct ForceList<'f> {
    forces: Vec<Box<dyn Force + 'f>>,
    overlap: Overlap,
    /// Fields that ghosts need, without repetition.
    ghost_fields: Vec<Field>,
}

impl fmt::Debug for ForceList<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ForceList").field("forces", &self.forces.len()).finish_non_exhaustive()
    }
}

impl<'f> ForceList<'f> {
    /// Creates the list. Fields of the forces must have been registered.
    pub(crate) fn new(forces: Vec<Box<dyn Force + 'f>>, overlap: Overlap) -> Self {
        let mut ghost_fields = Vec::new();
        for &field in forces.iter().flat_map(|force| force.ghost_fields()) {
            if !ghost_fields.contains(&field) {
                ghost_fields.push(field);
            }
        }
        Self { forces, overlap, ghost_fields }
    }

    /// Returns the largest distance of two particles that interact, \[length\].
    pub fn cutoff(&self) -> f64 {
        self.forces.iter().map(|force| force.cutoff()).fold(0.0, f64::max)
    }

    /// Returns whether a force needs ghosts.
    pub(crate) fn has_ghosts(&self) -> bool {
        !self.ghost_fields.is_empty()
    }

    /// Returns the sum of the tail corrections in a box.
    pub(crate) fn tail(&self, counts: &[u64], domain: &Domain) -> Tail {
        let tails = self.forces.iter().map(|force| force.tail(counts, domain.volume(), domain.dimension));
        tails.fold(Tail::default(), |all, tail| Tail {
            energy: all.energy + tail.energy,
            pressure: all.pressure + tail.pressure,
        })
    }

    /// Prepares all forces for the present particles. *Collective.*
    pub(crate) fn rebuild(&mut self, context: &mut ForceContext) -> Result<(), EngineError> {
        self.forces.iter_mut().try_for_each(|force| force.rebuild(context))
    }

    /// Returns the work of each owned cell by all forces that know it, or `None` if none does.
    pub(crate) fn pairs_by_cell(&self, cells: &LocalCells, plan: &HaloPlan) -> Option<Vec<f64>> {
        let known = self.forces.iter().filter_map(|force| force.pairs_by_cell(cells, plan));
        known.reduce(|mut all, own| {
            all.iter_mut().zip(own).for_each(|(all, own)| *all += own);
            all
        })
    }

    /// Returns the skin of the pruned lists that this rank uses, if it uses any.
    pub(crate) fn inner_skin(&self) -> Option<f64> {
        self.forces.iter().find_map(|force| force.inner_skin())
    }

    /// Returns the energy of each owned particle, or `None` if a force does not know its part.
    /// *Collective.*
    pub(crate) fn particle_energies(
        &mut self,
        context: &mut ForceContext,
    ) -> Result<Option<Vec<f64>>, EngineError> {
        let parts = self.forces.iter_mut().map(|force| {
            let energies = force.particle_energies(context)?;
            Ok(energies.map(|energies| [energies]))
        });
        Ok(total_by_particle(parts)?.map(|[energies]| energies))
    }

    /// Returns the diagonal of the virial of each owned particle, or `None` if a force does not
    /// know its part. *Collective.*
    pub(crate) fn particle_virials(
        &mut self,
        context: &mut ForceContext,
    ) -> Result<Option<[Vec<f64>; 3]>, EngineError> {
        total_by_particle(self.forces.iter_mut().map(|force| force.particle_virials(context)))
    }

    /// Returns the forces, in the order in which they are added.
    pub(crate) fn as_slice(&self) -> &[Box<dyn Force + 'f>] {
        &self.forces
    }

    /// Adds all forces on owned particles. Inner forces are computed while fields of ghosts travel,
    /// the remaining ones while forces on ghosts travel. The order of the sums, and therefore all
    /// bits, are the same with and without overlap. *Collective.*
    pub(crate) fn add_forces(
        &mut self,
        context: &mut ForceContext,
        evaluation: Evaluation,
    ) -> Result<PairSums, EngineError> {
        let Self { forces, overlap, ghost_fields } = self;
        let (overlap, has_ghosts) = (*overlap, !ghost_fields.is_empty());
        let mut total = PairSums::default();
        let mut add = |add_forces: AddForces<'f>, context: &mut ForceContext| {
            forces.iter_mut().try_for_each(|force| {
                total += add_forces(&mut **force, context, evaluation)?;
                Ok::<_, EngineError>(())
            })
        };
        if has_ghosts {
            context.start_gather(ghost_fields)?;
            if overlap == Overlap::Off {
                context.finish_gather(ghost_fields)?;
            }
        }
        context.particles.clear_ghost_forces(context.threads);
        add(Force::add_inner_forces, context)?;
        if has_ghosts && overlap == Overlap::On {
            context.finish_gather(ghost_fields)?;
        }
        add(Force::add_forces, context)?;
        if has_ghosts && overlap == Overlap::On {
            context.start_scatter_add(FORCES)?;
        }
        add(Force::add_remaining_forces, context)?;
        if has_ghosts {
            if overlap == Overlap::Off {
                context.start_scatter_add(FORCES)?;
            }
            context.finish_scatter_add(FORCES)?;
        }
        add(Force::add_external_forces, context)?;
        Ok(total)
    }
}
