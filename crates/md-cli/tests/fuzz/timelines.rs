//! `trace-summary` of timelines made from valid ones.

use md_cli::args::TraceSummaryArgs;
use md_cli::commands::trace_summary::trace_summary;
use md_cli::error::RunError;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::case::{Trial, check_numbers, check_refusal};
use crate::scenarios::damaged;

/// JSON pointers below an event or below the head.
const PLACES: [&str; 21] = [
    "/ph",
    "/cat",
    "/name",
    "/pid",
    "/ts",
    "/dur",
    "/args",
    "/args/peer",
    "/args/context",
    "/args/exchange",
    "/args/channel",
    "/args/bytes",
    "/args/waited",
    "/args/number",
    "/args/entered",
    "/md",
    "/md/steps",
    "/md/strategy/backend",
    "/ranks",
    "/ranks/0/dropped",
    "/ranks/0/clock_error_s",
];
const VALUES: [&str; 29] = [
    "0",
    "1",
    "2",
    "-1",
    "1.5",
    "-1.5",
    "12.25",
    "1e15",
    "1e308",
    "-1e308",
    "5e-324",
    "65536",
    "4294967296",
    "17179869184",
    "18446744073709551615",
    "18446744073709551616",
    "null",
    "true",
    "\"\"",
    "\"phase\"",
    "\"message\"",
    "\"collective\"",
    "\"force\"",
    "\"X\"",
    "\"s\"",
    "\"\\u001b]0;x\\u0007\"",
    "[]",
    "{}",
    "[[[{}]]]",
];
const FILES: [&str; 4] = ["messages.csv", "message_sizes.csv", "waits.csv", "critical_path.csv"];

/// Content of a file.
#[derive(Debug, Clone)]
pub(crate) struct Text(pub(crate) Vec<u8>);

impl Text {
    /// Returns whether `--trace` may have written it.
    pub(crate) fn accepted(&self) -> Result<(), String> {
        self.play(|error| Err(error.shown()))
    }

    fn play(&self, refused: impl FnOnce(&RunError) -> Result<(), String>) -> Result<(), String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let (trace, out) = (folder.path().join("fuzz.json"), folder.path().join("out"));
        std::fs::write(&trace, &self.0).map_err(|error| error.to_string())?;
        let text = match trace_summary(&TraceSummaryArgs { trace, output: Some(out.clone()) }) {
            Err(error) => return refused(&error),
            Ok(text) => text,
        };
        let mut numbers = text.split_whitespace().filter_map(|word| word.parse::<f64>().ok());
        if numbers.any(|number| !(number.is_finite() && number >= 0.0)) {
            return Err(format!("what no time can be:\n{text}"));
        }
        FILES.iter().try_for_each(|name| {
            check_numbers(&std::fs::read_to_string(out.join(name)).map_err(|error| error.to_string())?)
        })
    }
}

impl Trial for Text {
    fn check_here(&self) -> Result<(), String> {
        self.play(check_refusal)
    }
}

pub(crate) fn valid() -> Text {
    Text(timeline(3, 40, 1).to_string().into_bytes())
}

/// Returns a timeline with `events` events of every kind in turn.
fn timeline(ranks: usize, events: usize, seed: u64) -> Value {
    let event = |index: usize| {
        let (rank, peer) = (index % ranks, (index + 1) % ranks);
        let (ts, dur) = (3.5 * index as f64 + (seed % 7) as f64, 2.25);
        let (exchange, bytes) = (index / (2 * ranks), 24 * (seed as usize % 50 + index));
        let args = |peer: usize| json!({ "peer": peer, "context": 0, "exchange": exchange, "channel": 0, "bytes": bytes, "waited": 1.5 });
        match index % 4 {
            0 => {
                json!({ "ph": "X", "cat": "phase", "name": "halo_wait", "pid": rank, "tid": 1, "ts": ts, "dur": dur })
            }
            1 => {
                json!({ "ph": "s", "cat": "message", "name": "m", "id": "0x1", "pid": rank, "ts": ts, "args": args(peer) })
            }
            2 => {
                json!({ "ph": "f", "cat": "message", "name": "m", "id": "0x1", "pid": peer, "ts": ts + 4.0, "args": args(rank) })
            }
            _ => json!({ "ph": "X", "cat": "collective", "name": "all", "pid": rank, "ts": ts, "dur": dur,
                "args": { "number": exchange, "entered": ts - 1.0 } }),
        }
    };
    let heads = vec![json!({ "dropped": 0, "clock_error_s": 1e-6 }); ranks];
    let md = json!({ "steps": 3, "strategy": { "backend": "p2p", "shell": "half" } });
    let events: Vec<Value> = (0..events).map(event).collect();
    json!({ "otherData": { "md": md, "ranks": heads }, "traceEvents": events })
}

pub(crate) fn changed() -> impl Strategy<Value = Text> {
    let change = (
        any::<usize>(),
        select(PLACES.to_vec()),
        prop_oneof![5 => select(VALUES.to_vec()).prop_map(Some), 1 => Just(None)],
    );
    let damage = prop_oneof![
        5 => Just(Vec::new()),
        1 => vec((any::<usize>(), any::<usize>(), any::<bool>()), 1..3),
    ];
    (1..4_usize, 1..40_usize, any::<u64>(), vec(change, 0..4), damage).prop_map(
        |(ranks, events, seed, changes, damage)| {
            let mut tree = timeline(ranks, events, seed);
            for (event, place, value) in changes {
                let event = event % events;
                put(&mut tree, &[format!("/traceEvents/{event}"), "/otherData".to_owned()], place, value);
            }
            Text(damaged(tree.to_string().into_bytes(), &damage))
        },
    )
}

/// Replaces or removes a value at a place below the first of `above` that has it.
fn put(tree: &mut Value, above: &[String], place: &str, value: Option<&str>) {
    let Some((parent, key)) = place.rsplit_once('/') else { return };
    for above in above {
        let Some(Value::Object(parent)) = tree.pointer_mut(&format!("{above}{parent}")) else { continue };
        if !parent.contains_key(key) {
            continue;
        }
        match value.map(serde_json::from_str) {
            Some(Ok(value)) => drop(parent.insert(key.to_owned(), value)),
            _ => drop(parent.remove(key)),
        }
        return;
    }
}
