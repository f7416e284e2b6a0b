//! Messages of one force computation. Messages from ranks that are already in a later computation
//! are stored until this rank reaches it.

use md_comm::{Rank, UnexpectedMessage, UnexpectedMessages};

use crate::error::EngineError;

/// Content of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(super) enum Kind {
    /// `dist`: request for a cell.
    Request,
    /// `dist`: the requested cell.
    Grant,
    /// `dist`: request by the owner to return its cell.
    Recall,
    /// `dist`: a cell returned to its owner.
    Return,
    /// `dist`: the sender needs no more cells.
    Over,
    /// `dist`: reply to `Over`; no message from the sender to the receiver is under way.
    Closed,
    /// `simple`: all cells that the receiver needs.
    Row,
    /// `simple`: all borrowed cells, returned to their owner.
    RowBack,
}

impl Kind {
    const ALL: [Self; 8] = [
        Self::Request,
        Self::Grant,
        Self::Recall,
        Self::Return,
        Self::Over,
        Self::Closed,
        Self::Row,
        Self::RowBack,
    ];
}

/// A message of the current force computation.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) from: Rank,
    pub(super) kind: Kind,
    /// Number of the cell in the grid.
    pub(super) number: u64,
    pub(super) numbers: Vec<f64>,
}

/// Words of a message header: number of the computation, kind, cell.
const HEADER: usize = 3;

/// Sends and receives messages.
#[derive(Debug, Default)]
pub(super) struct Post {
    turn: u64,
    /// Messages of later computations, in order of arrival.
    early: Vec<(u64, Received)>,
    words: Vec<u64>,
}

impl Post {
    /// Begins the next force computation.
    pub(super) fn begin(&mut self) {
        self.turn += 1;
    }

    pub(super) fn send(
        &mut self,
        unexpected: &mut dyn UnexpectedMessages,
        to: Rank,
        (kind, number): (Kind, u64),
        numbers: &[f64],
    ) -> Result<(), EngineError> {
        self.words.clear();
        self.words.extend([self.turn, kind as u64, number]);
        self.words.extend_from_slice(bytemuck::cast_slice(numbers));
        Ok(unexpected.send(to, bytemuck::cast_slice(&self.words))?)
    }

    /// Returns a message of this computation if one has arrived.
    pub(super) fn take(
        &mut self,
        unexpected: &mut dyn UnexpectedMessages,
    ) -> Result<Option<Received>, EngineError> {
        if let Some(place) = self.early.iter().position(|(turn, _)| *turn == self.turn) {
            return Ok(Some(self.early.remove(place).1));
        }
        while let Some(message) = unexpected.take()? {
            if let Some(received) = self.sort(message)? {
                return Ok(Some(received));
            }
        }
        Ok(None)
    }

    /// Waits for the next message of this computation.
    pub(super) fn wait(
        &mut self,
        unexpected: &mut dyn UnexpectedMessages,
        awaited: &dyn Fn() -> String,
    ) -> Result<Received, EngineError> {
        if let Some(received) = self.take(unexpected)? {
            return Ok(received);
        }
        loop {
            let message = unexpected.wait(awaited)?;
            if let Some(received) = self.sort(message)? {
                return Ok(received);
            }
        }
    }

    /// Decodes a message. Returns `None` if it belongs to another computation and has been stored.
    fn sort(
        &mut self,
        UnexpectedMessage { from, bytes }: UnexpectedMessage,
    ) -> Result<Option<Received>, EngineError> {
        let words: &[u64] = bytemuck::try_cast_slice(bytes.bytes()).map_err(|_| unknown(from))?;
        let &[turn, kind, number, ..] = words else { return Err(unknown(from)) };
        let kind = Kind::ALL.into_iter().find(|known| *known as u64 == kind).ok_or_else(|| unknown(from))?;
        let numbers = bytemuck::cast_slice(&words[HEADER..]).to_vec();
        let received = Received { from, kind, number, numbers };
        if turn == self.turn {
            return Ok(Some(received));
        }
        self.early.push((turn, received));
        Ok(None)
    }
}

/// Error for a message that this program does not send.
pub(super) fn unknown(from: Rank) -> EngineError {
    let what = format!("a message from rank {from} has an unknown form");
    md_comm::CommError::Misuse { context: "cells", what }.into()
}
