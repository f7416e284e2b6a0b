//! Stopping and going on: the same bits as without a stop, damaged files, killed jobs.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use insta::assert_snapshot;

use crate::support::{MELT, Start, Workdir, error, error_everywhere, p2p_available, starts};

/// Steps of the whole run, and those of its first part: no multiple of any interval.
const STEPS: u64 = 60;
const FIRST: u64 = 31;

pub(crate) fn melt() -> Workdir {
    Workdir::new(&format!("{MELT}trajectory = {{ path = \"traj.extxyz\", every = 10 }}\n"))
}

/// `run` with some `--set`s, for so many steps, into a folder.
fn run(workdir: &Workdir, start: Start, output: &str, steps: u64, more: &str) -> String {
    let call = format!("run melt.toml --output {output} --steps {steps} {more}");
    workdir.succeed(start, &call).stderr
}

/// Runs to the end at once, and in two parts of which the second may have other options.
pub(crate) fn at_once_and_in_parts(
    workdir: &Workdir,
    [first, second]: [Start; 2],
    [options, other]: [&str; 2],
) {
    run(workdir, first, "whole", STEPS, &format!("--quiet {options}"));
    run(workdir, first, "parts", FIRST, &format!("--quiet --set output.checkpoint.every=20 {options}"));
    assert_eq!(checkpoints(workdir, "parts"), [20, FIRST]);
    run(workdir, second, "parts", STEPS, &format!("--quiet --resume parts {other}"));
}

/// Steps of the checkpoints in a folder.
pub(crate) fn checkpoints(workdir: &Workdir, folder: &str) -> Vec<u64> {
    let files = workdir.files(folder);
    let steps = files.iter().filter_map(|name| name.strip_prefix("checkpoint-")?.strip_suffix(".mdc"));
    let mut steps: Vec<u64> = steps.map(|step| step.parse().unwrap()).collect();
    steps.sort_unstable();
    steps
}

fn clear(workdir: &Workdir) {
    ["whole", "parts"].iter().for_each(|folder| fs::remove_dir_all(workdir.path(folder)).unwrap());
}

pub(crate) fn expect_same_bits(workdir: &Workdir, what: &str) {
    for file in ["thermo.csv", "traj.extxyz"] {
        let [whole, parts] = ["whole", "parts"].map(|folder| workdir.read(&format!("{folder}/{file}")));
        assert_eq!(whole, parts, "{what}: {file}");
    }
    clear(workdir);
}

/// The first rows of both agree to rounding, and have the same steps.
pub(crate) fn expect_same_numbers(workdir: &Workdir, what: &str) {
    let rows = |folder: &str| -> Vec<Vec<f64>> {
        let text = workdir.read(&format!("{folder}/thermo.csv"));
        text.lines().skip(1).map(|row| row.split(',').map(|field| field.parse().unwrap()).collect()).collect()
    };
    let (whole, parts) = (rows("whole"), rows("parts"));
    assert_eq!(whole.len(), parts.len(), "{what}");
    for (one, other) in whole.iter().zip(&parts) {
        assert_eq!(one[0], other[0], "{what}");
        let agree = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-7 * a.abs().max(1.0);
        assert!(one.iter().zip(other).all(agree), "{what}: {one:?} {other:?}");
    }
    let frames = |folder: &str| workdir.read(&format!("{folder}/traj.extxyz")).lines().count();
    assert_eq!(frames("whole"), frames("parts"), "{what}");
    clear(workdir);
}

#[test]
fn a_run_in_two_parts_has_the_bits_of_one_at_once() {
    let workdir = melt();
    for (ranks, options) in [
        (1, ""),
        (1, "--set neighbor.method=cells"),
        (1, "--set neighbor.method=direct-sum"),
        (1, "--set neighbor.precision=mixed --threads 2"),
        (3, ""),
        (2, "--set neighbor.method=cells --set parallel.shell=full"),
        (3, "--set neighbor.precision=mixed --set parallel.exchange=staged --set parallel.shell=eighth"),
        (2, "--set neighbor.rebuild.every=9 --set neighbor.skin=0.5"),
    ] {
        at_once_and_in_parts(&workdir, [Start::Threads(ranks); 2], [options; 2]);
        expect_same_bits(&workdir, options);
    }
}

/// Frames after the checkpoint are dropped from trajectories of every format.
#[test]
fn trajectories_of_every_format_go_on() {
    let workdir = melt();
    for (path, ranks) in [
        ("t.extxyz.gz", 2),
        ("t.lammpstrj", 1),
        ("t.lammpstrj.gz", 3),
        ("t.nc", 3),
        ("t.nc", 1),
        ("t.xtc", 2),
    ] {
        let all = "output.trajectory.columns=[\"velocity\",\"images\",\"force\",\"energy\"]";
        let columns = if path == "t.xtc" { "output.trajectory.columns=[]" } else { all };
        let options = format!("--set output.trajectory.path={path} --set {columns}");
        let frames = |folder: &str| fs::read(workdir.path(&format!("{folder}/{path}"))).unwrap();
        let start = Start::Threads(ranks);
        run(&workdir, start, "whole", STEPS, &format!("--quiet {options}"));
        let every = "--set output.checkpoint={every=5,keep=4}";
        run(&workdir, start, "parts", FIRST, &format!("--quiet {every} {options}"));
        let past = frames("parts");
        // From its end, between frames and with frames, of which one is cut, after the checkpoint.
        for step in [FIRST, 25, 20] {
            let more = format!("--quiet --resume parts/checkpoint-{step}.mdc {every} {options}");
            run(&workdir, start, "parts", STEPS, &more);
            assert!(frames("whole") == frames("parts"), "{path} from step {step}");
            run(&workdir, start, "parts", FIRST, &format!("--quiet {every} {options}"));
            fs::write(workdir.path(&format!("parts/{path}")), &past[..past.len() - 7]).unwrap();
        }
        clear(&workdir);
    }
}

#[test]
fn every_integrator_goes_on() {
    let workdir = melt();
    for (ranks, keys) in [
        (2, "kind=\"csvr\",temperature=1.0,relaxation=0.1"),
        (1, "kind=\"nose-hoover\",temperature=1.0,relaxation=0.1"),
        (3, "kind=\"berendsen\",temperature=1.0,relaxation=0.1"),
        (2, "kind=\"rescale\",temperature=1.0"),
        (2, "kind=\"langevin\",temperature=1.0,friction=1.0"),
        (3, "kind=\"langevin\",temperature=1.0,friction=1.0,scheme=\"gjf\""),
    ] {
        let options = format!("--set integrator={{{keys}}}");
        at_once_and_in_parts(&workdir, [Start::Threads(ranks); 2], [&options; 2]);
        expect_same_bits(&workdir, &options);
    }
}

#[test]
fn stages_go_on_where_they_were() {
    let stages = "[[stage]]\nsteps = 40\nintegrator = { kind = \"csvr\", temperature = { from = 1.0, to = 2.0 }, relaxation = 0.1 }\n\
                  [[stage]]\nsteps = 20\nintegrator = { kind = \"nose-hoover\", temperature = 2.0, relaxation = 0.1 }\n";
    let workdir = Workdir::new(&format!("{}\n{stages}", MELT.replace("steps = 20\n", "")));
    workdir
        .succeed(Start::Threads(2), "run melt.toml --output whole --quiet --set output.checkpoint.every=25 --set output.checkpoint.keep=3");
    let last =
        |folder: &str| workdir.read(&format!("{folder}/thermo.csv")).lines().last().unwrap().to_owned();
    for step in [25, 50] {
        let call = format!("run melt.toml --output from-{step} --quiet --resume whole/checkpoint-{step}.mdc");
        workdir.succeed(Start::Threads(2), &call);
        assert_eq!(last(&format!("from-{step}")), last("whole"), "from step {step}");
    }
    workdir.write("one.toml", &MELT.replace("steps = 20", "steps = 80"));
    let said =
        workdir.call(Start::Threads(2), "run one.toml --output other --resume whole/checkpoint-50.mdc");
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.stderr.contains("it is of stage 2, and the run has 1"), "{said:?}");
}

/// Killed between its last checkpoint and its tables a run has no step to make, and files to write.
#[test]
fn a_run_that_has_made_its_steps_completes_its_files() {
    let outputs =
        "rdf = { every = 5 }\nmsd = { every = 5 }\naverages = { start = 0 }\ncheckpoint = { every = 15 }\n";
    let fire = "integrator = { kind = \"fire\", force_tolerance = 5.0 }\n";
    let csvr = "integrator = { kind = \"csvr\", temperature = 1.0, relaxation = 0.1 }\n";
    let staged =
        |last: &str| MELT.replace("steps = 20\n", "") + outputs + "[[stage]]\nsteps = 10\n[[stage]]\n" + last;
    let plain = MELT.to_owned() + outputs;
    for (scenario, advice) in [
        (plain, "--steps 40"),
        (staged(&format!("steps = 11\n{csvr}")), "--set stage[1].steps=22"),
        (staged(&format!("steps = 1000\n{fire}")), ""),
    ] {
        let workdir = Workdir::new(&scenario);
        let call = "run melt.toml --quiet --output out";
        workdir.succeed(Start::Threads(2), call);
        let tables = || ["thermo.csv", "msd.csv", "rdf.csv"].map(|name| workdir.read(&format!("out/{name}")));
        let summary =
            || -> serde_json::Value { serde_json::from_str(&workdir.read("out/summary.json")).unwrap() };
        let (whole, ended) = (tables(), summary());
        for name in ["summary.json", "msd.csv", "rdf.csv", "timing.csv"] {
            fs::remove_file(workdir.path(&format!("out/{name}"))).unwrap();
        }
        workdir.succeed(Start::Threads(2), &format!("{call} --resume out"));
        assert_eq!(tables(), whole, "{advice}");
        for name in
            ["averages", "minimisations", "energy_drift_per_atom", "conserved_drift_per_atom", "warnings"]
        {
            assert_eq!(summary()[name], ended[name], "{advice} {name}");
        }
        assert_eq!((&summary()["steps"], &summary()["resumed_from_step"]), (&0.into(), &ended["steps"]));
        if advice.is_empty() {
            continue;
        }
        let text = error(&workdir, "run melt.toml --output out --resume out", Start::Threads(2));
        assert!(
            text.contains(&format!("nothing is left to do: ask for more steps, as in {advice}\n")),
            "{text}"
        );
        workdir.succeed(Start::Threads(2), &format!("{call} --resume out {advice}"));
    }
}

/// From a checkpoint before the last step of a minimisation, of that step, and of the stage behind it.
#[test]
fn a_minimisation_ends_where_it_would_have_ended() {
    let lattice = "[simulation]\ntimestep = 0.005\n[system]\ntemperature = 0.1\n\
                   lattice = { kind = \"fcc\", density = 0.9, cells = [5, 5, 5] }\n[interaction]\nshift = \"force\"\n\
                   [[stage]]\nsteps = 1000\nintegrator = { kind = \"fire\" }\n[[stage]]\nsteps = 10\n\
                   [output]\nthermo = { every = 100 }\n";
    let workdir = Workdir::new(lattice);
    let summary = |folder: &str| -> serde_json::Value {
        let summary: serde_json::Value =
            serde_json::from_str(&workdir.read(&format!("{folder}/summary.json"))).unwrap();
        serde_json::json!([summary["minimisations"], summary["ended"]])
    };
    workdir.succeed(Start::Threads(2), "run melt.toml --output whole --quiet");
    assert_eq!(checkpoints(&workdir, "whole"), [0; 0], "nobody has asked for one");
    workdir.succeed(
        Start::Threads(2),
        "run melt.toml --output whole --quiet --set output.checkpoint={every=1,keep=12}",
    );
    let ends = workdir.read("whole/summary.json");
    let ends: serde_json::Value = serde_json::from_str(&ends).unwrap();
    let last = ends["minimisations"][0]["steps"].as_u64().unwrap();
    assert!((20..900).contains(&last), "{ends}");
    for step in [last - 1, last, last + 1] {
        let call = format!("run melt.toml --output from-{step} --quiet --resume whole/checkpoint-{step}.mdc");
        workdir.succeed(Start::Threads(2), &call);
        assert_eq!(summary(&format!("from-{step}")), summary("whole"), "from step {step} of {last}");
        let row =
            |folder: &str| workdir.read(&format!("{folder}/thermo.csv")).lines().last().unwrap().to_owned();
        assert_eq!(row(&format!("from-{step}")), row("whole"), "from step {step} of {last}");
    }
}

#[test]
fn over_mpi_too_and_with_another_backend() {
    if !p2p_available() {
        return;
    }
    let workdir = melt();
    for (ranks, other) in [(1, ""), (2, "--set parallel.backend=shm"), (4, "--set parallel.overlap=false")] {
        at_once_and_in_parts(&workdir, [Start::Mpirun(ranks); 2], ["", other]);
        expect_same_bits(&workdir, other);
    }
}

#[test]
fn on_another_decomposition_results_agree_to_rounding() {
    let workdir = melt();
    for ([first, second], other) in [
        ([Start::Threads(1), Start::Threads(3)], ""),
        ([Start::Threads(3), Start::Threads(1)], ""),
        ([Start::Threads(2), Start::Threads(3)], "--set parallel.partition=stripe"),
        ([Start::Threads(2), Start::Threads(2)], "--set neighbor.method=cells"),
    ] {
        at_once_and_in_parts(&workdir, [first, second], ["", other]);
        expect_same_numbers(&workdir, other);
    }
}

#[test]
fn it_says_what_is_not_as_it_was() {
    let workdir = melt();
    run(&workdir, Start::Threads(1), "out", 10, "--quiet --set output.checkpoint.every=10");
    let said =
        run(&workdir, Start::Threads(2), "out", 20, "--resume out --set neighbor.skin=0.4 --threads 1");
    let path = workdir.path("out/checkpoint-10.mdc").canonicalize().unwrap();
    let expected = format!(
        "note: going on after step 10, from `{}`\n\
         note: results agree to rounding, not to the last bit: neighbor.skin was 0.3, now 0.4; ranks were 1, now 2\n",
        path.display()
    );
    assert_eq!(said, expected);
    let summary: serde_json::Value = serde_json::from_str(&workdir.read("out/summary.json")).unwrap();
    assert_eq!((&summary["steps"], &summary["resumed_from_step"]), (&10.into(), &10.into()));
}

#[test]
fn outputs_go_on_in_their_folder_and_begin_anew_in_another() {
    let workdir = melt();
    let call = "--quiet --set output.checkpoint.every=10 --set output.checkpoint.keep=3";
    run(&workdir, Start::Threads(2), "out", 55, call);
    assert_eq!(checkpoints(&workdir, "out"), [40, 50, 55]);
    let whole = workdir.read("out/thermo.csv");
    run(&workdir, Start::Threads(2), "other", 55, "--quiet --resume out/checkpoint-40.mdc");
    let expected: Vec<&str> = whole
        .lines()
        .filter(|row| {
            !row.starts_with(|c: char| c.is_ascii_digit())
                || row.split(',').next().unwrap().parse::<u64>().unwrap() > 40
        })
        .collect();
    assert_eq!(workdir.read("other/thermo.csv").lines().collect::<Vec<_>>(), expected);
    // From an older one: later checkpoints are of a future that is dropped.
    run(&workdir, Start::Threads(2), "out", 44, "--quiet --resume out/checkpoint-40.mdc");
    assert_eq!(checkpoints(&workdir, "out"), [40]);
    let last = |text: String| text.lines().last().unwrap().split(',').next().unwrap().to_owned();
    assert_eq!(last(workdir.read("out/thermo.csv")), "44");
    // What somebody has done to an output in between is not gone on with.
    let thermo = workdir.read("out/thermo.csv");
    fs::write(workdir.path("out/thermo.csv"), thermo.replace("time", "Time")).unwrap();
    let text = error(&workdir, "run melt.toml --output out --resume out --steps 60", Start::Threads(2));
    assert_snapshot!(text, @r"
    exit code 2
    error: `out/thermo.csv` does not go on from the checkpoint: it holds something else than at the checkpoint
    choose another output directory with --output DIR, where the outputs begin at the checkpoint's step
    ");
    // A run that does not go on removes the checkpoints of the one before it.
    run(&workdir, Start::Threads(2), "out", 5, "--quiet");
    assert_eq!(checkpoints(&workdir, "out"), [0; 0]);
}

#[test]
fn a_run_that_is_ended_early_leaves_a_checkpoint() {
    let workdir = melt();
    let endless = 1_000_000_000;
    run(&workdir, Start::Threads(2), "parts", endless, "--quiet --wall-time 1");
    let [done] = checkpoints(&workdir, "parts")[..] else { panic!("one checkpoint") };
    run(&workdir, Start::Threads(2), "parts", done + 9, "--quiet --resume parts");
    run(&workdir, Start::Threads(2), "whole", done + 9, "--quiet");
    expect_same_bits(&workdir, "--wall-time");
}

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
    let text = error(&workdir, "run melt.toml --resume out --steps 10", Start::Threads(1));
    assert!(text.contains("it is of step 10, and the run has 10 steps\nnothing is left to do: ask for more steps, as in --steps 20\n"), "{text}");
    let other = "run melt.toml --output other --resume out --set system.lattice.cells=[6,6,6]";
    let text = error_everywhere(&workdir, other, &all);
    let path = fs::canonicalize(workdir.path("out/checkpoint-10.mdc")).unwrap();
    let expected = "it has 600 particles of 1 species, the scenario 864 of 1";
    assert_eq!(text, format!("exit code 2\nerror: cannot go on from `{}`: {expected}\n", path.display()));
    assert!(!workdir.path("other").exists());
    let text = error(&workdir, "run melt.toml --set output.checkpoint.every=0", Start::Plain);
    assert!(text.contains("`output.checkpoint.every` must be at least 1, found 0"), "{text}");
}

/// A checkpoint of three ranks after 10 steps, and an older one.
fn three_ranks() -> (Workdir, PathBuf, Vec<u8>) {
    let workdir = melt();
    run(&workdir, Start::Threads(3), "out", 10, "--quiet --set output.checkpoint.every=5");
    let path = workdir.path("out/checkpoint-10.mdc");
    let bytes = fs::read(&path).unwrap();
    (workdir, path, bytes)
}

/// Where the parts of a checkpoint of three ranks with 600 particles begin: index, slabs, end.
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
    let expected = "error: cannot inspect `older`: its format is \"md-ckpt1\", that of this version of md \"md-ckpt2\"\n";
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

/// Kills a job again and again while it writes a checkpoint after every step. Whatever is there then, the run goes on from it; in the
/// end it has the bits of one that nobody has killed.
fn survives_kills(start: Start, kills: u64, seed: u64) {
    let workdir = melt();
    let steps = killed_again_and_again(&workdir, start, "run", kills, seed) + 3;
    run(&workdir, start, "parts", steps, "--quiet --resume parts");
    run(&workdir, start, "whole", steps, "--quiet");
    expect_same_bits(&workdir, "killed");
}

/// Starts a command that writes a checkpoint after every step into `parts`, so many times, each time from where the last one was killed;
/// returns the step of the last checkpoint.
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
        // Numerical Recipes' generator: moments that are the same in no two jobs.
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(Duration::from_micros(random >> 32 & 0x7fff));
        kill_all(&mut job);
        resume = "--resume parts";
    }
    *checkpoints(workdir, "parts").last().unwrap()
}

/// The process that was started and, under a launcher, all ranks, at once.
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
