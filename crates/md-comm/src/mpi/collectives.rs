//! Collectives with lengths that only one rank knows, from simpler ones and messages.

use super::ffi::Transfers;
use super::numbers::ContextNumber;
use super::world::Inner;
use crate::negotiation::{LENGTH_BYTES, decode_length, encode_length};
use crate::spin_wait::SpinWait;
use crate::{CommError, Rank};

/// Longest piece of a broadcast; MPI counts are `int`.
const PIECE_BYTES: usize = 1 << 30;

impl Inner {
    /// First the length, then the bytes in pieces.
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

    /// Messages to the root: first the lengths, then the bytes. Successive gathers cannot mix, because messages between
    /// two ranks with one tag do not overtake each other.
    pub(super) fn gather(&self, root: Rank, mine: &[u8]) -> Result<Vec<Vec<u8>>, CommError> {
        let lengths = self.gather_known(root, &encode_length(mine.len()), |_| LENGTH_BYTES)?;
        let lengths = lengths.iter().map(|length| length_from(length)).collect::<Result<Vec<_>, _>>()?;
        self.gather_known(root, mine, |from| lengths[from])
    }

    /// Gathers messages whose lengths the root knows.
    fn gather_known(
        &self,
        root: Rank,
        mine: &[u8],
        length_of: impl Fn(Rank) -> usize,
    ) -> Result<Vec<Vec<u8>>, CommError> {
        let tag = ContextNumber::WORLD.tag(0);
        let senders = if self.rank == root { self.ranks } else { 0 };
        let mut incoming = Transfers::incoming(senders);
        for from in 0..senders {
            incoming.receive(from, &self.communicator, from, tag, length_of(from))?;
        }
        let mut outgoing = Transfers::outgoing(1);
        outgoing.bytes_mut(0, mine.len())?.copy_from_slice(mine);
        outgoing.send(0, &self.communicator, root, tag)?;
        self.finish_gather(root, &mut outgoing, &mut incoming)?;
        (0..senders).map(|from| Ok(incoming.bytes(from)?.to_vec())).collect()
    }

    fn finish_gather(
        &self,
        root: Rank,
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
                let late = (0..self.ranks).filter(|&from| self.rank == root && incoming.is_active(from));
                let late: Vec<_> = late.map(|from| format!("rank {from}")).collect();
                let awaited = if late.is_empty() { format!("rank {root}") } else { late.join(", ") };
                let (rank, waited_s) = (self.rank, expired.waited_s);
                return Err(CommError::Timeout { context: "gather", rank, waited_s, awaited });
            }
        }
    }
}

/// A length that another rank sent.
fn length_from(bytes: &[u8]) -> Result<usize, CommError> {
    decode_length(bytes).ok_or_else(|| CommError::Misuse {
        context: "world",
        what: "a collective met another one: the ranks call them in different orders".to_owned(),
    })
}
