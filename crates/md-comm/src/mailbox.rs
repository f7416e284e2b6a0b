//! Letters: messages that nobody has planned, to any rank at any time. Two-sided: they are sent, and taken by whoever looks.
//!
//! An exchange knows its edges and their order. Where who asks whom for what turns out only on the way, letters take its place. Rules:
//! 1. sending never blocks, however many letters are under way;
//! 2. letters from one rank to another come in the order in which they were sent; those of different ranks in any order;
//! 3. every letter must have been taken when the mailbox is finalised.

use crate::{AlignedBuffer, CommError, Rank, Traffic};

/// A letter that has come.
#[derive(Debug)]
pub struct Letter {
    /// Who sent it.
    pub from: Rank,
    /// What it says; aligned.
    pub bytes: AlignedBuffer,
}

/// A rank's end of the letters of a world. Opened by [`crate::World::mailbox`].
pub trait Mailbox: std::fmt::Debug {
    /// Sends a letter, also to this rank itself.
    ///
    /// # Errors
    /// Communication; no memory for a copy.
    fn send(&mut self, to: Rank, bytes: &[u8]) -> Result<(), CommError>;

    /// A letter that is there. Never waits.
    ///
    /// # Errors
    /// Communication.
    fn take(&mut self) -> Result<Option<Letter>, CommError>;

    /// The next letter, waiting for it; `awaited` says in words for what.
    ///
    /// # Errors
    /// [`CommError::Timeout`] after the watchdog's limit; communication.
    fn wait(&mut self, awaited: &dyn Fn() -> String) -> Result<Letter, CommError>;

    /// Letters and bytes sent so far.
    fn traffic(&self) -> Traffic;

    /// Closes the mailbox. *Collective.*
    ///
    /// # Errors
    /// [`CommError::Misuse`] where a letter was not taken; communication.
    fn finalise(self: Box<Self>) -> Result<(), CommError>;
}

/// A letter that has come for nobody.
pub(crate) fn left_over(context: &'static str, from: Rank) -> CommError {
    CommError::Misuse { context, what: format!("a letter from rank {from} was not taken") }
}
