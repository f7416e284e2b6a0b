//! Resuming with a changed scenario or a changed folder: the messages about results, and the
//! treatment of outputs.

use std::fs;

use insta::assert_snapshot;

use crate::checkpoints::{checkpoints, melt, run};
use crate::support::{MELT, Start, Workdir, error};

#[test]
fn it_says_what_is_not_as_it_was() {
    let workdir = melt();
    run(&workdir, Start::Threads(1), "out", 10, "--quiet --set output.checkpoint.every=10");
    let said =
        run(&workdir, Start::Threads(2), "out", 20, "--resume out --set neighbor.skin=0.35 --threads 1");
    let path = workdir.path("out/checkpoint-10.mdc").canonicalize().unwrap();
    let expected = format!(
        "note: going on after step 10, from `{}`\n\
         note: results agree to rounding, not to the last bit: neighbor.skin was 0.4, now 0.35; ranks were 1, now 2\n",
        path.display()
    );
    assert_eq!(said, expected);
    let summary: serde_json::Value = serde_json::from_str(&workdir.read("out/summary.json")).unwrap();
    assert_eq!((&summary["steps"], &summary["resumed_from_step"]), (&10.into(), &10.into()));
}

/// Returns the messages of a resumed run, without the line with the checkpoint's name. The folder
/// `other` is empty before.
fn said(workdir: &Workdir, call: &str) -> String {
    fs::remove_dir_all(workdir.path("other")).ok();
    let all = workdir.succeed(Start::Threads(1), &format!("run melt.toml {call}")).stderr;
    all.lines().filter(|line| !line.contains("going on after step")).map(|line| format!("{line}\n")).collect()
}

/// Returns a run of 20 steps in `out`, with a checkpoint of the last.
fn begun(options: &str) -> Workdir {
    let workdir = Workdir::new(&format!("{MELT}checkpoint = {{ every = 20 }}\n"));
    run(&workdir, Start::Threads(1), "out", 20, &format!("--quiet {options}"));
    workdir
}

#[test]
fn another_integrator_has_other_results() {
    let bath = |temperature: &str| {
        format!("--set integrator={{kind=\"langevin\",temperature={temperature},friction=1.0}}")
    };
    let workdir = begun(&bath("1.0"));
    let resume = "--output other --resume out --steps 25";
    assert_eq!(said(&workdir, &format!("{resume} {}", bath("1.0"))), "");
    let others = format!("{resume} {} --set simulation.seed=8 --set neighbor.skin=0.35", bath("3.0"));
    assert_snapshot!(said(&workdir, &others), @"
    note: other results from here on: simulation.seed was 7, now 8; integrator.temperature was 1.0, now 3.0
    note: these would change the last digits of results alone: neighbor.skin was 0.4, now 0.35
    ");
    // No random numbers are drawn after the start, so the seed has no effect any more.
    let workdir = begun("");
    assert_eq!(said(&workdir, &format!("{resume} --set simulation.seed=8")), "");
}

#[test]
fn a_ramp_that_ends_at_another_step_is_another_run() {
    let cooling = "--set integrator={kind=\"rescale\",temperature={from=2.0,to=1.0},every=5}";
    let workdir = begun(cooling);
    let resume = format!("--output other --resume out {cooling}");
    let expected = "warning: the temperature's ramp ends at another step: simulation.steps was 20, now 40; from here on results are not those \
                    of one run over all steps\n";
    for quiet in ["", "--quiet"] {
        assert_eq!(said(&workdir, &format!("{resume} --steps 40 {quiet}")), expected);
    }
    // Without a ramp the number of steps can be changed.
    let constant = cooling.replace("{from=2.0,to=1.0}", "1.0");
    let workdir = begun(&constant);
    assert_eq!(said(&workdir, &format!("--output other --resume out {constant} --steps 40")), "");
}

/// The initial state comes from the checkpoint.
#[test]
fn other_particles_to_begin_with_are_without_effect() {
    let workdir = begun("");
    let last = |folder: &str| workdir.read(&format!("{folder}/thermo.csv")).lines().last().map(str::to_owned);
    assert_eq!(said(&workdir, "--output other --resume out --steps 40"), "");
    let expected = last("other");
    let keys = "--set system.temperature=3.0 --set system.drift=[1.0,0.0,0.0]";
    let text = said(&workdir, &format!("--output other --resume out --steps 40 {keys}"));
    assert_snapshot!(text, @"note: without effect, as the checkpoint has the particles: system.drift was not given, now [1.0, 0.0, 0.0]; system.temperature was 1.44, now 3.0");
    assert_eq!(last("other"), expected);
}

/// A ramp has a fixed number of steps, regardless of later stages. Therefore a run that has
/// completed it can be extended.
#[test]
fn a_ramp_is_kept_by_the_stage_that_it_becomes() {
    let cooling = "{ kind = \"rescale\", temperature = { from = 2.0, to = 1.0 }, every = 5 }";
    let constant = cooling.replace("{ from = 2.0, to = 1.0 }", "1.0");
    let workdir = begun(&format!("--set integrator={}", cooling.replace(' ', "")));
    let stages = format!(
        "[[stage]]\nsteps = 20\nintegrator = {cooling}\n[[stage]]\nsteps = 15\nintegrator = {constant}\n"
    );
    workdir.write("melt.toml", &format!("{}{stages}", MELT.replace("steps = 20\n", "")));
    assert_eq!(said(&workdir, "--output parts --resume out"), "");
    assert_eq!(said(&workdir, "--output whole"), "");
    let last = |folder: &str| workdir.read(&format!("{folder}/thermo.csv")).lines().last().map(str::to_owned);
    assert_eq!(last("parts"), last("whole"));
}

/// Returns a run that is resumed in its second of three stages.
fn in_the_second_stage() -> (Workdir, String) {
    let stage = |kind: &str, temperature: &str, steps: u64| {
        format!(
            "[[stage]]\nsteps = {steps}\nintegrator = {{ kind = \"{kind}\", temperature = {temperature}, relaxation = 0.1 }}\n"
        )
    };
    let ramp = "{ from = 1.0, to = 2.0 }";
    let stages = stage("csvr", "1.0", 5) + &stage("nose-hoover", ramp, 20) + &stage("csvr", "2.0", 10);
    let scenario =
        format!("{}checkpoint = {{ every = 10 , keep = 9 }}\n{stages}", MELT.replace("steps = 20\n", ""));
    let workdir = Workdir::new(&scenario);
    workdir.succeed(Start::Threads(1), "run melt.toml --quiet --output whole");
    (workdir, "--output other --resume whole/checkpoint-20.mdc".to_owned())
}

#[test]
fn stages_that_are_over_or_to_come_are_told_apart() {
    let (workdir, resume) = in_the_second_stage();
    let keys = "--set stage[0].integrator.relaxation=0.3 --set stage[0].steps=6 --set stage[1].steps=25 \
                --set stage[2].integrator.temperature=1.5 --set stage[2].steps=12";
    assert_snapshot!(said(&workdir, &format!("{resume} {keys}")), @"
    warning: the temperature's ramp ends at another step: stage[1].steps was 20, now 25; from here on results are not those of one run over all steps
    note: other results from a later stage on: stage[2].integrator.temperature was 2.0, now 1.5
    note: without effect, as the stage is over: stage[0].integrator.relaxation was 0.1, now 0.3; stage[0].steps was 5, now 6
    ");
}

/// More steps of the last stage, and other intervals and names, change no bits: the state of
/// thermostats is restored.
#[test]
fn a_longer_last_stage_goes_on_with_the_same_bits() {
    let (workdir, resume) = in_the_second_stage();
    let keys = "--set stage[2].steps=15 --set stage[1].name=warm --set stage[1].thermo={every=5}";
    assert_eq!(said(&workdir, &format!("--output longer {keys}")), "");
    assert_eq!(said(&workdir, &format!("{resume} {keys}")), "");
    let last = |folder: &str| workdir.read(&format!("{folder}/thermo.csv")).lines().last().map(str::to_owned);
    assert_eq!(last("other"), last("longer"));
}

/// All frames of a file are of one kind, even if its format does not state which.
#[test]
fn a_trajectory_of_another_kind_is_refused() {
    for path in ["t.lammpstrj", "t.extxyz.gz", "t.extxyz", "t.nc", "t.xtc"] {
        let workdir = Workdir::new(&format!(
            "{MELT}trajectory = {{ path = \"{path}\", every = 5 }}\ncheckpoint = {{ every = 5, keep = 9 }}\n"
        ));
        workdir.succeed(Start::Threads(2), "run melt.toml --quiet");
        let there = || -> Vec<_> {
            let read = |name: &String| fs::read(workdir.path(&format!("out/{name}"))).ok();
            workdir.files("out").iter().map(|name| (name.clone(), read(name))).collect()
        };
        let before = there();
        let mut keys = vec![("positions=unwrapped", "it has wrapped positions, this run unwrapped ones")];
        if path != "t.xtc" {
            keys.push(("columns=[]", "it has other columns than this run (it has ["));
        }
        if path == "t.nc" {
            keys.push(("precision=double", "it has single precision, this run double"));
        }
        for (key, reason) in keys {
            let resume = "run melt.toml --steps 30 --resume out/checkpoint-10.mdc";
            let text = error(&workdir, &format!("{resume} --set output.trajectory.{key}"), Start::Threads(2));
            let expected =
                format!("exit code 2\nerror: `out/{path}` does not go on from the checkpoint: {reason}");
            assert!(text.starts_with(&expected), "{text}");
            assert!(there() == before, "{path} {key}");
            fs::remove_dir_all(workdir.path("other")).ok();
            let elsewhere = format!("{resume} --quiet --output other --set output.trajectory.{key}");
            workdir.succeed(Start::Threads(2), &elsewhere);
        }
    }
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
    // From an older checkpoint: the later ones are dropped.
    run(&workdir, Start::Threads(2), "out", 44, "--quiet --resume out/checkpoint-40.mdc");
    assert_eq!(checkpoints(&workdir, "out"), [40, 44]);
    let last = |text: String| text.lines().last().unwrap().split(',').next().unwrap().to_owned();
    assert_eq!(last(workdir.read("out/thermo.csv")), "44");
    // An output that was changed in between is not continued.
    let thermo = workdir.read("out/thermo.csv");
    fs::write(workdir.path("out/thermo.csv"), thermo.replace("time", "Time")).unwrap();
    let text = error(&workdir, "run melt.toml --output out --resume out --steps 60", Start::Threads(2));
    assert_snapshot!(text, @r"
    exit code 2
    error: `out/thermo.csv` does not go on from the checkpoint: it holds something else than at the checkpoint
    choose another output directory with --output DIR, where the outputs begin at the checkpoint's step
    ");
    // A new run removes the checkpoints of an earlier one.
    run(&workdir, Start::Threads(2), "out", 5, "--quiet");
    assert_eq!(checkpoints(&workdir, "out"), [0; 0]);
}

/// Changes a byte at each of several positions, in all kinds of files that a resumed run continues.
#[test]
fn a_changed_byte_is_refused_wherever_it_is() {
    let tables = "output.checkpoint.every=20";
    for (path, ranks) in [
        ("t.extxyz", 2),
        ("t.extxyz.gz", 1),
        ("t.lammpstrj", 2),
        ("t.lammpstrj.gz", 2),
        ("t.nc", 3),
        ("t.xtc", 2),
    ] {
        let workdir = melt();
        let columns = if path == "t.xtc" { "" } else { "--set output.trajectory.columns=[\"velocity\"]" };
        let options = format!("--set {tables} --set output.trajectory={{path=\"{path}\",every=2}} {columns}");
        // A run that has been resumed once also writes its checksums.
        run(&workdir, Start::Threads(ranks), "out", 10, &format!("--quiet {options}"));
        run(&workdir, Start::Threads(ranks), "out", 20, &format!("--quiet --resume out {options}"));
        let changed: &[&str] = if path == "t.extxyz" { &[path, "thermo.csv"] } else { &[path] };
        for file in changed {
            let place = workdir.path(&format!("out/{file}"));
            let whole = fs::read(&place).unwrap();
            for part in 0..7 {
                let mut damaged = whole.clone();
                // Only in the first parts: a resumed run drops the row that the end of the run
                // added, and the end of a compressed file.
                damaged[8 + part * (whole.len() - 8) / 9] ^= 1;
                fs::write(&place, &damaged).unwrap();
                let call = format!("run melt.toml --output out --resume out --steps 30 {options}");
                let text = error(&workdir, &call, Start::Threads(ranks));
                let reason = "does not go on from the checkpoint: it ";
                assert!(
                    text.starts_with(&format!("exit code 2\nerror: `out/{file}` {reason}")),
                    "{part}: {text}"
                );
                assert_eq!(fs::read(&place).unwrap(), damaged, "it is left alone");
            }
            fs::write(&place, &whole).unwrap();
        }
        run(&workdir, Start::Threads(ranks), "out", 30, &format!("--quiet --resume out {options}"));
    }
}
