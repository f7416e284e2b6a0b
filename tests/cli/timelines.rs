//! `--trace` and `trace-summary`.
#![expect(clippy::expect_used, reason = "helpers of tests")]

use std::collections::BTreeMap;

use crate::support::{MELT, Start, Workdir, error, starts};
use serde_json::Value;

/// Rounding of numbers in the file, which are in nanoseconds.
const ROUNDING_US: f64 = 0.002;

/// Returns the events of a file of `ranks` ranks, and checks the format.
fn events(workdir: &Workdir, file: &str, ranks: usize) -> Vec<Value> {
    let content: Value = serde_json::from_str(&workdir.read(file)).expect("JSON");
    let heads = content["otherData"]["ranks"].as_array().expect("ranks");
    assert_eq!(heads.len(), ranks);
    let clock_error_us = heads.iter().map(|head| 2e6 * number(head, "clock_error_s")).fold(0.0, f64::max);
    let events = content["traceEvents"].as_array().expect("events").clone();
    assert_is_trace(&events, ranks, clock_error_us);
    events
}

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("`{key}` of {value}"))
}

/// Checks the requirements of the Trace Event Format: slices of a track are disjoint or nested, and
/// an arrow has two ends, the second not before the first, except for the error of the clocks.
fn assert_is_trace(events: &[Value], ranks: usize, clock_error_us: f64) {
    let mut slices: BTreeMap<[u64; 2], Vec<[f64; 2]>> = BTreeMap::new();
    let mut arrows: BTreeMap<[&str; 2], &Value> = BTreeMap::new();
    for event in events {
        let text = |key: &str| event[key].as_str().unwrap_or_else(|| panic!("`{key}` of {event}"));
        let pid = event["pid"].as_u64().filter(|&pid| pid < ranks as u64).expect("a rank");
        if text("ph") == "M" {
            let known = matches!(text("name"), "process_name" | "thread_name");
            assert!(known && event["args"]["name"].is_string(), "{event}");
            continue;
        }
        let (tid, ts) = (event["tid"].as_u64().expect("a track"), number(event, "ts"));
        assert!(ts.is_finite() && !text("name").is_empty() && !text("cat").is_empty(), "{event}");
        match text("ph") {
            "X" => slices.entry([pid, tid]).or_default().push([ts, ts + number(event, "dur")]),
            end @ ("s" | "f") => assert!(arrows.insert([text("id"), end], event).is_none(), "twice: {event}"),
            _ => panic!("an event of another kind: {event}"),
        }
    }
    for (track, mut slices) in slices {
        slices.sort_by(|a, b| a[0].total_cmp(&b[0]).then(b[1].total_cmp(&a[1])));
        let mut around: Vec<f64> = Vec::new();
        for [begun, ended] in slices {
            assert!(ended >= begun, "{track:?}: {begun} to {ended}");
            around.retain(|&end| end > begun + ROUNDING_US);
            assert!(around.iter().all(|&end| ended <= end + ROUNDING_US), "{track:?}: {begun} to {ended}");
            around.push(ended);
        }
    }
    for ([id, end], begins) in &arrows {
        let Some(ends) = arrows.get(&[*id, "f"]).filter(|_| *end == "s") else { continue };
        let flight = number(ends, "ts") - number(begins, "ts");
        assert!(flight >= -clock_error_us - ROUNDING_US, "{begins} {ends}");
        assert_eq!(
            (&begins["cat"], &begins["name"], &ends["bp"]),
            (&ends["cat"], &ends["name"], &"e".into())
        );
        assert_eq!((&begins["args"]["peer"], &ends["args"]["peer"]), (&ends["pid"], &begins["pid"]));
        assert_eq!(begins["args"]["bytes"], ends["args"]["bytes"]);
    }
}

#[test]
fn a_timeline_has_every_phase_and_both_ends_of_every_message() {
    let workdir = Workdir::new(MELT);
    for start in starts() {
        let ranks = match start {
            Start::Plain => 1,
            Start::Threads(ranks) | Start::Mpirun(ranks) => ranks,
        };
        let said = workdir.succeed(start, "run melt.toml --trace t.json");
        let line = said.stdout.lines().find(|line| line.starts_with("Timeline: ")).expect("a line");
        let events = events(&workdir, "t.json", ranks);
        let names = 3 * ranks;
        assert!(line.contains(&format!("t.json, {} events, clocks within ", events.len() - names)), "{line}");
        let of = |cat: &str, ph: &str| {
            let is = |event: &&Value| event["cat"] == cat && event["ph"] == ph;
            events.iter().filter(is).collect::<Vec<_>>()
        };
        // One force computation per step and rank, or more if it is done in parts.
        let forces = of("phase", "X").into_iter().filter(|event| event["name"] == "force").count();
        assert!(forces >= 20 * ranks, "{forces}");
        let ends = |ph: &str| {
            let mut ids: Vec<String> =
                of("message", ph).iter().map(|event| event["id"].to_string()).collect();
            ids.sort();
            ids
        };
        assert_eq!(ends("s"), ends("f"));
        assert_eq!(ends("s").is_empty(), ranks == 1);
        // The values agree with timing_ranks.csv.
        let timing = workdir.read("out/timing_ranks.csv");
        let sent = timing.lines().filter(|line| line.contains(",force,")).map(|line| line.split(',').nth(4));
        let sent: usize =
            sent.map(|messages| messages.expect("a column").parse::<usize>().expect("a count")).sum();
        assert_eq!(ends("s").len(), sent);
    }
}

#[test]
fn a_summary_on_the_screen_and_in_files() {
    let workdir = Workdir::new(MELT);
    workdir.succeed(Start::Threads(3), "run melt.toml --trace t.json --quiet");
    let said = workdir.succeed(Start::Plain, "trace-summary t.json --output tables");
    assert!(said.stdout.starts_with("3 ranks, local half direct rect, 20 steps; clocks within "), "{said:?}");
    for part in ["\nWho waited for whom", "\nWaits by cause", "\nCritical path: "] {
        assert!(said.stdout.contains(part), "{said:?}");
    }
    let files = [
        "critical_path.csv",
        "message_sizes.csv",
        "message_sizes.svg",
        "messages.csv",
        "messages.svg",
        "waits.csv",
    ];
    assert_eq!(workdir.files("tables"), files);
    let edges = workdir.read("tables/messages.csv");
    assert_eq!(edges.lines().next(), Some("from,to,messages,bytes,late_s,transfer_s,collective_late_s"));
    let messages = |text: &str, column: usize| -> usize {
        text.lines()
            .skip(1)
            .map(|line| line.split(',').nth(column).expect("a column").parse::<usize>().expect("a count"))
            .sum()
    };
    assert_eq!(messages(&edges, 2), messages(&workdir.read("tables/message_sizes.csv"), 2));
}

#[test]
fn what_there_is_no_room_for_is_counted_on_the_screen() {
    let workdir = Workdir::new(MELT);
    let said = workdir.succeed(Start::Threads(2), "run melt.toml --trace t.json --trace-events 50");
    assert!(
        said.stdout.contains(" older ones were dropped: record more (--trace-events) or fewer steps\n"),
        "{said:?}"
    );
    assert_eq!(events(&workdir, "t.json", 2).len(), 2 * 3 + 2 * 50);
    let summary = workdir.succeed(Start::Plain, "trace-summary t.json").stdout;
    assert!(summary.contains(" older events are missing; of "), "{summary}");
}

#[test]
fn files_that_cannot_be_written_or_read() {
    let workdir = Workdir::new(MELT);
    let nowhere = error(&workdir, "run melt.toml --trace /proc/none/t.json", Start::Threads(2));
    assert_eq!(
        nowhere,
        "exit code 2\nerror: cannot create the folder of `/proc/none/.t.json.unfinished`: No such file or directory (os error 2)\n\
         choose another place for it\n"
    );
    let own = error(&workdir, "run melt.toml --trace melt.toml", Start::Threads(2));
    assert!(own.starts_with("exit code 2\nerror: `/"), "{own}");
    assert!(own.contains("/melt.toml` is an input of this run and would be overwritten\n"), "{own}");
    workdir.write("bad.json", "{\"otherData\":{}}\n");
    for (file, expected) in [
        ("bad.json", "bad.json:1:15: missing field `md`\ngive a file that `--trace` has written"),
        ("none.json", "cannot read `none.json`: No such file or directory (os error 2)"),
    ] {
        let said = workdir.call(Start::Plain, &format!("trace-summary {file}"));
        assert_eq!((said.code, said.stderr), (Some(2), format!("error: {expected}\n")));
    }
}

#[test]
fn compare_writes_a_timeline_per_strategy() {
    let workdir = Workdir::new(MELT);
    let options = "--steps 3 --repeat 1 --shells half,full --quiet --trace t/t.json";
    workdir.succeed(Start::Threads(2), &format!("compare melt.toml {options}"));
    assert_eq!(workdir.files("t"), ["t-local-full-direct-rect.json", "t-local-half-direct-rect.json"]);
    let content: Value =
        serde_json::from_str(&workdir.read("t/t-local-full-direct-rect.json")).expect("JSON");
    let context = &content["otherData"]["md"];
    assert!(number(context, "atoms") > 0.0 && context["grid"] != "-", "{context}");
    let summary = workdir.succeed(Start::Plain, "trace-summary t/t-local-full-direct-rect.json").stdout;
    assert!(summary.starts_with("2 ranks, local full direct rect, 3 steps; clocks within "), "{summary}");
}
