//! A protocol made wrong on purpose: it raises the flag before the data have arrived. For tests
//! only. On one node the data are so fast that the mistake would hardly ever show, hence the pause
//! in between.

use super::super::ffi::Memory;
use super::{Parts, Scheme};
use crate::{Backend, CommError, EdgeId, RmaOptions};

/// A scheme with flags, in the wrong order.
#[derive(Debug)]
pub(crate) struct FlagFirst<S>(S);

impl<S: Scheme> Scheme for FlagFirst<S> {
    const BACKEND: Backend = S::BACKEND;
    const FLAGS: usize = S::FLAGS;

    fn memory(options: RmaOptions) -> Memory {
        S::memory(options)
    }

    fn open(parts: &mut Parts) -> Result<Self, CommError> {
        S::open(parts).map(Self)
    }

    fn may_pack(&mut self, parts: &mut Parts, edge: EdgeId) -> Result<bool, CommError> {
        self.0.may_pack(parts, edge)
    }

    fn buffer<'p>(
        &mut self,
        parts: &'p mut Parts,
        edge: EdgeId,
        bytes: usize,
    ) -> Result<&'p mut [u8], CommError> {
        // The message is packed in place; otherwise a put moves it.
        if parts.is_shared() {
            self.0.start(parts, edge)?;
            parts.jitter.linger();
        }
        self.0.buffer(parts, edge, bytes)
    }

    fn start(&mut self, _: &mut Parts, _: EdgeId) -> Result<(), CommError> {
        Ok(())
    }

    fn initiate(&mut self, parts: &mut Parts) -> Result<(), CommError> {
        self.0.initiate(parts)?;
        if parts.is_shared() {
            return Ok(());
        }
        parts.jitter.linger();
        let sending: Vec<_> = parts.sending().collect();
        sending.into_iter().try_for_each(|edge| self.0.start(parts, edge))?;
        parts.arena.window.flush()
    }

    fn poll(&mut self, parts: &mut Parts) -> Result<(), CommError> {
        self.0.poll(parts)
    }

    fn complete(&mut self, parts: &mut Parts) -> Result<(), CommError> {
        self.0.complete(parts)
    }

    fn close(&mut self, parts: &mut Parts) -> Result<(), CommError> {
        self.0.close(parts)
    }
}
