//! The choice of how a sender writes into a message buffer that another core has read, found by
//! trial.
//!
//! | stores | what happens | fast where |
//! | --- | --- | --- |
//! | cached | the sender claims each line from the reader's cache, then writes into its own | cores share a cache |
//! | streaming | the sender packs into memory of its own and copies past the caches | cores do not |
//!
//! On one machine 132 kB take 7 microseconds cached and 17 streaming between cores that share a
//! cache, 65 and 13 between cores that do not. No property that a program can query distinguishes
//! the two cases (in a virtual machine it even changes during a run). Now and then, in a
//! negotiation, some exchanges are therefore rehearsed both ways with messages of the real lengths,
//! and all ranks keep what was faster for the slowest of them. The bytes that arrive are the same
//! either way.

use std::time::{Duration, Instant};

use super::{OneSided, Scheme, WindowContext};
use crate::ledger::Ledger;
use crate::transport::{Poll, Transport};
use crate::{AlignedBuffer, CommError, Edge, Sizes};

/// How a message buffer in shared memory is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stores {
    /// The caller packs into the message buffer.
    Cached,
    /// The caller packs into an origin buffer, which is copied past the caches.
    Streaming,
}

/// Number of exchanges rehearsed each way.
const ROUNDS: usize = 8;
/// Messages below this number of bytes stay cached: a streamed line takes longer to become visible.
const SHORTEST_BYTES: u64 = 2048;
/// Negotiations from one rehearsal to the next, if the window stays.
const INTERVAL: u32 = 32;

impl WindowContext {
    /// Returns how the buffers of this exchange are written.
    pub(super) fn stores(&self) -> Stores {
        match self.jitter.forces_streaming(self.sequence) {
            None => self.stores,
            Some(true) => Stores::Streaming,
            Some(false) => Stores::Cached,
        }
    }
}

impl<S: Scheme + 'static> OneSided<S> {
    /// Rehearses if it is due and there is a choice. *Collective*, with nothing in flight.
    pub(super) fn rehearse_now_and_then(&mut self, ledger: &Ledger) -> Result<(), CommError> {
        if !self.context.is_shared() || self.context.layout.spec().sizes != Sizes::Fixed {
            return Ok(());
        }
        self.until_rehearsal = self.until_rehearsal.saturating_sub(1);
        if self.until_rehearsal > 0 {
            return Ok(());
        }
        self.until_rehearsal = INTERVAL;
        let lengths: Vec<usize> =
            self.context.sending().map(|edge| self.context.edge(edge).send_capacity).collect();
        let longest = lengths.iter().copied().max().unwrap_or(0) as u64;
        if self.context.world.highest(longest)? < SHORTEST_BYTES {
            self.context.stores = Stores::Cached;
            return Ok(());
        }
        let [cached, streaming] = self.rehearse(ledger)?;
        let [cached, streaming] = [
            self.context.world.highest(cached.as_nanos() as u64)?,
            self.context.world.highest(streaming.as_nanos() as u64)?,
        ];
        self.context.stores = if streaming < cached { Stores::Streaming } else { Stores::Cached };
        Ok(())
    }

    /// Returns the shortest exchange time each way.
    fn rehearse(&mut self, ledger: &Ledger) -> Result<[Duration; 2], CommError> {
        let mut scratch = AlignedBuffer::default();
        let mut shortest = [Duration::MAX; 2];
        for _ in 0..ROUNDS {
            for (stores, shortest) in [Stores::Cached, Stores::Streaming].into_iter().zip(&mut shortest) {
                self.context.stores = stores;
                let begun = Instant::now();
                self.exchange_anything(ledger, &mut scratch)?;
                *shortest = begun.elapsed().min(*shortest);
            }
        }
        Ok(shortest)
    }

    /// Exchanges meaningless messages of the agreed lengths.
    fn exchange_anything(&mut self, ledger: &Ledger, scratch: &mut AlignedBuffer) -> Result<(), CommError> {
        for edge in ledger.edge_ids() {
            let Edge { flow, send_capacity: length, .. } = *ledger.edge(edge);
            if flow.sends() {
                scratch.set_length(length)?;
                self.send_buffer(edge, length)?.copy_from_slice(scratch.bytes());
                self.start(edge, length)?;
            }
        }
        self.initiate()?;
        for _ in ledger.spec().edges.iter().filter(|edge| edge.flow.receives()) {
            let Some(edge) = self.poll(ledger, Poll::Wait)? else { continue };
            let message = self.context.deliver(edge)?;
            scratch.set_length(message.len())?;
            scratch.bytes_mut().copy_from_slice(message);
        }
        self.complete()
    }
}
