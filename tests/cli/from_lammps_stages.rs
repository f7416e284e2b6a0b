//! `md-cli from-lammps`: a run depends on the commands before it, not on later ones.
#![expect(clippy::unwrap_used, reason = "these are tests")]

use crate::from_lammps::{example, folder, translated};
use crate::support::{Said, Start, Workdir};

const SYSTEM: &str = "units lj\nlattice fcc 0.8442\nregion box block 0 4 0 4 0 4\ncreate_box 1 box\ncreate_atoms 1 box\nmass 1 1.0\n\
     velocity all create 3.0 87287\npair_style lj/cut 2.5\npair_coeff 1 1 1.0 1.0\nfix 1 all nve\ntimestep 0.001\nthermo 50\n";

/// Number of lines of [`SYSTEM`].
const BEFORE: usize = 12;

fn notes(said: &Said) -> Vec<String> {
    said.stderr.lines().map(|line| line.trim_start_matches("note: ").to_owned()).collect()
}

fn table(said: &Said) -> toml::Table {
    said.stdout.parse().unwrap()
}

/// Returns the scenario without its comments.
fn keys(said: &Said) -> String {
    said.stdout.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n")
}

#[test]
fn what_comes_after_a_run_does_not_change_it() {
    let expected = keys(&translated(&folder(&format!("{SYSTEM}run 100\nrun 100\n")), ""));
    // LAMMPS keeps velocities that were given before a minimisation.
    let at_rest = SYSTEM.replace("velocity all", "# velocity all");
    for (system, run) in [(SYSTEM, "run 100"), (&at_rest, "minimize 0 1e-6 100 1000")] {
        let expected = keys(&translated(&folder(&format!("{system}{run}\nrun 100\n")), ""));
        for late in [
            "velocity all create 0.5 4711",
            "velocity all create 3.0 87287",
            "velocity all set 1.0 0 0 sum yes",
            "timestep 0.005",
            "pair_coeff 1 1 2.0 1.0",
            "pair_coeff 1 1 1.0 1.0 3.0",
            "pair_style lj/cut 3.0",
            "pair_modify shift yes",
            "mass 1 2.0",
            "create_atoms 1 box",
            "boundary p p f",
            "neighbor 0.5 bin",
            "neigh_modify every 10 check no",
        ] {
            let said = translated(&folder(&format!("{system}{run}\n{late}\nrun 100\n")), "--partial");
            let note = format!("in.script:{}: not taken: `{late}`: it comes after a run", BEFORE + 2);
            assert!(notes(&said).iter().any(|line| line.starts_with(&note)), "{late}: {said:?}");
            assert_eq!(keys(&said), expected, "{late}");
        }
    }
    for same in ["timestep 0.001", "pair_coeff 1 1 1.0 1.0 2.5", "pair_style lj/cut 2.5", "lattice sc 0.5"] {
        let said = translated(&folder(&format!("{SYSTEM}run 100\n{same}\nrun 100\n")), "");
        assert_eq!((notes(&said).len(), keys(&said)), (1, expected.clone()), "{same}: {said:?}");
    }
}

/// A run of no steps, which prints the state, changes nothing, and commands after it hold from the
/// beginning.
#[test]
fn a_run_of_no_steps_is_no_run() {
    let said = translated(&folder(&format!("{SYSTEM}run 0\ntimestep 0.002\nrun 100\n")), "");
    assert_eq!(table(&said)["simulation"]["timestep"].as_float(), Some(0.002));
}

/// A keyword selects the scheme, or is left out if it changes no average. Otherwise the run has no
/// thermostat, which is reported.
#[test]
fn keywords_of_langevin() {
    for (words, scheme, reason) in [
        ("", Some("baoab"), "BAOAB, with other random numbers"),
        ("gjf vhalf zero no", Some("gjf"), "GJF, with other random numbers"),
        ("zero no tally yes", Some("baoab"), "BAOAB, with other random numbers, without its `tally`"),
        ("scale 1 2.0", None, "the keyword `scale` of langevin, or its value, has no equivalent here"),
    ] {
        let fix = format!("fix 2 all langevin 1.0 1.0 2.0 77 {words}").trim_end().to_owned();
        let said = translated(&folder(&format!("{SYSTEM}{fix}\nrun 100\n")), "--partial");
        let fate = if scheme.is_some() { "differs" } else { "not taken" };
        // After the note about the velocities.
        assert_eq!(notes(&said)[1..], [format!("in.script:{}: {fate}: `{fix}`: {reason}", BEFORE + 1)]);
        let keys = table(&said);
        let integrator = &keys["integrator"];
        assert_eq!(integrator.get("scheme").and_then(toml::Value::as_str), scheme, "{words}");
        let kind = if scheme.is_some() { "langevin" } else { "velocity-verlet" };
        assert_eq!(integrator["kind"].as_str(), Some(kind), "{words}");
    }
}

#[test]
fn a_script_without_a_run_makes_one_step_and_says_so() {
    let said = translated(&folder(SYSTEM), "");
    let expected = format!(
        "in.script:{BEFORE}: differs: `thermo 50`: the script ends without a `run` that has steps; its scenario would make one step"
    );
    assert_eq!(
        (notes(&said).pop(), table(&said)["simulation"]["steps"].as_integer()),
        (Some(expected), Some(1))
    );
}

/// The example has a melt at 5, and is minimised with velocities of 0.
#[test]
fn the_first_velocities_of_an_example_of_lammps_stand() {
    let Some(script) = example("min/in.min.box") else {
        return eprintln!("skipped: LAMMPS's examples are not there");
    };
    let said = translated(&folder(&script), "--partial");
    assert_eq!(table(&said)["system"]["temperature"].as_float(), Some(5.0));
    let late = |line: &String| line.contains("not taken: `velocity\tall create 0.0 1`");
    assert_eq!(notes(&said).iter().filter(|line| late(line)).count(), 1, "{}", said.stderr);
}

#[test]
fn a_command_that_is_not_taken_leaves_nothing_behind() {
    let said =
        translated(&folder(&format!("{SYSTEM}pair_modify shift yes table 12\nrun 100\n")), "--partial");
    assert_eq!(table(&said)["interaction"]["shift"].as_str(), Some("none"), "{said:?}");
}

#[test]
fn frames_are_in_the_runs_between_dump_and_undump() {
    let dump = "dump d all custom 10 d.lammpstrj id type x y z\n";
    let script = format!(
        "{SYSTEM}run 60\n{dump}dump_modify e sort id\nrun 60\ndump_modify d every 30\nrun 60\nundump d\nrun 60\n"
    );
    let workdir = folder(&script);
    let said = translated(&workdir, "");
    assert!(
        said.stderr.contains("differs: `dump d all custom 10 d.lammpstrj id type x y z`: step 0 has a frame")
    );
    assert!(said.stderr.contains("without effect: `dump_modify e sort id`: that dump was not taken either"));
    workdir.succeed(Start::Threads(2), "run scenario.toml --quiet --output out");
    let file = workdir.read("out/d.lammpstrj");
    let mut lines = file.lines();
    let mut steps = Vec::new();
    while lines.by_ref().any(|line| line == "ITEM: TIMESTEP") {
        steps.push(lines.next().unwrap().parse::<u64>().unwrap());
    }
    assert_eq!(steps, [0, 70, 80, 90, 100, 110, 120, 150, 180]);
    // Nothing is written after the last run.
    let said = translated(&folder(&format!("{SYSTEM}run 60\nrun 60\n{dump}")), "");
    assert!(!table(&said)["output"].as_table().unwrap().contains_key("trajectory"), "{said:?}");
}

/// They begin with the run before which they are defined, or which follows the fix that uses them.
#[test]
fn analyses_begin_where_the_script_has_them() {
    let start = |script: &str| {
        let said = translated(&folder(&format!("{SYSTEM}{script}")), "");
        let output = table(&said)["output"].clone();
        output.get("msd").map(|msd| msd.get("start").and_then(toml::Value::as_integer))
    };
    let (compute, look) = ("compute m all msd\n", "fix v all vector 5 c_m[4]\n");
    for (script, expected) in [
        (format!("{compute}run 60\n"), Some(None)),
        (format!("{compute}run 60\nrun 60\n"), Some(Some(0))),
        (format!("run 60\n{compute}run 60\n"), Some(None)),
        (format!("run 60\n{compute}run 60\nrun 60\n"), Some(Some(60))),
        (format!("{compute}run 60\n{look}run 60\n"), Some(None)),
        (format!("run 60\n{compute}"), None),
    ] {
        assert_eq!(start(&script), expected, "{script}");
    }
}

#[test]
fn walls_end_before_a_run_or_not_at_all() {
    let walls = "fix w all wall/lj93 zlo EDGE 1.0 1.0 2.5\n";
    let system = SYSTEM.replace("units lj\n", "units lj\nboundary p p f\n");
    let walls_of = |rest: &str| {
        let said = translated(&folder(&format!("{system}{rest}")), "--partial");
        let has_walls = table(&said)["system"].as_table().unwrap().contains_key("walls");
        (has_walls, said.stderr.contains("not taken: `unfix w`: it comes after a run"))
    };
    assert_eq!(walls_of(&format!("{walls}unfix w\nrun 60\n")), (false, false));
    assert_eq!(walls_of(&format!("{walls}run 60\nunfix w\nrun 60\n")), (true, true));
    assert_eq!(walls_of(&format!("run 60\n{walls}run 60\n")), (false, false));
}

#[test]
fn a_scenario_is_one_simulation() {
    let said = folder(&format!("{SYSTEM}run 100\nclear\n{SYSTEM}run 200\n"));
    let said = said.call(Start::Plain, "from-lammps in.script");
    assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{said:?}");
    let text = said.stderr.replace("\n      ", "");
    let expected =
        format!("line {}: `clear`: a scenario is one simulation: split the script there", BEFORE + 2);
    assert!(text.contains(&expected), "{text}");
    // Before anything is created, `clear` only resets the settings.
    let workdir: Workdir = folder(&format!("timestep 0.1\nvariable x index 7\nclear\n{SYSTEM}run $x\n"));
    let said = translated(&workdir, "");
    assert_eq!(table(&said)["simulation"]["steps"].as_integer(), Some(7));
}
