//! Transports that are wrong on purpose.

use std::rc::Rc;

use crate::ledger::Ledger;
use crate::transport::{Poll, Transport};
use crate::{ALIGNMENT, AlignedBuffer, Choice, CommError, EdgeId, Exchange, ExchangeSpec, Growth};

/// A call on its way to the transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// [`Exchange::start`]
    Start,
    /// [`Exchange::initiate`]
    Initiate,
    /// [`Exchange::complete`]
    Complete,
}

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// The transport receives the call.
    Proceed,
    /// The transport does not receive the call.
    Skip,
}

/// A message on its way to the caller.
#[derive(Debug)]
pub struct Delivery {
    /// The edge along which it is delivered.
    pub edge: EdgeId,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// The longest message that was agreed for the edge.
    pub capacity: usize,
    /// Bytes between an aligned address and its start.
    pub misalignment: usize,
}

/// A fault of a transport. The default methods change nothing.
pub trait Fault {
    /// Called before each call of the transport.
    ///
    /// # Errors
    /// The error that the caller gets instead.
    fn before(&mut self, _call: Call) -> Result<Then, CommError> {
        Ok(Then::Proceed)
    }

    /// Falsifies a message before it is handed to the caller.
    fn falsify(&mut self, _delivery: &mut Delivery) {}

    /// Changes the report of a negotiation.
    ///
    /// # Errors
    /// The error that the caller gets instead.
    fn report(&mut self, growth: Growth) -> Result<Growth, CommError> {
        Ok(growth)
    }
}

impl Exchange {
    /// Puts a fault into the transport of this context and of its reverse.
    pub fn with_fault(self, fault: impl Fn(&ExchangeSpec) -> Box<dyn Fault> + 'static) -> Self {
        self.decorated(Rc::new(move |spec, inner| Box::new(Faulty::new(inner, fault(spec)))))
    }
}

/// A transport with a fault.
pub(crate) struct Faulty {
    inner: Box<dyn Transport>,
    fault: Box<dyn Fault>,
    /// The message that was announced last, from `start` on.
    falsified: AlignedBuffer,
    start: usize,
}

impl Faulty {
    pub(crate) fn new(inner: Box<dyn Transport>, fault: Box<dyn Fault>) -> Self {
        Self { inner, fault, falsified: AlignedBuffer::default(), start: 0 }
    }

    fn call(
        &mut self,
        call: Call,
        pass_on: impl FnOnce(&mut dyn Transport) -> Result<(), CommError>,
    ) -> Result<(), CommError> {
        match self.fault.before(call)? {
            Then::Proceed => pass_on(&mut *self.inner),
            Then::Skip => Ok(()),
        }
    }
}

impl Transport for Faulty {
    fn send_buffer(&mut self, edge: EdgeId, bytes: usize) -> Result<&mut [u8], CommError> {
        self.inner.send_buffer(edge, bytes)
    }

    fn start(&mut self, edge: EdgeId, bytes: usize) -> Result<(), CommError> {
        self.call(Call::Start, |inner| inner.start(edge, bytes))
    }

    fn initiate(&mut self) -> Result<(), CommError> {
        self.call(Call::Initiate, |inner| inner.initiate())
    }

    fn poll(&mut self, ledger: &Ledger, poll: Poll) -> Result<Option<EdgeId>, CommError> {
        let Some(edge) = self.inner.poll(ledger, poll)? else { return Ok(None) };
        let (bytes, capacity) = (self.inner.message(edge)?.to_vec(), ledger.receive_capacity(edge));
        let mut delivery = Delivery { edge, bytes, capacity, misalignment: 0 };
        self.fault.falsify(&mut delivery);
        self.start = delivery.misalignment.min(ALIGNMENT);
        self.falsified.set_length(self.start + delivery.bytes.len())?;
        self.falsified.bytes_mut()[self.start..].copy_from_slice(&delivery.bytes);
        Ok(Some(delivery.edge))
    }

    fn message(&mut self, _: EdgeId) -> Result<&[u8], CommError> {
        Ok(&self.falsified.bytes()[self.start..])
    }

    fn complete(&mut self) -> Result<(), CommError> {
        self.call(Call::Complete, |inner| inner.complete())
    }

    fn negotiate(&mut self, ledger: &mut Ledger, need: &[usize]) -> Result<Growth, CommError> {
        let growth = self.inner.negotiate(ledger, need)?;
        self.fault.report(growth)
    }

    fn choice(&self, context: &str) -> Option<Choice> {
        self.inner.choice(context)
    }

    fn finalise(self: Box<Self>) -> Result<(), CommError> {
        self.inner.finalise()
    }
}
