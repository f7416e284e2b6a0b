//! The contexts that carry a list of fields one way, one per stage of the plan.

use md_comm::{Buffering, EdgeId, Exchange, ExchangeSpec, Sizes, World};
use md_core::halo::{self, HaloPlan, Stage, StageSelections};
use md_core::{Field, LocalCells, OnGhosts, Particles};

use super::{Direction, HaloView, collect_arrivals, edge, flow};
use crate::clock::Phase;
use crate::error::EngineError;
use crate::frozen::FrozenLeg;

/// What is carried.
struct Cargo {
    direction: Direction,
    fields: Vec<Field>,
    /// Bytes per particle.
    width: usize,
}

impl Cargo {
    /// Length of the message that leaves along an edge.
    fn bytes(&self, edge: usize, stage: &Stage, selections: &StageSelections, cells: &LocalCells) -> usize {
        let particles = match self.direction {
            Direction::Gather => selections.edges[edge].len(),
            Direction::ScatterAdd => halo::import_count(&stage.edges[edge], cells),
        };
        self.width * particles
    }

    fn pack(
        &self,
        message: &mut [f64],
        edge: usize,
        stage: &Stage,
        selections: &StageSelections,
        particles: &Particles,
        cells: &LocalCells,
    ) {
        match self.direction {
            Direction::Gather => {
                halo::pack_fields(message, &self.fields, &selections.edges[edge], particles);
            }
            Direction::ScatterAdd => {
                halo::pack_ghosts(message, &self.fields, &stage.edges[edge], particles, cells);
            }
        }
    }
}

pub(super) struct Channel {
    cargo: Cargo,
    name: &'static str,
    contexts: Vec<Exchange>,
    needs: Vec<usize>,
}

impl Channel {
    pub(super) fn open(
        world: &dyn World,
        plan: &HaloPlan,
        direction: Direction,
        fields: &[Field],
        particles: &Particles,
        buffering: Buffering,
    ) -> Result<Self, EngineError> {
        let can = |&field: &Field| {
            let gathers = direction == Direction::Gather || field != Field::POSITION;
            let on_ghosts = particles.spec(field).on_ghosts != OnGhosts::Absent;
            gathers && on_ghosts && !particles.components(field).is_empty()
        };
        if fields.is_empty() || !fields.iter().all(can) {
            return Err(EngineError::Exchange(
                fields.iter().map(|&field| particles.spec(field).name).collect(),
            ));
        }
        let name = particles.spec(fields[0]).name;
        let numbers: usize = fields.iter().map(|&field| particles.components(field).len()).sum();
        let context = |stage: &Stage| {
            let flow = |halo| match direction {
                Direction::Gather => flow(halo),
                Direction::ScatterAdd => flow(halo).reversed(),
            };
            let edges = stage.edges.iter().map(|halo| edge(halo.peer, flow(halo))).collect();
            Ok::<_, EngineError>(world.open(ExchangeSpec { name, edges, sizes: Sizes::Fixed, buffering })?)
        };
        let contexts = plan.stages.iter().map(context).collect::<Result<_, _>>()?;
        let cargo = Cargo { direction, fields: fields.to_vec(), width: numbers * size_of::<f64>() };
        Ok(Self { cargo, name, contexts, needs: Vec::new() })
    }

    pub(super) fn carries(&self, direction: Direction, fields: &[Field]) -> bool {
        self.cargo.direction == direction && self.cargo.fields == fields
    }

    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    pub(super) fn contexts(&self) -> impl Iterator<Item = &Exchange> {
        self.contexts.iter()
    }

    /// Agrees on the sizes of all messages until the next rebuild. *Collective.*
    pub(super) fn negotiate(
        &mut self,
        plan: &HaloPlan,
        selections: &[StageSelections],
        cells: &LocalCells,
    ) -> Result<(), EngineError> {
        let Self { contexts, needs, cargo, .. } = self;
        for ((context, stage), selections) in contexts.iter_mut().zip(&plan.stages).zip(selections) {
            needs.clear();
            needs.extend((0..stage.edges.len()).map(|edge| cargo.bytes(edge, stage, selections, cells)));
            context.negotiate(needs)?;
        }
        Ok(())
    }

    pub(super) fn start_gather(
        &mut self,
        number: usize,
        selections: &[StageSelections],
        view: &mut HaloView,
    ) -> Result<(), EngineError> {
        self.send(number, selections, view)?;
        let HaloView { particles, cells, plan, threads, clock, .. } = view;
        let (stage, images) = (&plan.stages[number], &selections[number].images);
        clock.time(Phase::HaloPack, || {
            halo::gather_images(stage, &self.cargo.fields, images, particles, (cells, threads));
        });
        Ok(())
    }

    /// Packs and sends the messages of a stage.
    fn send(
        &mut self,
        number: usize,
        selections: &[StageSelections],
        view: &mut HaloView,
    ) -> Result<(), EngineError> {
        let HaloView { particles, cells, plan, clock, .. } = view;
        let (stage, selections) = (&plan.stages[number], &selections[number]);
        let Self { cargo, contexts, .. } = self;
        let context = &mut contexts[number];
        let (pack, transfer) = match cargo.direction {
            Direction::Gather => (Phase::HaloPack, Phase::HaloTransfer),
            Direction::ScatterAdd => (Phase::ForceReturn, Phase::ForceReturn),
        };
        for edge in 0..stage.edges.len() {
            if !context.spec().edges[edge].flow.sends() {
                continue;
            }
            let bytes = cargo.bytes(edge, stage, selections, cells);
            // A buffer may have to be read by its receiver before it can be filled again.
            let message = clock.time(Phase::HaloWait, || context.send_buffer(EdgeId(edge), bytes))?;
            let message = bytemuck::cast_slice_mut(message);
            clock.time(pack, || cargo.pack(message, edge, stage, selections, particles, cells));
            clock.time(transfer, || context.start(EdgeId(edge)))?;
        }
        Ok(clock.time(transfer, || context.initiate())?)
    }

    pub(super) fn finish_gather(&mut self, number: usize, view: &mut HaloView) -> Result<(), EngineError> {
        let HaloView { particles, cells, plan, clock, .. } = view;
        let (stage, context) = (&plan.stages[number], &mut self.contexts[number]);
        while let Some(arrival) = clock.time(Phase::HaloWait, || context.next())? {
            clock.time(Phase::HaloUnpack, || {
                let (edge, message) = (&stage.edges[arrival.edge.0], bytemuck::cast_slice(arrival.bytes));
                halo::unpack_fields(message, &self.cargo.fields, edge, particles, cells);
            });
        }
        // Nothing is moved any more; some transports wait until what was sent has been received.
        clock.time(Phase::HaloWait, || context.complete())?;
        Ok(())
    }

    pub(super) fn scatter_add(
        &mut self,
        number: usize,
        selections: &[StageSelections],
        view: &mut HaloView,
        collected: &mut Vec<Vec<u64>>,
    ) -> Result<(), EngineError> {
        self.send(number, selections, view)?;
        let HaloView { particles, cells, plan, threads, clock, .. } = view;
        let (stage, selections) = (&plan.stages[number], &selections[number]);
        let context = &mut self.contexts[number];
        clock.time(Phase::ForceReturn, || {
            halo::scatter_add_images(
                stage,
                &self.cargo.fields,
                &selections.images,
                particles,
                (cells, threads),
            );
        });
        clock.time(Phase::HaloWait, || {
            collect_arrivals(context, collected)?;
            Ok::<_, EngineError>(context.complete()?)
        })?;
        clock.time(Phase::ForceReturn, || {
            for (selection, message) in selections.edges.iter().zip(collected) {
                if !selection.is_empty() {
                    halo::add_fields(bytemuck::cast_slice(message), &self.cargo.fields, selection, particles);
                }
            }
        });
        Ok(())
    }

    /// The present exchange with its messages packed, in the order of the stages.
    pub(super) fn frozen_legs<'h>(
        &'h mut self,
        selections: &[StageSelections],
        view: &HaloView,
    ) -> Vec<FrozenLeg<'h>> {
        let HaloView { particles, cells, plan, .. } = view;
        let Self { cargo, contexts, .. } = self;
        let stages = contexts.iter_mut().zip(&plan.stages).zip(selections);
        let legs = stages.map(|((context, stage), selections)| {
            FrozenLeg::new(context, |edge, message| {
                cargo.pack(message, edge, stage, selections, particles, cells);
            })
        });
        match cargo.direction {
            Direction::Gather => legs.collect(),
            Direction::ScatterAdd => legs.rev().collect(),
        }
    }

    pub(super) fn finalise(self) -> Result<(), EngineError> {
        self.contexts.into_iter().try_for_each(|context| Ok(context.finalise()?))
    }
}
