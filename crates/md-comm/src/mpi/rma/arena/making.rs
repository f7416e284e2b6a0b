//! Creation of a window, and the exchange of addresses with the peers.

use crate::mpi::edge_words::Along;
use crate::mpi::ffi::{Communicator, Memory, Request, Window};
use crate::mpi::rma::arena::ends::Ends;
use crate::mpi::rma::arena::shared_ring_places::SharedRingPlaces;
use crate::mpi::rma::arena::{Arena, Form, HEAD, PAGE_BYTES, WORD_STRIDE, WindowRequest};
use crate::mpi::world_state::WorldState;
use crate::negotiation::with_head_room;
use crate::{ALIGNMENT, Buffering, CommError, ExchangeSpec, Rank, Sizes, WindowCount};

impl Arena {
    /// Makes the window and sends the peers the places to put to. *Collective.*
    pub(crate) fn new(
        ends: &Ends<'_, impl Fn(Rank) -> Rank>,
        on: &Communicator,
        request: WindowRequest,
    ) -> Result<Self, CommError> {
        let (spec, rank) = (ends.spec(), ends.world.rank);
        let (buffers, edges) = (spec.buffering.count(), spec.edges.len());
        let sizes = BufferSizes::agree(ends, request)?;
        let has_buffers = |i: usize| request.hosts(&spec.edges[i]) && spec.edges[i].peer != rank;
        let Layout { mut credits, buffers: mut here, end } = Layout::new(&sizes, request, has_buffers);
        let ring = request.form == Form::SharedRing;
        let senders = (0..edges).filter(|&i| ring && has_buffers(i)).map(|i| sizes.room_in[i]);
        let (mut shared, end) = SharedRingPlaces::lay_out(end, buffers, senders);
        let (mut window, origins) = make(ends.world, on, request, edges, end)?;
        tell_addresses(ends, &mut window, request)?;
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
            there: ends.tell_places(if request.gets() { Along::Forward } else { Along::Backward }, &here)?,
            here,
            credits_there: ends.tell_places(Along::Forward, &credits)?,
            credits_here: credits,
            member: (ends.member)(rank),
            shared,
        })
    }
}

/// Makes the window, and returns the offsets of the words and buffers of each edge. *Collective.*
///
/// # Errors
/// [`CommError::Unavailable`], on all ranks, if the library refuses the window to one of them.
fn make(
    world: &WorldState,
    on: &Communicator,
    WindowRequest { backend, memory, options, .. }: WindowRequest,
    edges: usize,
    end: usize,
) -> Result<(Window, impl Fn(usize) -> usize + use<>), CommError> {
    let highest = |number: usize| Ok::<_, CommError>(world.highest(number as u64)? as usize);
    let extent = highest(end + ALIGNMENT)?.next_multiple_of(PAGE_BYTES);
    let per_edge = options.windows == WindowCount::PerEdge;
    let windows = if per_edge { highest(edges.max(1))? } else { 1 };
    let (asserts, limit) = (options.asserts, world.limit());
    let request = Request { memory, windows, extent, origins: edges, words: 2 * edges + 1, asserts, limit };
    let mut window = world.make_window(on, request)?.map_err(|reason| backend.unavailable(reason))?;
    window.weigh_flushes(world.adversity.get().ranks_per_flush());
    let begins: Vec<usize> = (0..windows).map(|i| i * extent + window.misalignment(i)).collect();
    Ok((window, move |edge: usize| begins.get(edge).or(begins.first()).copied().unwrap_or(0)))
}

/// Exchanges the addresses of attached memory, which is addressed absolutely: both ends of an edge
/// write to each other's memory. *Collective.*
fn tell_addresses(
    ends: &Ends<'_, impl Fn(Rank) -> Rank>,
    window: &mut Window,
    request: WindowRequest,
) -> Result<(), CommError> {
    if request.memory != Memory::Attached {
        return Ok(());
    }
    let edges = &ends.spec().edges;
    for number in 0..window.many() {
        let own = window.address(number, ends.world.rank).unwrap_or_default();
        for along in [Along::Forward, Along::Backward] {
            let told = ends.tell(along, &vec![own; edges.len()])?;
            let told = edges.iter().zip(told).filter(|(edge, _)| along.receives(edge));
            told.for_each(|(edge, address)| window.learn_address(number, edge.peer, address));
        }
    }
    Ok(())
}

/// More bytes than the private caches of a core have today (0.25 to 2 MiB).
const FLUSHING_BYTES: usize = 2 << 20;
/// Most buffers of an edge. With more, the flags' cache lines would outweigh the payload's.
const MOST_BUFFERS: usize = 512;

/// Sizes of the buffers of every edge: at the peer, and in the own part.
#[derive(Debug)]
pub(crate) struct BufferSizes {
    /// Room of the buffers in bytes: of messages that leave, of messages that arrive.
    pub(crate) room_out: Vec<usize>,
    pub(crate) room_in: Vec<usize>,
    /// Distances of the buffers.
    pub(super) stride_there: Vec<usize>,
    pub(super) stride_here: Vec<usize>,
    /// Number of buffers, which is the number of exchanges after which a message is put into the
    /// same buffer again. In the own part all edges have the same number.
    pub(crate) depth_there: Vec<u64>,
    pub(super) depth_here: u64,
}

impl BufferSizes {
    /// Agrees on the sizes with the peers. *Collective.*
    pub(super) fn agree(
        ends: &Ends<'_, impl Fn(Rank) -> Rank>,
        request: WindowRequest,
    ) -> Result<Self, CommError> {
        let spec = ends.spec();
        let room_out: Vec<_> = spec.edges.iter().map(|edge| wanted(spec.sizes, edge.send_capacity)).collect();
        let room_in = ends.tell(Along::Forward, &room_out)?;
        let [out, into] = [&room_out, &room_in].map(|rooms| strides(request.form, rooms));
        let (stride_there, stride_here) = if request.gets() { (into, out) } else { (out, into) };
        let depth_here = depth(request.memory, spec, &stride_here);
        let mut depth_there = vec![depth_here; spec.edges.len()];
        if request.memory == Memory::Shared {
            let depths = ends.tell(Along::Backward, &vec![depth_here as usize; spec.edges.len()])?;
            depth_there = depths.into_iter().map(|depth| depth as u64).collect();
        }
        Ok(Self { room_out, room_in, stride_there, stride_here, depth_there, depth_here })
    }
}

fn strides(form: Form, rooms: &[usize]) -> Vec<usize> {
    let stride = |&room: &usize| match form {
        Form::Buffers => HEAD + room.next_multiple_of(WORD_STRIDE),
        Form::SharedRing => HEAD,
    };
    rooms.iter().map(stride).collect()
}

/// Returns the number of buffers of every edge whose messages arrive in a shared window, for these
/// strides.
///
/// A buffer that was read a moment ago is still in its reader's cache, and its sender has to claim
/// it line by line, which takes several times as long as writing to lines that have left that
/// cache. Between two uses of a buffer, enough other buffers are therefore used to fill the cache.
/// Only where it pays: in exchanges of every time step.
fn depth(memory: Memory, spec: &ExchangeSpec, strides: &[usize]) -> u64 {
    let buffers = spec.buffering.count() as u64;
    if memory != Memory::Shared || spec.buffering != Buffering::Double || spec.sizes != Sizes::Fixed {
        return buffers;
    }
    let round: usize = strides.iter().sum();
    (FLUSHING_BYTES / round.max(1)).clamp(buffers as usize, MOST_BUFFERS) as u64
}

/// Returns the room that a sender requests.
fn wanted(sizes: Sizes, capacity: usize) -> usize {
    // A variable capacity includes its head-room already.
    if sizes == Sizes::Fixed { with_head_room(capacity) } else { capacity }
}

/// Offsets in the own part, before the beginnings of the windows are known.
pub(super) struct Layout {
    pub(super) credits: Vec<usize>,
    pub(super) buffers: Vec<usize>,
    /// Bytes of the largest window.
    pub(super) end: usize,
}

impl Layout {
    pub(super) fn new(
        sizes: &BufferSizes,
        request: WindowRequest,
        has_buffers: impl Fn(usize) -> bool,
    ) -> Self {
        let edges = sizes.stride_here.len();
        let (mut credits, mut starts) = (vec![0; edges], vec![0; edges]);
        let (mut end, mut longest) = (0, 0);
        for (i, stride) in sizes.stride_here.iter().enumerate() {
            if request.options.windows == WindowCount::PerEdge {
                end = 0;
            }
            credits[i] = end;
            end += sizes.depth_there[i] as usize * WORD_STRIDE;
            if has_buffers(i) {
                starts[i] = end + request.flags * WORD_STRIDE;
                end = starts[i] + sizes.depth_here as usize * stride;
            }
            longest = end.max(longest);
        }
        Self { credits, buffers: starts, end: longest }
    }
}
