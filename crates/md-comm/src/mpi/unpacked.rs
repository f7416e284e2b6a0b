//! Unpacked messages, two-sided: `MPI_Isend` and `MPI_Irecv` of derived datatypes, from and to the
//! caller's memory.
//!
//! Rule 4 of the raw calls, that no message is longer than the receive posted for it, holds because
//! both ends compare the number of bytes when the context is opened, and datatypes do not change
//! it.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Instant;

use super::edge_words::{self, Recipients};
use super::ffi::{Lent, Scattered, Way, lend};
use super::numbers::ContextNumber;
use super::world_state::WorldState;
use crate::ledger::{ExchangeLayout, Ledger};
use crate::spin_wait::wait_until;
use crate::{
    Buffering, CommError, Edge, EdgeId, ExchangeSpec, Flow, MessageObserver, Sizes, Subarray, Traffic,
    Unpacked, UnpackedEdge, UnpackedSpec,
};

/// A message of an edge, outgoing or incoming.
#[derive(Debug)]
struct Described {
    edge: EdgeId,
    datatype: Scattered,
}

/// All messages of memory whose parts start at the same offsets.
#[derive(Debug)]
struct Description {
    starts: Vec<usize>,
    receives: Vec<Described>,
    sends: Vec<Described>,
}

/// A context over derived datatypes.
pub(super) struct Datatypes {
    layout: Rc<ExchangeLayout>,
    number: ContextNumber,
    edges: Vec<UnpackedEdge>,
    /// One description for each kind of memory used so far: a solver with two grids has two.
    known: Vec<Description>,
    traffic: Traffic,
    observer: Option<Box<dyn MessageObserver>>,
    /// The last field, so that MPI is finalised after the datatypes are dropped.
    world: Rc<WorldState>,
}

impl std::fmt::Debug for Datatypes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Datatypes").field("layout", &self.layout).finish_non_exhaustive()
    }
}

fn bytes(subarrays: &[Subarray]) -> usize {
    subarrays.iter().map(Subarray::bytes).fold(0, usize::saturating_add)
}

/// Returns the same edge for a context that packs, or `None` for an edge without messages.
fn packed(edge: &UnpackedEdge) -> Option<Edge> {
    let UnpackedEdge { peer, send_channel, receive_channel, sends, receives } = edge;
    let flow = match (sends.is_empty(), receives.is_empty()) {
        (false, false) => Flow::Both,
        (false, true) => Flow::SendOnly,
        (true, false) => Flow::ReceiveOnly,
        (true, true) => return None,
    };
    let (send_channel, receive_channel) = (*send_channel, *receive_channel);
    Some(Edge { peer: *peer, send_channel, receive_channel, flow, send_capacity: bytes(sends) })
}

impl Datatypes {
    /// Opens the context: both ends of every edge check that they agree on the number of bytes.
    /// *Collective.*
    pub(super) fn open(world: Rc<WorldState>, spec: UnpackedSpec) -> Result<Self, CommError> {
        let UnpackedSpec { name, mut edges } = spec;
        edges.retain(|edge| packed(edge).is_some());
        let spec = ExchangeSpec {
            name,
            edges: edges.iter().filter_map(packed).collect(),
            sizes: Sizes::Fixed,
            buffering: Buffering::Single,
        };
        let mut ledger = Ledger::new(world.rank, world.ranks, spec)?;
        let [number] = world.numbers.borrow_mut().take()?;
        edge_words::tell_capacities(&world, &mut ledger, number, Recipients::Receivers)?;
        let layout = ledger.layout();
        for (edge, unpacked) in layout.edge_ids().zip(&edges) {
            let (comes, room) = (layout.receive_capacity(edge), bytes(&unpacked.receives));
            if comes != room {
                return Err(
                    layout.mismatch(edge, format_args!("has {comes} bytes, there is room for {room}"))
                );
            }
        }
        let (traffic, observer) = (Traffic::default(), None);
        Ok(Self { layout, number, edges, known: Vec::new(), traffic, observer, world })
    }

    /// Describes to the library the messages of memory whose parts have these starts.
    fn describe(&self, starts: &[usize]) -> Result<Description, CommError> {
        let each = |of: fn(&UnpackedEdge) -> &[Subarray]| {
            let messages = self.edges.iter().enumerate().filter(|(_, edge)| !of(edge).is_empty());
            let describe = |(i, edge)| {
                let datatype = Scattered::new(of(edge), starts)?;
                Ok(Described { edge: EdgeId(i), datatype })
            };
            messages.map(describe).collect::<Result<Vec<_>, CommError>>()
        };
        Ok(Description {
            starts: starts.to_vec(),
            receives: each(|edge| &edge.receives)?,
            sends: each(|edge| &edge.sends)?,
        })
    }

    /// Returns the description for these starts, which is made if necessary.
    fn known(&mut self, starts: &[usize]) -> Result<usize, CommError> {
        if let Some(found) = self.known.iter().position(|known| known.starts == starts) {
            return Ok(found);
        }
        let new = self.describe(starts)?;
        self.known.push(new);
        Ok(self.known.len() - 1)
    }

    /// Posts all receives, then all sends.
    fn begin(&self, description: &Description, lent: &mut Lent<'_>) -> Result<(), CommError> {
        for Described { edge, datatype } in &description.receives {
            let Edge { peer, receive_channel, .. } = *self.layout.edge(*edge);
            let tag = self.number.tag(receive_channel);
            lent.begin(Way::In, datatype, &self.world.communicator, peer, tag)?;
        }
        for Described { edge, datatype } in &description.sends {
            let edge = self.layout.edge(*edge);
            if let Some(observer) = &self.observer {
                observer.started(edge, edge.send_capacity);
            }
            let tag = self.number.tag(edge.send_channel);
            lent.begin(Way::Out, datatype, &self.world.communicator, edge.peer, tag)?;
        }
        Ok(())
    }

    /// Waits until everything has arrived and left.
    fn wait(&self, description: &Description, lent: &mut Lent<'_>) -> Result<(), CommError> {
        // Start of the wait for the next message.
        let since = Cell::new(Instant::now());
        let over = |number: usize| {
            if let (Some(observer), Some(message)) = (&self.observer, description.receives.get(number)) {
                let bytes = self.layout.receive_capacity(message.edge);
                let waits_since = since.replace(Instant::now());
                observer.arrived(self.layout.edge(message.edge), bytes, Some(waits_since));
            }
        };
        let late = |lent: &Lent<'_>, waited_s| self.layout.timeout(waited_s, self.stuck(description, lent));
        wait_until(self.world.watchdog(), lent, late, |lent| lent.poll(over))?;
        if let Some(observer) = &self.observer {
            observer.completed();
        }
        Ok(())
    }

    /// Returns the ranks for which messages under way wait, receives first.
    fn stuck(&self, description: &Description, lent: &Lent<'_>) -> String {
        let received = description.receives.iter().map(|message| {
            let Edge { peer, receive_channel, .. } = self.layout.edge(message.edge);
            format!("rank {peer} (channel {receive_channel})")
        });
        let sent = description.sends.iter().map(|message| {
            let Edge { peer, send_channel, .. } = self.layout.edge(message.edge);
            format!("rank {peer} (channel {send_channel}) to receive")
        });
        let all = received.chain(sent).enumerate().filter(|&(number, _)| lent.is_active(number));
        all.map(|(_, name)| name).collect::<Vec<_>>().join(", ")
    }

    fn expect_inside(&self, memory: usize, starts: &[usize]) -> Result<(), CommError> {
        let all = self.edges.iter().flat_map(|edge| edge.sends.iter().chain(&edge.receives));
        let end = |subarray: &Subarray| subarray.end()?.checked_add(*starts.get(subarray.part)?);
        match all.clone().find(|subarray| end(subarray).is_none_or(|end| end > memory)) {
            None => Ok(()),
            Some(subarray) => {
                let what = format!("{subarray:?} is not inside {memory} bytes with {} parts", starts.len());
                Err(self.layout.misuse(what))
            }
        }
    }
}

impl Unpacked for Datatypes {
    fn exchange(&mut self, memory: &mut [u8], starts: &[usize]) -> Result<(), CommError> {
        self.expect_inside(memory.len(), starts)?;
        let known = self.known(starts)?;
        let description = &self.known[known];
        let messages = description.receives.len() + description.sends.len();
        lend(memory, messages, self.world.rank, |lent| {
            self.begin(description, lent)?;
            self.wait(description, lent)
        })?;
        self.traffic.messages += description.sends.len() as u64;
        let sent = description.sends.iter().map(|message| self.layout.edge(message.edge).send_capacity);
        self.traffic.bytes += sent.sum::<usize>() as u64;
        Ok(())
    }

    fn traffic(&self) -> Traffic {
        self.traffic
    }

    fn observe(&mut self, observer: Box<dyn MessageObserver>) {
        self.observer = Some(observer);
    }

    fn finalise(self: Box<Self>) -> Result<(), CommError> {
        self.world.barrier()?;
        self.world.numbers.borrow_mut().release(&[self.number]);
        Ok(())
    }
}
