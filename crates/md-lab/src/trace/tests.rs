use std::fs;
use std::path::Path;
use std::time::Duration;

use md_comm::{Backend, World, local};
use md_core::Shell;
use md_core::force::Precision;
use md_core::halo::ExchangePattern;
use md_core::lattice::{Lattice, LatticeKind};
use md_core::partition::PartitionKind;
use md_core::potential::LennardJones;
use md_engine::{Config, EngineError, Needs, Phase, Setup, Simulation, clock::PhaseObserver, every};

use super::recorder::Recorder;
use super::*;
use crate::plot::Picture;
use crate::{RunContext, Strategy};

const STEPS: u64 = 25;
const SLOW: usize = 2;

/// Returns a timeline of `ranks` ranks with these events.
fn trace(backend: &str, ranks: usize, events: &str) -> Result<Timeline, TraceError> {
    let folder = tempfile::tempdir().unwrap();
    let heads = vec![r#"{"dropped":0,"clock_error_s":0}"#; ranks].join(",");
    let path = folder.path().join("t.json");
    let text = format!(
        r#"{{"otherData":{{"md":{{"steps":1,"strategy":{{"backend":"{backend}"}}}},"ranks":[{heads}]}},"traceEvents":[
{events}
]}}"#
    );
    fs::write(&path, text).unwrap();
    Timeline::read(&path)
}

fn phase(rank: usize, name: &str, begun: f64, ended: f64) -> String {
    let lasted = ended - begun;
    format!(r#"{{"ph":"X","cat":"phase","name":"{name}","pid":{rank},"tid":1,"ts":{begun},"dur":{lasted}}}"#)
}

/// Returns a message of exchange 7 with 1000 bytes, for which its receiver waited this long.
fn message(from: usize, to: usize, sent: f64, arrived: f64, waited: f64) -> String {
    let args = |peer| format!(r#""peer":{peer},"context":1,"exchange":7,"channel":0,"bytes":1000"#);
    format!(
        r#"{{"ph":"s","cat":"message","name":"position","id":"0x1","pid":{from},"ts":{sent},"args":{{{}}}}},
           {{"ph":"f","cat":"message","name":"position","id":"0x1","pid":{to},"ts":{arrived},"args":{{{},"waited":{waited}}}}}"#,
        args(to),
        args(from)
    )
}

fn collective(rank: usize, entered: f64, begun: f64, ended: f64) -> String {
    let lasted = ended - begun;
    format!(
        r#"{{"ph":"X","cat":"collective","name":"wait for all","pid":{rank},"ts":{begun},"dur":{lasted},"args":{{"number":3,"entered":{entered}}}}}"#
    )
}

fn near(seconds: f64, us: f64) -> bool {
    (seconds * 1e6 - us).abs() < 1e-3
}

/// Rank 0 waits from 10 us to 40 us, 5 us after rank 1 has sent, and 3 us for something else.
fn late_sender(backend: &str) -> Timeline {
    let events = [
        phase(0, "force", 0.0, 10.0),
        phase(0, "halo_wait", 10.0, 43.0),
        phase(0, "integrate", 43.0, 50.0),
        phase(1, "force", 0.0, 35.0),
        phase(1, "halo_transfer", 35.0, 36.0),
        message(1, 0, 35.0, 40.0, 30.0),
        message(0, 1, 10.0, 35.5, 0.0),
    ];
    trace(backend, 2, &events.join(",")).unwrap()
}

#[test]
fn a_late_sender_is_named_and_its_message_divided_into_lateness_and_transfer() {
    let summary = Summary::of(&late_sender("p2p"));
    let edge = summary.edges[&[1, 0]];
    assert!(near(edge.late_s, 25.0) && near(edge.transfer_s, 5.0), "{edge:?}");
    assert_eq!((edge.messages, edge.bytes), (1, 1000));
    assert_eq!(summary.edges[&[0, 1]], EdgeSummary { messages: 1, bytes: 1000, ..EdgeSummary::default() });
    let waits = summary.waits[0];
    assert!(near(waits.late_s, 25.0) && near(waits.transfer_s, 5.0) && near(waits.other_s, 3.0), "{waits:?}");
    assert_eq!(summary.waits[1], Waits::default());
    assert_eq!(summary.sizes.iter().collect::<Vec<_>>(), [(&10, &[2, 2000])]);
    assert_eq!(
        String::from_utf8(sizes_csv(&summary).unwrap()).unwrap(),
        "from_bytes,below_bytes,messages,bytes\n512,1024,2,2000\n"
    );
}

#[test]
fn the_critical_path_goes_through_the_late_sender() {
    let path = CriticalPath::of(&late_sender("p2p"));
    assert!(near(path.length_s, 50.0), "{path:?}");
    assert_eq!(path.hops, 1);
    let parts =
        [((0, "halo_wait"), 3.0), ((0, "integrate"), 7.0), ((0, "transfer"), 5.0), ((1, "force"), 35.0)];
    assert!(path.parts.keys().eq(parts.iter().map(|(key, _)| key)), "{path:?}");
    assert!(path.parts.values().zip(parts).all(|(&seconds, (_, us))| near(seconds, us)), "{path:?}");
    assert!(traffic_picture(&Summary::of(&late_sender("p2p"))).svg().unwrap().contains("<rect"));
}

/// If all messages become visible together, rank 0 waits for rank 2, although it takes the message
/// of rank 1 first.
#[test]
fn of_messages_that_come_together_the_last_to_leave_is_waited_for() {
    let events = [message(1, 0, 5.0, 30.0, 20.0), message(2, 0, 25.0, 30.5, 0.0)].join(",");
    for (backend, waited_for, late, transfer) in [("rma-fence", 2, 15.0, 5.0), ("p2p", 1, 0.0, 20.0)] {
        let summary = Summary::of(&trace(backend, 3, &events).unwrap());
        let edge = summary.edges[&[waited_for, 0]];
        assert!(near(edge.late_s, late) && near(edge.transfer_s, transfer), "{backend} {edge:?}");
    }
}

#[test]
fn in_a_collective_the_last_to_enter_is_waited_for() {
    let events = [
        phase(0, "halo_wait", 0.0, 20.0),
        collective(0, 0.0, 1.0, 20.0),
        phase(1, "force", 0.0, 16.0),
        phase(1, "halo_wait", 16.0, 22.0),
        collective(1, 16.0, 16.0, 22.0),
    ];
    let timeline = trace("p2p", 2, &events.join(",")).unwrap();
    let waits = Summary::of(&timeline).waits;
    assert!(near(waits[0].collective_late_s, 15.0) && near(waits[0].collective_s, 4.0), "{waits:?}");
    assert!(near(waits[0].other_s, 1.0) && near(waits[1].collective_s, 6.0), "{waits:?}");
    assert_eq!(waits[1].collective_late_s, 0.0);
    assert!(near(Summary::of(&timeline).edges[&[1, 0]].collective_late_s, 15.0));
    let path = CriticalPath::of(&timeline);
    assert!(near(path.length_s, 22.0) && near(path.parts[&(1, "force")], 16.0), "{path:?}");
}

#[test]
fn what_is_no_timeline_says_where() {
    let error = |events: &str| {
        let text = trace("p2p", 2, events).unwrap_err().to_string();
        text.split_once("t.json").unwrap().1.lines().next().unwrap().to_owned()
    };
    assert_eq!(error("{"), ":3:1: key must be a string");
    let lunch =
        [phase(0, "force", 0.0, 1.0), phase(0, "lunch", 1.0, 2.0), phase(0, "force", 2.0, 3.0)].join(",\n");
    assert_eq!(error(&lunch), ":3:70: there is no phase `lunch`");
    assert_eq!(
        error(&phase(5, "force", 0.0, 1.0)),
        ": there is an event of rank 5, but the file has 2 ranks"
    );
    let no_exchange = message(0, 1, 1.0, 2.0, 0.0).replace("\"exchange\":7,", "");
    assert_eq!(error(&no_exchange), ":2:125: `args` of a message: missing field `exchange`");
    let missing = Timeline::read(Path::new("no/t.json")).unwrap_err().to_string();
    assert_eq!(missing, "cannot read `no/t.json`: No such file or directory (os error 2)");
}

#[test]
fn a_full_recorder_keeps_the_last_events_and_counts_the_others() {
    let recorder = Recorder::new(4).unwrap();
    let note =
        |lasted_ns| recorder.phase(Phase::Force, std::time::Instant::now(), Duration::from_nanos(lasted_ns));
    note(1);
    recorder.start();
    (10..13).for_each(note);
    let lasted = |skipped, count| -> Vec<u64> {
        recorder.events(skipped, count).iter().map(|event| event.ended_ns - event.begun_ns).collect()
    };
    assert_eq!((recorder.counts(), lasted(0, 9)), ([3, 0], vec![10, 11, 12]));
    (13..20).for_each(note);
    assert_eq!((recorder.counts(), lasted(0, 9), lasted(1, 2)), ([4, 6], vec![16, 17, 18, 19], vec![17, 18]));
}

fn context(ranks: usize) -> RunContext {
    let strategy = Strategy {
        backend: Backend::Local,
        shell: Shell::Half,
        exchange: ExchangePattern::Direct,
        partition: PartitionKind::Rect,
    };
    let (grid, host, version) = ("3x1x1".to_owned(), "here".to_owned(), "0".to_owned());
    let (precision, mpi_library) = (Precision::Double, "none".to_owned());
    RunContext {
        strategy,
        grid,
        ranks,
        threads: 1,
        precision,
        atoms: 0,
        steps: STEPS,
        seed: 1,
        mpi_library,
        host,
        version,
    }
}

/// Records a run on three ranks, of which one sleeps after every step.
fn recorded(steps: u64, capacity: usize) -> (Written, String) {
    let lattice = Lattice::with_density(LatticeKind::Fcc, 0.8442, [6, 5, 5]);
    let mut config = Config::new(lattice, LennardJones::reduced(2.5));
    config.temperature = Some(1.44);
    let setup = Setup::new(config, 3).unwrap();
    let work = |inner: &dyn World| {
        let world = TracedWorld::new(inner, capacity)?;
        let mut simulation = Simulation::new(&world, &setup)?;
        world.start(|observer| simulation.observe_phases(observer))?;
        simulation.start_measuring()?;
        let mut sleeper = every(1, Needs::NOTHING, |now| {
            if now.rank == SLOW {
                std::thread::sleep(Duration::from_millis(2));
            }
            Ok(())
        });
        simulation.run(steps, &mut [&mut sleeper])?;
        world.stop()?;
        let mut file = Vec::new();
        let written = world.write(&context(3), |bytes| {
            file.extend_from_slice(bytes);
            Ok::<_, EngineError>(())
        })??;
        simulation.finalise()?;
        Ok::<_, EngineError>((
            written,
            String::from_utf8(file).unwrap(),
            world.clocks.borrow().clone(),
            world.recorder.origin,
        ))
    };
    let mut ranks: Vec<_> = local::run(3, Duration::from_secs(60), work)
        .into_iter()
        .map(|ended| ended.unwrap().unwrap())
        .collect();
    // All ranks have the same clock here, but count from different times.
    let origins: Vec<_> = ranks.iter().map(|rank| rank.3).collect();
    let (written, text, clocks, _) = ranks.remove(0);
    for (reading, rank) in clocks.iter().flat_map(|readings| readings.iter().zip(0..)) {
        let [later, earlier] =
            [(0, rank), (rank, 0)].map(|(a, b)| origins[a].saturating_duration_since(origins[b]));
        let ahead_ns = later.as_nanos() as f64 - earlier.as_nanos() as f64;
        assert!((reading.ahead_ns - ahead_ns).abs() <= reading.error_ns + 1.0, "{reading:?}, not {ahead_ns}");
    }
    (written, text)
}

#[test]
fn in_a_real_run_the_slow_rank_is_the_late_sender() {
    let (written, text) = recorded(STEPS, 1 << 14);
    assert!(written.events > 100 && written.dropped == 0, "{written:?}");
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("t.json"), &text).unwrap();
    let timeline = Timeline::read(&folder.path().join("t.json")).unwrap();
    assert_eq!((timeline.ranks, timeline.steps), (3, STEPS));
    assert_eq!(timeline.strategy, "local half direct rect");
    let summary = Summary::of(&timeline);
    assert_eq!(summary.halves, 0);
    let slept_s = 0.002 * STEPS as f64;
    for rank in [0, 1] {
        let late = |from: usize| {
            summary.edges.get(&[from, rank]).map_or(0.0, |edge| edge.late_s + edge.collective_late_s)
        };
        assert!(late(SLOW) > 0.5 * slept_s && late(SLOW) > 2.0 * late(1 - rank), "{:?}", summary.edges);
    }
    let path = CriticalPath::of(&timeline);
    assert!(path.parts[&(SLOW, "output")] > 0.9 * slept_s, "{path:?}");
    let began = |spans: &Vec<read::Span>| spans.iter().map(|span| span.begun).fold(f64::MAX, f64::min);
    let ended = |spans: &Vec<read::Span>| spans.iter().map(|span| span.ended).fold(f64::MIN, f64::max);
    let last = timeline.spans.iter().map(ended).fold(f64::MIN, f64::max);
    let first = timeline.spans.iter().map(began).fold(f64::MAX, f64::min);
    assert!((path.length_s - (last - first) / 1e6).abs() < 0.01 * path.length_s, "{path:?}");
}

#[test]
fn every_thread_of_a_rank_has_a_track_with_its_shares_of_the_phases() {
    let run = |inner: &dyn World| {
        let lattice = Lattice::with_density(LatticeKind::Fcc, 0.8442, [6, 5, 5]);
        let mut config = Config::new(lattice, LennardJones::reduced(2.5));
        config.parallel.threads = 3;
        let setup = Setup::new(config, 1).unwrap();
        let world = TracedWorld::new(inner, 1 << 12).unwrap();
        let mut simulation = Simulation::new(&world, &setup).unwrap();
        world.start(|observer| simulation.observe_phases(observer)).unwrap();
        simulation.run(STEPS, &mut []).unwrap();
        world.stop().unwrap();
        let mut file = Vec::new();
        world
            .write(&context(1), |bytes| {
                file.extend_from_slice(bytes);
                Ok::<_, EngineError>(())
            })
            .unwrap()
            .unwrap();
        file
    };
    let file = local::run(1, Duration::from_secs(60), run).remove(0).unwrap();
    let value: serde_json::Value = serde_json::from_slice(&file).unwrap();
    let events = value["traceEvents"].as_array().unwrap();
    let times = |event: &serde_json::Value| {
        let begun = event["ts"].as_f64().unwrap();
        (begun, begun + event["dur"].as_f64().unwrap())
    };
    let named =
        |name: &str| events.iter().find(|event| event["args"]["name"] == name).unwrap()["tid"].clone();
    let tracks = ["thread 0", "thread 1", "thread 2"].map(named);
    let of = |category: &'static str| events.iter().filter(move |event| event["cat"] == category);
    let mut shares_of_forces = 0;
    for share in of("share") {
        assert!(tracks.contains(&share["tid"]), "{share}");
        let (begun, ended) = times(share);
        let within = |phase: &serde_json::Value| {
            let (first, last) = times(phase);
            phase["name"] == share["name"] && first <= begun + 0.002 && ended <= last + 0.002
        };
        // Work outside all phases is named `other` and lies in no phase.
        assert!(share["name"] == "other" || of("phase").any(within), "{share} lies in no phase of its name");
        shares_of_forces += u64::from(share["name"] == "force");
    }
    assert!(shares_of_forces >= 3 * STEPS, "{shares_of_forces}");
}

#[test]
fn without_steps_or_room_the_file_is_valid_all_the_same() {
    for (steps, capacity) in [(0, 1 << 10), (3, 0)] {
        let (written, text) = recorded(steps, capacity);
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["traceEvents"].as_array().unwrap().len() as u64, 3 * 3 + written.events);
        assert_eq!(written.events == 0, capacity == 0);
    }
}
