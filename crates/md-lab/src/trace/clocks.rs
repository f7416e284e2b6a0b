//! How far the ranks' clocks are apart: rank 0 and every other rank send each other their times.
//!
//! A clock that is read between the start of a message and the arrival of its answer shows the middle of the two, give or take half
//! of the round trip. The shortest of several round trips counts. Between two such readings a clock is taken to drift evenly.

use md_comm::{Buffering, CommError, Edge, EdgeId, Exchange, ExchangeSpec, Flow, Sizes, World};

use super::recorder::Recorder;
use crate::ROOT;

/// Round trips per reading.
const ROUND_TRIPS: usize = 32;

/// One line for a file.
pub(super) const METHOD: &str = "round trips between rank 0 and every other rank before the first and after the last step, the shortest \
                                 of 32 each time; error: half of it; drift: linear in between";

/// What a clock showed at some time of rank 0's clock; all in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ClockReading {
    /// Rank 0's clock.
    pub(super) at_ns: f64,
    /// How much more the other showed.
    pub(super) ahead_ns: f64,
    /// Largest error of that.
    pub(super) error_ns: f64,
}

/// Reads the clocks of all ranks: in their order, on rank 0; nothing elsewhere. *Collective.*
pub(super) fn read_clocks(world: &dyn World, recorder: &Recorder) -> Result<Vec<ClockReading>, CommError> {
    let peers = if world.rank() == ROOT { 1..world.ranks() } else { ROOT..ROOT + 1 };
    let now_ns = recorder.now_ns() as f64;
    let own = ClockReading { at_ns: now_ns, ahead_ns: 0.0, error_ns: 0.0 };
    let mut readings = vec![own; if world.rank() == ROOT { world.ranks() } else { 0 }];
    let context = |from_root: bool| {
        let sends = from_root == (world.rank() == ROOT);
        let flow = if sends { Flow::SendOnly } else { Flow::ReceiveOnly };
        let edge =
            |peer| Edge { peer, send_channel: 0, receive_channel: 0, flow, send_capacity: size_of::<u64>() };
        let edges = peers.clone().map(edge).collect();
        world.open(ExchangeSpec { name: "clocks", edges, sizes: Sizes::Fixed, buffering: Buffering::Double })
    };
    let (mut there, mut back) = (context(true)?, context(false)?);
    for trip in 0..ROUND_TRIPS {
        let left = times(&mut there, recorder, trip)?;
        let answers = times(&mut back, recorder, trip)?;
        for (reading, (left, answer)) in readings.iter_mut().skip(1).zip(left.iter().zip(answers)) {
            let Trip { sent_ns, .. } = *left;
            let error_ns = (answer.arrived_ns - sent_ns) / 2.0;
            if trip == 0 || error_ns < reading.error_ns {
                let at_ns = sent_ns + error_ns;
                *reading = ClockReading { at_ns, ahead_ns: answer.content_ns - at_ns, error_ns };
            }
        }
    }
    there.finalise()?;
    back.finalise()?;
    Ok(readings)
}

/// One message of an edge, in nanoseconds of this rank's clock.
#[derive(Debug, Clone, Copy, Default)]
struct Trip {
    sent_ns: f64,
    arrived_ns: f64,
    content_ns: f64,
}

/// One exchange of the sending ranks' clocks. Another edge begins every time.
fn times(context: &mut Exchange, recorder: &Recorder, first: usize) -> Result<Vec<Trip>, CommError> {
    let edges = context.spec().edges.len();
    let mut trips = vec![Trip::default(); edges];
    for edge in (0..edges).map(|number| (number + first) % edges) {
        if context.spec().edges[edge].flow.sends() {
            let now_ns = recorder.now_ns();
            context.send_buffer(EdgeId(edge), size_of::<u64>())?.copy_from_slice(&now_ns.to_ne_bytes());
            context.start(EdgeId(edge))?;
            trips[edge].sent_ns = now_ns as f64;
        }
    }
    context.initiate()?;
    while let Some(arrival) = context.next()? {
        let trip = &mut trips[arrival.edge.0];
        trip.arrived_ns = recorder.now_ns() as f64;
        trip.content_ns = bytemuck::pod_read_unaligned::<u64>(arrival.bytes) as f64;
    }
    context.complete()?;
    Ok(trips)
}

/// Turns a rank's times into rank 0's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ClockMap {
    /// A time of the rank's clock, and how far ahead it was then.
    from_ns: f64,
    ahead_ns: f64,
    /// How much it gains.
    pub(super) drift: f64,
    pub(super) error_ns: f64,
}

impl ClockMap {
    pub(super) fn between(first: ClockReading, last: ClockReading) -> Self {
        let [from_ns, to_ns] = [first, last].map(|reading| reading.at_ns + reading.ahead_ns);
        let drift = if to_ns > from_ns { (last.ahead_ns - first.ahead_ns) / (to_ns - from_ns) } else { 0.0 };
        Self { from_ns, ahead_ns: first.ahead_ns, drift, error_ns: first.error_ns.max(last.error_ns) }
    }

    /// Microseconds of rank 0's clock.
    pub(super) fn us(&self, own_ns: u64) -> f64 {
        let own_ns = own_ns as f64;
        (own_ns - self.ahead_ns - self.drift * (own_ns - self.from_ns)) / 1e3
    }

    pub(super) fn ahead_s(&self) -> f64 {
        self.ahead_ns / 1e9
    }
}
