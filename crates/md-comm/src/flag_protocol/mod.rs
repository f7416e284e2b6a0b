//! The protocol of flags in memory: when a buffer may be read, and when it may be written again.
//! Independent of the kind of memory, so that a model checker can explore it.
//!
//! One rank, the sender, writes a buffer and raises the buffer's flag; the other one polls the
//! flag, reads the buffer, and if necessary returns the buffer by a credit, which the sender polls.
//! Buffers are used in turn. A flag is the exchange number, the length, and the exchange number
//! again (16, 32, 16 bits); a credit is the number of the exchange whose buffer is free. Both are
//! compared for equality only: MPI-3.1 section 11.7 allows polling for a particular value, not
//! comparing magnitudes. There is one word per buffer, because otherwise a fast sender would
//! overwrite what has not been seen.
//!
//! Relies on: a word is stored with release order, after the payload was written (a flag) or read
//! (a credit), and loaded with acquire order. Does not rely on a word being stored whole, which MPI
//! does not promise to a load: the number at both ends of a flag differs from the previous one in
//! its lowest byte, so that both are right only if everything between them has been stored too, in
//! halves, or byte by byte from either end. A credit is right only if all changed bytes have been
//! stored.

#[cfg(loom)]
#[cfg(test)]
mod loom_model;
#[cfg(loom)]
#[cfg(test)]
mod ring_model;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU64, Ordering};

/// A word that one rank stores and another one polls.
pub(crate) trait Word {
    /// Returns the value. If it is a published one, what its writer did before is visible.
    fn observe(&self) -> u64;

    /// Stores a value for the other rank.
    fn publish(&self, value: u64);
}

impl Word for AtomicU64 {
    fn observe(&self) -> u64 {
        self.load(Ordering::Acquire)
    }

    fn publish(&self, value: u64) {
        self.store(value, Ordering::Release);
    }
}

/// Returns the flag of an exchange's message with a length.
pub(crate) fn flag(sequence: u64, length: usize) -> u64 {
    let number = u64::from(sequence as u16);
    number << 48 | u64::from(length as u32) << 16 | number
}

/// Returns the length in a flag, if the flag belongs to the exchange.
pub(crate) fn length_in(flag: u64, sequence: u64) -> Option<usize> {
    let [first, last] = [flag as u16, (flag >> 48) as u16];
    (first == sequence as u16 && last == first).then_some((flag >> 16) as u32 as usize)
}

/// Returns the buffer of an edge that an exchange uses. Exchanges are counted from 1.
pub(crate) fn buffer_of(sequence: u64, buffers: u64) -> usize {
    (sequence % buffers) as usize
}

/// What the receiver of a message sends to its sender in the same exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// At least one message of its own.
    Message,
    Nothing,
}

/// Returns whether the sender needs a credit before it reuses a buffer. With two buffers and an
/// answer it does not: the answer of exchange k-1 proves that the receiver has completed k-2, whose
/// buffer exchange k uses.
pub(crate) fn needs_credit(buffers: u64, answer: Answer) -> bool {
    buffers < 2 || answer == Answer::Nothing
}

/// Returns the credit that frees the buffer of an exchange, or `None` for a buffer's first use,
/// which needs none.
pub(crate) fn awaited_credit(sequence: u64, buffers: u64) -> Option<u64> {
    sequence.checked_sub(buffers).filter(|&credit| credit > 0)
}
