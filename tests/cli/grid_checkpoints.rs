//! Stopping and resuming of applications on grids: the same bits as one run on any number of ranks,
//! damaged files, killed jobs.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;

use insta::assert_snapshot;
use serde_json::Value;

use crate::broken_checkpoints::killed_again_and_again;
use crate::checkpoints::checkpoints;
use crate::support::{Start, Workdir, error, error_everywhere, p2p_available, starts};

const SWAP: &str = "[stencil]\nkind = \"swap\"\ngrid = [12, 9, 8]\nfields = 3\ndepth = 2\nsteps = 30\n[output]\nthermo = { every = 4 }\n";
const TVD: &str = "[stencil]\nkind = \"tvd\"\ngrid = [12, 10, 8]\nfields = 2\ncourant = [0.5, -0.3, 0.2]\nsteps = 30\n\
                   precision = \"single\"\n[output]\nthermo = { every = 4 }\n";
const POISSON: &str = "[stencil]\nkind = \"poisson\"\ngrid = [12, 10, 8]\nboundary = [\"periodic\", \"open\", \"open\"]\n\
                       [output]\nthermo = { every = 4 }\n";
const FLOW: &str = "[lbm]\ngrid = [12, 10, 9]\ncollision = \"trt\"\nviscosity = 0.05\nsteps = 30\n\
                    boundary = [\"periodic\", \"wall\", \"periodic\"]\nbody_force = [1e-5, 0.0, 0.0]\n\
                    wall_velocity = { y_high = [0.0, 0.0, 0.05] }\n\
                    obstacle = { kind = \"sphere\", center = [5.0, 4.0, 4.5], radius = 2.5 }\n\
                    [output]\nthermo = { every = 4 }\nprobe = { every = 5, nodes = [[5, 8, 7], [0, 0, 0]] }\n\
                    drag = { every = 3 }\n";

/// Returns the fingerprint of all values at the end.
fn fingerprint(workdir: &Workdir, folder: &str) -> String {
    let all: Value = serde_json::from_str(&workdir.read(&format!("{folder}/summary.json"))).unwrap();
    all["fingerprint"].as_str().unwrap().to_owned()
}

/// Returns the rows of the files that grow during a run.
fn rows(workdir: &Workdir, folder: &str) -> Vec<String> {
    let there = workdir.files(folder);
    let grown = ["thermo.csv", "probe.csv", "drag.csv"].into_iter();
    let files = grown.filter(|name| there.iter().any(|own| own == name));
    files.map(|name| workdir.read(&format!("{folder}/{name}"))).collect()
}

/// Runs in one run and in two parts: `first` steps on some ranks, and the others on other ranks
/// with other options.
fn at_once_and_in_parts(
    scenario: &str,
    first: u64,
    [ranks, others]: [Start; 2],
    [options, other]: [&str; 2],
) -> Workdir {
    let workdir = Workdir::new(scenario);
    let command = if scenario.contains("[lbm]") { "lbm" } else { "stencil" };
    let run = |start: Start, folder: &str, options: &str| {
        workdir.succeed(start, &format!("{command} melt.toml --quiet --output {folder} {options}"))
    };
    run(ranks, "whole", options);
    let early = format!("{options} --set output.checkpoint.every=4 --steps {first}");
    let call = format!("{command} melt.toml --quiet --output parts {early}");
    // A solver that is stopped has not found its solution, and reports this.
    let code = if scenario == POISSON { Some(1) } else { Some(0) };
    assert_eq!(workdir.call(ranks, &call).code, code);
    assert_eq!(checkpoints(&workdir, "parts"), [first / 4 * 4, first]);
    run(others, "parts", &format!("{other} --resume parts"));
    workdir
}

/// Nodes that were solid have no populations.
#[test]
fn a_mask_that_has_changed_is_noticed() {
    let sphere = "{ kind = \"sphere\", center = [5.0, 4.0, 4.5], radius = 2.5 }";
    let workdir = Workdir::new(&FLOW.replace(sphere, "{ kind = \"mask\", path = \"mask.txt\" }"));
    let mask = |solid: usize| {
        let nodes: Vec<&str> = (0..12 * 10 * 9).map(|node| if node == solid { "1" } else { "0" }).collect();
        format!("12 10 9\n{}\n", nodes.join(" "))
    };
    workdir.write("mask.txt", &mask(500));
    workdir.succeed(Start::Threads(2), "lbm melt.toml --quiet --steps 10 --set output.checkpoint.every=5");
    let folder = fs::canonicalize(workdir.path("out")).unwrap();
    let resume = "lbm melt.toml --output other --resume out";
    let said = |call: &str| {
        error_everywhere(&workdir, call, &starts()).replace(&folder.display().to_string(), "out")
    };
    workdir.write("mask.txt", &mask(501));
    workdir.write("moved.txt", &mask(501));
    let moved = format!("{resume} --set lbm.obstacle.path=moved.txt");
    assert_snapshot!([said(resume), said(&moved)].join("\n"), @"
    exit code 2
    error: cannot go on from `out/checkpoint-10.mdc`: its obstacle is the mask `mask.txt` (checksum of its solid nodes b874ce6d), that of the scenario `mask.txt` (checksum of its solid nodes 74decef3): that file has changed since

    exit code 2
    error: cannot go on from `out/checkpoint-10.mdc`: its obstacle is the mask `mask.txt` (checksum of its solid nodes b874ce6d), that of the scenario `moved.txt` (checksum of its solid nodes 74decef3)
    ");
    // Only the nodes count, not how the file is laid out.
    workdir.write("mask.txt", &mask(500).replace("0 0", "0\n0"));
    workdir.succeed(Start::Threads(3), &format!("{resume} --quiet"));
}

#[test]
fn a_run_in_two_parts_has_the_bits_of_one_at_once() {
    for scenario in [SWAP, TVD, POISSON, FLOW] {
        // The single grid of a flow differs between even and odd steps, and so do the sweeps of
        // `tvd`.
        for (first, ranks) in [(9, 1), (10, 3)] {
            let workdir = at_once_and_in_parts(scenario, first, [Start::Threads(ranks); 2], [""; 2]);
            assert_eq!(rows(&workdir, "parts"), rows(&workdir, "whole"), "{scenario}");
            assert_eq!(fingerprint(&workdir, "parts"), fingerprint(&workdir, "whole"), "{scenario}");
        }
    }
}

#[test]
fn on_other_ranks_all_values_have_the_same_bits_too() {
    let two_grids = "--set lbm.pattern=two-grid --set parallel.exchange=staged";
    for (scenario, ranks, options) in [
        (SWAP, [2, 3], ["", "--set parallel.messages=per-field"]),
        (TVD, [4, 1], ["", "--set parallel.overlap=false"]),
        (POISSON, [1, 4], ["", ""]),
        (FLOW, [3, 2], ["", two_grids]),
        (FLOW, [1, 4], [two_grids, "--threads 2"]),
    ] {
        let workdir = at_once_and_in_parts(scenario, 9, ranks.map(Start::Threads), options);
        assert_eq!(fingerprint(&workdir, "parts"), fingerprint(&workdir, "whole"), "{scenario}");
    }
}

#[test]
fn over_mpi_too_and_with_another_backend() {
    if !p2p_available() {
        return;
    }
    for scenario in [SWAP, FLOW] {
        let starts = [Start::Mpirun(2), Start::Mpirun(3)];
        let workdir = at_once_and_in_parts(scenario, 9, starts, ["", "--set parallel.backend=shm"]);
        assert_eq!(fingerprint(&workdir, "parts"), fingerprint(&workdir, "whole"), "{scenario}");
    }
}

#[test]
fn it_says_from_where_it_goes_on_and_what_is_not_as_it_was() {
    let workdir = Workdir::new(FLOW);
    let call = "lbm melt.toml --quiet --steps 10 --set output.checkpoint.every=5 --set output.fields.every=5";
    workdir.succeed(Start::Threads(2), call);
    let path = workdir.path("out/checkpoint-10.mdc").canonicalize().unwrap();
    let call = "lbm melt.toml --resume out/checkpoint-5.mdc --steps 8 --set lbm.viscosity=0.1";
    let said = workdir.succeed(Start::Threads(1), call).stderr;
    let expected = format!(
        "note: going on after step 5, from `{}`\nnote: not as it was: lbm.viscosity was 0.05, now 0.1\n\
         note: removed from `out`, of an earlier run: 1 checkpoint, 3 images\n",
        path.display().to_string().replace("-10.mdc", "-5.mdc")
    );
    assert_eq!(said, expected);
    let summary: Value = serde_json::from_str(&workdir.read("out/summary.json")).unwrap();
    assert_eq!((&summary["steps"], &summary["resumed_from_step"]), (&3.into(), &5.into()));
    // Results after the checkpoint are dropped.
    assert_eq!(checkpoints(&workdir, "out"), [5, 8]);
    let images: Vec<_> = workdir.files("out").into_iter().filter(|name| name.ends_with(".pvti")).collect();
    assert_eq!(images, ["fields_00000000.pvti", "fields_00000005.pvti"]);
    let said = workdir.succeed(Start::Plain, "inspect out/checkpoint-5.mdc").stdout;
    let begin = "step          5\nkind          lbm\nnodes         [12, 10, 9]\nrank grid     [2, 1, 1]\n\
                 ranks         2 with 540 to 540 nodes\n";
    assert!(said.contains(begin) && said.contains("checksums     all right\n"), "{said}");
}

#[test]
fn a_run_that_is_ended_early_leaves_a_checkpoint() {
    for (scenario, command) in [(SWAP, "stencil"), (FLOW, "lbm")] {
        let workdir = Workdir::new(scenario);
        let call =
            |rest: &str| workdir.succeed(Start::Threads(2), &format!("{command} melt.toml --quiet {rest}"));
        call("--steps 1000000000 --wall-time 1 --output parts");
        let [done] = checkpoints(&workdir, "parts")[..] else { panic!("one checkpoint") };
        call(&format!("--steps {} --output parts --resume parts", done + 5));
        call(&format!("--steps {} --output whole", done + 5));
        assert_eq!(rows(&workdir, "parts"), rows(&workdir, "whole"), "{command}");
    }
}

#[test]
fn what_cannot_be_gone_on_from() {
    let workdir = Workdir::new(FLOW);
    workdir.succeed(Start::Threads(2), "lbm melt.toml --quiet --steps 10 --set output.checkpoint.every=5");
    let all = starts();
    let folder = fs::canonicalize(workdir.path("out")).unwrap();
    let said =
        |call: &str| error_everywhere(&workdir, call, &all).replace(&folder.display().to_string(), "out");
    workdir.write("swap.toml", SWAP);
    workdir.write("melt-of-particles.toml", crate::support::MELT);
    let far = "--set lbm.obstacle.radius=1.5";
    let errors = [
        "stencil swap.toml --output other --resume out".to_owned(),
        "run melt-of-particles.toml --output other --resume out".to_owned(),
        "lbm melt.toml --output other --resume out --set lbm.grid=[12,10,8]".to_owned(),
        format!("lbm melt.toml --output other --resume out {far}"),
        "lbm melt.toml --output other --resume out --steps 10".to_owned(),
        "lbm melt.toml --output other --resume out --steps 9".to_owned(),
        "lbm melt.toml --output other --resume nowhere".to_owned(),
    ];
    assert_snapshot!(errors.map(|call| said(&call)).join("\n"), @r"
    exit code 2
    error: cannot go on from `out/checkpoint-10.mdc`: it is of `lbm`, the scenario of `swap`

    exit code 2
    error: cannot go on from `out/checkpoint-10.mdc`: it is of `lbm` on a grid, not of particles

    exit code 2
    error: cannot go on from `out/checkpoint-10.mdc`: it has 12 x 10 x 9 nodes, the scenario 12 x 10 x 8

    exit code 2
    error: cannot go on from `out/checkpoint-10.mdc`: it has 1010 nodes of fluid, the scenario 1060

    exit code 0
    note: nothing is left to do after `out/checkpoint-10.mdc`: it is of step 10, and the run has 10 steps; ask for more steps, as in --steps 20

    exit code 2
    error: cannot go on from `out/checkpoint-10.mdc`: it is of step 10, and the run has 9 steps
    nothing is left to do: ask for more steps, as in --steps 19

    exit code 2
    error: cannot go on from `nowhere`: No such file or directory (os error 2)
    ");
    assert!(!workdir.path("other").exists(), "outputs are not touched");
    let text = error(&workdir, "lbm melt.toml --set output.checkpoint.every=0", Start::Plain);
    assert!(text.contains("`output.checkpoint.every` must be at least 1, found 0"), "{text}");
    let others = "lbm melt.toml --resume out --set output.probe.nodes=[[1,1,1]]";
    assert_snapshot!(error(&workdir, others, Start::Threads(1)), @r"
    exit code 2
    error: `out/probe.csv` does not go on from the checkpoint: it has other columns than this run
    choose another output directory with --output DIR, where the outputs begin at the checkpoint's step
    ");
    assert!(
        workdir.path("out/summary.json").exists(),
        "what is there stays until it is known that the run can go on"
    );
}

#[test]
fn a_solution_that_is_found_is_the_end() {
    let workdir = Workdir::new(POISSON);
    workdir.succeed(Start::Threads(2), "stencil melt.toml --quiet --set output.checkpoint.every=1000");
    let text = error(&workdir, "stencil melt.toml --resume out", Start::Threads(1));
    assert!(text.starts_with("exit code 0\nnote: nothing is left to do after `"), "{text}");
    assert!(text.ends_with("`: the solution is found\n"), "{text}");
    // A stricter tolerance is not yet reached, so the run continues.
    workdir
        .succeed(Start::Threads(1), "stencil melt.toml --quiet --resume out --set stencil.tolerance=1e-13");
}

#[test]
fn a_damaged_file_is_named_with_what_is_damaged() {
    let workdir = Workdir::new(FLOW);
    workdir.succeed(Start::Threads(3), "lbm melt.toml --quiet --steps 8 --set output.checkpoint.every=4");
    let path = workdir.path("out/checkpoint-8.mdc");
    let bytes = fs::read(&path).unwrap();
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let index = 16 + word(8) + 8;
    let [slab, rows] = [word(index + 24), word(index + 32)];
    assert_eq!(rows, 360);
    let end = slab + rows * 19 * 8;
    let folder = fs::canonicalize(workdir.path("out")).unwrap();
    let said = |damaged: &[u8]| {
        fs::write(&path, damaged).unwrap();
        let text = error_everywhere(&workdir, "lbm melt.toml --resume out", &starts());
        text.replace(&folder.display().to_string(), "out")
    };
    let flipped = |at: usize| {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        damaged
    };
    let older = "to go on from the one before it: --resume out/checkpoint-4.mdc\n";
    let problem =
        |what: &str| format!("exit code 2\nerror: cannot go on from `out/checkpoint-8.mdc`: {what}\n{older}");
    let block = format!("it is damaged: the checksum of block 0 of rank 1 (bytes {slab} to {end}) is wrong");
    assert_eq!(said(&flipped(slab + 1000)), problem(&block));
    assert_eq!(
        said(&flipped(index + 25)),
        problem("it is damaged: the checksum of the index of rank 1 is wrong")
    );
    assert_eq!(said(&flipped(index / 2)), problem("it is damaged: the checksum of its header is wrong"));
    let cut = format!("it is cut: it has {} of {} bytes", end, bytes.len());
    assert_eq!(said(&bytes[..end]), problem(&cut));
    // A block with a value that no run has, and a recomputed checksum.
    let mut foreign = bytes.clone();
    foreign[slab..slab + 8].copy_from_slice(&f64::NAN.to_le_bytes());
    let checksum = u64::from(crc32fast::hash(&foreign[slab..end]));
    foreign[end..end + 8].copy_from_slice(&checksum.to_le_bytes());
    assert_eq!(said(&foreign), problem("it has numbers of a node that no run has"));
    assert!(workdir.path("out/thermo.csv").exists(), "outputs are not touched");
    workdir.succeed(Start::Threads(2), "lbm melt.toml --quiet --resume out/checkpoint-4.mdc");
}

#[test]
fn killed_while_it_writes_it_goes_on() {
    for (scenario, command) in [(SWAP, "stencil"), (FLOW, "lbm")] {
        let workdir = Workdir::new(scenario);
        let steps = killed_again_and_again(&workdir, Start::Threads(2), command, 4, 3) + 3;
        let call =
            |rest: &str| workdir.succeed(Start::Threads(2), &format!("{command} melt.toml --quiet {rest}"));
        call(&format!("--steps {steps} --output parts --resume parts"));
        call(&format!("--steps {steps} --output whole"));
        assert_eq!(rows(&workdir, "parts"), rows(&workdir, "whole"), "{command}");
    }
}
