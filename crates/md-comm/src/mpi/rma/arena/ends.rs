//! The exchange of words with the peers while a window is made.

use crate::ledger::ExchangeLayout;
use crate::mpi::edge_words::{self, Along, Recipients};
use crate::mpi::ffi::Place;
use crate::mpi::numbers::ContextNumber;
use crate::mpi::world_state::WorldState;
use crate::{CommError, Edge, ExchangeSpec, Rank};

/// The exchange of words between the two ends of each edge. `member` is a rank's number in the
/// window's communicator.
pub(crate) struct Ends<'a, M> {
    pub(crate) world: &'a WorldState,
    pub(crate) layout: &'a ExchangeLayout,
    pub(crate) number: ContextNumber,
    pub(crate) member: M,
}

impl<M: Fn(Rank) -> Rank> Ends<'_, M> {
    pub(crate) fn spec(&self) -> &ExchangeSpec {
        self.layout.spec()
    }

    /// Sends the words, one for each edge, and returns those of the other ends. *Collective.*
    pub(crate) fn tell(&self, along: Along, words: &[usize]) -> Result<Vec<usize>, CommError> {
        edge_words::tell(self.world, self.layout, self.number, along, Recipients::Receivers, |i| words[i])
    }

    /// Returns the places at the other ends of what is at these offsets here. *Collective.*
    pub(crate) fn tell_places(&self, along: Along, offsets: &[usize]) -> Result<Vec<Place>, CommError> {
        let place = |(edge, offset): (&Edge, usize)| Place { member: (self.member)(edge.peer), offset };
        Ok(self.spec().edges.iter().zip(self.tell(along, offsets)?).map(place).collect())
    }
}
