//! How a window is made, and how the peers learn where to put.

use super::layout::{BufferSizes, Layout};
use super::{Arena, Form, PAGE_BYTES, Plan};
use crate::ledger::Terms;
use crate::mpi::edge_words::{self, Along};
use crate::mpi::ffi::{Communicator, Place, Request, Window};
use crate::mpi::numbers::ContextNumber;
use crate::mpi::rma::shared_part::SharedPart;
use crate::mpi::world::Inner;
use crate::{ALIGNMENT, CommError, Edge, ExchangeSpec, Rank, WindowCount};

/// What the two ends of an edge tell each other, edge by edge. `member` is a rank's number in the window's communicator.
pub(crate) struct Ends<'a, M> {
    pub(crate) world: &'a Inner,
    pub(crate) terms: &'a Terms,
    pub(crate) number: ContextNumber,
    pub(crate) member: M,
}

impl<M: Fn(Rank) -> Rank> Ends<'_, M> {
    pub(crate) fn spec(&self) -> &ExchangeSpec {
        self.terms.spec()
    }

    /// What the other ends told; `words` has one for each edge. *Collective.*
    pub(crate) fn tell(&self, along: Along, words: &[usize]) -> Result<Vec<usize>, CommError> {
        edge_words::tell(self.world, self.terms, self.number, along, |i| words[i])
    }

    /// Where the other ends have what is at these offsets here. *Collective.*
    pub(crate) fn tell_places(&self, along: Along, offsets: &[usize]) -> Result<Vec<Place>, CommError> {
        let place = |(edge, offset): (&Edge, usize)| Place { member: (self.member)(edge.peer), offset };
        Ok(self.spec().edges.iter().zip(self.tell(along, offsets)?).map(place).collect())
    }
}

impl Arena {
    /// Makes the window and tells the peers where to put. *Collective.*
    pub(crate) fn new(
        ends: &Ends<'_, impl Fn(Rank) -> Rank>,
        on: &Communicator,
        plan: Plan,
    ) -> Result<Self, CommError> {
        let (spec, rank) = (ends.spec(), ends.world.rank);
        let (buffers, edges) = (spec.buffering.count(), spec.edges.len());
        let sizes = BufferSizes::agree(ends, plan)?;
        let has_buffers = |i: usize| plan.hosts(&spec.edges[i]) && spec.edges[i].peer != rank;
        let Layout { mut credits, buffers: mut here, end } = Layout::new(&sizes, plan, has_buffers);
        let ring = plan.form == Form::SharedRing;
        let senders = (0..edges).filter(|&i| ring && has_buffers(i)).map(|i| sizes.room_in[i]);
        let (mut shared, end) = SharedPart::lay_out(end, buffers, senders);
        let (window, origins) = make(ends.world, on, plan, edges, end)?;
        for i in 0..edges {
            credits[i] += origins(i);
            here[i] += origins(i);
        }
        ends.world.note_component(&window)?;
        if ring {
            shared.settle(origins(0), ends)?;
        }
        Ok(Self {
            window,
            buffers: buffers as u64,
            sizes,
            there: ends.tell_places(if plan.gets() { Along::Forward } else { Along::Backward }, &here)?,
            here,
            credits_there: ends.tell_places(Along::Forward, &credits)?,
            credits_here: credits,
            member: (ends.member)(rank),
            shared,
        })
    }
}

/// The window, and where the words and buffers of an edge begin. *Collective.*
///
/// # Errors
/// [`CommError::Unavailable`], on all ranks, if the library refuses the window to one of them.
fn make(
    world: &Inner,
    on: &Communicator,
    Plan { backend, memory, options, .. }: Plan,
    edges: usize,
    end: usize,
) -> Result<(Window, impl Fn(usize) -> usize + use<>), CommError> {
    let highest =
        |number: usize| Ok::<_, CommError>(world.control.highest(number as u64, world.limit())? as usize);
    let extent = highest(end + ALIGNMENT)?.next_multiple_of(PAGE_BYTES);
    let per_edge = options.windows == WindowCount::PerEdge;
    let windows = if per_edge { highest(edges.max(1))? } else { 1 };
    let (asserts, limit) = (options.asserts, world.limit());
    let request = Request { memory, windows, extent, origins: edges, words: 2 * edges + 1, asserts, limit };
    let unavailable = |reason| CommError::Unavailable { backend: backend.name(), reason };
    let window = world.make_window(on, request)?.map_err(unavailable)?;
    let begins: Vec<usize> = (0..windows).map(|i| i * extent + window.misalignment(i)).collect();
    Ok((window, move |edge: usize| begins.get(edge).or(begins.first()).copied().unwrap_or(0)))
}
