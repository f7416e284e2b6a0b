//! Events of all ranks as Chrome trace JSON (<https://ui.perfetto.dev>), one event per line.

use std::fmt::{self, Write};

use bytemuck::{Pod, Zeroable};
use md_comm::{CommError, World};
use md_engine::Phase;
use serde::Serialize;
use serde_json::json;

use super::clocks::{ClockMap, ClockReading, METHOD};
use super::read::{HIDDEN_TRACK, MAIN_TRACK};
use super::recorder::{Event, Kind, Recorder};
use crate::ROOT;

/// Number of events per message to rank 0: about 2 MB.
const EVENTS_PER_MESSAGE: usize = 1 << 16;

/// Numbers of a timeline that was written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Written {
    /// Number of events in the file.
    pub events: u64,
    /// Number of older events that were overwritten in the recorders.
    pub dropped: u64,
    /// Largest error of a rank's clock, in seconds.
    pub clock_error_s: f64,
}

impl Written {
    fn of(counts: &[Counts], maps: &[ClockMap]) -> Self {
        Self {
            events: counts.iter().map(|counts| counts.kept).sum(),
            dropped: counts.iter().map(|counts| counts.dropped).sum(),
            clock_error_s: maps.iter().map(|map| map.error_ns / 1e9).fold(0.0, f64::max),
        }
    }
}

/// Counts of one rank.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Counts {
    kept: u64,
    dropped: u64,
    threads: u64,
}

/// Implements [`super::TracedWorld::write`]; `clocks` are the first and last readings.
/// *Collective.*
pub(super) fn write<E>(
    world: &dyn World,
    recorder: &Recorder,
    clocks: &[Vec<ClockReading>; 2],
    context: &impl Serialize,
    mut sink: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<Result<Written, E>, CommError> {
    let [kept, dropped] = recorder.counts();
    let mine = Counts { kept, dropped, threads: recorder.threads() as u64 };
    let counts: Vec<Counts> = bytemuck::pod_collect_to_vec(&world.gather_all(bytemuck::bytes_of(&mine))?);
    let maps: Vec<ClockMap> =
        clocks[0].iter().zip(&clocks[1]).map(|(&first, &last)| ClockMap::between(first, last)).collect();
    let names = recorder.context_names();
    let mut text = String::new();
    let mut outcome = Ok(());
    if world.rank() == ROOT {
        head(&mut text, context, &counts, &maps);
    }
    for (rank, counts) in counts.iter().enumerate() {
        for skipped in (0..counts.kept as usize).step_by(EVENTS_PER_MESSAGE) {
            let own = world.rank() == rank;
            let mine = if own { recorder.events(skipped, EVENTS_PER_MESSAGE) } else { Vec::new() };
            let all = world.gather(ROOT, bytemuck::cast_slice(&mine))?;
            let Some(bytes) = all.get(rank).filter(|_| outcome.is_ok()) else { continue };
            for event in &bytemuck::pod_collect_to_vec::<_, Event>(bytes) {
                // Writing to a string cannot fail.
                let _ = line(&mut text, rank, event, &maps[rank], &names);
            }
            outcome = sink(text.as_bytes());
            text.clear();
        }
    }
    if world.rank() == ROOT {
        text.push_str("\n]}\n");
        outcome = outcome.and_then(|()| sink(text.as_bytes()));
    }
    Ok(outcome.map(|()| Written::of(&counts, &maps)))
}

fn head(text: &mut String, context: &impl Serialize, counts: &[Counts], maps: &[ClockMap]) {
    let rank = |(counts, map): (&Counts, &ClockMap)| {
        let Counts { kept, dropped, .. } = *counts;
        let (ahead_s, drift, error_s) = (map.ahead_s(), map.drift, map.error_ns / 1e9);
        json!({ "events": kept, "dropped": dropped, "clock_ahead_s": ahead_s, "clock_drift": drift, "clock_error_s": error_s })
    };
    let ranks: Vec<_> = counts.iter().zip(maps).map(rank).collect();
    let other = json!({ "md": context, "clocks": METHOD, "ranks": ranks });
    let name = |pid: usize, kind: &str, name: &str| json!({ "ph": "M", "pid": pid, "name": kind, "args": { "name": name } });
    let tracks = counts.iter().enumerate().flat_map(|(pid, counts)| {
        let threads = (0..counts.threads as u32).map(|thread| (track(thread), format!("thread {thread}")));
        let named = threads.chain([(HIDDEN_TRACK, "halo in flight".to_owned())]).map(move |(tid, track)| {
            let mut named = name(pid, "thread_name", &track);
            named["tid"] = json!(tid);
            named
        });
        [name(pid, "process_name", &format!("rank {pid}"))].into_iter().chain(named)
    });
    let tracks: Vec<String> = tracks.map(|track| track.to_string()).collect();
    *text = format!(
        "{{\"displayTimeUnit\":\"ms\",\"otherData\":{other},\"traceEvents\":[\n{}",
        tracks.join(",\n")
    );
}

/// Returns the number of a thread's track.
fn track(thread: u32) -> u32 {
    if thread == 0 { MAIN_TRACK } else { HIDDEN_TRACK + thread }
}

fn phase(number: u16) -> Phase {
    Phase::ALL.get(usize::from(number)).copied().unwrap_or(Phase::Other)
}

fn line(text: &mut String, rank: usize, event: &Event, map: &ClockMap, contexts: &[&str]) -> fmt::Result {
    let Some(kind) = Kind::ALL.get(usize::from(event.kind)) else { return Ok(()) };
    let Event { detail, exchange, context, peer, channel, .. } = *event;
    let (begun, ended) = (map.us(event.begun_ns), map.us(event.ended_ns));
    let lasted = ended - begun;
    let name = contexts.get(context as usize).copied().unwrap_or_default();
    text.push_str(",\n");
    let slice = |text: &mut String, category: &str, name: &str, track: u32, rest: fmt::Arguments<'_>| {
        write!(
            text,
            r#"{{"ph":"X","cat":"{category}","name":"{name}","pid":{rank},"tid":{track},"ts":{begun:.3},"dur":{lasted:.3}{rest}}}"#
        )
    };
    let message = |text: &mut String, head: &str, id: u64, rest: fmt::Arguments<'_>| {
        write!(
            text,
            r#"{{{head},"cat":"message","name":"{name}","id":"{id:#x}","pid":{rank},"tid":{MAIN_TRACK},"ts":{ended:.3},"args":{{"peer":{peer},"context":{context},"exchange":{exchange},"channel":{channel},"bytes":{detail}{rest}}}}}"#
        )
    };
    let nothing = format_args!("");
    match kind {
        Kind::Phase => {
            let phase = phase(channel);
            let track = if phase == Phase::HaloHidden { HIDDEN_TRACK } else { MAIN_TRACK };
            slice(text, "phase", phase.name(), track, nothing)
        }
        Kind::Share => slice(text, "share", phase(channel).name(), track(peer), nothing),
        Kind::Collective => {
            let entered = map.us(detail);
            let args = format_args!(r#","args":{{"number":{exchange},"entered":{entered:.3}}}"#);
            slice(text, "collective", "wait for all", MAIN_TRACK, args)
        }
        Kind::Sent => message(text, r#""ph":"s""#, id(event, rank, peer as usize), nothing),
        Kind::Received => {
            let waited = format_args!(r#","waited":{lasted:.3}"#);
            message(text, r#""ph":"f","bp":"e""#, id(event, peer as usize, rank), waited)
        }
    }
}

/// Returns an identifier that is equal at both ends of a message, and different for any two
/// messages except with a probability of 2^-64: FNV-1a.
fn id(event: &Event, from: usize, to: usize) -> u64 {
    let words = [event.context, event.exchange, from as u32, to as u32, event.channel.into()];
    let bytes = words.into_iter().flat_map(u32::to_le_bytes);
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}
