//! Contexts that transfer a list of fields in one direction, one per stage of the plan.

use std::ops::Range;
use std::time::{Duration, Instant};

use md_comm::{Arrival, Buffering, EdgeId, Exchange, Sizes, World};
use md_core::halo::{self, HaloPlan, Images, Stage, StageSelections};
use md_core::{Field, LocalCells, OnGhosts, Particles};

use super::frozen::FrozenExchange;
use super::{Direction, Flight, HaloView, collect, collect_arrivals, edge, flow, open};
use crate::clock::Phase;
use crate::error::EngineError;

pub(super) struct FieldExchange {
    direction: Direction,
    fields: Vec<Field>,
    name: &'static str,
    /// Bytes per particle.
    width: usize,
    contexts: Vec<Exchange>,
    needs: Vec<usize>,
    /// For a scatter-add, per stage and edge: values that wait to be summed in a fixed order.
    collected: Vec<Vec<Vec<u64>>>,
    /// Number of stages of the current exchange that have been sent.
    sent: usize,
    /// Time since which messages have been in flight.
    flies_since: Option<Instant>,
    /// Total time in flight over several exchanges.
    flight: Duration,
}

impl FieldExchange {
    pub(super) fn open(
        world: &dyn World,
        plan: &HaloPlan,
        direction: Direction,
        fields: &[Field],
        particles: &Particles,
        buffering: Buffering,
    ) -> Result<Self, EngineError> {
        expect_exchangeable(fields, direction, particles)?;
        let name = particles.spec(fields[0]).name;
        let numbers: usize = fields.iter().map(|&field| particles.components(field).len()).sum();
        let context = |stage: &Stage| {
            let flow = |halo| match direction {
                Direction::Gather => flow(halo),
                Direction::ScatterAdd => flow(halo).reversed(),
            };
            let edges = stage.edges.iter().map(|halo| edge(halo.peer, flow(halo))).collect();
            open(world, name, edges, Sizes::Fixed, buffering)
        };
        Ok(Self {
            direction,
            fields: fields.to_vec(),
            name,
            width: numbers * size_of::<f64>(),
            contexts: plan.stages.iter().map(context).collect::<Result<_, _>>()?,
            needs: Vec::new(),
            collected: vec![Vec::new(); plan.stages.len()],
            sent: 0,
            flies_since: None,
            flight: Duration::ZERO,
        })
    }

    pub(super) fn carries(&self, direction: Direction, fields: &[Field]) -> bool {
        self.direction == direction && self.fields == fields
    }

    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    pub(super) fn contexts(&self) -> impl Iterator<Item = &Exchange> {
        self.contexts.iter()
    }

    /// Sets the sizes of all messages until the next rebuild. *Collective.*
    pub(super) fn negotiate(
        &mut self,
        plan: &HaloPlan,
        selections: &[StageSelections],
        cells: &LocalCells,
    ) -> Result<(), EngineError> {
        let Self { contexts, needs, width, .. } = self;
        for ((context, stage), selections) in contexts.iter_mut().zip(&plan.stages).zip(selections) {
            needs.clear();
            match self.direction {
                Direction::Gather => {
                    needs.extend(selections.edges.iter().map(|selection| *width * selection.len()));
                }
                Direction::ScatterAdd => {
                    needs.extend(stage.edges.iter().map(|edge| *width * halo::import_count(edge, cells)));
                }
            }
            context.negotiate(needs)?;
        }
        Ok(())
    }

    /// Sends the messages of the first stage, or of the last in a scatter-add.
    pub(super) fn start(
        &mut self,
        selections: &[StageSelections],
        view: &mut HaloView,
    ) -> Result<(), EngineError> {
        self.sent = 0;
        self.send_next(selections, view)?;
        self.flies_since = Some(Instant::now());
        Ok(())
    }

    /// Sends the next stage after all messages of the previous one have arrived. In a scatter-add
    /// it includes what those have added to ghosts.
    fn send_next(&mut self, selections: &[StageSelections], view: &mut HaloView) -> Result<(), EngineError> {
        if self.direction == Direction::ScatterAdd && self.sent > 0 {
            let owned = view.particles.owned();
            let (number, ghosts) = (self.stage_in_flight(), owned..view.particles.len());
            self.add_images(number, selections, &ghosts, view);
            self.add_messages(number, selections, &ghosts, view);
        }
        self.sent += 1;
        let number = self.stage_in_flight();
        match self.direction {
            Direction::Gather => self.send_fields(number, selections, view),
            Direction::ScatterAdd => self.send_ghosts(number, view),
        }
    }

    fn stage_in_flight(&self) -> usize {
        match self.direction {
            Direction::Gather => self.sent - 1,
            Direction::ScatterAdd => self.contexts.len() - self.sent,
        }
    }

    /// Lets the communication library advance the messages in flight.
    pub(super) fn drive(&mut self, view: &mut HaloView) -> Result<Flight, EngineError> {
        let number = self.stage_in_flight();
        view.clock.time(Phase::HaloTransfer, || self.contexts[number].progress())?;
        Ok(Flight::UnderWay)
    }

    /// Takes the arrived messages, and sends the next stage when one is complete. Gathered fields
    /// are unpacked at once; returned values are added to owned particles only at the end, because
    /// all other sums come first.
    pub(super) fn take_arrived(
        &mut self,
        selections: &[StageSelections],
        view: &mut HaloView,
    ) -> Result<Flight, EngineError> {
        loop {
            let number = self.stage_in_flight();
            let context = &mut self.contexts[number];
            while let Some(arrival) = view.clock.time(Phase::HaloTransfer, || context.try_next())? {
                match self.direction {
                    Direction::Gather => unpack(&arrival, &self.fields, number, view),
                    Direction::ScatterAdd => {
                        let collected = &mut self.collected[number];
                        view.clock.time(Phase::ForceReturn, || collect(&arrival, collected));
                    }
                }
            }
            if context.in_flight() {
                return Ok(Flight::UnderWay);
            }
            if self.sent == self.contexts.len() {
                self.book_hidden(view);
                self.land();
                return Ok(Flight::Over);
            }
            self.send_next(selections, view)?;
        }
    }

    /// Books the time in flight beside other work, which ends here.
    fn book_hidden(&mut self, view: &mut HaloView) {
        if let Some(since) = self.flies_since {
            view.clock.book_since(Phase::HaloHidden, since);
        }
    }

    fn land(&mut self) {
        self.flight += self.flies_since.take().map_or(Duration::ZERO, |since| since.elapsed());
    }

    /// Returns the time for which messages have been in flight since the last call.
    pub(super) fn take_flight(&mut self) -> Duration {
        std::mem::take(&mut self.flight)
    }

    fn send_fields(
        &mut self,
        number: usize,
        selections: &[StageSelections],
        view: &mut HaloView,
    ) -> Result<(), EngineError> {
        let HaloView { particles, cells, plan, threads, clock, .. } = view;
        let (stage, selections) = (&plan.stages[number], &selections[number]);
        let context = &mut self.contexts[number];
        for (index, _) in stage.edges.iter().enumerate().filter(|(_, edge)| flow(edge).sends()) {
            let selection = &selections.edges[index];
            let bytes = self.width * selection.len();
            // The receiver may have to read a buffer before it can be filled again.
            let message = clock.time(Phase::HaloWait, || context.send_buffer(EdgeId(index), bytes))?;
            clock.time(Phase::HaloPack, || {
                halo::pack_fields(bytemuck::cast_slice_mut(message), &self.fields, selection, particles);
            });
            clock.time(Phase::HaloTransfer, || context.start(EdgeId(index)))?;
        }
        clock.time(Phase::HaloTransfer, || context.initiate())?;
        clock.time(Phase::HaloPack, || {
            let images = Images { stage, selection: &selections.images, cells };
            images.gather(&self.fields, particles, threads);
        });
        Ok(())
    }

    pub(super) fn finish(
        &mut self,
        selections: &[StageSelections],
        view: &mut HaloView,
    ) -> Result<(), EngineError> {
        self.book_hidden(view);
        match self.direction {
            Direction::Gather => self.finish_gather(selections, view),
            Direction::ScatterAdd => self.finish_scatter_add(selections, view),
        }?;
        self.land();
        Ok(())
    }

    /// Waits for the fields of all stages and unpacks them in order of arrival.
    fn finish_gather(
        &mut self,
        selections: &[StageSelections],
        view: &mut HaloView,
    ) -> Result<(), EngineError> {
        for number in 0..self.contexts.len() {
            if number >= self.sent {
                self.send_next(selections, view)?;
            }
            let context = &mut self.contexts[number];
            while let Some(arrival) = view.clock.time(Phase::HaloWait, || context.next())? {
                unpack(&arrival, &self.fields, number, view);
            }
            // All data has arrived; some transports wait until the sent messages have been
            // received.
            view.clock.time(Phase::HaloWait, || context.complete())?;
        }
        Ok(())
    }

    /// Waits for the values of all ghosts, last stage first, and sums them in a fixed order.
    fn finish_scatter_add(
        &mut self,
        selections: &[StageSelections],
        view: &mut HaloView,
    ) -> Result<(), EngineError> {
        let owned = 0..view.particles.owned();
        for number in (0..self.contexts.len()).rev() {
            if number < self.stage_in_flight() {
                self.send_next(selections, view)?;
            }
            // A stage's messages contain nothing for its own images, so these need not wait.
            self.add_images(number, selections, &owned, view);
            let (context, collected) = (&mut self.contexts[number], &mut self.collected[number]);
            view.clock.time(Phase::HaloWait, || {
                collect_arrivals(context, collected)?;
                Ok::<_, EngineError>(context.complete()?)
            })?;
            self.add_messages(number, selections, &owned, view);
        }
        Ok(())
    }

    /// Adds the values of a stage's images to the particles among `onto`; must precede
    /// [`Self::add_messages`].
    fn add_images(
        &self,
        number: usize,
        selections: &[StageSelections],
        onto: &Range<usize>,
        view: &mut HaloView,
    ) {
        let HaloView { particles, cells, plan, threads, clock, .. } = view;
        clock.time(Phase::ForceReturn, || {
            let selection = &selections[number].images;
            let images = Images { stage: &plan.stages[number], selection, cells };
            images.scatter_add(&self.fields, onto, particles, threads);
        });
    }

    /// Adds the returned messages of a stage to the particles among `onto`, in the order of the
    /// edges.
    fn add_messages(
        &self,
        number: usize,
        selections: &[StageSelections],
        onto: &Range<usize>,
        view: &mut HaloView,
    ) {
        let HaloView { particles, clock, .. } = view;
        clock.time(Phase::ForceReturn, || {
            for (selection, message) in selections[number].edges.iter().zip(&self.collected[number]) {
                if !selection.is_empty() {
                    halo::add_fields(bytemuck::cast_slice(message), &self.fields, selection, onto, particles);
                }
            }
        });
    }

    fn send_ghosts(&mut self, number: usize, view: &mut HaloView) -> Result<(), EngineError> {
        let HaloView { particles, cells, plan, clock, .. } = view;
        let (stage, context) = (&plan.stages[number], &mut self.contexts[number]);
        for (index, edge) in stage.edges.iter().enumerate().filter(|(_, edge)| flow(edge).receives()) {
            let bytes = self.width * halo::import_count(edge, cells);
            let message = clock.time(Phase::HaloWait, || context.send_buffer(EdgeId(index), bytes))?;
            clock.time(Phase::ForceReturn, || {
                halo::pack_ghosts(bytemuck::cast_slice_mut(message), &self.fields, edge, particles, cells);
            });
            clock.time(Phase::ForceReturn, || context.start(EdgeId(index)))?;
        }
        Ok(clock.time(Phase::ForceReturn, || context.initiate())?)
    }

    /// Returns the present exchange with its messages packed, in the order in which stages are
    /// sent.
    pub(super) fn frozen_exchanges<'h>(
        &'h mut self,
        selections: &[StageSelections],
        view: &HaloView,
    ) -> Result<Vec<FrozenExchange<'h>>, EngineError> {
        let HaloView { particles, cells, plan, .. } = view;
        let (direction, fields) = (self.direction, &self.fields);
        let stages = self.contexts.iter_mut().zip(&plan.stages).zip(selections);
        let frozen = stages.map(|((context, stage), selections)| {
            FrozenExchange::new(context, |index, message| match direction {
                Direction::Gather => halo::pack_fields(message, fields, &selections.edges[index], particles),
                Direction::ScatterAdd => {
                    halo::pack_ghosts(message, fields, &stage.edges[index], particles, cells);
                }
            })
        });
        match direction {
            Direction::Gather => frozen.collect(),
            Direction::ScatterAdd => frozen.rev().collect(),
        }
    }

    pub(super) fn finalise(self) -> Result<(), EngineError> {
        self.contexts.into_iter().try_for_each(|context| Ok(context.finalise()?))
    }
}

/// Checks that there are fields, and that all of them can be sent in this direction.
fn expect_exchangeable(
    fields: &[Field],
    direction: Direction,
    particles: &Particles,
) -> Result<(), EngineError> {
    let can = |&field: &Field| {
        let gathers = direction == Direction::Gather || field != Field::POSITION;
        let on_ghosts = particles.spec(field).on_ghosts != OnGhosts::Absent;
        gathers && on_ghosts && !particles.components(field).is_empty()
    };
    if !fields.is_empty() && fields.iter().all(can) {
        return Ok(());
    }
    Err(EngineError::Exchange(fields.iter().map(|&field| particles.spec(field).name).collect()))
}

fn unpack(arrival: &Arrival, fields: &[Field], stage: usize, view: &mut HaloView) {
    let HaloView { particles, cells, plan, clock, .. } = view;
    clock.time(Phase::HaloUnpack, || {
        let (edge, message) =
            (&plan.stages[stage].edges[arrival.edge.0], bytemuck::cast_slice(arrival.bytes));
        halo::unpack_fields(message, fields, edge, particles, cells);
    });
}
