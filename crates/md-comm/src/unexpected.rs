//! Unexpected messages, for which no receive was posted: to any rank at any time, taken by a rank
//! that looks for them.
//!
//! An exchange has fixed edges in a fixed order. Unexpected messages are used where senders and
//! receivers turn out only on the way. Rules:
//! 1. sending never blocks, however many messages are under way;
//! 2. messages from one rank to another arrive in the order in which they were sent; those of
//!    different ranks in any order;
//! 3. every message must have been taken when the context is finalised.

use crate::{AlignedBuffer, CommError, Rank, Traffic};

/// An unexpected message that has arrived.
///
/// See [`UnexpectedMessages`] for an example.
#[derive(Debug)]
pub struct UnexpectedMessage {
    /// The sender.
    pub from: Rank,
    /// The content; aligned.
    pub bytes: AlignedBuffer,
}

/// A context of unexpected messages. Opened by [`crate::World::open_unexpected`].
///
/// ```
/// use md_comm::{CommError, local};
/// use std::time::Duration;
///
/// // The other two ranks send a message to rank 0 whenever they like.
/// let senders = local::run(3, Duration::from_secs(60), |world| {
///     let mut context = world.open_unexpected("tokens")?;
///     let mut senders = Vec::new();
///     if world.rank() == 0 {
///         for _ in 1..world.ranks() {
///             senders.push(context.wait(&|| "a token".to_owned())?.from);
///         }
///     } else {
///         context.send(0, b"token")?;
///     }
///     context.finalise()?;
///     senders.sort_unstable();
///     Ok::<_, CommError>(senders)
/// });
/// assert_eq!(senders[0], Ok(Ok(vec![1, 2])));
/// ```
pub trait UnexpectedMessages: std::fmt::Debug {
    /// Sends a message, also to this rank itself.
    ///
    /// # Errors
    /// Communication; no memory for a copy.
    fn send(&mut self, to: Rank, bytes: &[u8]) -> Result<(), CommError>;

    /// Takes a message if one has arrived. Never waits.
    ///
    /// # Errors
    /// Communication.
    fn take(&mut self) -> Result<Option<UnexpectedMessage>, CommError>;

    /// Waits for the next message and returns it; `awaited` describes in words what is awaited.
    ///
    /// # Errors
    /// [`CommError::Timeout`] after the watchdog's limit; communication.
    fn wait(&mut self, awaited: &dyn Fn() -> String) -> Result<UnexpectedMessage, CommError>;

    /// Returns the messages and bytes sent so far.
    fn traffic(&self) -> Traffic;

    /// Closes the context. *Collective.*
    ///
    /// # Errors
    /// [`CommError::Misuse`] if a message was not taken; communication.
    fn finalise(self: Box<Self>) -> Result<(), CommError>;
}

/// Returns the error for a message that was not taken.
pub(crate) fn left_over(context: &'static str, from: Rank) -> CommError {
    CommError::Misuse { context, what: format!("an unexpected message from rank {from} was not taken") }
}
