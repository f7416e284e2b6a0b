//! Collectives of lengths that only one rank has, made from simpler collectives and messages.

use super::ffi::Transfers;
use super::numbers::ContextNumber;
use super::world_state::WorldState;
use crate::deliver::copied;
use crate::negotiation::{LENGTH_BYTES, decode_length, encode_length};
use crate::spin_wait::SpinWait;
use crate::{CommError, Rank};

/// Largest piece in bytes; MPI counts are `int`.
const PIECE_BYTES: usize = 1 << 30;

/// The ranks that send to this rank, and those to which it sends.
struct Pass {
    context: &'static str,
    to: Rank,
    senders: Vec<Rank>,
}

impl WorldState {
    /// Broadcasts first the length, then the bytes in pieces.
    pub(super) fn broadcast(&self, root: Rank, bytes: &mut Vec<u8>) -> Result<(), CommError> {
        let length = encode_length(bytes.len()).to_vec();
        let length = length_from(&self.communicator.broadcast(root, length, self.limit())?)?;
        let no_room = |_| CommError::OutOfMemory { bytes: length };
        if self.rank != root {
            bytes.clear();
            bytes.try_reserve_exact(length).map_err(no_room)?;
            bytes.resize(length, 0);
        }
        for piece in bytes.chunks_mut(PIECE_BYTES) {
            let mut mine = Vec::new();
            mine.try_reserve_exact(piece.len()).map_err(no_room)?;
            mine.extend_from_slice(piece);
            piece.copy_from_slice(&self.communicator.broadcast(root, mine, self.limit())?);
        }
        Ok(())
    }

    /// Gathers by messages to the root.
    pub(super) fn gather(&self, root: Rank, mine: &[u8]) -> Result<Vec<Vec<u8>>, CommError> {
        let senders = if self.rank == root { (0..self.ranks).collect() } else { Vec::new() };
        self.pass(&Pass { context: "gather", to: root, senders }, mine)
    }

    /// Implements [`World::shift`](crate::World::shift).
    pub(super) fn shift(&self, by: usize, mine: &[u8]) -> Result<Vec<u8>, CommError> {
        let by = by % self.ranks;
        let (to, from) = ((self.rank + by) % self.ranks, (self.rank + self.ranks - by) % self.ranks);
        let come = self.pass(&Pass { context: "shift", to, senders: vec![from] }, mine)?;
        Ok(come.into_iter().next().unwrap_or_default())
    }

    /// Passes first the lengths, then the bytes. Consecutive messages cannot mix, because messages
    /// between two ranks with one tag do not overtake each other.
    fn pass(&self, pass: &Pass, mine: &[u8]) -> Result<Vec<Vec<u8>>, CommError> {
        let lengths = self.pass_known(pass, &encode_length(mine.len()), |_| LENGTH_BYTES)?;
        let lengths = lengths.iter().map(|length| length_from(length)).collect::<Result<Vec<_>, _>>()?;
        self.pass_known(pass, mine, |i| lengths[i])
    }

    /// Passes messages of known lengths.
    fn pass_known(
        &self,
        pass: &Pass,
        mine: &[u8],
        length_of: impl Fn(usize) -> usize,
    ) -> Result<Vec<Vec<u8>>, CommError> {
        let tag = ContextNumber::WORLD.tag(0);
        let many = pass.senders.len();
        let mut incoming = Transfers::incoming(many).in_pieces(&vec![PIECE_BYTES; many]);
        for (i, &from) in pass.senders.iter().enumerate() {
            incoming.receive(i, &self.communicator, from, tag, length_of(i))?;
        }
        let mut outgoing = Transfers::outgoing(1).in_pieces(&[PIECE_BYTES]);
        outgoing.bytes_mut(0, mine.len())?.copy_from_slice(mine);
        outgoing.send(0, &self.communicator, pass.to, tag)?;
        self.finish(pass, &mut outgoing, &mut incoming)?;
        (0..many).map(|i| copied(incoming.bytes(i)?)).collect()
    }

    fn finish(
        &self,
        &Pass { context, to, ref senders }: &Pass,
        outgoing: &mut Transfers,
        incoming: &mut Transfers,
    ) -> Result<(), CommError> {
        let mut wait = SpinWait::new(self.watchdog());
        loop {
            outgoing.poll(|_| ())?;
            incoming.poll(|_| ())?;
            if !outgoing.any_active() && !incoming.any_active() {
                return Ok(());
            }
            if let Err(expired) = wait.pause() {
                let late = senders.iter().enumerate().filter(|&(i, _)| incoming.is_active(i));
                let late: Vec<_> = late.map(|(_, from)| format!("rank {from}")).collect();
                let awaited = if late.is_empty() { format!("rank {to}") } else { late.join(", ") };
                let (rank, waited_s) = (self.rank, expired.waited_s);
                return Err(CommError::Timeout { context, rank, waited_s, awaited });
            }
        }
    }
}

/// Decodes a length that another rank sent.
fn length_from(bytes: &[u8]) -> Result<usize, CommError> {
    decode_length(bytes).ok_or_else(|| CommError::Misuse {
        context: "world",
        what: "a collective met another one: the ranks call them in different orders".to_owned(),
    })
}
