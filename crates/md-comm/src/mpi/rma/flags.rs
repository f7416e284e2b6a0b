//! Flag words in windows: which message is in which slot, and how long it is.
//!
//! A flag is (length, exchange number), 32 bits each; a credit is the number of the exchange whose slot is free. Both are
//! compared for equality only: MPI-3.1 section 11.7 allows to poll for a particular value, not to compare magnitudes.
//! One word per slot, or a fast sender would overwrite what has not been seen.

use super::Parts;
use crate::{CommError, EdgeId};

/// The flag of this exchange's message with a length.
pub(super) fn flag(sequence: u64, length: usize) -> u64 {
    (length as u64) << 32 | u64::from(sequence as u32)
}

/// The length in a flag, if it belongs to the exchange.
pub(super) fn length_in(flag: u64, sequence: u64) -> Option<usize> {
    (flag as u32 == sequence as u32).then_some((flag >> 32) as usize)
}

impl Parts {
    /// Looks at the flags of all messages still awaited and gives notice of those that have come.
    pub(super) fn poll_flags(
        &mut self,
        read: impl Fn(&Self, usize) -> Result<u64, CommError>,
    ) -> Result<(), CommError> {
        for edge in (0..self.ledger.spec().edges.len()).map(EdgeId) {
            if !self.edge(edge).flow.receives() || self.leads_home(edge) || self.is_noticed(edge) {
                continue;
            }
            let flag = read(self, self.arena.flag_here(edge.0, self.sequence))?;
            if let Some(length) = length_in(flag, self.sequence) {
                self.notice(edge, Some(length));
            }
        }
        Ok(())
    }

    /// Whether the slot of this exchange is free.
    pub(super) fn has_credit(
        &self,
        edge: EdgeId,
        read: impl Fn(&Self, usize) -> Result<u64, CommError>,
    ) -> Result<bool, CommError> {
        if self.sequence <= self.arena.slots || !self.needs_credit(edge, true) {
            return Ok(true);
        }
        let credit = read(self, self.arena.credit_here(edge.0, self.sequence))?;
        Ok(credit == self.sequence - self.arena.slots)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_tells_length_and_exchange() {
        assert_eq!(length_in(flag(7, 1234), 7), Some(1234));
        assert_eq!(length_in(flag(7, 1234), 9), None);
        assert_eq!(length_in(flag(1, 0), 1), Some(0));
        assert_eq!(length_in(0, 1), None);
    }
}
