//! A protocol made wrong on purpose: it raises the flag before the data have arrived. For tests
//! only. On one node the data are so fast that the mistake would hardly ever show, hence the pause
//! in between.

use super::super::ffi::Memory;
use super::{Scheme, WindowContext};
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

    fn open(context: &mut WindowContext) -> Result<Self, CommError> {
        S::open(context).map(Self)
    }

    fn may_pack(&mut self, context: &mut WindowContext, edge: EdgeId) -> Result<bool, CommError> {
        self.0.may_pack(context, edge)
    }

    fn buffer<'p>(
        &mut self,
        context: &'p mut WindowContext,
        edge: EdgeId,
        bytes: usize,
    ) -> Result<&'p mut [u8], CommError> {
        // The message is packed in place; otherwise a put moves it.
        if context.is_shared() {
            self.0.start(context, edge)?;
            context.jitter.linger();
        }
        self.0.buffer(context, edge, bytes)
    }

    fn start(&mut self, _: &mut WindowContext, _: EdgeId) -> Result<(), CommError> {
        Ok(())
    }

    fn initiate(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        self.0.initiate(context)?;
        if context.is_shared() {
            return Ok(());
        }
        context.jitter.linger();
        let sending: Vec<_> = context.sending().collect();
        sending.into_iter().try_for_each(|edge| self.0.start(context, edge))?;
        context.arena.window.flush()
    }

    fn poll(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        self.0.poll(context)
    }

    fn complete(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        self.0.complete(context)
    }

    fn close(&mut self, context: &mut WindowContext) -> Result<(), CommError> {
        self.0.close(context)
    }
}
