//! Repeated exchange of the halo of one step, without computation.
//!
//! The steady exchange of the simulation is a list of contexts: positions stage by stage and then,
//! if the shell returns forces, forces in the reverse order of stages. The messages are packed
//! once, into private memory of this rank. In every exchange, each message is copied from there
//! into the transport's send buffer, sent, and on arrival copied into private memory again; a
//! context begins when the previous one is complete.
//!
//! Advantage: every transport moves the same bytes from one rank's private memory to another's, so
//! a transport that can pack or read a message in place gains only what it saves, and gathering and
//! scattering particles, which is the same for all transports, does not blur the difference.
//! Disadvantage: in a step, other work lies between the exchanges, caches are cold and ranks are
//! skewed; the step is therefore measured as well.

use md_comm::{AlignedBuffer, CommError, EdgeId, Exchange, Sizes, Traffic};

use super::total;
use crate::error::EngineError;

/// Steady exchange that can be repeated.
pub struct FrozenHalo<'s> {
    pub(super) exchanges: Vec<FrozenExchange<'s>>,
}

/// Context with its messages.
pub(super) struct FrozenExchange<'s> {
    context: &'s mut Exchange,
    outgoing: Vec<(EdgeId, AlignedBuffer)>,
    /// Received message per edge.
    incoming: Vec<AlignedBuffer>,
}

impl FrozenHalo<'_> {
    /// Exchanges the whole halo once. *Collective.*
    ///
    /// # Errors
    /// Communication.
    pub fn exchange(&mut self) -> Result<(), EngineError> {
        self.exchanges.iter_mut().try_for_each(FrozenExchange::exchange)
    }

    /// Returns the messages and bytes that this rank sends in one exchange.
    pub fn traffic(&self) -> Traffic {
        let sent = self.exchanges.iter().flat_map(|exchange| &exchange.outgoing);
        total(sent.map(|(_, message)| Traffic { messages: 1, bytes: message.bytes().len() as u64 }))
    }
}

impl<'s> FrozenExchange<'s> {
    /// Packs every message once; `pack` fills the message of an edge.
    pub(super) fn new(
        context: &'s mut Exchange,
        pack: impl Fn(usize, &mut [f64]),
    ) -> Result<Self, EngineError> {
        let spec = context.spec();
        debug_assert_eq!(spec.sizes, Sizes::Fixed, "the length of a message is its capacity");
        let sending = spec.edges.iter().enumerate().filter(|(_, edge)| edge.flow.sends());
        let packed = |(index, edge): (usize, &md_comm::Edge)| {
            let mut message = AlignedBuffer::new(edge.send_capacity)?;
            pack(index, bytemuck::cast_slice_mut(message.bytes_mut()));
            Ok::<_, CommError>((EdgeId(index), message))
        };
        let outgoing = sending.map(packed).collect::<Result<_, _>>()?;
        let incoming = spec.edges.iter().map(|_| AlignedBuffer::default()).collect();
        Ok(Self { context, outgoing, incoming })
    }

    fn exchange(&mut self) -> Result<(), EngineError> {
        for (edge, message) in &self.outgoing {
            let message = message.bytes();
            self.context.send_buffer(*edge, message.len())?.copy_from_slice(message);
            self.context.start(*edge)?;
        }
        self.context.initiate()?;
        while let Some(arrival) = self.context.next()? {
            let kept = &mut self.incoming[arrival.edge.0];
            kept.set_length(arrival.bytes.len())?;
            kept.bytes_mut().copy_from_slice(arrival.bytes);
        }
        Ok(self.context.complete()?)
    }
}
