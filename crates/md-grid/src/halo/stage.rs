//! Stage of a halo exchange: one context and the contents of its messages.

use md_comm::{
    Channel, Edge, EdgeId, Exchange, ExchangeSpec, Flow, MAX_CHANNEL, Rank, Sizes, Subarray, Traffic,
    Unpacked, UnpackedEdge, UnpackedSpec, World,
};
use md_engine::clock::PhaseClock;
use md_engine::{Flight, Phase};

use super::pack::{self, Part};
use super::{HaloOptions, Messages, Transfer};
use crate::decomposition::{Decomposition, Offset};
use crate::layout::{Bounds, Layout};
use crate::{Field, GridError, Real};

/// Message to one neighbour, which corresponds to a message received from the opposite one.
struct Message {
    towards: Offset,
    parts: Vec<Part>,
}

/// Messages of this stage that an edge carries, by number.
#[derive(Debug, Clone, Copy)]
struct Carried {
    sends: Option<usize>,
    receives: Option<usize>,
}

/// Number of exchanges between negotiations of a context that chooses its transport: it begins a
/// trial at its first negotiation after it has been used, and ends it at a later one. Others
/// negotiate once, because the messages of a grid have constant lengths.
const NEGOTIATED_EVERY: u64 = 50;

/// Way in which messages are transferred.
enum Context {
    /// No context: all ranks are their own neighbours.
    Nothing,
    Packed(Exchange),
    /// Messages from field to field.
    Unpacked(Box<dyn Unpacked>),
}

impl Context {
    fn packed(&mut self) -> Option<&mut Exchange> {
        if let Self::Packed(context) = self { Some(context) } else { None }
    }
}

/// Stage of a halo exchange.
pub struct Stage {
    name: &'static str,
    context: Context,
    /// Number of exchanges so far.
    exchanges: u64,
    messages: Vec<Message>,
    /// Messages per edge of the context.
    carried: Vec<Carried>,
    /// Messages that this rank sends to itself.
    local: Vec<usize>,
    /// Number of local messages not yet copied.
    left: usize,
}

impl Stage {
    /// Opens the context for the given transfers. *Collective.*
    pub(super) fn open<T: Real>(
        world: &dyn World,
        decomposition: &Decomposition,
        layout: &Layout,
        transfers: &[Transfer],
        options: &HaloOptions,
    ) -> Result<Self, GridError> {
        let mut messages = messages(transfers, layout, options.messages)?;
        // Messages to other ranks come first, since message numbers serve as channels; local
        // messages need none.
        let leaves = |message: &Message| {
            (0..3).any(|axis| message.towards[axis] != 0 && decomposition.ranks()[axis] > 1)
        };
        messages.sort_by_key(|message| !leaves(message));
        let leaving = messages.iter().filter(|message| leaves(message)).count();
        let (edges, carried) = edges(&messages, decomposition, world.rank());
        let own =
            |message: &Message| decomposition.neighbour(world.rank(), message.towards) == Some(world.rank());
        let local = (0..messages.len()).filter(|&number| own(&messages[number])).collect();
        expect_channels(leaving)?;
        let (name, buffering) = (options.name, options.buffering);
        let context = if leaving == 0 {
            Context::Nothing
        } else if options.messages.are_packed() {
            Context::Packed(world.open(ExchangeSpec { name, edges, sizes: Sizes::Fixed, buffering })?)
        } else {
            let described = |(edge, carried)| describe::<T>(edge, carried, &messages, layout);
            let edges = edges.iter().zip(&carried).map(described).collect();
            Context::Unpacked(world.open_unpacked(UnpackedSpec { name, edges })?)
        };
        let mut stage = Self { name, context, exchanges: 0, messages, carried, local, left: 0 };
        stage.negotiate::<T>()?;
        Ok(stage)
    }

    /// Negotiates the message lengths with the context. *Collective.*
    fn negotiate<T: Real>(&mut self) -> Result<(), GridError> {
        let Self { context, messages, carried, .. } = self;
        if let Context::Packed(context) = context {
            let need = |carried: &Carried| carried.sends.map_or(0, |number| bytes::<T>(&messages[number]));
            context.negotiate(&carried.iter().map(need).collect::<Vec<_>>())?;
        }
        Ok(())
    }

    /// Returns whether the context is to reconsider its choice before the next exchange, which is
    /// equal on all ranks.
    fn reconsiders(&self) -> bool {
        let chooses = || self.context().is_some_and(|context| context.choice().is_some());
        self.exchanges % NEGOTIATED_EVERY == 1 && chooses()
    }

    /// Packs and sends all messages except the local ones, and marks those as still to be copied.
    pub(super) fn send<T: Real>(
        &mut self,
        field: &mut Field<T>,
        clock: &mut PhaseClock,
    ) -> Result<(), GridError> {
        if self.reconsiders() {
            clock.time(Phase::HaloTransfer, || self.negotiate::<T>())?;
        }
        self.exchanges += 1;
        match &mut self.context {
            Context::Nothing => (),
            Context::Packed(context) => send_packed(context, &self.messages, &self.carried, field, clock)?,
            Context::Unpacked(context) => {
                let starts = field.starts_bytes();
                let memory = bytemuck::cast_slice_mut(field.values_mut());
                clock.time(Phase::HaloWait, || context.exchange(memory, &starts))?;
            }
        }
        self.left = self.local.len();
        Ok(())
    }

    /// Copies the local messages, once per exchange.
    pub(super) fn copy_local<T: Real>(&mut self, field: &mut Field<T>, clock: &mut PhaseClock) {
        if std::mem::take(&mut self.left) > 0 {
            clock.time(Phase::HaloPack, || {
                self.local.iter().for_each(|&number| pack::copy(&self.messages[number].parts, field));
            });
        }
    }

    /// Drives the messages in flight.
    pub(super) fn drive(&mut self, clock: &mut PhaseClock) -> Result<Flight, GridError> {
        let Some(context) = self.context.packed() else { return Ok(Flight::Over) };
        clock.time(Phase::HaloTransfer, || context.progress())?;
        Ok(Flight::UnderWay)
    }

    /// Unpacks the messages that have arrived.
    pub(super) fn take_arrived<T: Real>(
        &mut self,
        field: &mut Field<T>,
        clock: &mut PhaseClock,
    ) -> Result<Flight, GridError> {
        let Self { name, context, messages, carried, .. } = self;
        let Some(context) = context.packed() else { return Ok(Flight::Over) };
        while let Some(arrival) = clock.time(Phase::HaloTransfer, || context.try_next())? {
            let parts = incoming(name, messages, carried, arrival.edge)?;
            clock.time(Phase::HaloUnpack, || {
                pack::unpack(parts, bytemuck::cast_slice(arrival.bytes), field);
            });
        }
        Ok(if context.in_flight() { Flight::UnderWay } else { Flight::Over })
    }

    /// Copies the local messages, waits for the remaining ones, unpacks them, and ends the
    /// exchange.
    pub(super) fn finish<T: Real>(
        &mut self,
        field: &mut Field<T>,
        clock: &mut PhaseClock,
    ) -> Result<(), GridError> {
        self.copy_local(field, clock);
        let Self { name, context, messages, carried, .. } = self;
        let Some(context) = context.packed() else { return Ok(()) };
        while let Some(arrival) = clock.time(Phase::HaloWait, || context.next())? {
            let parts = incoming(name, messages, carried, arrival.edge)?;
            clock.time(Phase::HaloUnpack, || {
                pack::unpack(parts, bytemuck::cast_slice(arrival.bytes), field);
            });
        }
        // No data is moved here, but some transports wait until all sent messages have been
        // received.
        Ok(clock.time(Phase::HaloWait, || context.complete())?)
    }

    pub(crate) fn context(&self) -> Option<&Exchange> {
        if let Context::Packed(context) = &self.context { Some(context) } else { None }
    }

    /// Returns whether messages are in flight between the start and the end of an exchange.
    pub(super) fn is_packed(&self) -> bool {
        !matches!(self.context, Context::Unpacked(_))
    }

    pub(crate) fn traffic(&self) -> Traffic {
        match &self.context {
            Context::Nothing => Traffic::default(),
            Context::Packed(context) => context.traffic(),
            Context::Unpacked(context) => context.traffic(),
        }
    }

    pub(crate) fn finalise(self) -> Result<(), GridError> {
        match self.context {
            Context::Nothing => Ok(()),
            Context::Packed(context) => Ok(context.finalise()?),
            Context::Unpacked(context) => Ok(context.finalise()?),
        }
    }
}

/// Packs and sends the messages.
fn send_packed<T: Real>(
    context: &mut Exchange,
    messages: &[Message],
    carried: &[Carried],
    field: &Field<T>,
    clock: &mut PhaseClock,
) -> Result<(), GridError> {
    for (edge, carried) in carried.iter().enumerate() {
        let Some(message) = carried.sends.map(|number| &messages[number]) else { continue };
        let edge = EdgeId(edge);
        // A buffer may have to be read by its receiver before it can be filled again.
        let buffer = clock.time(Phase::HaloWait, || context.send_buffer(edge, bytes::<T>(message)))?;
        clock.time(Phase::HaloPack, || pack::pack(&message.parts, field, bytemuck::cast_slice_mut(buffer)));
        clock.time(Phase::HaloTransfer, || context.start(edge))?;
    }
    Ok(clock.time(Phase::HaloTransfer, || context.initiate())?)
}

/// Checks that a context has enough channels for the messages of a stage.
///
/// # Errors
/// [`GridError::Shape`].
pub(crate) fn expect_channels(messages: usize) -> Result<(), GridError> {
    let most = usize::from(MAX_CHANNEL) + 1;
    if messages <= most {
        return Ok(());
    }
    Err(GridError::Shape(format!(
        "{messages} messages at a time are more than the {most} that a context can tell apart: take fewer fields or neighbours, or \
         send them aggregated"
    )))
}

/// Returns the parts of the message that arrives along an edge.
fn incoming<'m>(
    name: &'static str,
    messages: &'m [Message],
    carried: &[Carried],
    edge: EdgeId,
) -> Result<&'m [Part], GridError> {
    let number = carried.get(edge.0).and_then(|carried| carried.receives);
    let message = number.and_then(|number| messages.get(number));
    message
        .map(|message| message.parts.as_slice())
        .ok_or_else(|| GridError::Shape(format!("{name}: nothing was expected along edge {}", edge.0)))
}

fn bytes<T: Real>(message: &Message) -> usize {
    pack::numbers(&message.parts, |part| part.read) * size_of::<T>()
}

/// Returns the messages of the given transfers, in the same order on all ranks.
fn messages(transfers: &[Transfer], layout: &Layout, how: Messages) -> Result<Vec<Message>, GridError> {
    let mut messages: Vec<Message> = Vec::new();
    for transfer in transfers {
        let [read, write] = [transfer.read, transfer.write].map(|region| layout.resolve(region));
        if !(pack::is_inside(read, layout) && pack::is_inside(write, layout)) {
            return Err(GridError::Shape(format!("{transfer:?} is not inside {layout:?}")));
        }
        for &component in &transfer.components {
            let part = Part { component, read, write };
            let shared = messages.iter_mut().find(|message| {
                let same_field = || message.parts.first().is_some_and(|first| first.component == component);
                message.towards == transfer.towards && (how.are_aggregated() || same_field())
            });
            match shared {
                Some(message) => message.parts.push(part),
                None => messages.push(Message { towards: transfer.towards, parts: vec![part] }),
            }
        }
    }
    Ok(messages)
}

/// Data that a rank sends to another rank, or to itself.
///
/// See [`Schedule`](crate::Schedule) for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parcel {
    /// Receiving rank; data for the rank itself is copied without a message.
    pub peer: Rank,
    /// Bytes of its values.
    pub bytes: usize,
}

/// Returns the data that a rank sends by the given transfers, with `number_bytes` bytes per number.
///
/// # Errors
/// [`GridError::Shape`] if a box lies outside the layout.
pub(crate) fn sent(
    transfers: &[Transfer],
    layout: &Layout,
    number_bytes: usize,
    how: Messages,
    decomposition: &Decomposition,
    rank: Rank,
) -> Result<Vec<Parcel>, GridError> {
    let messages = messages(transfers, layout, how)?;
    let parcel = |message: &Message| {
        let peer = decomposition.neighbour(rank, message.towards)?;
        let numbers = pack::numbers(&message.parts, |part| part.read);
        Some(Parcel { peer, bytes: numbers * number_bytes })
    };
    Ok(messages.iter().filter_map(parcel).collect())
}

/// Returns the edges of a rank and their messages. Messages to and from a neighbour share an edge.
fn edges(messages: &[Message], decomposition: &Decomposition, rank: Rank) -> (Vec<Edge>, Vec<Carried>) {
    let other = |towards: Offset| decomposition.neighbour(rank, towards).filter(|&peer| peer != rank);
    let (mut edges, mut carried) = (Vec::new(), Vec::new());
    // Messages that are not yet paired with one to the rank they come from.
    let mut answers: Vec<usize> = (0..messages.len()).collect();
    let back = |message: &Message| message.towards.map(|step| -step);
    for (number, message) in messages.iter().enumerate() {
        let answer = answers.iter().position(|&answer| back(&messages[answer]) == message.towards);
        let receives = answer.map(|place| answers.remove(place));
        let Some(peer) = other(message.towards) else { continue };
        edges.push(edge(peer, Some(number), receives));
        carried.push(Carried { sends: Some(number), receives });
    }
    for number in answers {
        let Some(peer) = other(back(&messages[number])) else { continue };
        edges.push(edge(peer, None, Some(number)));
        carried.push(Carried { sends: None, receives: Some(number) });
    }
    (edges, carried)
}

/// Returns an edge with message numbers as channels.
fn edge(peer: Rank, sends: Option<usize>, receives: Option<usize>) -> Edge {
    let channel = |number: Option<usize>| number.map_or(0, |number| number as Channel);
    let flow = match (sends, receives) {
        (Some(_), Some(_)) => Flow::Both,
        (Some(_), None) => Flow::SendOnly,
        (None, _) => Flow::ReceiveOnly,
    };
    Edge { peer, send_channel: channel(sends), receive_channel: channel(receives), flow, send_capacity: 0 }
}

/// Returns an edge whose messages lie in a field of this layout.
fn describe<T: Real>(edge: &Edge, carried: &Carried, messages: &[Message], layout: &Layout) -> UnpackedEdge {
    let places = |number: Option<usize>, bounds: fn(&Part) -> Bounds| {
        let parts = number.map_or(&[][..], |number| &messages[number].parts);
        let place = |part: &Part| subarray::<T>(part.component, bounds(part), layout);
        parts.iter().map(place).filter(|it| it.bytes() > 0).collect()
    };
    UnpackedEdge {
        peer: edge.peer,
        send_channel: edge.send_channel,
        receive_channel: edge.receive_channel,
        sends: places(carried.sends, |part| part.read),
        receives: places(carried.receives, |part| part.write),
    }
}

/// Returns the subarray of a box of nodes of a component.
fn subarray<T: Real>(component: usize, bounds: Bounds, layout: &Layout) -> Subarray {
    let [x, y, _] = layout.strides().map(|numbers| numbers * size_of::<T>());
    Subarray {
        part: component,
        offset: layout.index(bounds.low) * size_of::<T>(),
        row_bytes: bounds.length(2) * size_of::<T>(),
        rows: [bounds.length(0), bounds.length(1)],
        strides: [x, y],
    }
}
