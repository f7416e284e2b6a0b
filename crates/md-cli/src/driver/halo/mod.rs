//! Moving particles and ghosts between ranks: exchange contexts over one halo plan; a staged plan has a set per stage.
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

mod stage;

use md_comm::{Buffering, Choice, Edge, EdgeId, Exchange, ExchangeSpec, Flow, Sizes, Traffic, World};
use md_core::halo::{self, HaloPlan};
use md_core::{Domain, LocalCells, Particle, Particles, Threads};

use super::clock::PhaseClock;
use super::error::RunError;
use super::frozen::FrozenLeg;
use crate::report::Phase;
use stage::{StageContexts, flow, send_forces};

/// Bytes per particle in a message of positions or forces.
const VECTOR_BYTES: usize = 3 * size_of::<f64>();

/// The exchange contexts of one rank.
pub struct HaloExchange {
    migrate: Exchange,
    /// One set per stage of the plan.
    stages: Vec<StageContexts>,
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
    /// The threads of this rank.
    pub threads: &'a Threads,
}

impl HaloExchange {
    /// Opens the contexts, with so many buffers per edge. *Collective.*
    pub fn open(world: &dyn World, plan: &HaloPlan, slots: Buffering) -> Result<Self, RunError> {
        let migrants = plan.neighbours.iter().map(|&peer| edge(peer, Flow::Both)).collect();
        let most_edges = plan.stages.iter().map(|stage| stage.edges.len()).max().unwrap_or(0);
        Ok(Self {
            migrate: world.open(spec("migrate", migrants, Sizes::Variable, slots))?,
            stages: plan
                .stages
                .iter()
                .map(|stage| StageContexts::open(world, stage, plan.shell.force_return(), slots))
                .collect::<Result<_, _>>()?,
            outgoing: vec![Vec::new(); plan.neighbours.len()],
            staged: vec![Vec::new(); plan.neighbours.len().max(most_edges)],
            needs: Vec::new(),
        })
    }

    /// Where to put particles that leave for `plan.neighbours`.
    pub fn outgoing(&mut self) -> &mut [Vec<Particle>] {
        &mut self.outgoing
    }

    /// Sends [`Self::outgoing`] and appends what arrives, in edge order. *Collective.*
    pub fn migrate(&mut self, particles: &mut Particles) -> Result<(), RunError> {
        // Makes room for what the last migration has shown to be needed; this one may still be longer.
        self.needs.clear();
        self.needs.resize(self.outgoing.len(), 0);
        self.migrate.negotiate(&self.needs)?;
        for (index, migrants) in self.outgoing.iter().enumerate() {
            let bytes = halo::migrant_bytes(migrants.len());
            let message = self.migrate.send_buffer(EdgeId(index), bytes)?;
            halo::pack_migrants(bytemuck::cast_slice_mut(message), migrants);
            self.migrate.start(EdgeId(index))?;
        }
        self.migrate.initiate()?;
        stage_arrivals(&mut self.migrate, &mut self.staged)?;
        self.migrate.complete()?;
        for message in &self.staged[..self.outgoing.len()] {
            halo::unpack_migrants(message).for_each(|particle| particles.push(particle));
        }
        Ok(())
    }

    /// Lays out the ghost cells and fills them, stage by stage; agrees on the sizes of the refreshes to come.
    /// *Collective.*
    pub fn border(&mut self, state: &mut HaloState) -> Result<(), RunError> {
        let HaloState { particles, cells, plan, domain, threads } = state;
        cells.clear_ghosts(plan);
        for (contexts, stage) in self.stages.iter_mut().zip(&plan.stages) {
            contexts.selections.rebuild(stage, cells, domain);
            contexts.send_border(stage, particles, cells, &mut self.needs)?;
            halo::copy_images(stage, &contexts.selections.images, particles, (cells, threads));
            stage_arrivals(&mut contexts.border, &mut self.staged)?;
            contexts.border.complete()?;
            for (edge, message) in
                stage.edges.iter().zip(&self.staged).filter(|(edge, _)| flow(edge).receives())
            {
                halo::unpack_border(message, edge, particles, cells)?;
            }
            contexts.agree_on_refresh(stage, cells, &mut self.needs)?;
        }
        Ok(())
    }

    /// Sends the positions of the first stage and refreshes its images; returns while messages are in flight.
    pub fn start_refresh(&mut self, state: &mut HaloState, clock: &mut PhaseClock) -> Result<(), RunError> {
        match (self.stages.first_mut(), state.plan.stages.first()) {
            (Some(contexts), Some(stage)) => contexts.start_refresh(stage, state, clock),
            _ => Ok(()),
        }
    }

    /// Waits for the positions of [`Self::start_refresh`] and unpacks them in the order of arrival; then goes through
    /// the stages that follow.
    pub fn finish_refresh(&mut self, state: &mut HaloState, clock: &mut PhaseClock) -> Result<(), RunError> {
        let plan = state.plan;
        for (number, (contexts, stage)) in self.stages.iter_mut().zip(&plan.stages).enumerate() {
            if number > 0 {
                contexts.start_refresh(stage, state, clock)?;
            }
            contexts.finish_refresh(stage, state, clock)?;
        }
        Ok(())
    }

    /// Sends the forces on ghosts home, last stage first, and adds what comes back: images first, then edge by edge.
    /// Does nothing where the shell keeps its forces.
    pub fn return_forces(&mut self, state: &mut HaloState, clock: &mut PhaseClock) -> Result<(), RunError> {
        let HaloState { particles, cells, plan, threads, .. } = state;
        for (contexts, stage) in self.stages.iter_mut().zip(&plan.stages).rev() {
            let StageContexts { forces: Some(context), selections, .. } = contexts else { continue };
            let context = &mut *context;
            send_forces(context, stage, (particles, cells), clock)?;
            clock.time(Phase::ForceReturn, || {
                halo::add_returned_image_forces(stage, &selections.images, particles, (cells, threads));
            });
            clock.time(Phase::HaloWait, || {
                stage_arrivals(context, &mut self.staged)?;
                Ok::<_, RunError>(context.complete()?)
            })?;
            clock.time(Phase::ForceReturn, || {
                for (selection, message) in selections.edges.iter().zip(&self.staged) {
                    if !selection.is_empty() {
                        halo::add_returned_forces(bytemuck::cast_slice(message), selection, particles);
                    }
                }
            });
        }
        Ok(())
    }

    /// The steady exchange as it is now, leg by leg, with its messages packed: positions stage by stage, then forces the
    /// way back. Call it between exchanges.
    pub(super) fn frozen_legs<'h>(&'h mut self, state: &HaloState) -> Vec<FrozenLeg<'h>> {
        let HaloState { particles, cells, plan, .. } = state;
        let (mut out, mut home) = (Vec::new(), Vec::new());
        for (contexts, stage) in self.stages.iter_mut().zip(&plan.stages) {
            let selections = &contexts.selections.edges;
            let pack_positions = |index: usize, message: &mut [f64]| {
                halo::pack_positions(message, &selections[index], particles);
            };
            out.push(FrozenLeg::new(&mut contexts.positions, pack_positions));
            let pack_forces = |index: usize, message: &mut [f64]| {
                halo::pack_forces(message, &stage.edges[index], particles, cells);
            };
            home.extend(contexts.forces.as_mut().map(|forces| FrozenLeg::new(forces, pack_forces)));
        }
        out.extend(home.into_iter().rev());
        out
    }

    /// Messages and bytes sent so far through all contexts.
    pub fn traffic(&self) -> Traffic {
        let stages = self.stages.iter().flat_map(StageContexts::all);
        let contexts = stages.chain([&self.migrate]).map(Exchange::traffic);
        contexts.fold(Traffic::default(), |sum, one| Traffic {
            messages: sum.messages + one.messages,
            bytes: sum.bytes + one.bytes,
        })
    }

    /// What the contexts that choose their transports by themselves have chosen.
    pub fn choices(&self) -> Vec<Choice> {
        let mut choices = Vec::new();
        for (number, contexts) in self.stages.iter().enumerate() {
            let stage = if self.stages.len() > 1 { format!(", stage {}", number + 1) } else { String::new() };
            let forces = contexts.forces.iter().map(|forces| ("forces", forces));
            for (name, context) in [("positions", &contexts.positions)].into_iter().chain(forces) {
                let choice = context.choice();
                choices.extend(choice.map(|choice| Choice { context: format!("{name}{stage}"), ..choice }));
            }
        }
        choices
    }

    /// Closes the contexts. *Collective.*
    pub fn finalise(self) -> Result<(), RunError> {
        self.migrate.finalise()?;
        for StageContexts { border, positions, forces, .. } in self.stages {
            for context in [border, positions].into_iter().chain(forces) {
                context.finalise()?;
            }
        }
        Ok(())
    }
}

fn spec(name: &'static str, edges: Vec<Edge>, sizes: Sizes, slots: Buffering) -> ExchangeSpec {
    ExchangeSpec { name, edges, sizes, buffering: slots }
}

/// Keeps every arrival until all are there, so that they can be taken in edge order.
fn stage_arrivals(context: &mut Exchange, staged: &mut [Vec<u64>]) -> Result<(), RunError> {
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
