//! Stopping and resuming gives the same bits as one run.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;

use crate::support::{MELT, Start, Workdir, error, p2p_available, starts};

/// Number of steps of the whole run.
const STEPS: u64 = 60;
const FIRST: u64 = 31;

pub(crate) fn melt() -> Workdir {
    Workdir::new(&format!("{MELT}trajectory = {{ path = \"traj.extxyz\", every = 10 }}\n"))
}

/// Calls `run` with some `--set`s for `steps` steps, with `output` as the output folder.
pub(crate) fn run(workdir: &Workdir, start: Start, output: &str, steps: u64, more: &str) -> String {
    let call = format!("run melt.toml --output {output} --steps {steps} {more}");
    workdir.succeed(start, &call).stderr
}

/// Runs to the end in one run, and in two parts, of which the second may have other options.
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

/// Returns the steps of the checkpoints in a folder.
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

/// Checks that the first rows of both have the same steps and agree within rounding.
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
        // From the end of the first part, from a step between frames, and from a step with frames
        // behind it, one of which is cut.
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

/// If a run is killed between its last checkpoint and its tables, no steps remain, but files must
/// be written.
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
        expect_nothing_left(&workdir, advice);
        workdir.succeed(Start::Threads(2), &format!("{call} --resume out {advice}"));
    }
}

/// Checks that starting the last job of a chain again succeeds and leaves all files unchanged.
fn expect_nothing_left(workdir: &Workdir, advice: &str) {
    let (files, summary) = (workdir.files("out"), workdir.read("out/summary.json"));
    for start in starts() {
        let text = error(workdir, "run melt.toml --output out --resume out", start);
        assert!(text.starts_with("exit code 0\nnote: nothing is left to do after `"), "{text}");
        assert!(text.ends_with(&format!("; ask for more steps, as in {advice}\n")), "{text}");
    }
    assert_eq!((workdir.files("out"), workdir.read("out/summary.json")), (files, summary));
}

/// Also without `output.checkpoint`: the end of a resumed run is the newest checkpoint.
#[test]
fn a_chain_of_jobs_ends_well() {
    let workdir = Workdir::new(MELT);
    let call = "run melt.toml --output out --quiet --steps 1000000";
    workdir.succeed(Start::Threads(2), &format!("{call} --wall-time 1"));
    let [stopped] = checkpoints(&workdir, "out")[..] else { panic!("one checkpoint") };
    let steps = stopped + 20;
    workdir.write("melt.toml", &MELT.replace("steps = 20", &format!("steps = {steps}")));
    workdir.succeed(Start::Threads(2), "run melt.toml --output out --quiet --resume out");
    assert_eq!(checkpoints(&workdir, "out"), [stopped, steps]);
    expect_nothing_left(&workdir, &format!("--steps {}", 2 * steps));
}

/// Resumes from a checkpoint before the last step of a minimisation, of that step, and of the
/// following stage.
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
fn a_run_that_is_ended_early_leaves_a_checkpoint() {
    let workdir = melt();
    let endless = 1_000_000_000;
    run(&workdir, Start::Threads(2), "parts", endless, "--quiet --wall-time 1");
    let [done] = checkpoints(&workdir, "parts")[..] else { panic!("one checkpoint") };
    run(&workdir, Start::Threads(2), "parts", done + 9, "--quiet --resume parts");
    run(&workdir, Start::Threads(2), "whole", done + 9, "--quiet");
    expect_same_bits(&workdir, "--wall-time");
}
