//! Existing results are kept until nothing can be refused any more, and a run resumes from the
//! checkpoint that it reports.

use std::fs;

use crate::support::{MELT, Start, Workdir, error, error_everywhere, from_file, starts};

/// A folder with thermo.csv, a trajectory and two checkpoints of a run of 20 steps, and the names
/// of its files.
fn finished() -> (Workdir, Vec<String>) {
    let workdir = Workdir::new(&format!("{MELT}trajectory = {{ path = \"traj.extxyz\", every = 10 }}\n"));
    workdir.succeed(Start::Threads(2), "run melt.toml --quiet --set output.checkpoint={every=10,keep=2}");
    let files = workdir.files("out");
    assert!(
        ["checkpoint-10.mdc", "checkpoint-20.mdc", "traj.extxyz"]
            .iter()
            .all(|it| files.iter().any(|name| name == it))
    );
    (workdir, files)
}

#[test]
fn a_thermostat_that_cannot_be_is_refused_by_check_and_before_anything_is_removed() {
    let (workdir, files) = finished();
    let thermo = workdir.read("out/thermo.csv");
    for kind in ["nose-hoover", "berendsen"] {
        let option = format!("--set integrator={{kind=\"{kind}\",temperature=1,relaxation=0.001}}");
        for command in ["run", "check"] {
            let said = workdir.call(Start::Threads(2), &format!("{command} melt.toml {option}"));
            let text = said.stderr;
            assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{kind}: {text}");
            let expected = "`integrator.relaxation` is 0.001, shorter than the 0.005 between two actions";
            assert!(text.contains(expected), "{kind}: {text}");
            assert!(text.contains("0.5 is usual, in units of tau"), "{kind}: {text}");
        }
    }
    assert_eq!(workdir.files("out"), files);
    assert_eq!(workdir.read("out/thermo.csv"), thermo);
}

/// A later stage is checked at the start, not only when it begins.
#[test]
fn so_is_that_of_a_later_stage() {
    let stages = "[[stage]]\nsteps = 10\n\
                  [[stage]]\nsteps = 10\nintegrator = { kind = \"nose-hoover\", temperature = 1.0, relaxation = 1e-9 }\n";
    let workdir = Workdir::new(&format!("{}\n{stages}", MELT.replace("steps = 20\n", "")));
    let text = error_everywhere(&workdir, "run melt.toml", &starts());
    assert!(text.starts_with("exit code 2\n"), "{text}");
    assert!(text.contains("`stage[1].integrator.relaxation` is 1e-9, shorter than the 0.005"), "{text}");
    assert!(!workdir.path("out/thermo.csv").exists());
}

#[test]
fn commands_that_plan_leave_results_alone() {
    let (workdir, files) = finished();
    let scenario = workdir.read("out/scenario.toml");
    for _ in 0..2 {
        workdir.succeed(Start::Plain, "partition melt.toml --ranks 2 --set simulation.seed=8 --quiet");
    }
    let mut expected = files;
    expected.extend(["partition.csv", "partition.svg"].map(str::to_owned));
    expected.sort();
    assert_eq!(workdir.files("out"), expected);
    assert_eq!(workdir.read("out/scenario.toml"), scenario);
    workdir.succeed(Start::Plain, "partition melt.toml --ranks 2 --output alone --quiet");
    assert_eq!(workdir.files("alone"), ["partition.csv", "partition.svg", "scenario.toml"]);
}

#[test]
fn a_new_run_says_that_checkpoints_are_gone() {
    let (workdir, _) = finished();
    let said = workdir.succeed(Start::Threads(1), "run melt.toml");
    let note = "note: removed from `out`, of an earlier run: 2 checkpoints\n";
    assert!(said.stderr.contains(note), "{said:?}");
}

#[test]
fn an_output_that_is_missing_is_not_gone_on_with() {
    for name in ["thermo.csv", "traj.extxyz"] {
        let (workdir, _) = finished();
        fs::remove_file(workdir.path(&format!("out/{name}"))).unwrap();
        let text = error(&workdir, "run melt.toml --resume out --steps 30", Start::Threads(2));
        let expected = format!(
            "exit code 2\nerror: `out/{name}` does not go on from the checkpoint: No such file or directory (os error 2)\n\
             choose another output directory with --output DIR, where the outputs begin at the checkpoint's step\n"
        );
        assert_eq!(text, expected);
        workdir.succeed(Start::Threads(2), "run melt.toml --resume out --steps 30 --output other --quiet");
    }
}

#[test]
fn another_thermostat_begins_anew() {
    let (workdir, _) = finished();
    let options = "--set integrator={kind=\"csvr\",temperature=1.0,relaxation=0.1}";
    let said =
        workdir.succeed(Start::Threads(2), &format!("run melt.toml --resume out --steps 40 {options}"));
    assert!(said.stderr.contains("integrator.kind was \"velocity-verlet\", now \"csvr\""), "{said:?}");
    workdir.succeed(Start::Threads(2), "run melt.toml --resume out --steps 41 --quiet");
}

#[test]
fn another_system_is_warned_of() {
    let (workdir, _) = finished();
    for (key, value, said) in [
        ("species", "[{name=\"A\",mass=2.0}]", "species[0].mass was not given, now 2.0"),
        ("simulation.timestep", "0.002", "simulation.timestep was 0.005, now 0.002"),
    ] {
        let call =
            format!("run melt.toml --resume out --output {key} --steps 24 --quiet --set {key}={value}");
        let stderr = workdir.succeed(Start::Threads(2), &call).stderr;
        assert!(stderr.contains("warning: the checkpoint is of another system: "), "{stderr}");
        assert!(
            stderr.contains(said) && stderr.contains("; the change of the energy is counted from step 20\n"),
            "{stderr}"
        );
        assert!(!stderr.contains("has changed by"), "{stderr}");
    }
}

/// Opening a named pipe waits for its writer.
#[test]
fn a_pipe_is_no_checkpoint() {
    let workdir = Workdir::new(MELT);
    workdir.make_pipe("pipe.mdc");
    for command in ["inspect pipe.mdc", "run melt.toml --resume pipe.mdc"] {
        let text = workdir.call(Start::Plain, command);
        assert_eq!(text.code, Some(2), "{text:?}");
        assert!(text.stderr.contains("`pipe.mdc`: it is a named pipe, not a regular file\n"), "{text:?}");
    }
}

#[test]
fn what_check_prints_runs_from_elsewhere() {
    let workdir = Workdir::new(&from_file("start.extxyz"));
    fs::create_dir(workdir.path("elsewhere")).unwrap();
    workdir.write(
        "start.extxyz",
        "2\nLattice=\"9 0 0 0 9 0 0 0 9\" Properties=species:S:1:pos:R:3\nA 1.0 1.0 1.0\nA 2.0 2.0 2.0\n",
    );
    let printed = workdir.succeed(Start::Plain, "check melt.toml").stdout;
    workdir.write("elsewhere/printed.toml", &printed);
    workdir.succeed(Start::Plain, "run elsewhere/printed.toml --quiet");
}
