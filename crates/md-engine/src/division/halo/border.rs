//! The border exchange: ghost cells are laid out and filled for the first time after a rebuild.

use md_comm::{Buffering, EdgeId, Exchange, Sizes, World};
use md_core::Domain;
use md_core::halo::{self, HaloEdge, HaloPlan, Selection, Stage, StageSelections};

use super::{HaloView, collect_arrivals, edge, flow, open};
use crate::error::EngineError;

/// One context per stage, and the particles sent in it.
pub(super) struct Border {
    contexts: Vec<Exchange>,
    selections: Vec<StageSelections>,
    needs: Vec<usize>,
}

impl Border {
    pub(super) fn open(
        world: &dyn World,
        plan: &HaloPlan,
        buffering: Buffering,
    ) -> Result<Self, EngineError> {
        let context = |stage: &Stage| {
            let edges = stage.edges.iter().map(|halo| edge(halo.peer, flow(halo))).collect();
            open(world, "border", edges, Sizes::Variable, buffering)
        };
        let contexts = plan.stages.iter().map(context).collect::<Result<_, _>>()?;
        let selections = vec![StageSelections::default(); plan.stages.len()];
        Ok(Self { contexts, selections, needs: Vec::new() })
    }

    /// Stretches the image displacements with the box.
    pub(super) fn stretch(&mut self, domain: &Domain) {
        for StageSelections { images, edges, .. } in &mut self.selections {
            std::iter::once(images).chain(edges).for_each(|selection| selection.stretch(domain));
        }
    }

    /// Returns the particles sent in each stage at the last exchange.
    pub(super) fn selections(&self) -> &[StageSelections] {
        &self.selections
    }

    pub(super) fn contexts(&self) -> impl Iterator<Item = &Exchange> {
        self.contexts.iter()
    }

    pub(super) fn exchange(
        &mut self,
        view: &mut HaloView,
        collected: &mut Vec<Vec<u64>>,
    ) -> Result<(), EngineError> {
        view.cells.clear_ghosts(view.plan);
        for number in 0..view.plan.stages.len() {
            let stage = &view.plan.stages[number];
            self.selections[number].rebuild(stage, view.cells, view.domain);
            self.send(number, view)?;
            let images = &self.selections[number].images;
            halo::copy_images(stage, images, view.particles, view.cells, view.threads);
            let context = &mut self.contexts[number];
            collect_arrivals(context, collected)?;
            context.complete()?;
            let arrived = stage.edges.iter().zip(&*collected).filter(|(edge, _)| flow(edge).receives());
            for (edge, message) in arrived {
                halo::unpack_border(message, edge, view.particles, view.cells)?;
            }
        }
        Ok(())
    }

    fn send(&mut self, number: usize, view: &HaloView) -> Result<(), EngineError> {
        let Self { contexts, selections, needs } = self;
        let (context, stage) = (&mut contexts[number], &view.plan.stages[number]);
        let selections = &selections[number].edges;
        needs.clear();
        let bytes = |(edge, selection): (&HaloEdge, &Selection)| {
            halo::border_bytes(&edge.exports, selection, view.particles)
        };
        needs.extend(stage.edges.iter().zip(selections).map(bytes));
        context.negotiate(needs)?;
        for (index, edge) in stage.edges.iter().enumerate().filter(|(_, edge)| flow(edge).sends()) {
            let message = context.send_buffer(EdgeId(index), needs[index])?;
            let message = bytemuck::cast_slice_mut(message);
            halo::pack_border(message, &edge.exports, &selections[index], view.particles, view.cells);
            context.start(EdgeId(index))?;
        }
        Ok(context.initiate()?)
    }

    pub(super) fn finalise(self) -> Result<(), EngineError> {
        self.contexts.into_iter().try_for_each(|context| Ok(context.finalise()?))
    }
}
