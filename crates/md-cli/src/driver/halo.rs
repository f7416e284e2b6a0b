//! Moving particles and ghosts between ranks: four exchange contexts over one halo plan.
//!
//! | context | when | message |
//! | --- | --- | --- |
//! | migrate | rebuild | particles that changed hands, to every rank that owns an adjacent cell |
//! | border | rebuild | the exported cells: counts, positions, ids, species |
//! | positions | every other step | positions of the same particles, fixed size |
//! | forces | every step, where the shell wants it | forces on ghosts, back along the same edges |
//!
//! What arrives is unpacked as it comes where the result does not depend on the order (positions go to their own
//! places), and staged and taken in edge order where it does (migration, border, force sums): so all backends give
//! bit-identical trajectories.

use md_comm::{Edge, EdgeId, Exchange, ExchangeSpec, Flow, Sizes, Slots, Traffic, World};
use md_core::halo::{self, HaloEdge, HaloPlan};
use md_core::shell::ForceReturn;
use md_core::{Domain, LocalCells, Particle, Particles};

use super::clock::PhaseClock;
use super::error::RunError;
use crate::report::Phase;

/// Bytes per particle in a message of positions or forces.
const VECTOR_BYTES: usize = 3 * size_of::<f64>();

/// The exchange contexts of one rank.
pub struct HaloExchange {
    migrate: Box<dyn Exchange>,
    border: Box<dyn Exchange>,
    positions: Box<dyn Exchange>,
    forces: Option<Box<dyn Exchange>>,
    outgoing: Vec<Vec<Particle>>,
    staged: Vec<Vec<u64>>,
    needs: Vec<usize>,
}

/// What an exchange works on.
pub struct HaloState<'a> {
    /// The particles.
    pub particles: &'a mut Particles,
    /// Their cells.
    pub cells: &'a mut LocalCells,
    /// The plan.
    pub plan: &'a HaloPlan,
    /// The box.
    pub domain: &'a Domain,
}

impl HaloExchange {
    /// Opens the contexts. *Collective.*
    pub fn open(world: &dyn World, plan: &HaloPlan) -> Result<Self, RunError> {
        let spec = |name, edges, sizes| ExchangeSpec { name, edges, sizes, slots: Slots::Double };
        let migrants = plan.neighbours.iter().map(|&peer| edge(peer, Flow::Both)).collect();
        let halo: Vec<Edge> = plan.edges.iter().map(|halo| edge(halo.peer, flow(halo))).collect();
        let positions = world.open(spec("positions", halo.clone(), Sizes::Fixed))?;
        let forces = match plan.shell.force_return() {
            ForceReturn::Needed => Some(positions.reverse()?),
            ForceReturn::None => None,
        };
        Ok(Self {
            migrate: world.open(spec("migrate", migrants, Sizes::Variable))?,
            border: world.open(spec("border", halo, Sizes::Variable))?,
            positions,
            forces,
            outgoing: vec![Vec::new(); plan.neighbours.len()],
            staged: vec![Vec::new(); plan.neighbours.len().max(plan.edges.len())],
            needs: Vec::new(),
        })
    }

    /// Where to put particles that leave for `plan.neighbours`.
    pub fn outgoing(&mut self) -> &mut [Vec<Particle>] {
        &mut self.outgoing
    }

    /// Sends [`Self::outgoing`] and appends what arrives, in edge order. *Collective.*
    pub fn migrate(&mut self, particles: &mut Particles) -> Result<(), RunError> {
        self.needs.clear();
        self.needs.extend(self.outgoing.iter().map(|migrants| halo::migrant_bytes(migrants.len())));
        self.migrate.negotiate(&self.needs)?;
        for (index, migrants) in self.outgoing.iter().enumerate() {
            let message = self.migrate.send_buffer(EdgeId(index), self.needs[index])?;
            halo::pack_migrants(bytemuck::cast_slice_mut(message), migrants);
            self.migrate.start(EdgeId(index))?;
        }
        self.migrate.initiate()?;
        stage(&mut *self.migrate, &mut self.staged)?;
        self.migrate.complete()?;
        for message in &self.staged[..self.outgoing.len()] {
            halo::unpack_migrants(message).for_each(|particle| particles.push(particle));
        }
        Ok(())
    }

    /// Lays out the ghost cells and fills them; agrees on the sizes of the refreshes to come. *Collective.*
    pub fn border(&mut self, state: &mut HaloState) -> Result<(), RunError> {
        let HaloState { particles, cells, plan, domain } = state;
        self.needs.clear();
        self.needs.extend(
            plan.edges
                .iter()
                .map(|edge| halo::border_bytes(&edge.exports, halo::export_count(&edge.exports, cells))),
        );
        self.border.negotiate(&self.needs)?;
        for (index, edge) in plan.edges.iter().enumerate().filter(|(_, edge)| flow(edge).sends()) {
            let message = self.border.send_buffer(EdgeId(index), self.needs[index])?;
            halo::pack_border(bytemuck::cast_slice_mut(message), &edge.exports, particles, cells, domain);
            self.border.start(EdgeId(index))?;
        }
        self.border.initiate()?;
        cells.clear_ghosts(plan);
        halo::copy_images(&plan.images, particles, cells, domain);
        stage(&mut *self.border, &mut self.staged)?;
        self.border.complete()?;
        for (edge, message) in plan.edges.iter().zip(&self.staged).filter(|(edge, _)| flow(edge).receives()) {
            halo::unpack_border(message, edge, particles, cells)?;
        }
        self.agree_on_refresh(plan, cells)
    }

    fn agree_on_refresh(&mut self, plan: &HaloPlan, cells: &LocalCells) -> Result<(), RunError> {
        self.needs.clear();
        let exported = |edge: &HaloEdge| VECTOR_BYTES * halo::export_count(&edge.exports, cells);
        self.needs.extend(plan.edges.iter().map(exported));
        self.positions.negotiate(&self.needs)?;
        if let Some(forces) = &mut self.forces {
            let imported =
                |edge: &HaloEdge| edge.imports.clone().map(|slot| cells.count(slot)).sum::<usize>();
            self.needs.clear();
            self.needs.extend(plan.edges.iter().map(|edge| VECTOR_BYTES * imported(edge)));
            forces.negotiate(&self.needs)?;
        }
        Ok(())
    }

    /// Sends positions and refreshes the images; returns while messages are in flight.
    pub fn start_refresh(&mut self, state: &mut HaloState, clock: &mut PhaseClock) -> Result<(), RunError> {
        let HaloState { particles, cells, plan, domain } = state;
        let context = &mut *self.positions;
        for (index, edge) in plan.edges.iter().enumerate().filter(|(_, edge)| flow(edge).sends()) {
            clock.time(Phase::HaloPack, || {
                let bytes = VECTOR_BYTES * halo::export_count(&edge.exports, cells);
                let message = bytemuck::cast_slice_mut(context.send_buffer(EdgeId(index), bytes)?);
                halo::pack_positions(message, &edge.exports, particles, cells, domain);
                Ok::<_, RunError>(())
            })?;
            clock.time(Phase::HaloTransfer, || context.start(EdgeId(index)))?;
        }
        clock.time(Phase::HaloTransfer, || context.initiate())?;
        clock.time(Phase::HaloPack, || halo::refresh_images(&plan.images, particles, cells, domain));
        Ok(())
    }

    /// Waits for the positions of [`Self::start_refresh`] and unpacks them in the order of arrival.
    pub fn finish_refresh(&mut self, state: &mut HaloState, clock: &mut PhaseClock) -> Result<(), RunError> {
        let HaloState { particles, cells, plan, .. } = state;
        let context = &mut *self.positions;
        while let Some(arrival) = clock.time(Phase::HaloWait, || context.next())? {
            clock.time(Phase::HaloUnpack, || {
                let edge = &plan.edges[arrival.edge.0];
                halo::unpack_positions(bytemuck::cast_slice(arrival.bytes), edge, particles, cells);
            });
        }
        clock.time(Phase::HaloTransfer, || context.complete())?;
        Ok(())
    }

    /// Sends the forces on ghosts home and adds what comes back: images first, then edge by edge. Does nothing where
    /// the shell keeps its forces.
    pub fn return_forces(&mut self, state: &mut HaloState, clock: &mut PhaseClock) -> Result<(), RunError> {
        let HaloState { particles, cells, plan, .. } = state;
        let Some(context) = self.forces.as_deref_mut() else { return Ok(()) };
        clock.time(Phase::ForceReturn, || {
            send_forces(context, particles, cells, plan)?;
            halo::add_returned_image_forces(&plan.images, particles, cells);
            Ok::<_, RunError>(())
        })?;
        clock.time(Phase::HaloWait, || stage(context, &mut self.staged))?;
        clock.time(Phase::ForceReturn, || {
            context.complete()?;
            for (edge, message) in plan.edges.iter().zip(&self.staged).filter(|(edge, _)| flow(edge).sends())
            {
                halo::add_returned_forces(bytemuck::cast_slice(message), edge, particles, cells);
            }
            Ok(())
        })
    }

    /// Messages and bytes sent so far through all contexts.
    pub fn traffic(&self) -> Traffic {
        let contexts = [&self.migrate, &self.border, &self.positions].into_iter().chain(&self.forces);
        contexts.map(|context| context.traffic()).fold(Traffic::default(), |sum, one| Traffic {
            messages: sum.messages + one.messages,
            bytes: sum.bytes + one.bytes,
        })
    }

    /// Closes the contexts. *Collective.*
    pub fn finalise(self) -> Result<(), RunError> {
        for context in [self.migrate, self.border, self.positions].into_iter().chain(self.forces) {
            context.finalise()?;
        }
        Ok(())
    }
}

fn send_forces(
    context: &mut dyn Exchange,
    particles: &Particles,
    cells: &LocalCells,
    plan: &HaloPlan,
) -> Result<(), RunError> {
    for (index, edge) in plan.edges.iter().enumerate().filter(|(_, edge)| flow(edge).receives()) {
        let ghosts = edge.imports.clone().map(|slot| cells.count(slot)).sum::<usize>();
        let message = context.send_buffer(EdgeId(index), VECTOR_BYTES * ghosts)?;
        halo::pack_forces(bytemuck::cast_slice_mut(message), edge, particles, cells);
        context.start(EdgeId(index))?;
    }
    Ok(context.initiate()?)
}

/// Keeps every arrival until all are there, so that they can be taken in edge order.
fn stage(context: &mut dyn Exchange, staged: &mut [Vec<u64>]) -> Result<(), RunError> {
    while let Some(arrival) = context.next()? {
        let message = &mut staged[arrival.edge.0];
        message.clear();
        message.extend_from_slice(bytemuck::cast_slice(arrival.bytes));
    }
    Ok(())
}

fn edge(peer: usize, flow: Flow) -> Edge {
    Edge { peer, send_channel: 0, receive_channel: 0, flow, send_capacity: 0 }
}

fn flow(edge: &HaloEdge) -> Flow {
    match (edge.exports.is_empty(), edge.imports.is_empty()) {
        (false, false) => Flow::Both,
        (false, true) => Flow::SendOnly,
        (true, _) => Flow::ReceiveOnly,
    }
}
