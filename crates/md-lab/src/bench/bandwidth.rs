//! Many messages one way.

use md_comm::{AlignedBuffer, Backend, Buffering, Edge, Flow, Subarray, UnpackedEdge, UnpackedSpec, World};

use super::line::{Content, Handling, Line, one_way, spec, verified};
use super::series::{Series, parts};
use super::{Benchmark, Case, Distance, Ground, Mechanism, Stage, powers_of_two};
use crate::compare::Problem;
use crate::sampling::{Effort, sample_in_turn};

/// Messages at a time, unless they are large.
const MESSAGES: usize = 64;
/// Bytes at a time, at most.
const MOST_BYTES: usize = 64 << 20;

/// Rank 0 to its partner, all messages under way at once.
pub(super) struct Bandwidth;

impl Benchmark for Bandwidth {
    fn name(&self) -> &'static str {
        "bandwidth"
    }

    fn cases(&self, ground: &Ground) -> Vec<Case> {
        let cases = |(peer, distance)| ground.each(&powers_of_two()[1..], distance, peer);
        ground.partners().into_iter().flat_map(cases).collect()
    }

    fn messages(&self, case: &Case) -> usize {
        (MOST_BYTES / case.bytes.max(1)).clamp(1, MESSAGES)
    }

    fn run(&self, case: &Case, stage: &Stage) -> Result<Vec<Series>, Problem> {
        let Stage { world, effort, .. } = *stage;
        let messages = self.messages(case);
        let edges = one_way(world.rank(), [0, case.peer], messages as u16, case.bytes);
        let handling = [Handling::InPlace, Handling::Copied];
        let one_buffer = OneBuffer::of(case, &edges);
        let loops = handling.len() + usize::from(one_buffer.is_some());
        let share =
            |loops_of: usize| Effort { budget_s: effort.budget_s * loops_of as f64 / loops as f64, ..effort };
        let line = Line::open(world, spec(edges, Buffering::Single))?;
        let mut samples_s = verified(world, [line], |[line]| {
            sample_in_turn(world, handling.len(), share(handling.len()), |kind, iterations| {
                (0..iterations).try_for_each(|_| line.exchange(handling[kind], |_| Ok(())))?;
                Ok(())
            })
        })?;
        if let Some(one_buffer) = one_buffer {
            samples_s.extend(one_buffer.sample(world, share(1))?);
        }
        Ok(parts(&["", "copied", "one-buffer"], samples_s, (messages * case.bytes) as f64))
    }
}

/// The same from one buffer, as `osu_bw` of OSU's benchmarks sends: it stays in the caches. A context has a buffer for each message, so these are
/// messages that nobody packs, of one datatype.
struct OneBuffer {
    edges: Vec<UnpackedEdge>,
    bytes: usize,
}

impl OneBuffer {
    /// Along the same edges; `None` where there are no such messages: other transports, a rank alone, nothing to send.
    fn of(case: &Case, edges: &[Edge]) -> Option<Self> {
        let is_pair = case.mechanism == Mechanism::Context(Backend::P2p)
            && case.distance != Distance::Own
            && case.bytes > 0;
        is_pair.then(|| Self {
            edges: edges.iter().map(|edge| unpacked(edge, case.bytes)).collect(),
            bytes: case.bytes,
        })
    }

    /// Samples, and looks at what has come. *Collective.*
    fn sample(self, world: &dyn World, effort: Effort) -> Result<Vec<Vec<f64>>, Problem> {
        let Self { edges, bytes } = self;
        let receives = edges.iter().any(|edge| !edge.receives.is_empty());
        let content = Content { number: 1, from: 0, channel: 0 };
        let mut memory = AlignedBuffer::new(bytes * if receives { edges.len() } else { 1 })?;
        memory.bytes_mut().fill(0);
        if !receives {
            content.fill(memory.bytes_mut());
        }
        let mut context = world.open_unpacked(UnpackedSpec { name: "bench", edges })?;
        let samples_s = sample_in_turn(world, 1, effort, |_, iterations| {
            (0..iterations)
                .try_for_each(|_| context.exchange(memory.bytes_mut(), &[0]))
                .map_err(Problem::from)
        })?;
        context.finalise()?;
        let wrong = memory.bytes().chunks(bytes).find_map(|message| content.first_wrong(message));
        match wrong {
            Some(byte) => Err(Problem::wrong(format!("byte {byte} of {bytes} from one buffer is wrong"))),
            None => Ok(samples_s),
        }
    }
}

/// An edge whose messages leave from one place, and arrive side by side.
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
