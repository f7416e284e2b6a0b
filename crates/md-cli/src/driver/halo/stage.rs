//! The contexts along the edges of one stage of the plan.

use md_comm::{Buffering, Edge, EdgeId, Exchange, Flow, Sizes, World};
use md_core::halo::{self, HaloEdge, Selection, Stage, StageSelections};
use md_core::shell::ForceReturn;
use md_core::{LocalCells, Particles};

use super::{HaloState, VECTOR_BYTES, edge, spec};
use crate::driver::clock::PhaseClock;
use crate::driver::error::RunError;
use crate::report::Phase;

/// The contexts along the edges of one stage.
pub(super) struct StageContexts {
    pub(super) border: Exchange,
    pub(super) positions: Exchange,
    pub(super) forces: Option<Exchange>,
    pub(super) selections: StageSelections,
}

impl StageContexts {
    pub(super) fn open(
        world: &dyn World,
        stage: &Stage,
        force_return: ForceReturn,
        slots: Buffering,
    ) -> Result<Self, RunError> {
        let edges: Vec<Edge> = stage.edges.iter().map(|halo| edge(halo.peer, flow(halo))).collect();
        let positions = world.open(spec("positions", edges.clone(), Sizes::Fixed, slots))?;
        let forces = match force_return {
            ForceReturn::Needed => Some(positions.reverse()?),
            ForceReturn::None => None,
        };
        let border = world.open(spec("border", edges, Sizes::Variable, slots))?;
        Ok(Self { border, positions, forces, selections: StageSelections::default() })
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Exchange> {
        [&self.border, &self.positions].into_iter().chain(&self.forces)
    }

    pub(super) fn send_border(
        &mut self,
        stage: &Stage,
        particles: &Particles,
        cells: &LocalCells,
        needs: &mut Vec<usize>,
    ) -> Result<(), RunError> {
        needs.clear();
        let selections = &self.selections.edges;
        let bytes =
            |(edge, selection): (&HaloEdge, &Selection)| halo::border_bytes(&edge.exports, selection.len());
        needs.extend(stage.edges.iter().zip(selections).map(bytes));
        self.border.negotiate(needs)?;
        for (index, edge) in stage.edges.iter().enumerate().filter(|(_, edge)| flow(edge).sends()) {
            let message = self.border.send_buffer(EdgeId(index), needs[index])?;
            let message = bytemuck::cast_slice_mut(message);
            halo::pack_border(message, &edge.exports, &selections[index], particles, cells);
            self.border.start(EdgeId(index))?;
        }
        Ok(self.border.initiate()?)
    }

    pub(super) fn agree_on_refresh(
        &mut self,
        stage: &Stage,
        cells: &LocalCells,
        needs: &mut Vec<usize>,
    ) -> Result<(), RunError> {
        needs.clear();
        needs.extend(self.selections.edges.iter().map(|selection| VECTOR_BYTES * selection.len()));
        self.positions.negotiate(needs)?;
        if let Some(forces) = &mut self.forces {
            needs.clear();
            needs.extend(stage.edges.iter().map(|edge| VECTOR_BYTES * halo::import_count(edge, cells)));
            forces.negotiate(needs)?;
        }
        Ok(())
    }

    pub(super) fn start_refresh(
        &mut self,
        stage: &Stage,
        state: &mut HaloState,
        clock: &mut PhaseClock,
    ) -> Result<(), RunError> {
        let HaloState { particles, cells, threads, .. } = state;
        let context = &mut self.positions;
        for (index, _) in stage.edges.iter().enumerate().filter(|(_, edge)| flow(edge).sends()) {
            let selection = &self.selections.edges[index];
            let bytes = VECTOR_BYTES * selection.len();
            // A buffer may have to be read by its receiver before it can be filled again.
            let message = clock.time(Phase::HaloWait, || context.send_buffer(EdgeId(index), bytes))?;
            clock.time(Phase::HaloPack, || {
                halo::pack_positions(bytemuck::cast_slice_mut(message), selection, particles);
            });
            clock.time(Phase::HaloTransfer, || context.start(EdgeId(index)))?;
        }
        clock.time(Phase::HaloTransfer, || context.initiate())?;
        clock.time(Phase::HaloPack, || {
            halo::refresh_images(stage, &self.selections.images, particles, (cells, threads));
        });
        Ok(())
    }

    pub(super) fn finish_refresh(
        &mut self,
        stage: &Stage,
        state: &mut HaloState,
        clock: &mut PhaseClock,
    ) -> Result<(), RunError> {
        let HaloState { particles, cells, .. } = state;
        let context = &mut self.positions;
        while let Some(arrival) = clock.time(Phase::HaloWait, || context.next())? {
            clock.time(Phase::HaloUnpack, || {
                let edge = &stage.edges[arrival.edge.0];
                halo::unpack_positions(bytemuck::cast_slice(arrival.bytes), edge, particles, cells);
            });
        }
        // Nothing is moved any more; some transports wait until what was sent has been received.
        clock.time(Phase::HaloWait, || context.complete())?;
        Ok(())
    }
}

pub(super) fn send_forces(
    context: &mut Exchange,
    stage: &Stage,
    (particles, cells): (&Particles, &LocalCells),
    clock: &mut PhaseClock,
) -> Result<(), RunError> {
    for (index, edge) in stage.edges.iter().enumerate().filter(|(_, edge)| flow(edge).receives()) {
        let bytes = VECTOR_BYTES * halo::import_count(edge, cells);
        let message = clock.time(Phase::HaloWait, || context.send_buffer(EdgeId(index), bytes))?;
        clock.time(Phase::ForceReturn, || {
            halo::pack_forces(bytemuck::cast_slice_mut(message), edge, particles, cells);
        });
        clock.time(Phase::ForceReturn, || context.start(EdgeId(index)))?;
    }
    Ok(clock.time(Phase::ForceReturn, || context.initiate())?)
}

pub(super) fn flow(edge: &HaloEdge) -> Flow {
    match (edge.exports.is_empty(), edge.imports.is_empty()) {
        (false, false) => Flow::Both,
        (false, true) => Flow::SendOnly,
        (true, _) => Flow::ReceiveOnly,
    }
}
