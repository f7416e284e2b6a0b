//! Runs that end before their last step, by a signal or by `--wall-time`: all files are complete.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::support::{MELT, Said, Start, Workdir, p2p_available, starts};
use serde_json::Value;

/// Time limit.
const WITHIN: Duration = Duration::from_secs(120);
const FILES: [&str; 6] =
    ["scenario.toml", "summary.json", "thermo.csv", "timing.csv", "timing_ranks.csv", "traj.extxyz"];
const SIGNALS: [(&str, &str, i32); 6] = [
    ("INT", "SIGINT", 130),
    ("TERM", "SIGTERM", 143),
    ("HUP", "SIGHUP", 129),
    ("USR1", "SIGUSR1", 138),
    ("USR2", "SIGUSR2", 140),
    ("XCPU", "SIGXCPU", 152),
];
/// Number of steps, which is never reached.
const STEPS: u64 = 1_000_000_000;

/// Returns a melt that would run for hours.
fn endless() -> Workdir {
    let endless = MELT.replace("steps = 20", &format!("steps = {STEPS}"));
    Workdir::new(&format!("{endless}trajectory = {{ path = \"traj.extxyz\", every = 500 }}\n"))
}

/// Starts a run, waits until it has begun, and sends a signal to the process that was started.
fn signalled(workdir: &Workdir, start: Start, signal: &str) -> (Option<i32>, String) {
    let mut command = workdir.command(start, "run melt.toml --quiet");
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    workdir.wait_for_lines("out/thermo.csv", 5);
    send(signal, &child);
    let ended = end_of(child);
    (ended.status.code(), String::from_utf8_lossy(&ended.stderr).into_owned())
}

fn send(signal: &str, child: &Child) {
    let kill = format!("kill -s {signal} {}", child.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
}

/// Waits for the end. A process that does not end is killed.
fn end_of(mut child: Child) -> Output {
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > WITHIN {
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().unwrap()
}

/// Checks that all files exist and agree on the last step, which is returned.
fn check_files(workdir: &Workdir, reason: &str) -> u64 {
    let summary: Value = serde_json::from_str(&workdir.read("out/summary.json")).unwrap();
    let done = summary["steps"].as_u64().unwrap();
    assert_eq!(summary["ended"], reason);
    assert!(0 < done && done < STEPS);
    let checkpoint = format!("checkpoint-{done}.mdc");
    assert_eq!(workdir.files("out"), [&[checkpoint.as_str()], &FILES[..]].concat());
    let thermo = workdir.read("out/thermo.csv");
    assert!(thermo.ends_with('\n'));
    assert_eq!(thermo.lines().last().unwrap().split(',').next(), Some(done.to_string().as_str()));
    assert_eq!(workdir.read("out/traj.extxyz").lines().count() as u64, 602 * (done / 500 + 1));
    done
}

#[test]
fn a_signal_ends_a_run_in_order() {
    let workdir = endless();
    for start in [Start::Threads(1), Start::Threads(3)] {
        for (signal, name, code) in SIGNALS {
            let (ended, stderr) = signalled(&workdir, start, signal);
            let done = check_files(&workdir, name);
            let text =
                format!("error: ended by {name} after {done} of {STEPS} steps; all files are complete\n");
            assert_eq!((ended, stderr), (Some(code), text), "{start:?}");
            fs::remove_dir_all(workdir.path("out")).unwrap();
        }
    }
}

/// The result of a minimisation is written, although forces are above the tolerance. (Rounding
/// alone leaves larger forces.)
#[test]
fn a_signal_ends_a_minimisation_in_order() {
    let workdir = Workdir::new(MELT);
    let call = format!("minimise melt.toml --force-tolerance 1e-300 --steps {STEPS}");
    let mut command = workdir.command(Start::Threads(2), &call);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let rows = BufReader::new(child.stdout.take().unwrap());
    let mut rows = rows.lines();
    // The run has begun: there are a header and the rows of two steps.
    rows.by_ref().take(3).for_each(|row| drop(row.unwrap()));
    send("TERM", &child);
    let ended = end_of(child);
    let summary: Value = serde_json::from_str(&workdir.read("out/summary.json")).unwrap();
    let done = &summary["steps"];
    let text = format!("error: ended by SIGTERM after {done} of {STEPS} steps; all files are complete\n");
    assert_eq!((ended.status.code(), String::from_utf8_lossy(&ended.stderr).into_owned()), (Some(143), text));
    assert_eq!((&summary["ended"], &summary["converged"]), (&"SIGTERM".into(), &false.into()));
    assert_eq!(workdir.read("out/minimised.extxyz").lines().count(), 602);
    assert_eq!(workdir.files("out"), ["minimised.extxyz", "scenario.toml", "summary.json"]);
}

/// Repeated warnings are usual: SIGXCPU comes every second, and a launcher may pass on a signal
/// that the batch system has already sent.
#[test]
fn a_second_warning_changes_nothing() {
    for (signal, name, code) in &SIGNALS[2..] {
        let workdir = endless();
        let mut command = workdir.command(Start::Threads(1), "run melt.toml --quiet");
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        workdir.wait_for_lines("out/thermo.csv", 5);
        (0..5).for_each(|_| send(signal, &child));
        assert_eq!(end_of(child).status.code(), Some(*code));
        check_files(&workdir, name);
    }
}

/// Uses a warning that Open MPI's launcher passes on.
#[test]
fn a_warning_to_the_launcher_ends_all_ranks_in_order() {
    if !p2p_available() {
        return;
    }
    let workdir = endless();
    let (ended, stderr) = signalled(&workdir, Start::Mpirun(2), "USR1");
    let done = check_files(&workdir, "SIGUSR1");
    let text = format!("error: ended by SIGUSR1 after {done} of {STEPS} steps; all files are complete\n");
    assert!(stderr.contains(&text), "{stderr}");
    assert_eq!(ended, Some(138));
}

/// The launcher passes both on as SIGTERM.
#[test]
fn a_signal_to_the_launcher_ends_all_ranks_in_order() {
    if !p2p_available() {
        return;
    }
    for signal in ["TERM", "INT"] {
        let workdir = endless();
        let (ended, stderr) = signalled(&workdir, Start::Mpirun(3), signal);
        let done = check_files(&workdir, "SIGTERM");
        let text = format!("error: ended by SIGTERM after {done} of {STEPS} steps; all files are complete\n");
        assert!(stderr.contains(&text), "{stderr}");
        assert!(ended.is_some_and(|code| code != 0), "{ended:?}");
    }
}

/// It is sufficient if one rank receives it.
#[test]
fn a_signal_to_one_rank_ends_all() {
    if !p2p_available() {
        return;
    }
    let workdir = endless();
    let script = "if [ \"$OMPI_COMM_WORLD_RANK\" = 2 ]; then (until [ -s out/traj.extxyz ]; do sleep 0.05; done; \
                  kill -s TERM $$) & fi; exec \"$md\" run melt.toml --quiet --set parallel.backend=p2p";
    let mut command = workdir.under_mpirun(3, "bash".as_ref());
    command.args(["-c", script]).env("md", crate::support::md_cli());
    let said = Said::of(command);
    let done = check_files(&workdir, "SIGTERM");
    let text = format!("error: ended by SIGTERM after {done} of {STEPS} steps; all files are complete\n");
    assert_eq!((said.code, said.stderr), (Some(143), text));
}

/// The run cannot reach the end of a step, because its output is not read.
#[test]
fn a_second_signal_ends_it_at_once() {
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let workdir = Workdir::new(&MELT.replace("every = 7", "every = 1"));
        let mut command = workdir.command(Start::Threads(1), "run melt.toml --steps 1000000000");
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        // Larger than the buffer of the pipe.
        let rows = || workdir.read("out/thermo.csv").lines().count();
        workdir.wait_for_lines("out/thermo.csv", 600);
        let mut before = 0;
        while std::mem::replace(&mut before, rows()) != before {
            std::thread::sleep(Duration::from_millis(500));
        }
        send(signal, &child);
        std::thread::sleep(Duration::from_millis(500));
        assert_eq!(child.try_wait().unwrap(), None, "it waits for the end of the step");
        send(signal, &child);
        let stdout = child.stdout.take();
        assert_eq!(end_of(child).status.code(), Some(code));
        drop(stdout);
        assert!(!workdir.path("out/summary.json").exists());
    }
}

/// The process ends whatever it waits for: here, for the end of the scenario.
#[test]
fn before_the_first_step_a_signal_ends_the_process() {
    let workdir = Workdir::new(MELT);
    let mut command = workdir.command(Start::Plain, "run /dev/stdin --wall-time 3600");
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // More than a pipe holds: once all is written, the program has begun to read.
    stdin.write_all("# a comment\n".repeat(100_000).as_bytes()).unwrap();
    send("TERM", &child);
    assert_eq!(end_of(child).status.signal(), Some(15));
    assert_eq!(workdir.files("."), ["melt.toml"]);
}

#[test]
fn the_wall_time_ends_a_run_in_order() {
    for start in starts() {
        let workdir = endless();
        let said = workdir.succeed(start, "run melt.toml --wall-time 0:00:02");
        assert_eq!(said.stderr, "");
        let done = check_files(&workdir, "wall-time");
        assert!(
            said.stdout.contains(&format!("\nEnded by --wall-time after {done} steps\n")),
            "{}",
            said.stdout
        );
    }
    let workdir = Workdir::new(MELT);
    workdir.succeed(Start::Threads(1), "run melt.toml --quiet --wall-time 3600");
    let summary: Value = serde_json::from_str(&workdir.read("out/summary.json")).unwrap();
    assert_eq!((&summary["steps"], &summary["ended"]), (&20.into(), &"steps".into()));
    let said = workdir.call(Start::Plain, "run melt.toml --wall-time 30m");
    assert_eq!(said.code, Some(2));
    insta::assert_snapshot!(said.stderr, @r"
    error: invalid value '30m' for '--wall-time <TIME>': give D-HH:MM:SS, HH:MM:SS, MM:SS, D-HH, D-HH:MM or seconds, as in 1-12:00:00, 00:30:00, 30:00 or 1800

    For more information, try '--help'.
    ");
}

/// The results up to that point are those of a run of that length.
#[test]
fn ending_early_changes_nothing() {
    let workdir = Workdir::new(&MELT.replace("steps = 20", &format!("steps = {STEPS}")));
    workdir.succeed(Start::Threads(2), "run melt.toml --quiet --wall-time 1");
    let summary: Value = serde_json::from_str(&workdir.read("out/summary.json")).unwrap();
    let call = format!("run melt.toml --quiet --output again --steps {}", summary["steps"]);
    workdir.succeed(Start::Threads(2), &call);
    assert_eq!(workdir.read("out/thermo.csv"), workdir.read("again/thermo.csv"));
}

/// A script's `&` makes its children ignore SIGINT.
#[test]
fn what_the_parent_ignores_stays_ignored() {
    for (signal, other) in [("INT", "TERM"), ("TERM", "INT")] {
        let workdir = endless();
        let local = "--set parallel.backend=local";
        let mut command =
            workdir.shell(&format!("trap '' {signal}; exec \"$md\" run melt.toml --quiet {local}"));
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        workdir.wait_for_lines("out/thermo.csv", 5);
        send(signal, &child);
        send(signal, &child);
        std::thread::sleep(Duration::from_millis(500));
        assert_eq!(child.try_wait().unwrap(), None, "{signal}");
        send(other, &child);
        end_of(child);
        check_files(&workdir, &format!("SIG{other}"));
    }
}
