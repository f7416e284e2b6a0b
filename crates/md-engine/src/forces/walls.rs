//! Solid walls as forces.

use md_core::{Evaluation, Field, PairSums};

use super::context::ForceContext;
use super::force::Force;
use crate::collective::expect_room;
use crate::error::EngineError;
use crate::wall::SolidWall;

impl Force for SolidWall {
    fn cutoff(&self) -> f64 {
        0.0
    }

    fn ghost_fields(&self) -> &[Field] {
        &[]
    }

    fn particle_energies(&mut self, context: &mut ForceContext) -> Result<Option<Vec<f64>>, EngineError> {
        self.by_particle(context, |energy, _| energy).map(Some)
    }

    fn particle_virials(&mut self, context: &mut ForceContext) -> Result<Option<[Vec<f64>; 3]>, EngineError> {
        let own = self.by_particle(context, |_, virial| virial)?;
        let mut virials = [0, 1, 2].map(|_| vec![0.0; own.len()]);
        virials[self.axis] = own;
        Ok(Some(virials))
    }

    fn add_external_forces(
        &mut self,
        context: &mut ForceContext,
        _: Evaluation,
    ) -> Result<PairSums, EngineError> {
        Ok(context.compute(|context| {
            SolidWall::add_forces(self, context.particles, context.domain, context.summation)
        }))
    }
}

impl SolidWall {
    /// Returns a quantity of each owned particle, made of its energy and its virial along the axis.
    fn by_particle(
        &self,
        context: &ForceContext,
        quantity: fn(f64, f64) -> f64,
    ) -> Result<Vec<f64>, EngineError> {
        let owned = context.particles.owned();
        let mut values = Vec::new();
        expect_room(&mut values, owned, "what walls give to this rank's particles")?;
        values.extend(context.particles.position[self.axis][..owned].iter().map(|&x| {
            let distance = self.distance(x, context.domain);
            let (energy, force) = self.energy_and_force(distance);
            quantity(energy, force * distance)
        }));
        Ok(values)
    }
}
