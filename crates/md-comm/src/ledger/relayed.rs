//! The ledger's part in contexts that are made of others, which check lengths themselves.

use super::Ledger;
use crate::{Arrival, CommError, EdgeId};

impl Ledger {
    /// Books an arrival along an edge that another context has checked.
    pub(crate) fn relay<'a>(&mut self, edge: EdgeId, bytes: &'a [u8]) -> Result<Arrival<'a>, CommError> {
        self.receive_capacity[edge.0] = bytes.len();
        self.arrive(edge, bytes)
    }
}
