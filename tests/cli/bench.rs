//! `md-cli bench`: its output, its files and its exit codes.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::process::Command;

use crate::compare::{end_with_a_stopped_rank, ranks_can_be_stopped};
use crate::support::{MELT, Said, Start, Workdir, error, md_cli, p2p_available, repository};
use insta::assert_snapshot;

/// Columns as documented in docs/reference/outputs.md.
const COLUMNS: &str = "benchmark,mechanism,ranks,bytes,median_s,low_s,high_s,min_s,max_s,samples,bytes_per_s,status,note,distance,\
    rma_component,mpi_library,host,version,cpu,binding,date";

/// Returns the rows by column.
fn rows(workdir: &Workdir) -> Vec<csv::StringRecord> {
    let text = workdir.read("out/bench.csv");
    assert_eq!(text.lines().next(), Some(COLUMNS));
    let rows: Vec<_> = csv::Reader::from_reader(text.as_bytes()).records().map(Result::unwrap).collect();
    for row in &rows {
        let [median, low, high, min, max] = [4, 5, 6, 7, 8].map(|column| row[column].parse::<f64>().unwrap());
        assert!(0.0 < min && min <= low && low <= median && median <= high && high <= max, "{row:?}");
        // Only a few, because the time budget has ended.
        let samples: usize = row[9].parse().unwrap();
        assert!(samples >= 1 && &row[11] == "ok", "{row:?}");
        assert_eq!(row[12].contains("low and high are their range"), samples < 6, "{row:?}");
    }
    rows
}

/// Returns the distinct values of a column, in the order of their first occurrence.
fn distinct(rows: &[csv::StringRecord], column: usize) -> Vec<String> {
    let mut values: Vec<String> = rows.iter().map(|row| row[column].to_owned()).collect();
    values.dedup();
    values
}

/// The C twins run along with it, and their table has a row for each. How close the times are can
/// only be tested on a quiet machine.
#[test]
fn twins_in_c_are_measured_beside_it() {
    if !p2p_available() {
        return;
    }
    let mut command = Command::new(repository("benches/peers/bench.sh"));
    command
        .args(["1", "8,100000"])
        .env("MD_CLI", md_cli())
        .env("EFFORT", "--runs 5 --budget 3600")
        .env("WALK", "33554432");
    let said = Said::of(command);
    assert_eq!(said.code, Some(0), "{said:?}");
    let mut lines = said.stdout.lines();
    assert_eq!(
        lines.next(),
        Some("twin,bytes,per,c_us,md_us,ratio,difference_us,within,plain_c_us,plain_difference_us")
    );
    let twins = "roundtrip nonblocking put bandwidth sync26 ringshift strided strided_packed elementwise push pull packing_three \
                 packing_packed passive copy copy_19 copy_streaming osu_latency osu_bw osu_put_latency osu_get_latency";
    let twins = twins.split(' ').flat_map(|twin| ["8", "100000"].map(|bytes| format!("{twin},{bytes},")));
    // A computation as long as a short message is too short to measure.
    let overlaps = ["communication", "both", "progress"].map(|part| format!("overlap_{part},100000,"));
    let lines: Vec<_> = lines.collect();
    for row in twins.chain(overlaps) {
        assert_eq!(lines.iter().filter(|line| line.starts_with(&row)).count(), 1, "{row}\n{}", said.stdout);
    }
}

#[test]
fn a_rank_that_hangs_ends_the_job_with_what_was_measured() {
    if !ranks_can_be_stopped() {
        return;
    }
    let workdir = Workdir::new(MELT);
    // Each case takes 0.3 s, so some are complete when the job stops.
    let sizes: Vec<String> = (1..=100).map(|words| (8 * words).to_string()).collect();
    let sizes = sizes.join(",");
    let call = format!(
        "bench bandwidth --backends p2p,rma-fence --sizes {sizes} --budget 60 --timeout 1.5 --output"
    );
    // The third rank waits, and must not end the job before the table is written.
    let mut command = workdir.under_mpirun(3, &md_cli());
    command.args(call.split(' ')).arg(workdir.path("out"));
    assert_eq!(end_with_a_stopped_rank(&workdir, command, "out/.md-cli.lock"), Some(3));
    let text = workdir.read("out/bench.csv");
    let rows: Vec<_> = csv::Reader::from_reader(text.as_bytes()).records().map(Result::unwrap).collect();
    let statuses = distinct(&rows, 11);
    assert_eq!(statuses, ["ok", "timeout"], "{text}");
    assert!(!workdir.path("out/.md-cli.lock").exists());
}

/// Smaller windows than requested are sufficient. If there is no room for these either, the other
/// benchmarks continue.
#[test]
fn windows_that_shared_memory_has_no_room_for() {
    let can_mount = || {
        let tried = Command::new("unshare").args(["-m", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]).output();
        tried.is_ok_and(|tried| tried.status.success())
    };
    if !p2p_available() || !can_mount() {
        return;
    }
    let pushed = |room: &str| {
        let workdir = Workdir::new(MELT);
        let bench = workdir.under_mpirun(2, &md_cli());
        let mount = format!("mount -t tmpfs -o size={room} tmpfs /dev/shm && exec \"$@\"");
        let mut command = Command::new("unshare");
        command.args(["-m", "--", "sh", "-c", &mount, "sh"]).arg(bench.get_program()).args(bench.get_args());
        command.envs(bench.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let call = "bench push elementwise --sizes 8,16384 --walk 50000000 --runs 6 --budget 3600 --quiet --output out";
        command.args(call.split(' ')).current_dir(workdir.path("."));
        let said = Said::of(command);
        assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""), "{said:?}");
        let text = workdir.read("out/bench.csv");
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let records: Vec<_> = reader.records().map(Result::unwrap).collect();
        let of = |row: &csv::StringRecord| [0, 1, 3, 11, 12].map(|column| row[column].to_owned()).join(" ");
        records.iter().map(of).collect::<Vec<_>>()
    };
    let has = |rows: &[String], row: &str| assert!(rows.iter().any(|it| it == row), "{row}: {rows:?}");
    let [roomy, small, none] = ["200m", "80m", "40m"].map(pushed);
    has(&roomy, "push put 16384 ok through 50 MB");
    has(&small, "push put 16384 ok through 34 MB");
    has(&none, "push put 16384 unavailable there is no room for its windows of 34 MB");
    has(&none, "elementwise put 16384 ok ");
}

#[test]
fn plain_calls_and_everything_over_mpi() {
    if !p2p_available() {
        return;
    }
    for (ranks, distance) in [(1, "own"), (2, "inside")] {
        let workdir = Workdir::new(MELT);
        let mut command = workdir.under_mpirun(ranks, &md_cli());
        let call =
            "bench all --sizes 8 --walk 100000 --backends p2p,rma-fence --output out --runs 5 --budget 3600";
        command.args(call.split(' '));
        let said = Said::of(command);
        assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""), "{said:?}");
        assert!(
            said.stdout.contains(&format!("roundtrip ({distance}), median in microseconds")),
            "{}",
            said.stdout
        );
        let rows = rows(&workdir);
        for name in [
            "roundtrip",
            "roundtrip-copied",
            "roundtrip-walked",
            "bandwidth",
            "sync26",
            "sync8",
            "overlap-communication",
            "overlap-computation",
            "overlap-both",
            "overlap-progress",
            "overlap-call",
            "barrier",
            "allreduce-max",
            "allreduce-sum",
            "creation",
            "negotiation",
            "ringshift-both",
            "wakeup-100-ms",
            "copy-19-streams",
            "passive",
            "packing-three",
            "packing-packed",
            "push",
            "pull",
            "strided-datatype",
            "strided-packed",
            "elementwise",
            "elementwise-whole",
        ] {
            assert!(rows.iter().any(|row| &row[0] == name), "{name}");
        }
        assert!(rows.iter().all(|row| row[2] == ranks.to_string() && &row[13] == distance));
        // A rank does not send unpacked messages to itself.
        assert_eq!(rows.iter().any(|row| &row[0] == "bandwidth-one-buffer"), ranks > 1);
        for mechanism in ["put", "get"] {
            assert!(rows.iter().any(|row| [&row[0], &row[1]] == ["bandwidth", mechanism]), "{mechanism}");
        }
        assert!(rows.iter().any(|row| [&row[0], &row[1]] == ["packing-packed", "fence-2-slots"]));
        let both = rows.iter().find(|row| &row[0] == "overlap-both").unwrap();
        assert!(both[12].contains(" % hidden") && both[12].contains(" to "), "{both:?}");
        // All benchmarks with messages use the requested length.
        assert!(rows.iter().all(|row| &row[3] == "8" || &row[0] == "barrier"));
        for row in &rows {
            let has_windows = !["p2p", "collective", "memory"].contains(&&row[1]);
            assert_eq!(&row[14] != "none", has_windows, "{row:?}");
        }
        // A single size gives no curve.
        assert_eq!(workdir.files("out"), ["bench.csv"]);
    }
}

#[test]
fn what_the_budget_does_not_allow_is_skipped() {
    if !p2p_available() {
        return;
    }
    let workdir = Workdir::new(MELT);
    let mut command = workdir.under_mpirun(2, &md_cli());
    command.args("bench all --budget 1 --output out".split(' '));
    let said = Said::of(command);
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""), "{said:?}");
    let told = said.stdout.lines().rev().take(2).collect::<Vec<_>>();
    assert!(told[1].ends_with(" cases were skipped: the budget of 1 s is used up"), "{told:?}");
    // The benchmark takes longer than that.
    assert!(told[0].starts_with("without any time: ") && told[0].contains("`passive`"), "{told:?}");
    let rows = rows(&workdir);
    assert!(
        rows.iter().all(|row| row[3].parse::<usize>().unwrap() < 1 << 23 || row[0].starts_with("strided"))
    );
}

#[test]
fn one_over_threads_with_its_samples() {
    let workdir = Workdir::new(MELT);
    let call = "bench roundtrip --ranks 2 --budget 3600 --runs 7 --sizes 8,64 --samples raw/all.csv --walk 4096 --quiet --output out";
    let said = workdir.call(Start::Plain, call);
    assert_eq!((said.code, said.stdout.as_str(), said.stderr.as_str()), (Some(0), "", ""));
    let rows = rows(&workdir);
    assert_eq!(
        (rows.len(), distinct(&rows, 1), distinct(&rows, 3)),
        (6, vec!["local".to_owned()], vec!["8".to_owned(), "64".to_owned()])
    );
    assert!(!workdir.path("out/.md-cli.lock").exists());
    let samples = workdir.read("raw/all.csv");
    assert_eq!(samples.lines().next(), Some("benchmark,mechanism,ranks,bytes,distance,sample,time_s"));
    let counted: usize = rows.iter().map(|row| row[9].parse::<usize>().unwrap()).sum();
    assert_eq!((counted, samples.lines().count()), (6 * 7, 1 + 6 * 7));
}

#[test]
fn numbers_are_whole() {
    let workdir = Workdir::new(MELT);
    let call = "bench allreduce --ranks 2 --budget 3600 --runs 5 --sizes 4,8 --quiet --output out";
    assert_eq!(workdir.call(Start::Plain, call).code, Some(0));
    let text = workdir.read("out/bench.csv");
    let refused =
        "allreduce,collective,2,4,,,,,,,,unavailable,\"moves whole numbers of 8 bytes, at least 0 bytes\"";
    assert!(text.contains(refused) && text.contains("allreduce-sum,collective,2,8,"), "{text}");
}

#[test]
fn unknown_names_are_answered_with_the_nearest() {
    let workdir = Workdir::new(MELT);
    assert_snapshot!(error(&workdir, "bench roundtrp", Start::Plain), @r"
    exit code 2
    error: there is no benchmark `roundtrp`; did you mean `roundtrip`?
    valid: `roundtrip`, `bandwidth`, `sync26`, `sync8`, `overlap`, `barrier`, `allreduce`, `creation`, `negotiation`, `ringshift`, `wakeup`, `copy`, `passive`, `packing`, `push`, `pull`, `strided`, `elementwise`, `all`
    ");
    let said = workdir.call(Start::Plain, "bench barrier --budget 0");
    assert_eq!(said.code, Some(2));
    assert!(said.stderr.contains("must be above 0"), "{}", said.stderr);
}
