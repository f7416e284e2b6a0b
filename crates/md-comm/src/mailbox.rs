//! Letters: unplanned two-sided messages, to any rank at any time. They are sent, and taken by a
//! rank that looks for them.
//!
//! An exchange has fixed edges in a fixed order. Letters are used where senders and receivers turn
//! out only on the way. Rules:
//! 1. sending never blocks, however many letters are under way;
//! 2. letters from one rank to another arrive in the order in which they were sent; those of
//!    different ranks in any order;
//! 3. every letter must have been taken when the mailbox is finalised.

use crate::{AlignedBuffer, CommError, Rank, Traffic};

/// A letter that has arrived.
#[derive(Debug)]
pub struct Letter {
    /// The sender.
    pub from: Rank,
    /// The content; aligned.
    pub bytes: AlignedBuffer,
}

/// A rank's end of the letters of a world. Opened by [`crate::World::mailbox`].
pub trait Mailbox: std::fmt::Debug {
    /// Sends a letter, also to this rank itself.
    ///
    /// # Errors
    /// Communication; no memory for a copy.
    fn send(&mut self, to: Rank, bytes: &[u8]) -> Result<(), CommError>;

    /// Takes a letter if one has arrived. Never waits.
    ///
    /// # Errors
    /// Communication.
    fn take(&mut self) -> Result<Option<Letter>, CommError>;

    /// Waits for the next letter and returns it; `awaited` describes in words what is awaited.
    ///
    /// # Errors
    /// [`CommError::Timeout`] after the watchdog's limit; communication.
    fn wait(&mut self, awaited: &dyn Fn() -> String) -> Result<Letter, CommError>;

    /// Returns the letters and bytes sent so far.
    fn traffic(&self) -> Traffic;

    /// Closes the mailbox. *Collective.*
    ///
    /// # Errors
    /// [`CommError::Misuse`] if a letter was not taken; communication.
    fn finalise(self: Box<Self>) -> Result<(), CommError>;
}

/// Returns the error for a letter that was not taken.
pub(crate) fn left_over(context: &'static str, from: Rank) -> CommError {
    CommError::Misuse { context, what: format!("a letter from rank {from} was not taken") }
}
