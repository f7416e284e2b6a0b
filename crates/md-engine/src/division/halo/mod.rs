//! The halo: transfer of particle fields from owners to ghosts, and back.
//!
//! | exchange | when | message |
//! | --- | --- | --- |
//! | migration | rebuild | particles that changed rank, to every rank that owns an adjacent cell |
//! | border | rebuild | the exported cells: counts and the fields copied to ghosts |
//! | gather | on request of a method | fields of the exported particles, fixed size |
//! | scatter-add | on request of a method | values of ghosts, back along these edges and summed |
//!
//! A method calls [`crate::ForceContext::gather`] and [`crate::ForceContext::scatter_add`] for
//! positions and forces and for fields that it registers. Messages are unpacked on arrival where
//! the result does not depend on the order (gathered fields go to separate places), and collected
//! and unpacked in edge order where it does (migration, border, sums): so all backends give
//! bit-identical trajectories.

mod border;
mod field_exchange;
mod frozen;
mod migration;

use std::time::Duration;

use md_comm::{
    Arrival, Buffering, Choice, Edge, Exchange, ExchangeSpec, Flow, Rank, Sizes, Traffic, UnexpectedMessages,
    World,
};
use md_core::halo::{HaloEdge, HaloPlan, Selection};
use md_core::shell::ForceReturn;
use md_core::{Domain, Field, LocalCells, Particles, Threads};

use crate::clock::PhaseClock;
use crate::error::EngineError;
use crate::settings::{ParallelConfig, Protocol};
use border::Border;
use field_exchange::FieldExchange;
pub use frozen::FrozenHalo;
pub(crate) use migration::{Messages, Migration};

/// Direction of a field exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From owners to ghosts.
    Gather,
    /// From ghosts to owners, where they are summed.
    ScatterAdd,
}

/// The exchanges of every simulation; the second is not opened if no forces are returned.
const BUILT_IN: [(Direction, &[Field]); 2] =
    [(Direction::Gather, &[Field::POSITION]), (Direction::ScatterAdd, &[Field::FORCE])];

/// Data that an exchange works on.
pub(crate) struct HaloView<'a> {
    pub particles: &'a mut Particles,
    pub cells: &'a mut LocalCells,
    pub plan: &'a HaloPlan,
    pub domain: &'a Domain,
    pub threads: &'a Threads,
    pub clock: &'a mut PhaseClock,
}

/// The exchange contexts of one rank over one halo plan; a staged plan has one set per stage.
pub struct Halo<'w> {
    world: &'w dyn World,
    buffering: Buffering,
    force_return: ForceReturn,
    migration: Migration,
    border: Border,
    exchanges: Vec<FieldExchange>,
    /// Unexpected messages of the protocols that replace the built-in exchanges.
    unexpected: Option<Box<dyn UnexpectedMessages>>,
    /// The exchange that has been started but not finished.
    in_flight: Option<usize>,
    collected: Vec<Vec<u64>>,
}

/// Whether messages are in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flight {
    /// Messages are in flight.
    UnderWay,
    /// No messages are in flight, or none that further calls could advance.
    Over,
}

impl<'w> Halo<'w> {
    /// Opens the contexts of migration, border, positions and forces. *Collective.*
    ///
    /// # Errors
    /// Communication failures.
    pub(crate) fn open(
        world: &'w dyn World,
        plan: &HaloPlan,
        parallel: &ParallelConfig,
        particles: &Particles,
    ) -> Result<Self, EngineError> {
        let ParallelConfig { shell, buffering, protocol, .. } = *parallel;
        let force_return = shell.force_return();
        let by_unexpected = protocol != Protocol::One;
        let mut halo = Self {
            migration: Migration::open(world, plan.neighbours.clone(), buffering)?,
            border: Border::open(world, plan, buffering)?,
            exchanges: Vec::new(),
            unexpected: if by_unexpected { Some(world.open_unexpected("cells")?) } else { None },
            in_flight: None,
            collected: Vec::new(),
            world,
            buffering,
            force_return,
        };
        for (direction, fields) in BUILT_IN {
            let is_used = direction == Direction::Gather || force_return == ForceReturn::Needed;
            if is_used && !by_unexpected {
                halo.exchanges
                    .push(FieldExchange::open(world, plan, direction, fields, particles, buffering)?);
            }
        }
        Ok(halo)
    }

    pub(crate) fn rank(&self) -> Rank {
        self.world.rank()
    }

    pub(crate) fn unexpected(&mut self) -> Option<&mut dyn UnexpectedMessages> {
        self.unexpected.as_mut().map(|unexpected| &mut **unexpected as &mut dyn UnexpectedMessages)
    }

    /// Returns this rank's particles that have images on this rank, for the first stage.
    pub(crate) fn images(&self) -> Option<&Selection> {
        self.border.selections().first().map(|stage| &stage.images)
    }

    /// Stretches the halo with the box: until the next border exchange images are displaced by the
    /// lengths of `domain`.
    pub(crate) fn stretch(&mut self, domain: &Domain) {
        self.border.stretch(domain);
    }

    pub(crate) fn migrate(
        &mut self,
        particles: &mut Particles,
        take: impl FnOnce(&mut Particles, Messages) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        self.migration.exchange(particles, take, &mut self.collected)
    }

    /// Lays out the ghost cells and fills them, stage by stage, and sets the message sizes of the
    /// following exchanges. *Collective.*
    pub(crate) fn make_border(&mut self, view: &mut HaloView) -> Result<(), EngineError> {
        self.border.exchange(view, &mut self.collected)?;
        for exchange in &mut self.exchanges {
            exchange.negotiate(view.plan, self.border.selections(), view.cells)?;
        }
        Ok(())
    }

    /// Sends the messages of the first stage, or of the last in a scatter-add, and returns while
    /// they are in flight. The first exchange of a list of fields opens a context for it and is
    /// *collective*. Nothing is returned if the shell computes pairs across ranks on both sides.
    pub(crate) fn start(
        &mut self,
        direction: Direction,
        fields: &[Field],
        view: &mut HaloView,
    ) -> Result<(), EngineError> {
        if direction == Direction::ScatterAdd && self.force_return == ForceReturn::None {
            return Ok(());
        }
        let exchange = self.exchange_of(direction, fields, view)?;
        self.in_flight = Some(exchange);
        self.exchanges[exchange].start(self.border.selections(), view)
    }

    /// Waits for the messages sent by [`Self::start`] and completes the other stages: fields are
    /// unpacked in order of arrival, returned values are summed in a fixed order.
    pub(crate) fn finish(
        &mut self,
        direction: Direction,
        fields: &[Field],
        view: &mut HaloView,
    ) -> Result<(), EngineError> {
        if direction == Direction::ScatterAdd && self.force_return == ForceReturn::None {
            return Ok(());
        }
        let exchange = self.exchange_of(direction, fields, view)?;
        self.in_flight = None;
        self.exchanges[exchange].finish(self.border.selections(), view)
    }

    /// Advances the exchange in flight and takes arrived messages.
    pub(crate) fn progress(&mut self, view: &mut HaloView) -> Result<Flight, EngineError> {
        let Self { world, exchanges, border, in_flight, .. } = self;
        let Some(exchange) = *in_flight else { return Ok(Flight::Over) };
        if world.needs_same_order() {
            return exchanges[exchange].drive(view);
        }
        exchanges[exchange].take_arrived(border.selections(), view)
    }

    /// Returns the times for which positions and returned forces have been in flight since the last
    /// call.
    pub(crate) fn take_flights(&mut self) -> [Duration; 2] {
        BUILT_IN.map(|(direction, fields)| {
            let mut known = self.exchanges.iter_mut();
            known
                .find(|one| one.carries(direction, fields))
                .map_or(Duration::ZERO, FieldExchange::take_flight)
        })
    }

    /// Returns the index of the exchange of these fields, which is opened if there is none yet.
    fn exchange_of(
        &mut self,
        direction: Direction,
        fields: &[Field],
        view: &HaloView,
    ) -> Result<usize, EngineError> {
        if let Some(known) = self.exchanges.iter().position(|exchange| exchange.carries(direction, fields)) {
            return Ok(known);
        }
        let Self { world, buffering, border, exchanges, .. } = self;
        let mut new = FieldExchange::open(*world, view.plan, direction, fields, view.particles, *buffering)?;
        new.negotiate(view.plan, border.selections(), view.cells)?;
        exchanges.push(new);
        Ok(exchanges.len() - 1)
    }

    /// Returns the present exchanges, context by context, with their messages packed: gathers by
    /// ascending stage, scatter-adds by descending stage. Must be called between exchanges.
    pub(crate) fn freeze(&mut self, view: &HaloView) -> Result<FrozenHalo<'_>, EngineError> {
        let Self { exchanges, border, .. } = self;
        let mut frozen = Vec::new();
        for exchange in exchanges {
            frozen.extend(exchange.frozen_exchanges(border.selections(), view)?);
        }
        Ok(FrozenHalo { exchanges: frozen })
    }

    /// Returns the messages and bytes sent so far through all contexts.
    pub fn traffic(&self) -> Traffic {
        let contexts = self.exchanges.iter().flat_map(FieldExchange::contexts);
        let contexts = contexts.chain(self.border.contexts()).chain([self.migration.context()]);
        let unexpected = self.unexpected.as_ref().map(|unexpected| unexpected.traffic());
        total(contexts.map(Exchange::traffic).chain(unexpected))
    }

    /// Returns the transports chosen by the contexts that choose automatically.
    pub fn choices(&self) -> Vec<Choice> {
        let stages = self.border.selections().len();
        let all = (0..stages).flat_map(|stage| self.exchanges.iter().map(move |exchange| (stage, exchange)));
        let choices = all.filter_map(|(stage, exchange)| {
            let suffix = if stages > 1 { format!(", stage {}", stage + 1) } else { String::new() };
            let choice = exchange.contexts().nth(stage)?.choice()?;
            Some(Choice { context: format!("{}{suffix}", exchange.name()), ..choice })
        });
        choices.collect()
    }

    /// Closes the contexts. *Collective.*
    ///
    /// # Errors
    /// Communication failures.
    pub(crate) fn finalise(self) -> Result<(), EngineError> {
        self.migration.finalise()?;
        self.border.finalise()?;
        self.unexpected.map_or(Ok(()), UnexpectedMessages::finalise)?;
        self.exchanges.into_iter().try_for_each(FieldExchange::finalise)
    }
}

fn open(
    world: &dyn World,
    name: &'static str,
    edges: Vec<Edge>,
    sizes: Sizes,
    buffering: Buffering,
) -> Result<Exchange, EngineError> {
    Ok(world.open(ExchangeSpec { name, edges, sizes, buffering })?)
}

/// Returns the sum over several contexts.
pub(crate) fn total(traffic: impl IntoIterator<Item = Traffic>) -> Traffic {
    traffic.into_iter().sum()
}

/// Stores all arrivals so that they can be unpacked in edge order.
fn collect_arrivals(context: &mut Exchange, collected: &mut Vec<Vec<u64>>) -> Result<(), EngineError> {
    while let Some(arrival) = context.next()? {
        collect(&arrival, collected);
    }
    Ok(())
}

fn collect(arrival: &Arrival, collected: &mut Vec<Vec<u64>>) {
    let edge = arrival.edge.0;
    if collected.len() <= edge {
        collected.resize_with(edge + 1, Vec::new);
    }
    collected[edge].clear();
    collected[edge].extend_from_slice(bytemuck::cast_slice(arrival.bytes));
}

fn edge(peer: usize, flow: Flow) -> Edge {
    Edge { peer, send_channel: 0, receive_channel: 0, flow, send_capacity: 0 }
}

/// Returns the direction of messages from owners to ghosts.
fn flow(edge: &HaloEdge) -> Flow {
    match (edge.exports.is_empty(), edge.imports.is_empty()) {
        (false, false) => Flow::Both,
        (false, true) => Flow::SendOnly,
        (true, _) => Flow::ReceiveOnly,
    }
}
