//! Bandwidth of many messages in one direction.

use md_comm::{
    AlignedBuffer, Backend, Buffering, CommError, Edge, Flow, Subarray, Unpacked, UnpackedEdge, UnpackedSpec,
    World,
};

use super::line::{Content, Handling, Line, exchanged, one_way, spec};
use super::series::{Series, parts};
use super::{Benchmark, Case, Distance, Ground, Mechanism, Stage, powers_of_two};
use crate::Problem;
use crate::sampling::{Effort, sample_one};

/// Maximum number of messages per iteration.
const MESSAGES: usize = 64;
/// Maximum bytes per iteration, which limits the number of large messages.
const MOST_BYTES: usize = 64 << 20;

/// Messages from rank 0 to its partner, all under way at once.
pub(super) struct Bandwidth;

impl Benchmark for Bandwidth {
    fn name(&self) -> &'static str {
        "bandwidth"
    }

    fn cases(&self, ground: &Ground) -> Vec<Case> {
        ground.pairs_and_calls(&powers_of_two()[1..])
    }

    fn messages(&self, case: &Case) -> usize {
        (MOST_BYTES / case.bytes.max(1)).clamp(1, MESSAGES)
    }

    fn run(&self, case: &Case, stage: &Stage) -> Result<Vec<Series>, Problem> {
        let Stage { world, transports, effort, .. } = *stage;
        let messages = self.messages(case);
        #[cfg(feature = "mpi")]
        if matches!(case.mechanism, Mechanism::Other(_)) {
            return super::onesided::many(case, stage, messages);
        }
        let edges = one_way(world.rank(), [0, case.peer], messages as u16, case.bytes);
        let handling = [Handling::InPlace, Handling::Copied];
        let has_one_buffer = OneBuffer::is_for(case);
        let kinds = handling.len() + usize::from(has_one_buffer);
        let of_kinds =
            |some: usize| Effort { budget_s: effort.budget_s * some as f64 / kinds as f64, ..effort };
        let line = Line::open(world, spec(edges.clone(), Buffering::Single))?;
        let mut samples_s = exchanged(world, [line], of_kinds(handling.len()), &handling)?;
        // Not sampled in turn with the others: for each message the library would search the
        // receives that their context has posted.
        if has_one_buffer {
            // Lent memory cannot be left behind: a rank whose messages never arrive ends the job.
            // The agreement world waits longer than the monitor, so that the monitor ends the job
            // first and writes the results so far.
            let mut one_buffer = OneBuffer::open(case.bytes, transports.agreement(), &edges)?;
            samples_s.extend(sample_one(world, of_kinds(1), || one_buffer.exchange())?);
            one_buffer.finalise(world)?;
        }
        Ok(parts(&["", "copied", "one-buffer"], samples_s, (messages * case.bytes) as f64))
    }
}

/// Messages sent from one buffer, as by `osu_bw` of the OSU benchmarks: the buffer stays in the
/// caches. A context has one buffer per message, so these are unpacked messages of one datatype.
struct OneBuffer {
    context: Box<dyn Unpacked>,
    /// Message to send, or room for all messages received.
    memory: AlignedBuffer,
    receives: bool,
    /// Length of a message.
    bytes: usize,
}

/// Content of each message.
const CONTENT: Content = Content { number: 1, from: 0, channel: 0 };

impl OneBuffer {
    /// Returns whether the case is measured from one buffer as well: only two-sided, non-empty
    /// messages between two ranks.
    fn is_for(case: &Case) -> bool {
        let is_p2p = case.mechanism == Mechanism::Context(Backend::P2p);
        is_p2p && case.distance != Distance::Own && case.bytes > 0
    }

    /// Opens a context along `edges` and verifies an exchange. *Collective.*
    fn open(bytes: usize, world: &dyn World, edges: &[Edge]) -> Result<Self, Problem> {
        let edges: Vec<_> = edges.iter().map(|edge| unpacked(edge, bytes)).collect();
        let receives = edges.iter().filter(|edge| !edge.receives.is_empty()).count();
        let mut memory = AlignedBuffer::new(bytes * receives.max(1))?;
        CONTENT.fill(memory.bytes_mut());
        let context = world.open_unpacked(UnpackedSpec { name: "bench", edges })?;
        let mut opened = Self { context, memory, bytes, receives: receives > 0 };
        opened.verify(world)?;
        Ok(opened)
    }

    fn exchange(&mut self) -> Result<(), CommError> {
        self.context.exchange(self.memory.bytes_mut(), &[0])
    }

    /// Checks every message of an exchange into cleared memory. A wrong one is an error on all
    /// ranks. *Collective.*
    fn verify(&mut self, world: &dyn World) -> Result<(), Problem> {
        if self.receives {
            self.memory.bytes_mut().fill(0);
        }
        self.exchange()?;
        let wrong = self.memory.bytes().chunks(self.bytes).find_map(|message| CONTENT.first_wrong(message));
        let mut is_wrong = [f64::from(u8::from(wrong.is_some()))];
        world.max(&mut is_wrong)?;
        if is_wrong[0] == 0.0 {
            return Ok(());
        }
        let told = |byte| format!("byte {byte} of {} from one buffer is wrong", self.bytes);
        Err(Problem::wrong(wrong.map(told).unwrap_or_default()))
    }

    /// Verifies the messages once more and closes the context. *Collective.*
    fn finalise(mut self, world: &dyn World) -> Result<(), Problem> {
        self.verify(world)?;
        self.context.finalise()?;
        Ok(())
    }
}

/// Converts an edge: messages leave from one place and arrive side by side.
fn unpacked(edge: &Edge, bytes: usize) -> UnpackedEdge {
    let Edge { peer, send_channel, receive_channel, flow, .. } = *edge;
    let at =
        |offset| vec![Subarray { part: 0, offset, row_bytes: bytes, rows: [1, 1], strides: [bytes, bytes] }];
    let (sends, receives) = match flow {
        Flow::ReceiveOnly => (Vec::new(), at(usize::from(receive_channel) * bytes)),
        Flow::SendOnly | Flow::Both => (at(0), Vec::new()),
    };
    UnpackedEdge { peer, send_channel, receive_channel, sends, receives }
}
