//! How a window is made, and how the peers learn where to put.

use super::layout::{Layout, depth, strides, wanted};
use super::{Arena, Form, HEAD, PAGE_BYTES, Plan};
use crate::ledger::Terms;
use crate::mpi::edge_words::{self, Along};
use crate::mpi::ffi::{Communicator, Memory, Place, Request, Window};
use crate::mpi::numbers::ContextNumber;
use crate::mpi::rma::shared_part::SharedPart;
use crate::mpi::world::Inner;
use crate::{ALIGNMENT, CommError, Edge, Operation, Rank, WindowCount};

impl Arena {
    /// Makes the window and tells the peers where to put. `member` is a rank's number in `on`. *Collective.*
    pub(crate) fn new(
        world: &Inner,
        terms: &Terms,
        number: ContextNumber,
        on: &Communicator,
        plan: Plan,
        member: impl Fn(Rank) -> Rank,
    ) -> Result<Self, CommError> {
        let spec = terms.spec();
        let buffers = spec.buffering.count();
        let tell = |along, word: &dyn Fn(usize) -> usize| edge_words::tell(world, terms, number, along, word);
        let room_out: Vec<_> = spec.edges.iter().map(|edge| wanted(spec.sizes, edge.send_capacity)).collect();
        let room_in = tell(Along::Forward, &|i| room_out[i])?;
        let ring = plan.form == Form::SharedRing;
        let strides_of = |rooms: &[usize]| if ring { vec![HEAD; rooms.len()] } else { strides(rooms) };
        let (strides_out, strides_in) = (strides_of(&room_out), strides_of(&room_in));
        let get = plan.options.operation == Operation::Get;
        let (stride_there, stride_here) =
            if get { (strides_in, strides_out) } else { (strides_out, strides_in) };
        let hosts = |edge: &Edge| if get { edge.flow.sends() } else { edge.flow.receives() };
        let has_buffers = |i: usize| hosts(&spec.edges[i]) && spec.edges[i].peer != world.rank;
        let depth_here = vec![depth(plan.memory, spec, &stride_here); stride_here.len()];
        let depth_there = match plan.memory {
            Memory::Shared => {
                let depths = tell(Along::Backward, &|i| depth_here[i] as usize)?;
                depths.into_iter().map(|depth| depth as u64).collect()
            }
            _ => depth_here.clone(),
        };
        let Layout { credits: mut credits_here, buffers: mut here, end } =
            Layout::new(&stride_here, &depth_there, &depth_here, plan, has_buffers);
        let senders = (0..spec.edges.len()).filter(|&i| ring && has_buffers(i)).map(|i| room_in[i]);
        let (mut shared, end) = SharedPart::lay_out(end, buffers, senders);
        let (window, origins) = make(world, on, plan, spec.edges.len(), end)?;
        for i in 0..spec.edges.len() {
            credits_here[i] += origins(i);
            here[i] += origins(i);
        }
        world.note_component(&window)?;
        let place = |(i, offset): (usize, usize)| Place { member: member(spec.edges[i].peer), offset };
        let places = |offsets: Vec<usize>| offsets.into_iter().enumerate().map(place).collect::<Vec<_>>();
        if ring {
            shared.settle(origins(0), tell, places)?;
        }
        let to_their_users = if get { Along::Forward } else { Along::Backward };
        let there = places(tell(to_their_users, &|i| here[i])?);
        let credits_there = places(tell(Along::Forward, &|i| credits_here[i])?);
        let buffers = buffers as u64;
        Ok(Self {
            window,
            buffers,
            depth_there,
            depth_here,
            room_out,
            room_in,
            there,
            here,
            stride_there,
            stride_here,
            credits_there,
            credits_here,
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
