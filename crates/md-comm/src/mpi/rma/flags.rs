//! Flag words in windows: which message is in which buffer, and how long it is. The protocol itself is in
//! [`crate::flag_protocol`].

use super::Parts;
use crate::flag_protocol::awaited_credit;
pub(super) use crate::flag_protocol::{flag, length_in};
use crate::{CommError, EdgeId};

impl Parts {
    /// Looks at the flags of all messages still awaited and gives notice of those that have come.
    pub(super) fn poll_flags(
        &mut self,
        read: impl Fn(&Self, usize) -> Result<u64, CommError>,
    ) -> Result<(), CommError> {
        for edge in (0..self.terms.spec().edges.len()).map(EdgeId) {
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

    /// Whether the buffer of this exchange is free.
    pub(super) fn has_credit(
        &self,
        edge: EdgeId,
        read: impl Fn(&Self, usize) -> Result<u64, CommError>,
    ) -> Result<bool, CommError> {
        match awaited_credit(self.sequence, self.arena.depth_there(edge.0)) {
            Some(credit) if self.needs_credit(edge, true) => {
                Ok(read(self, self.arena.credit_here(edge.0, self.sequence))? == credit)
            }
            _ => Ok(true),
        }
    }
}
