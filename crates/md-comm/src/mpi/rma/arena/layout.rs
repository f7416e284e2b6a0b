//! Sizes of buffers, how many an edge has, and where they lie in the own part.

use super::{HEAD, Plan, WORD_STRIDE};
use crate::mpi::ffi::Memory;
use crate::negotiation::with_head_room;
use crate::{Buffering, ExchangeSpec, Sizes, WindowCount};

/// More than a core's own caches hold today (0.25 to 2 MiB).
const FLUSHING_BYTES: usize = 2 << 20;
/// Beyond it, the flags' lines would outweigh the payload's.
const MOST_BUFFERS: usize = 512;

pub(super) fn strides(rooms: &[usize]) -> Vec<usize> {
    rooms.iter().map(|room| HEAD + room.next_multiple_of(WORD_STRIDE)).collect()
}

/// Buffers of every edge whose messages arrive in a shared window, for these strides.
///
/// A buffer that was read a moment ago is still in its reader's cache, and its sender has to claim it line by line:
/// that takes several times as long as writing to lines that have left that cache. So between two uses of a buffer so
/// many others are used that they fill it. Only where it pays: in exchanges of every step.
pub(super) fn depth(memory: Memory, spec: &ExchangeSpec, strides: &[usize]) -> u64 {
    let buffers = spec.buffering.count() as u64;
    match (memory, spec.buffering, spec.sizes) {
        (Memory::Shared, Buffering::Double, Sizes::Fixed) => {
            let round: usize = strides.iter().sum();
            (FLUSHING_BYTES / round.max(1)).clamp(buffers as usize, MOST_BUFFERS) as u64
        }
        _ => buffers,
    }
}

/// Room a sender asks for.
pub(super) fn wanted(sizes: Sizes, capacity: usize) -> usize {
    // A variable capacity has its head-room already.
    if sizes == Sizes::Fixed { with_head_room(capacity) } else { capacity }
}

/// Offsets in the own part, before it is known where the windows begin.
pub(super) struct Layout {
    pub(super) credits: Vec<usize>,
    pub(super) buffers: Vec<usize>,
    /// Bytes of the longest window.
    pub(super) end: usize,
}

impl Layout {
    pub(super) fn new(
        strides: &[usize],
        credits_of: &[u64],
        buffers_of: &[u64],
        plan: Plan,
        has_buffers: impl Fn(usize) -> bool,
    ) -> Self {
        let (mut credits, mut starts) = (vec![0; strides.len()], vec![0; strides.len()]);
        let (mut end, mut longest) = (0, 0);
        for (i, stride) in strides.iter().enumerate() {
            if plan.options.windows == WindowCount::PerEdge {
                end = 0;
            }
            credits[i] = end;
            end += credits_of[i] as usize * WORD_STRIDE;
            if has_buffers(i) {
                starts[i] = end + plan.flags * WORD_STRIDE;
                end = starts[i] + buffers_of[i] as usize * stride;
            }
            longest = end.max(longest);
        }
        Self { credits, buffers: starts, end: longest }
    }
}
