//! Which edge's message is where in the blocks of a neighbourhood collective.

use super::super::ffi::{Neighbours, Side};
use crate::{ALIGNMENT, AlignedBuffer, CommError, Edge, Rank};

const LENGTH_BYTES: usize = size_of::<u64>();

/// Edges per neighbour, in the order of their channels: the same at both ends.
#[derive(Debug)]
pub(super) struct Blocks {
    pub(super) to: Vec<Vec<usize>>,
    pub(super) from: Vec<Vec<usize>>,
    /// Where each edge's message begins: outgoing, incoming.
    starts_out: Vec<usize>,
    starts_in: Vec<usize>,
    /// Bytes per neighbour: outgoing, incoming.
    lengths_out: Vec<usize>,
    lengths_in: Vec<usize>,
}

fn group(edges: &[Edge], me: Rank, sending: bool) -> (Vec<Rank>, Vec<Vec<usize>>) {
    let takes_part = |edge: &Edge| if sending { edge.flow.sends() } else { edge.flow.receives() };
    let channel = |i: usize| if sending { edges[i].send_channel } else { edges[i].receive_channel };
    let mut chosen: Vec<usize> =
        (0..edges.len()).filter(|&i| takes_part(&edges[i]) && edges[i].peer != me).collect();
    chosen.sort_unstable_by_key(|&i| (edges[i].peer, channel(i)));
    let groups: Vec<Vec<usize>> =
        chosen.chunk_by(|&a, &b| edges[a].peer == edges[b].peer).map(<[usize]>::to_vec).collect();
    (groups.iter().map(|group| edges[group[0]].peer).collect(), groups)
}

/// Lays messages out one after the other, aligned.
fn lay_out(groups: &[Vec<usize>], lengths: &[usize], starts: &mut [usize], blocks: &mut [usize]) {
    let mut end = 0;
    for (group, block) in groups.iter().zip(blocks) {
        let begin = end;
        for &i in group {
            starts[i] = end;
            end += lengths[i].next_multiple_of(ALIGNMENT);
        }
        *block = end - begin;
    }
}

impl Blocks {
    /// Also the two sides of the neighbourhood.
    pub(super) fn new(edges: &[Edge], me: Rank) -> (Self, Side, Side) {
        let (targets, to) = group(edges, me, true);
        let (sources, from) = group(edges, me, false);
        let (starts_out, starts_in) = (vec![0; edges.len()], vec![0; edges.len()]);
        let (lengths_out, lengths_in) = (vec![0; to.len()], vec![0; from.len()]);
        let blocks = Self { to, from, starts_out, starts_in, lengths_out, lengths_in };
        (blocks, Side::new(targets), Side::new(sources))
    }

    /// For the lengths: one word per edge.
    pub(super) fn lay_out_lengths(&mut self, neighbours: &mut Neighbours) -> Result<(), CommError> {
        for (block, group) in self.lengths_out.iter_mut().zip(&self.to) {
            *block = group.len() * LENGTH_BYTES;
        }
        for (block, group) in self.lengths_in.iter_mut().zip(&self.from) {
            *block = group.len() * LENGTH_BYTES;
        }
        neighbours.lay_out(&self.lengths_out, &self.lengths_in)
    }

    pub(super) fn write_lengths(&self, words: &mut [u8], lengths: &[usize]) {
        for (word, &i) in words.chunks_exact_mut(LENGTH_BYTES).zip(self.to.iter().flatten()) {
            word.copy_from_slice(&(lengths[i] as u64).to_ne_bytes());
        }
    }

    pub(super) fn read_lengths(&self, words: &[u8], lengths: &mut [usize]) {
        for (word, &i) in words.chunks_exact(LENGTH_BYTES).zip(self.from.iter().flatten()) {
            let mut length = [0; LENGTH_BYTES];
            length.copy_from_slice(word);
            lengths[i] = usize::try_from(u64::from_ne_bytes(length)).unwrap_or(usize::MAX);
        }
    }

    pub(super) fn lay_out_messages(
        &mut self,
        neighbours: &mut Neighbours,
        sent: &[usize],
        received: &[usize],
    ) -> Result<(), CommError> {
        lay_out(&self.to, sent, &mut self.starts_out, &mut self.lengths_out);
        lay_out(&self.from, received, &mut self.starts_in, &mut self.lengths_in);
        neighbours.lay_out(&self.lengths_out, &self.lengths_in)
    }

    pub(super) fn write_messages(&self, bytes: &mut [u8], packed: &[AlignedBuffer]) {
        for &i in self.to.iter().flatten() {
            let message = packed[i].bytes();
            bytes[self.starts_out[i]..][..message.len()].copy_from_slice(message);
        }
    }

    /// Where an edge's message has arrived.
    pub(super) fn start_in(&self, i: usize) -> usize {
        self.starts_in[i]
    }
}
