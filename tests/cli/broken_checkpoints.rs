//! Checkpoints that are damaged or belong to something else, and jobs that are killed while they
//! write one.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use insta::assert_snapshot;

use crate::checkpoints::{checkpoints, expect_same_bits, melt, run};
use crate::support::{MELT, Start, Workdir, error, error_everywhere, p2p_available, starts};

#[test]
fn what_cannot_be_gone_on_from() {
    let workdir = melt();
    run(&workdir, Start::Threads(1), "out", 10, "--quiet --set output.checkpoint.every=5");
    fs::create_dir(workdir.path("empty")).unwrap();
    let all = starts();
    let errors = ["none", "empty", "melt.toml"]
        .map(|path| error_everywhere(&workdir, &format!("run melt.toml --resume {path}"), &all));
    assert_snapshot!(errors.join("\n"), @r"
    exit code 2
    error: cannot go on from `none`: No such file or directory (os error 2)

    exit code 2
    error: cannot go on from `empty`: there is no checkpoint in it (no file `checkpoint-STEP.mdc`)
    set `output.checkpoint = { every = N }` in the scenario to have some written

    exit code 2
    error: cannot go on from `melt.toml`: it is a scenario, not a checkpoint
    ");
    let text = error(&workdir, "run melt.toml --resume out --steps 9", Start::Threads(1));
    assert!(text.contains("it is of step 10, and the run has 9 steps\nnothing is left to do: ask for more steps, as in --steps 19\n"), "{text}");
    let other = "run melt.toml --output other --resume out --set system.lattice.cells=[6,6,6]";
    let text = error_everywhere(&workdir, other, &all);
    let path = fs::canonicalize(workdir.path("out/checkpoint-10.mdc")).unwrap();
    let expected = "it has 600 particles of 1 species, the scenario 864 of 1";
    assert_eq!(text, format!("exit code 2\nerror: cannot go on from `{}`: {expected}\n", path.display()));
    assert!(!workdir.path("other").exists());
    let text = error(&workdir, "run melt.toml --set output.checkpoint.every=0", Start::Plain);
    assert!(text.contains("`output.checkpoint.every` must be at least 1, found 0"), "{text}");
}

/// Returns a checkpoint of three ranks after 10 steps, in a folder that also has an older one.
fn three_ranks() -> (Workdir, PathBuf, Vec<u8>) {
    let workdir = melt();
    run(&workdir, Start::Threads(3), "out", 10, "--quiet --set output.checkpoint.every=5");
    let path = workdir.path("out/checkpoint-10.mdc");
    let bytes = fs::read(&path).unwrap();
    (workdir, path, bytes)
}

/// Returns the positions of the parts of a checkpoint of three ranks with 600 particles: index,
/// slabs, end.
fn places(bytes: &[u8]) -> [usize; 3] {
    let text = u64::from_le_bytes(bytes[8..16].try_into().unwrap()) as usize;
    let index = 16 + text + 8;
    [index, index + 3 * 24, bytes.len()]
}

#[test]
fn a_damaged_file_is_named_with_what_is_damaged() {
    let (workdir, path, bytes) = three_ranks();
    let [index, slabs, end] = places(&bytes);
    let inspect = |damaged: &[u8]| {
        fs::write(&path, damaged).unwrap();
        workdir.call(Start::Plain, "inspect out/checkpoint-10.mdc")
    };
    for cut in [0, 1, 8, 16, 1000, index - 1, index, index + 24, slabs, slabs + 8, end - 8, end - 1] {
        let said = inspect(&bytes[..cut]);
        assert_eq!(said.code, Some(2), "cut at {cut}: {said:?}");
        assert!(said.stderr.contains("it is cut: it "), "cut at {cut}: {}", said.stderr);
    }
    // Every part: name, length, text, checksum, index, rows, checksums of blocks.
    let spread = (0..12).map(|part| slabs + part * (end - slabs) / 12);
    for place in
        [0, 9, 20, index / 2, index - 4, index, index + 12, index + 47, end - 3].into_iter().chain(spread)
    {
        let mut damaged = bytes.clone();
        damaged[place] ^= 1 << (place % 8);
        let said = inspect(&damaged);
        assert_eq!(said.code, Some(2), "byte {place}: {said:?}");
        assert!(
            ["damaged", "not a checkpoint"].iter().any(|what| said.stderr.contains(what)),
            "{}",
            said.stderr
        );
    }
    let longer = [&bytes[..], b"more"].concat();
    assert!(inspect(&longer).stderr.contains("it is damaged: it has "));
    let whole = inspect(&bytes);
    assert!(whole.stdout.contains("\nchecksums     all right\n"), "{}", whole.stdout);
}

#[test]
fn what_is_no_checkpoint_cannot_be_inspected() {
    let workdir = Workdir::new(MELT);
    workdir.write("six", "hello\n");
    workdir.write("begun", "md-c");
    workdir.write("older", "md-ckpt1 and more");
    let said = |name: &str| {
        let said = workdir.call(Start::Plain, &format!("inspect {name}"));
        assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{said:?}");
        said.stderr
    };
    assert_eq!(said("six"), "error: cannot inspect `six`: it is not a checkpoint of md\n");
    assert_eq!(said("begun"), "error: cannot inspect `begun`: it is cut: it ends before byte 16\n");
    let expected = "error: cannot inspect `older`: its format is \"md-ckpt1\", that of this version of md \"md-ckpt3\"\n";
    assert_eq!(said("older"), expected);
    assert_eq!(said("melt.toml"), "error: cannot inspect `melt.toml`: it is a scenario, not a checkpoint\n");
    let resumed = workdir.call(Start::Threads(1), "run melt.toml --quiet --resume six");
    assert_eq!(resumed.stderr, "error: cannot go on from `six`: it is not a checkpoint of md\n");
}

#[test]
fn the_older_one_is_taken_only_when_asked_for() {
    let (workdir, path, mut bytes) = three_ranks();
    let [index, slabs, end] = places(&bytes);
    let middle = slabs + (end - slabs) / 2;
    bytes[middle] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let (slab, rows) = (word(index + 24), word(index + 32));
    let text = error_everywhere(&workdir, "run melt.toml --resume out --output out", &starts());
    let folder = fs::canonicalize(workdir.path("out")).unwrap();
    let expected = format!(
        "exit code 2\nerror: cannot go on from `{0}/checkpoint-10.mdc`: it is damaged: the checksum of block 0 of rank 1 (bytes {1} to \
         {2}) is wrong\nto go on from the one before it: --resume {0}/checkpoint-5.mdc\n",
        folder.display(),
        slab,
        slab + rows * 15 * 8
    );
    assert_eq!(text, expected);
    run(&workdir, Start::Threads(3), "out", 20, "--quiet --resume out/checkpoint-5.mdc");
    run(&workdir, Start::Threads(3), "whole", 20, "--quiet");
    assert_eq!(workdir.read("out/thermo.csv"), workdir.read("whole/thermo.csv"));
}

/// Kills a job several times while it writes a checkpoint after every step. The run resumes from
/// the files that exist then, and at the end has the same bits as a run that was not killed.
fn survives_kills(start: Start, kills: u64, seed: u64) {
    let workdir = melt();
    let steps = killed_again_and_again(&workdir, start, "run", kills, seed) + 3;
    run(&workdir, start, "parts", steps, "--quiet --resume parts");
    run(&workdir, start, "whole", steps, "--quiet");
    expect_same_bits(&workdir, "killed");
}

/// Starts a command that writes a checkpoint after every step into `parts`, and kills it, `kills`
/// times. Each start resumes where the last one was killed. Returns the step of the last
/// checkpoint.
pub(crate) fn killed_again_and_again(
    workdir: &Workdir,
    start: Start,
    command: &str,
    kills: u64,
    seed: u64,
) -> u64 {
    let endless = "--steps 1000000000 --quiet --set output.checkpoint.every=1 --output parts";
    let mut resume = "";
    let mut random = seed;
    for _ in 0..kills {
        let before = if resume.is_empty() { 0 } else { *checkpoints(workdir, "parts").last().unwrap() };
        let mut command = workdir.command(start, &format!("{command} melt.toml {endless} {resume}"));
        let mut job = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let newest = || {
            if workdir.path("parts").exists() { checkpoints(workdir, "parts").last().copied() } else { None }
        };
        while newest().is_none_or(|step| step <= before) {
            assert_eq!(job.try_wait().unwrap(), None, "the run goes on after step {before}");
            std::thread::sleep(Duration::from_millis(1));
        }
        // The generator of Numerical Recipes: the times differ between any two jobs.
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(Duration::from_micros(random >> 32 & 0x7fff));
        kill_all(&mut job);
        resume = "--resume parts";
    }
    *checkpoints(workdir, "parts").last().unwrap()
}

/// Kills the process that was started and, under a launcher, all ranks at the same time.
fn kill_all(job: &mut Child) {
    let launcher = job.id();
    let processes = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let is_rank = |process: &u32| {
        let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
        status.contains(&format!("PPid:\t{launcher}\n"))
    };
    let ranks: Vec<String> = processes.filter(is_rank).map(|process| process.to_string()).collect();
    let victims = if ranks.is_empty() { launcher.to_string() } else { ranks.join(" ") };
    Command::new("sh").args(["-c", &format!("kill -s KILL {victims}")]).status().unwrap();
    job.wait().unwrap();
}

#[test]
fn killed_while_it_writes_it_goes_on() {
    survives_kills(Start::Threads(2), 8, 1);
}

#[test]
#[ignore = "takes minutes; part of `make test-all`"]
fn killed_two_hundred_times_on_four_ranks_it_goes_on() {
    survives_kills(if p2p_available() { Start::Mpirun(4) } else { Start::Threads(4) }, 200, 2);
}
