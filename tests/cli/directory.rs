//! The output directory: one run at a time, inputs that are never changed, links that are never
//! followed, and files that still exist at the end.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, SystemTime};

use crate::support::{MELT, Said, Start, Workdir, error, error_everywhere, from_file, starts};
use insta::assert_snapshot;

const LOCK: &str = "out/.md-cli.lock";
const TRAJECTORY: &str = "trajectory = { path = \"traj.extxyz\", every = 10 }\n";
const ONE_RANK: Start = Start::Threads(1);

/// A run that would take hours. It ends with the test.
struct LongRun(Child);

impl Drop for LongRun {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Starts a run, and waits until it has begun.
fn long_run(workdir: &Workdir) -> LongRun {
    let mut command = workdir.command(ONE_RANK, "run melt.toml --steps 1000000000");
    let run = LongRun(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    workdir.wait_for_lines("out/thermo.csv", 3);
    run
}

fn own_host(workdir: &Workdir) -> String {
    let lock = workdir.read(LOCK);
    lock.lines().next().unwrap().strip_prefix("host ").unwrap().to_owned()
}

#[test]
fn a_second_run_into_the_same_directory() {
    let workdir = Workdir::new(MELT);
    let first = long_run(&workdir);
    let (host, process) = (own_host(&workdir), first.0.id());
    for command in ["run", "forces", "compare"] {
        assert_eq!(
            error_everywhere(&workdir, &format!("{command} melt.toml"), &starts()),
            format!(
                "exit code 2\nerror: the output directory `out` is in use by process {process} on host {host} \
                 (`out/.md-cli.lock`)\nwait for its end, or choose another directory with --output DIR\n"
            )
        );
    }
    workdir.succeed(ONE_RANK, "run melt.toml --output other");
    assert!(fs::metadata(workdir.path("out/thermo.csv")).unwrap().len() > 100, "it goes on");
    drop(first);
    let said = workdir.succeed(ONE_RANK, "run melt.toml --quiet");
    let note = format!(
        "note: the lock of process {process} on host {host}, which has ended without removing it, was taken over\n"
    );
    assert_eq!(said.stderr, note);
    assert!(!workdir.path(LOCK).exists());
}

#[test]
fn the_lock_of_another_host_is_respected() {
    let workdir = Workdir::new(MELT);
    fs::create_dir(workdir.path("out")).unwrap();
    workdir.write(LOCK, "host node-17\nprocess 4711\n");
    assert_snapshot!(error_everywhere(&workdir, "run melt.toml", &starts()), @r"
    exit code 2
    error: the output directory `out` is in use by process 4711 on host node-17 (`out/.md-cli.lock`)
    if this run has ended without removing that file, try again two minutes after its last renewal, or remove it; else wait for the end of the run, or choose another directory with --output DIR
    ");
    assert_eq!(workdir.files("out"), [".md-cli.lock"]);
    // Its process no longer renews the lock.
    let lock = fs::File::options().write(true).open(workdir.path(LOCK)).unwrap();
    lock.set_modified(SystemTime::now() - Duration::from_secs(121)).unwrap();
    let said = workdir.succeed(ONE_RANK, "run melt.toml --quiet");
    let note = "note: the lock of process 4711 on host node-17, which has ended without removing it, was taken over\n";
    assert_eq!(said.stderr, note);
    assert!(!workdir.path(LOCK).exists());
}

/// A failed run also releases the lock.
#[test]
fn a_failed_run_leaves_no_lock() {
    let workdir = Workdir::new(MELT);
    for start in starts() {
        assert_eq!(workdir.call(start, "run melt.toml --set simulation.timestep=0.5").code, Some(1));
        assert!(!workdir.path(LOCK).exists(), "{start:?}");
    }
}

#[test]
fn files_removed_during_the_run() {
    let missed = "was removed or replaced during the run: what was written to it is lost";
    for name in ["thermo.csv", "traj.extxyz", "scenario.toml"] {
        let workdir = Workdir::new(&format!("{MELT}{TRAJECTORY}"));
        assert_eq!(
            tampered(&workdir, &format!("rm out/{name}")),
            format!("error: rank 0: `out/{name}` {missed}\n")
        );
        assert!(workdir.path("out/summary.json").exists(), "the others are written");
        assert!(!workdir.path(&format!("out/{name}")).exists());
    }
    for script in ["rm -rf out; touch out", "rm -rf out", "mv out old; mkdir out"] {
        let workdir = Workdir::new(MELT);
        assert_eq!(tampered(&workdir, script), format!("error: rank 0: `out` {missed}\n"));
    }
}

#[test]
fn files_cut_or_written_to_during_the_run() {
    let cases = [(": >", "cut"), ("echo 1 >>", "written to by somebody else")];
    for (name, (script, done)) in ["thermo.csv", "traj.extxyz", "scenario.toml"]
        .into_iter()
        .flat_map(|name| cases.map(|case| (name, case)))
    {
        let workdir = Workdir::new(&format!("{MELT}{TRAJECTORY}"));
        let text = tampered(&workdir, &format!("{script} out/{name}"));
        let found = workdir.read(&format!("out/{name}")).len();
        let start =
            format!("error: rank 0: `out/{name}` was {done} during the run: it holds {found} bytes, but ");
        let written =
            text.strip_prefix(&start).and_then(|text| text.strip_suffix(" were written to it by the run\n"));
        let written: usize = written.unwrap_or_else(|| panic!("{text}")).parse().unwrap();
        assert!(if done == "cut" { written > found } else { written + 2 == found }, "{text}");
        assert!(workdir.path("out/summary.json").exists(), "the others are written");
    }
}

/// Returns the error of a run during which this script is executed.
fn tampered(workdir: &Workdir, script: &str) -> String {
    let script = format!(
        "\"$md\" run melt.toml --quiet --set parallel.backend=local --steps 3000 & pid=$!; \
         until [ \"$(wc -l < out/thermo.csv 2>/dev/null)\" -gt 3 ]; do sleep 0.01; done 2>/dev/null; \
         {script}; wait $pid"
    );
    let said = Said::of(workdir.shell(&script));
    assert_eq!((said.code, said.stdout.as_str()), (Some(1), ""), "{said:?}");
    said.stderr
}

/// Returns a file with the given particle and another one, because a single particle has no
/// temperature.
fn extxyz(cells: &str) -> String {
    format!("2\nLattice=\"9 0 0 0 9 0 0 0 9\" Properties=species:S:1:pos:R:3\n{cells}\nA 5.0 5.0 5.0\n")
}

/// Inputs are neither removed nor overwritten, whatever their names and paths are.
#[test]
fn inputs_are_never_touched() {
    let start = extxyz("A 1.0 1.0 1.0");
    let links: [fn(&Path, &Path) -> std::io::Result<()>; 2] =
        [|a, b| symlink(a, b), |a, b| fs::hard_link(a, b)];
    for name in ["thermo.csv", "summary.json", ".summary.json.unfinished", "forces.csv", "traj.extxyz"] {
        for link in links {
            let workdir = Workdir::new(&format!("{}{TRAJECTORY}", from_file("start.extxyz")));
            workdir.write("start.extxyz", &start);
            fs::create_dir(workdir.path("out")).unwrap();
            link(&workdir.path("start.extxyz"), &workdir.path(&format!("out/{name}"))).unwrap();
            let others = ["thermo.csv", "summary.json"].into_iter().filter(|other| *other != name);
            others.clone().for_each(|other| workdir.write(&format!("out/{other}"), "old"));
            assert_eq!(
                error(&workdir, "run melt.toml", ONE_RANK),
                format!(
                    "exit code 2\nerror: `out/{name}` is an input of this run and would be overwritten\n\
                     choose another output directory with --output DIR\n"
                )
            );
            assert_eq!(workdir.read("start.extxyz"), start);
            assert_eq!(workdir.read(&format!("out/{name}")), start);
            others.for_each(|other| assert_eq!(workdir.read(&format!("out/{other}")), "old"));
        }
    }
    let workdir = Workdir::new(MELT);
    fs::create_dir(workdir.path("out")).unwrap();
    workdir.write("out/thermo.csv", MELT);
    assert!(
        error(&workdir, "run out/thermo.csv", ONE_RANK)
            .starts_with("exit code 2\nerror: `out/thermo.csv` is an input")
    );
    assert_eq!(workdir.read("out/thermo.csv"), MELT);
}

/// The effective scenario is a result like any other. If the existing file is equivalent, it need
/// not be written.
#[test]
fn the_scenario_of_the_output_directory() {
    let workdir = Workdir::new(MELT);
    workdir.succeed(Start::Plain, "run melt.toml --quiet --set parallel.backend=local");
    let results =
        || ["scenario.toml", "thermo.csv", "summary.json"].map(|name| workdir.read(&format!("out/{name}")));
    let refused = "exit code 2\nerror: `out/scenario.toml` is an input of this run and would be overwritten\n\
                   choose another output directory with --output DIR\n";
    let before = results();
    for command in ["run", "forces", "compare"] {
        let arguments = format!("{command} out/scenario.toml --set simulation.seed=8");
        assert_eq!(error(&workdir, &arguments, Start::Plain), refused);
        assert_eq!(results(), before);
    }
    let said = workdir.succeed(Start::Plain, "run out/scenario.toml --quiet");
    assert_eq!((said.stderr.as_str(), results()[..2].to_vec()), ("", before[..2].to_vec()));

    workdir.write("particles.toml", &from_file("out/scenario.toml"));
    workdir.write("out/scenario.toml", &extxyz("A 1.0 1.0 1.0"));
    assert_eq!(error(&workdir, "run particles.toml", ONE_RANK), refused);
    assert_eq!(workdir.read("out/scenario.toml"), extxyz("A 1.0 1.0 1.0"));
}

/// The lock is written before any other file is examined.
#[test]
fn a_file_in_the_place_of_the_lock_is_never_touched() {
    let input = "exit code 2\nerror: `out/.md-cli.lock` is an input of this run and would be overwritten\n\
                 choose another output directory with --output DIR\n";
    let start = extxyz("A 1.0 1.0 1.0");
    let links: [fn(&Path, &Path) -> std::io::Result<()>; 2] =
        [|a, b| symlink(a, b), |a, b| fs::hard_link(a, b)];
    for link in links {
        let workdir = Workdir::new(&from_file("start.extxyz"));
        workdir.write("start.extxyz", &start);
        fs::create_dir(workdir.path("out")).unwrap();
        for name in ["melt.toml", "start.extxyz"] {
            link(&workdir.path(name), &workdir.path(LOCK)).unwrap();
            let before = workdir.read(name);
            for command in ["run", "forces", "compare"] {
                assert_eq!(error_everywhere(&workdir, &format!("{command} melt.toml"), &[ONE_RANK]), input);
            }
            assert_eq!((workdir.read(name), workdir.read(LOCK)), (before.clone(), before));
            fs::remove_file(workdir.path(LOCK)).unwrap();
        }
    }
    let workdir = Workdir::new(MELT);
    fs::create_dir(workdir.path("out")).unwrap();
    workdir.write(LOCK, MELT);
    assert_eq!(error(&workdir, "run out/.md-cli.lock", ONE_RANK), input);
    assert_snapshot!(error_everywhere(&workdir, "run melt.toml", &starts()), @r"
    exit code 2
    error: cannot write to the output directory `out`: `.md-cli.lock` in it is not a lock of md-cli
    choose a directory you may write to with --output DIR, or set output.directory in the scenario
    ");
    assert_eq!(workdir.read(LOCK), MELT);
}

/// Opening a pipe waits for its writer. If a new run is refused, the results of an earlier one are
/// kept.
#[test]
fn pipes_in_the_output_directory_are_refused_unopened() {
    let removed = "cannot remove the old file `out/NAME`: it is a pipe or a device";
    let locked = "cannot write to the output directory `out`: `.md-cli.lock` in it is not a regular file";
    let advice =
        "choose a directory you may write to with --output DIR, or set output.directory in the scenario";
    for name in ["scenario.toml", "timing.csv", "traj.extxyz", ".md-cli.lock"] {
        let workdir = Workdir::new(&format!("{MELT}{TRAJECTORY}"));
        fs::create_dir(workdir.path("out")).unwrap();
        workdir.make_pipe(&format!("out/{name}"));
        workdir.write("out/thermo.csv", "old");
        let text = if name == ".md-cli.lock" { locked.to_owned() } else { removed.replace("NAME", name) };
        let expected = format!("exit code 2\nerror: {text}\n{advice}\n");
        assert_eq!(error(&workdir, "run melt.toml", ONE_RANK), expected);
        assert_eq!(workdir.read("out/thermo.csv"), "old");
    }
    let workdir = Workdir::new(MELT);
    fs::create_dir(workdir.path("out")).unwrap();
    workdir.write("out/scenario.toml", "[output]\ntrajectory = { path = \"old.extxyz\" }\n");
    workdir.make_pipe("out/old.extxyz");
    workdir.succeed(ONE_RANK, "run melt.toml --quiet");
}

#[test]
fn links_in_the_place_of_outputs_are_replaced() {
    let workdir = Workdir::new(&format!("{MELT}{TRAJECTORY}"));
    fs::create_dir(workdir.path("out")).unwrap();
    let names = [
        "thermo.csv",
        "traj.extxyz",
        "summary.json",
        "scenario.toml",
        ".summary.json.unfinished",
        ".md-cli.lock",
    ];
    for name in names {
        workdir.write(&format!("precious-{name}"), "data");
        symlink(workdir.path(&format!("precious-{name}")), workdir.path(&format!("out/{name}"))).unwrap();
    }
    workdir.succeed(ONE_RANK, "run melt.toml --quiet");
    for name in names {
        assert_eq!(workdir.read(&format!("precious-{name}")), "data");
        assert!(!workdir.path(&format!("out/{name}")).is_symlink());
    }
}

/// Files of an earlier run are removed, while files from elsewhere remain.
#[test]
fn a_run_without_trajectory_removes_the_old_one() {
    let workdir = Workdir::new(MELT);
    workdir.write("with.toml", &format!("{MELT}{TRAJECTORY}"));
    workdir.succeed(ONE_RANK, "run with.toml --quiet");
    fs::copy(workdir.path("out/traj.extxyz"), workdir.path("out/kept.extxyz")).unwrap();
    workdir.succeed(ONE_RANK, "run melt.toml --quiet");
    assert!(!workdir.path("out/traj.extxyz").exists());
    assert!(workdir.path("out/kept.extxyz").exists());

    workdir.succeed(ONE_RANK, "run with.toml --quiet");
    workdir.write("out/traj.extxyz", &extxyz("A 1.0 1.0 1.0"));
    workdir.succeed(ONE_RANK, "run melt.toml --quiet");
    assert!(workdir.path("out/traj.extxyz").exists(), "not of our making");

    workdir.succeed(ONE_RANK, "run with.toml --quiet");
    workdir.write("go-on.toml", &from_file("out/traj.extxyz").replace("temperature = 1.44\n", ""));
    workdir.succeed(ONE_RANK, "run go-on.toml --quiet");
    assert!(workdir.path("out/traj.extxyz").exists(), "an input");
}

/// All kinds of results are listed, on one line.
#[test]
fn what_is_removed_is_said() {
    let workdir = Workdir::new(MELT);
    let kinds = "checkpoint = { every = 10, keep = 2 }\nrdf = { every = 10, max = 2.0 }\nmsd = { every = 10 }\n\
                 vacf = { every = 1, length = 0.05 }\nprofile = [{ axis = \"z\", bins = 10, every = 10 }]\n\
                 viscosity = { every = 1, length = 0.02 }\n";
    workdir.write("with.toml", &format!("{MELT}{TRAJECTORY}{kinds}"));
    workdir.write(
        "flow.toml",
        "[lbm]\ngrid = [4, 4, 4]\nviscosity = 0.05\nsteps = 2\n[output]\nfields = { every = 1 }\n",
    );
    let notes = |call: &str| {
        let said = workdir.succeed(ONE_RANK, call).stderr;
        said.lines()
            .filter(|line| line.contains("earlier"))
            .map(|line| format!("{line}\n"))
            .collect::<String>()
    };
    let begin = "note: removed from `out`, of an earlier run: ";
    assert_eq!(notes("run with.toml"), "");
    assert_eq!(notes("run with.toml"), format!("{begin}2 checkpoints\n"));
    assert_eq!(notes("run melt.toml"), format!("{begin}traj.extxyz, 2 checkpoints\n"));
    for name in ["msd.csv", "profile_z.csv", "rdf.csv", "vacf.csv", "viscosity.csv", "traj.extxyz"] {
        assert!(!workdir.path("out").join(name).exists(), "{name}");
    }
    assert_eq!(notes("forces melt.toml"), "");
    assert_eq!(notes("minimise melt.toml --force-tolerance 1e9"), "");
    assert_eq!(notes("lbm flow.toml --output out"), format!("{begin}minimised.extxyz\n"));
    assert_eq!(notes("lbm flow.toml --output out"), format!("{begin}3 images\n"));
    assert_eq!(notes("run melt.toml --quiet"), "");
    assert!(!workdir.files("out").iter().any(|name| name.ends_with(".vti")));
}

/// The mask is protected like any other input of a scenario on a grid.
#[test]
fn a_mask_among_the_images_of_an_earlier_run_is_never_touched() {
    let flow = "[lbm]\ngrid = [6, 6, 6]\nviscosity = 0.05\nsteps = 2\n[output]\nfields = { every = 1 }\n\
                [lbm.obstacle]\n";
    let workdir = Workdir::new(&format!("{flow}kind = \"sphere\"\ncenter = [3.0, 3.0, 3.0]\nradius = 1.2\n"));
    workdir.succeed(ONE_RANK, "lbm melt.toml --quiet --output out");
    let files = workdir.files("out");
    workdir.write("masked.toml", &format!("{flow}kind = \"mask\"\npath = \"out/fields_00000001.vti\"\n"));
    assert_eq!(
        error(&workdir, "lbm masked.toml --output out", ONE_RANK),
        "exit code 2\nerror: `out/fields_00000001.vti` is an input of this run and would be overwritten\n\
         choose another output directory with --output DIR\n"
    );
    assert_eq!(workdir.files("out"), files);
    workdir.succeed(ONE_RANK, "lbm masked.toml --quiet --output other");
}

/// The results of any earlier command are removed, even if its scenario has changed or is gone.
#[test]
fn results_of_other_commands_are_removed() {
    const COMPARE: &str = "compare melt.toml --quiet --repeat 1 --steps 1";
    let workdir = Workdir::new(MELT);
    workdir.write("with.toml", &format!("{MELT}{TRAJECTORY}"));
    let succeed = |command: &str| {
        workdir.succeed(ONE_RANK, command);
        workdir.files("out")
    };
    let compared = ["compare.csv", "compare.png", "compare.svg", "recommendation.txt", "scenario.toml"];
    let run = ["scenario.toml", "summary.json", "thermo.csv", "timing.csv", "timing_ranks.csv"];
    assert_eq!(succeed("run with.toml --quiet").len(), run.len() + 1);
    assert_eq!(succeed(COMPARE), compared);
    assert_eq!(succeed("run melt.toml --quiet"), run);
    assert_eq!(succeed(COMPARE), compared);
    assert_eq!(succeed("forces melt.toml --quiet"), ["forces.csv", "scenario.toml", "summary.json"]);
    for script in ["rm out/scenario.toml", "cp melt.toml out/scenario.toml"] {
        succeed("run with.toml --quiet");
        assert!(workdir.shell(script).status().unwrap().success());
        assert_eq!(succeed(COMPARE), compared, "{script}");
    }
    workdir.write("out/bench.csv", "of no scenario");
    workdir.write("out/notes.txt", "not of our making");
    assert_eq!(succeed("run melt.toml --quiet").len(), run.len() + 2);
}

#[test]
fn the_effective_scenario_finds_its_particles_from_anywhere() {
    let workdir = Workdir::new(MELT);
    fs::create_dir_all(workdir.path("deep/data")).unwrap();
    workdir.write("deep/scenario.toml", &from_file("data/start.extxyz"));
    workdir.write("deep/data/start.extxyz", &extxyz("A 1.0 1.0 1.0"));
    workdir.succeed(ONE_RANK, "run deep/scenario.toml --quiet");
    fs::create_dir(workdir.path("elsewhere")).unwrap();
    fs::copy(workdir.path("out/scenario.toml"), workdir.path("elsewhere/again.toml")).unwrap();
    let mut command = workdir.command(Start::Plain, "run again.toml --quiet --output out");
    command.current_dir(workdir.path("elsewhere"));
    let said = Said::of(command);
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
    assert_eq!(workdir.read("out/thermo.csv"), workdir.read("elsewhere/out/thermo.csv"));
    assert_eq!(workdir.read("out/scenario.toml"), workdir.read("elsewhere/out/scenario.toml"));
}

/// The file may have grown before the scenario is run again.
#[test]
fn the_effective_scenario_names_the_frame() {
    let workdir = Workdir::new(&from_file("start.extxyz"));
    let [one, two] = ["A 1.0 1.0 1.0", "A 1.0 1.0 1.5"].map(extxyz);
    workdir.write("start.extxyz", &one);
    workdir.succeed(ONE_RANK, "run melt.toml --quiet");
    assert!(!workdir.read("out/scenario.toml").contains("frame"), "there is one");
    workdir.write("start.extxyz", &format!("{one}{two}"));
    workdir.succeed(ONE_RANK, "run melt.toml --quiet");
    assert!(workdir.read("out/scenario.toml").contains("format = \"extxyz\", frame = 2 }"));
}

/// A path converted to UTF-8 with losses would be that of another file.
#[test]
fn folders_whose_names_are_not_utf_8() {
    let workdir = Workdir::new(MELT);
    let folder = workdir.path(".").join(std::ffi::OsStr::from_bytes(b"nu\xff"));
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("s.toml"), from_file("start.extxyz")).unwrap();
    fs::write(folder.join("start.extxyz"), extxyz("A 1.0 1.0 1.0")).unwrap();
    let local = "--quiet --set parallel.backend=local";
    let said = |script: &str| Said::of(workdir.shell(&format!("{script} {local}")));
    let text = said("\"$md\" run $'nu\\xff/s.toml' --output out");
    let stderr = "error: scenario.toml cannot name the particle file `nu\u{fffd}/start.extxyz`: its path is not UTF-8\n";
    assert_eq!((text.code, text.stderr.as_str()), (Some(2), stderr));
    assert!(!workdir.path("out").exists());
    let text = said("cd $'nu\\xff'; \"$md\" run s.toml --output out");
    assert_eq!((text.code, text.stderr.as_str()), (Some(2), &*stderr.replace("nu\u{fffd}/", "")));
    assert!(said("cd $'nu\\xff'; \"$md\" forces s.toml --output $PWD/../out").code == Some(2));
}

/// `/dev` is not the folder that the user means.
#[test]
fn a_scenario_from_standard_input_is_of_the_working_folder() {
    let workdir = Workdir::new(&from_file("start.extxyz"));
    workdir.write("start.extxyz", &extxyz("A 1.0 1.0 1.0"));
    for call in ["run /dev/stdin <melt.toml", "run <(cat melt.toml)"] {
        let said = Said::of(workdir.shell(&format!("\"$md\" {call} --quiet --set parallel.backend=local")));
        assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""), "{call}");
        assert!(workdir.read("out/scenario.toml").contains("/start.extxyz\""));
    }
}
