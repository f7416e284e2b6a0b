//! Offsets between clocks: rank 0 and every other rank send each other their times.
//!
//! A clock that is read between the start of a message and the arrival of its answer shows the time
//! in the middle, with an error of at most half the round trip. The shortest of several round trips
//! counts. Between two readings the drift is assumed to be linear.

use md_comm::{Buffering, CommError, Edge, EdgeId, Exchange, ExchangeSpec, Flow, Sizes, World};

use super::recorder::Recorder;
use crate::ROOT;

/// Number of round trips per reading.
const ROUND_TRIPS: usize = 32;

/// Description of the method for the file, in one line.
pub(super) const METHOD: &str = "round trips between rank 0 and every other rank before the first and after the last step, the shortest \
                                 of 32 each time; error: half of it; drift: linear in between";

/// Offset of a rank's clock at a time of rank 0's clock; all in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ClockReading {
    /// Time on rank 0's clock.
    pub(super) at_ns: f64,
    /// Offset by which the rank's clock is ahead.
    pub(super) ahead_ns: f64,
    /// Largest error of the offset.
    pub(super) error_ns: f64,
}

/// Reads the clocks of all ranks; returns the readings on rank 0, none elsewhere. *Collective.*
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

/// Times of one message of an edge, in nanoseconds; `content_ns` is on the sender's clock, the
/// others are on this rank's clock.
#[derive(Debug, Clone, Copy, Default)]
struct Trip {
    sent_ns: f64,
    arrived_ns: f64,
    content_ns: f64,
}

/// Performs one exchange of the sending ranks' times. Each call starts with another edge.
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

/// Converts times of a rank to times of rank 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ClockMap {
    /// First reading: time on the rank's clock, and its offset at that time.
    from_ns: f64,
    ahead_ns: f64,
    /// Change of the offset per time on the rank's clock.
    pub(super) drift: f64,
    pub(super) error_ns: f64,
}

impl ClockMap {
    pub(super) fn between(first: ClockReading, last: ClockReading) -> Self {
        let [from_ns, to_ns] = [first, last].map(|reading| reading.at_ns + reading.ahead_ns);
        let drift = if to_ns > from_ns { (last.ahead_ns - first.ahead_ns) / (to_ns - from_ns) } else { 0.0 };
        Self { from_ns, ahead_ns: first.ahead_ns, drift, error_ns: first.error_ns.max(last.error_ns) }
    }

    /// Converts to microseconds of rank 0's clock.
    pub(super) fn us(&self, own_ns: u64) -> f64 {
        let own_ns = own_ns as f64;
        (own_ns - self.ahead_ns - self.drift * (own_ns - self.from_ns)) / 1e3
    }

    pub(super) fn ahead_s(&self) -> f64 {
        self.ahead_ns / 1e9
    }
}
