//! Letters of one computation of forces. A rank may be ahead of others: its letters wait for their turn.

use md_comm::{Rank, UnexpectedMessage, UnexpectedMessages};

use crate::error::EngineError;

/// What a letter says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(super) enum Kind {
    /// `dist`: the sender needs a cell.
    Request,
    /// `dist`: here is the cell.
    Grant,
    /// `dist`: the owner wants its cell back.
    Recall,
    /// `dist`: here is your cell.
    Return,
    /// `dist`: the sender needs no cell any more.
    Over,
    /// `dist`: heard that; from this rank no letter is under way to you.
    Closed,
    /// `simple`: here are all cells that you need.
    Row,
    /// `simple`: here are all cells that I had.
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

/// A letter of this turn.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) from: Rank,
    pub(super) kind: Kind,
    /// The cell.
    pub(super) number: u64,
    pub(super) numbers: Vec<f64>,
}

/// Turn, kind, cell.
const HEADER: usize = 3;

/// Sends and takes letters.
#[derive(Debug, Default)]
pub(super) struct Post {
    turn: u64,
    /// Of later turns, in the order in which they came.
    early: Vec<(u64, Received)>,
    words: Vec<u64>,
}

impl Post {
    /// The next computation of forces.
    pub(super) fn begin(&mut self) {
        self.turn += 1;
    }

    pub(super) fn send(
        &mut self,
        mailbox: &mut dyn UnexpectedMessages,
        to: Rank,
        (kind, number): (Kind, u64),
        numbers: &[f64],
    ) -> Result<(), EngineError> {
        self.words.clear();
        self.words.extend([self.turn, kind as u64, number]);
        self.words.extend_from_slice(bytemuck::cast_slice(numbers));
        Ok(mailbox.send(to, bytemuck::cast_slice(&self.words))?)
    }

    /// A letter of this turn, if there is one.
    pub(super) fn take(
        &mut self,
        mailbox: &mut dyn UnexpectedMessages,
    ) -> Result<Option<Received>, EngineError> {
        if let Some(place) = self.early.iter().position(|(turn, _)| *turn == self.turn) {
            return Ok(Some(self.early.remove(place).1));
        }
        while let Some(letter) = mailbox.take()? {
            if let Some(received) = self.sort(letter)? {
                return Ok(Some(received));
            }
        }
        Ok(None)
    }

    /// The next letter of this turn.
    pub(super) fn wait(
        &mut self,
        mailbox: &mut dyn UnexpectedMessages,
        awaited: &dyn Fn() -> String,
    ) -> Result<Received, EngineError> {
        if let Some(received) = self.take(mailbox)? {
            return Ok(received);
        }
        loop {
            let letter = mailbox.wait(awaited)?;
            if let Some(received) = self.sort(letter)? {
                return Ok(received);
            }
        }
    }

    /// `None`: it has been put aside.
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

/// A letter that this program does not send.
pub(super) fn unknown(from: Rank) -> EngineError {
    let what = format!("a letter from rank {from} cannot be understood");
    md_comm::CommError::Misuse { context: "cells", what }.into()
}
