//! `md-cli compare`: its output, its files and its exit codes. (Transports with wrong forces or
//! failures are tested inside md-cli, where they can be created.)
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{MELT, Said, Start, Workdir, error, error_everywhere, md_cli, p2p_available, starts};
use insta::assert_snapshot;

/// Columns as documented in docs/reference/outputs.md, followed by the context columns of
/// timing.csv that are not among them.
const COLUMNS: &str = "backend,shell,exchange,partition,ranks,atoms,messages,bytes,exchange_median_s,exchange_low_s,\
    exchange_high_s,step_median_s,step_low_s,step_high_s,halo_pack_s,halo_transfer_s,halo_wait_s,halo_unpack_s,\
    force_return_s,border_s,migrate_s,halo_hidden_s,correct,status,note,grid,threads,precision,steps,seed,mpi_library,host,version,baseline";

const FILES: [&str; 5] = ["compare.csv", "compare.png", "compare.svg", "recommendation.txt", "scenario.toml"];

/// A row of compare.csv by column.
pub(crate) struct Row(csv::StringRecord, csv::StringRecord);

impl Row {
    pub(crate) fn text(&self, column: &str) -> &str {
        let place = self.0.iter().position(|name| name == column).unwrap();
        &self.1[place]
    }

    fn number(&self, column: &str) -> f64 {
        self.text(column).parse().unwrap()
    }

    /// Checks the numbers of a strategy that was measured.
    fn check_numbers(&self) {
        for kind in ["exchange", "step"] {
            let [low, median, high] =
                ["low", "median", "high"].map(|what| self.number(&format!("{kind}_{what}_s")));
            assert!(0.0 < low && low <= median && median <= high, "{kind} {:?}", self.1);
        }
        let halo = ["halo_pack_s", "halo_transfer_s", "halo_wait_s", "halo_unpack_s", "force_return_s"];
        assert!(
            halo.iter()
                .chain(&["border_s", "migrate_s", "halo_hidden_s"])
                .all(|phase| self.number(phase) >= 0.0),
            "{:?}",
            self.1
        );
        assert_eq!((self.text("correct"), self.text("status")), ("true", "ok"), "{:?}", self.1);
    }
}

fn rows(workdir: &Workdir) -> Vec<Row> {
    let text = workdir.read("out/compare.csv");
    assert!(text.starts_with(COLUMNS), "{text}");
    rows_of(&text)
}

/// Returns the rows of a table with any columns.
pub(crate) fn rows_of(text: &str) -> Vec<Row> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().unwrap().clone();
    reader.records().map(|record| Row(header.clone(), record.unwrap())).collect()
}

#[test]
fn shells_and_exchanges_over_threads() {
    let workdir = Workdir::new(MELT);
    let said = workdir
        .succeed(Start::Threads(2), "compare melt.toml --shells all --exchanges all --repeat 2 --steps 2");
    assert_eq!(said.stderr, "");
    assert!(
        said.stdout.contains("600 atoms, 2 ranks, 2 repetitions of 2 steps; median [range]"),
        "{}",
        said.stdout
    );
    assert!(said.stdout.ends_with(&workdir.read("out/recommendation.txt")), "{}", said.stdout);
    assert_eq!(workdir.files("out"), FILES);
    let rows = rows(&workdir);
    assert_eq!(rows.len(), 6);
    rows.iter().for_each(Row::check_numbers);
    let bytes = |shell: &str| rows.iter().find(|row| row.text("shell") == shell).unwrap().number("bytes");
    assert!(bytes("eighth") < bytes("full"), "the full shell imports most");
    assert!(rows.iter().all(|row| row.text("backend") == "local" && row.text("grid") == "2x1x1"));
    assert!(workdir.read("out/scenario.toml").contains("steps = 20"), "--steps is the length of a sample");
}

/// Positions are sent only together with the border. The columns of the border contain the times,
/// and a message gives the reason.
#[test]
fn every_step_rebuilds() {
    let workdir = Workdir::new(MELT);
    let call = "compare melt.toml --shells all --repeat 2 --steps 3 --quiet --set neighbor.rebuild.every=";
    let warning = "Every step rebuilds its neighbourhood";
    workdir.succeed(Start::Threads(2), &format!("{call}1"));
    for row in rows(&workdir) {
        row.check_numbers();
        assert_eq!(row.number("halo_pack_s") + row.number("halo_unpack_s"), 0.0);
        assert!(row.number("border_s") > 0.0 && row.number("migrate_s") > 0.0, "{:?}", row.1);
    }
    assert!(workdir.read("out/recommendation.txt").contains(warning));
    workdir.succeed(Start::Threads(2), &format!("{call}20"));
    assert!(rows(&workdir).iter().all(|row| row.number("border_s") == 0.0 && row.number("migrate_s") == 0.0));
    assert!(!workdir.read("out/recommendation.txt").contains(warning));
}

/// The forces differ from the serial ones in double precision, as they should.
#[test]
fn mixed_precision() {
    let workdir = Workdir::new(MELT);
    let call = "compare melt.toml --shells all --exchanges all --repeat 1 --steps 2 --quiet --set neighbor.precision=mixed";
    workdir.succeed(Start::Threads(2), call);
    let rows = rows(&workdir);
    assert_eq!(rows.len(), 6);
    rows.iter().for_each(Row::check_numbers);
    assert!(rows.iter().all(|row| row.text("precision") == "mixed"));
}

#[test]
fn backends_over_mpi_and_what_cannot_be() {
    if !p2p_available() {
        return;
    }
    let workdir = Workdir::new(MELT);
    let backends = "p2p,local,neighbor-collective,rma-lock,rma-fence,shm";
    let call = format!("compare melt.toml --backends {backends} --repeat 3 --steps 3 --quiet");
    let said = workdir.succeed(Start::Mpirun(2), &call);
    assert_eq!((said.stdout.as_str(), said.stderr.as_str()), ("", ""));
    let rows = rows(&workdir);
    assert_eq!(rows.iter().map(|row| row.text("backend")).collect::<Vec<_>>().join(","), backends);
    let (local, others): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row.text("backend") == "local");
    assert_eq!(local[0].text("status"), "unavailable");
    assert!(local[0].text("note").contains("threads of one process"), "{}", local[0].text("note"));
    assert!(others.iter().all(|row| row.number("messages") == others[0].number("messages")));
    others.into_iter().for_each(Row::check_numbers);
    let text = workdir.read("out/recommendation.txt");
    for group in ["were measured after the others", "were measured last"] {
        assert!(text.contains(&format!("{group}, beside p2p half direct rect once more")), "{text}");
    }
}

/// Operations that the library does not support here are not a failure. (Open MPI's osc/rdma has no
/// shared windows. Other libraries, which ignore the variable, may have them.)
#[test]
fn windows_that_the_library_refuses() {
    if !p2p_available() {
        return;
    }
    let workdir = Workdir::new(MELT);
    let call = "compare melt.toml --backends p2p,shm,hybrid,rma-lock --repeat 2 --steps 2 --quiet";
    let mut command = workdir.command(Start::Mpirun(2), call);
    command.env("OMPI_MCA_osc", "rdma");
    let said = Said::of(command);
    assert_eq!(said.code, Some(0), "{said:?}");
    let rows = rows(&workdir);
    for row in &rows[1..3] {
        let refused = row.text("note").starts_with("MPI_Win_allocate_shared failed: ");
        assert_eq!(row.text("status"), if refused { "unavailable" } else { "ok" }, "{:?}", row.1);
    }
    rows[0].check_numbers();
    rows[3].check_numbers();
}

/// Only backends that refuse an option of the scenario are left out, and their rows give the
/// reason.
#[test]
fn options_that_a_backend_does_not_take() {
    if !p2p_available() {
        return;
    }
    let options = "[parallel.rma]\nwindows = \"per-edge\"\noperation = \"get\"\n";
    let workdir = Workdir::new(&format!("{MELT}\n[parallel]\nbackend = \"rma-fence\"\n{options}"));
    let mut command = workdir.under_mpirun(2, &md_cli());
    command.args("compare melt.toml --backends rma-fence,rma-pscw,p2p --repeat 1 --steps 1".split(' '));
    command.args(["--quiet", "--output", "out"]);
    let said = Said::of(command);
    assert_eq!(said.code, Some(0), "{said:?}");
    let rows = rows(&workdir);
    rows.iter().for_each(Row::check_numbers);
    let left_out = |row: &Row| row.text("note").matches("left at its default").count();
    assert_eq!(rows.iter().map(left_out).collect::<Vec<_>>(), [0, 1, 2]);
    assert!(rows[1].text("note").starts_with("`parallel.rma.operation` left at its default: its epochs"));
}

/// All values are measured in one job, and compared with the scenario's own value.
#[test]
fn values_that_are_varied() {
    let workdir = Workdir::new(MELT);
    let call = "compare melt.toml --vary parallel.rma.slots=1,2 --repeat 2 --steps 2";
    let said = workdir.succeed(Start::Threads(2), call);
    assert!(said.stdout.starts_with("comparing 2 strategies, 2 repetitions\n"), "{}", said.stdout);
    assert!(
        said.stdout.contains("backend  shell  exchange  partition  slots  exchange, us"),
        "{}",
        said.stdout
    );
    let rows = rows(&workdir);
    rows.iter().for_each(Row::check_numbers);
    let said_of = |column| rows.iter().map(|row| row.text(column)).collect::<Vec<_>>();
    assert_eq!(said_of("parallel.rma.slots"), ["1", "2"]);
    assert_eq!(said_of("baseline"), ["false", "true"]);
    let picture = workdir.read("out/compare.svg");
    assert!(picture.contains("local half direct rect slots=2, baseline"), "{picture}");
    assert_snapshot!(error(&workdir, "compare melt.toml --vary parallel.rma.slots=3", Start::Plain), @r"
    exit code 2
    error: --vary parallel.rma.slots has no `3`
    valid: `1`, `2`, `all`
    ");
    let twice = "compare melt.toml --vary parallel.rma.slots=1 --vary parallel.rma.slots=2";
    assert_snapshot!(error(&workdir, twice, Start::Plain), @r"
    exit code 2
    error: --vary parallel.rma.slots is given twice: name all values at once
    ");
    let useless = "compare melt.toml --backends local --vary parallel.rma.window=all";
    assert_snapshot!(error(&workdir, useless, Start::Threads(2)), @r"
    exit code 2
    error: --vary parallel.rma.window: none of the backends that are compared has a use for it
    ");
}

/// A backend that could use a value, but does not support it, has a row with the reason. A backend
/// for which the value has no effect is measured once.
#[test]
fn values_that_backends_cannot_have() {
    if !p2p_available() {
        return;
    }
    let workdir = Workdir::new(MELT);
    let vary = "--vary parallel.rma.operation=all --vary parallel.rma.epoch=all --repeat 1 --steps 1 --quiet";
    workdir.succeed(Start::Mpirun(2), &format!("compare melt.toml --backends p2p,rma-fence,rma-pscw {vary}"));
    let said_of = |row: &Row| {
        let columns = ["backend", "parallel.rma.operation", "parallel.rma.epoch", "status"];
        columns.map(|column| row.text(column)).join(" ")
    };
    let rows = rows(&workdir);
    assert_eq!(
        rows.iter().map(said_of).collect::<Vec<_>>(),
        [
            "p2p   ok",
            "rma-fence put complete ok",
            "rma-fence put initiate ok",
            "rma-fence get  ok",
            "rma-pscw put complete ok",
            "rma-pscw put initiate ok",
            "rma-pscw get complete unavailable",
            "rma-pscw get initiate unavailable",
        ]
    );
    let note = rows[6].text("note");
    assert!(
        note.starts_with("backend `rma-pscw` does not take this `operation`; its epochs admit"),
        "{note}"
    );
    assert_eq!(rows.iter().filter(|row| row.text("baseline") == "true").count(), 1);
    rows[..6].iter().for_each(Row::check_numbers);
}

/// The variants of the studies that are not separate backends give the same forces.
#[test]
fn variants_of_the_studies() {
    if !p2p_available() {
        return;
    }
    let workdir = Workdir::new(MELT);
    let vary =
        ["notice", "barriers", "arrivals"].map(|key| format!("--vary parallel.rma.{key}=all")).join(" ");
    let backends = "rma-lock,rma-lock-epoch,rma-barrier";
    let call = format!("compare melt.toml --backends {backends} {vary} --exchanges all --repeat 1 --steps 3");
    workdir.succeed(Start::Mpirun(3), &format!("{call} --quiet"));
    let rows = rows(&workdir);
    assert_eq!(rows.len(), 3 * 2 * 2 * 2);
    rows.iter().for_each(Row::check_numbers);
}

/// A packed message, or a put for each of x, y and z.
#[test]
fn one_put_or_three() {
    if !p2p_available() {
        return;
    }
    let workdir = Workdir::new(MELT);
    let call = "compare melt.toml --backends rma-fence,shm --vary parallel.rma.puts=all --repeat 1 --steps 3";
    workdir.succeed(Start::Mpirun(2), &format!("{call} --quiet"));
    let rows = rows(&workdir);
    let puts = rows.iter().map(|row| row.text("parallel.rma.puts"));
    assert_eq!(puts.collect::<Vec<_>>(), ["one", "three", ""]);
    rows.iter().for_each(Row::check_numbers);
}

/// `auto` would never choose, because a frozen halo does not negotiate.
#[test]
fn auto_is_not_compared() {
    if !p2p_available() {
        return;
    }
    let workdir = Workdir::new(MELT);
    workdir.succeed(Start::Mpirun(2), "compare melt.toml --backends auto,p2p --repeat 1 --steps 1 --quiet");
    let rows = rows(&workdir);
    assert_eq!(rows[0].text("status"), "unavailable");
    assert_eq!(rows[0].text("note"), "chooses among the others; compare those");
    rows[1].check_numbers();
}

#[test]
fn one_rank_and_partitions() {
    let workdir = Workdir::new(MELT);
    let start = Start::Threads(1);
    workdir.succeed(start, "compare melt.toml --partitions rect,rcb --repeat 1 --steps 1 --quiet");
    let rows = rows(&workdir);
    assert_eq!(rows.iter().map(|row| row.text("status")).collect::<Vec<_>>(), ["ok", "ok"]);
    assert_snapshot!(error(&workdir, "compare melt.toml --partitions rect,hilbrt", Start::Plain), @r"
    exit code 2
    error: --partitions has no `hilbrt`; did you mean `hilbert`?
    valid: `rect`, `stripe`, `rcb`, `hilbert`, `metis`, `scattered`, `all`
    ");
    assert_eq!(rows[0].number("messages"), 0.0);
    assert!(workdir.read("out/recommendation.txt").contains("One rank sends no messages"));
}

/// A calling script can detect this by the exit code.
#[test]
fn nothing_that_could_be_measured() {
    if !p2p_available() {
        return;
    }
    let workdir = Workdir::new(MELT);
    let call = "compare melt.toml --backends shm,auto,p2p --shells half,eighth --steps 1";
    assert_snapshot!(error(&workdir, call, Start::Threads(1)), @r"
    exit code 3
    error: nothing could be measured: auto: chooses among the others; compare those; shm, p2p: the ranks of this run are threads of one process; start it with mpirun, or with an MPI backend in the scenario
    ");
    let rows = rows(&workdir);
    assert!(rows.iter().all(|row| row.text("status") == "unavailable"));
}

/// Threads need another start, which a key of the scenario selects.
#[test]
fn threads_without_mpirun() {
    if !p2p_available() {
        return;
    }
    let workdir = Workdir::new(MELT);
    assert_snapshot!(error(&workdir, "compare melt.toml --backends local", Start::Plain), @r"
    exit code 3
    error: nothing could be measured: local: it runs threads of one process: start md-cli without mpirun and with `--set parallel.backend=local --set parallel.ranks=N`
    ");
}

/// Another thread ends the job and prints the last message. A wait of a few hundred polls ends
/// before the clock is read. One of the repetitions takes longer.
#[test]
fn a_wait_that_is_too_short_for_anything() {
    if !p2p_available() {
        return;
    }
    let workdir = Workdir::new(MELT);
    let call = "compare melt.toml --backends p2p --repeat 1000 --timeout 1e-9 --quiet";
    let said = workdir.call(Start::Mpirun(2), call);
    assert_eq!((said.code, said.stdout.as_str()), (Some(3), ""), "{said:?}");
    assert!(said.stderr.contains("error: timed out: "), "{said:?}");
}

#[test]
fn unknown_names_are_answered_with_the_nearest() {
    let workdir = Workdir::new(MELT);
    assert_snapshot!(error(&workdir, "compare melt.toml --backends p2p,rma_lock", Start::Plain), @r"
    exit code 2
    error: --backends has no `rma_lock`; did you mean `rma-lock`?
    valid: `local`, `p2p`, `p2p-persistent`, `neighbor-collective`, `shm`, `rma-fence`, `rma-pscw`, `rma-lock`, `rma-lock-epoch`, `rma-barrier`, `rma-notify`, `rma-ring`, `hybrid`, `auto`, `all`
    ");
    assert_snapshot!(error(&workdir, "compare melt.toml --shells half,third", Start::Plain), @r"
    exit code 2
    error: --shells has no `third`
    valid: `full`, `half`, `eighth`, `all`
    ");
    let said = workdir.call(Start::Plain, "compare melt.toml --repeat 0");
    assert_eq!(said.code, Some(2));
    assert!(said.stderr.contains("0 is not in 1..=1000"), "{}", said.stderr);
    let said = workdir.call(Start::Plain, "compare melt.toml --steps 0");
    assert_eq!(said.code, Some(2));
    assert_snapshot!(said.stderr, @r"
    error: invalid value '0' for '--steps <N>': 0 is not in 1..=1000000000

    For more information, try '--help'.
    ");
}

#[test]
fn a_scenario_that_cannot_be_is_told_once() {
    let workdir = Workdir::new(&MELT.replace("cells = [6, 5, 5]", "cells = [1, 5, 5]"));
    let text = error_everywhere(&workdir, "compare melt.toml", &starts());
    assert!(text.starts_with("exit code 2\n"), "{text}");
}

/// Returns the process of a rank of the job that was started here.
fn process_of_rank(launcher: u32, rank: usize) -> Option<u32> {
    let wanted = format!("OMPI_COMM_WORLD_RANK={rank}");
    let is_it = |process: &u32| {
        let read = |name: &str| fs::read(format!("/proc/{process}/{name}")).unwrap_or_default();
        let is_child = String::from_utf8_lossy(&read("status")).contains(&format!("PPid:\t{launcher}\n"));
        is_child && read("environ").split(|&byte| byte == 0).any(|variable| variable == wanted.as_bytes())
    };
    let entries = fs::read_dir("/proc").unwrap();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).find(is_it)
}

/// Limit of what takes seconds on a machine of its own. The watchdog does not count the time in
/// which ranks have no core.
const LIMIT: Duration = Duration::from_secs(300);

fn wait_until(limit: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < limit {
        if holds() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

/// Starts a job of two ranks that writes `first`, and some time later stops rank 1 permanently.
/// Returns how the job ended.
pub(crate) fn end_with_a_stopped_rank(workdir: &Workdir, mut command: Command, first: &str) -> Option<i32> {
    let mut launcher = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let id = launcher.id();
    let is_there = wait_until(LIMIT, || workdir.path(first).exists());
    // Waits until the repetitions have begun, which no file in the folder shows.
    std::thread::sleep(Duration::from_secs(4));
    let rank = process_of_rank(id, 1);
    if let Some(rank) = rank {
        Command::new("sh").args(["-c", &format!("kill -s STOP {rank}")]).status().unwrap();
    }
    let has_ended = wait_until(LIMIT, || launcher.try_wait().unwrap().is_some());
    launcher.kill().ok();
    let code = launcher.wait().unwrap().code();
    assert!(is_there && rank.is_some() && has_ended, "{is_there} {rank:?} {has_ended}");
    code
}

/// Returns whether a job of two ranks can be started and one of its ranks found.
pub(crate) fn ranks_can_be_stopped() -> bool {
    p2p_available() && Path::new("/proc/self/environ").exists()
}

/// One rank stops permanently in the middle. The monitor ends the job, because neither a watchdog
/// nor the agreement of the ranks can.
#[test]
fn a_rank_that_hangs_ends_the_job_with_what_was_measured() {
    if !ranks_can_be_stopped() {
        return;
    }
    let workdir = Workdir::new(MELT);
    let call = "compare melt.toml --backends p2p,p2p-persistent,rma-fence --repeat 1000 --timeout 1.5";
    let command = workdir.command(Start::Mpirun(2), call);
    assert_eq!(end_with_a_stopped_rank(&workdir, command, "out/scenario.toml"), Some(3));
    let rows = rows(&workdir);
    assert_eq!(rows.iter().filter(|row| row.text("status") == "timeout").count(), 1);
    assert!(rows.iter().any(|row| row.text("note").contains("did not come back within 3 s")));
    assert_eq!(rows.len(), 3);
}

/// The neighbourhood is used for longer than it is valid.
#[test]
fn stale_neighbourhoods_are_warned_of_once() {
    let workdir = Workdir::new(MELT);
    let every = "--set neighbor.rebuild.every=200 --set neighbor.skin=0.02";
    let said = workdir.succeed(Start::Threads(2), &format!("compare melt.toml --quiet --repeat 2 {every}"));
    let warning = said.stderr.strip_prefix("warning: step 21: a particle has moved by ").unwrap();
    assert!(warning.contains(" times half the skin since the last rebuild, so pairs within the cutoff may"));
    assert_eq!(warning.lines().count(), 1, "{warning}");
}

/// The reference has the memory of the machine to itself, while the strategies share it. This
/// launcher reports many ranks.
#[test]
fn strategies_that_need_more_memory_than_there_is_are_left_out() {
    if !p2p_available() {
        return;
    }
    let workdir = Workdir::new(MELT);
    let script =
        "OMPI_COMM_WORLD_LOCAL_SIZE=1000000000 exec \"$md\" compare melt.toml --quiet --backends p2p";
    let mut command = workdir.under_mpirun(2, "bash".as_ref());
    command.args(["-c", script]).env("md", md_cli());
    let said = Said::of(command);
    let rows = rows(&workdir);
    let note = rows[0].text("note");
    let error = format!("error: nothing could be measured: p2p: {note}\n");
    assert_eq!((said.code, said.stderr), (Some(3), error));
    assert_eq!(rows[0].text("status"), "unavailable");
    assert!(note.contains("600 particles need about ") && note.contains(" of memory per rank"), "{note}");
}
