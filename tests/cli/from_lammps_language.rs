//! `md-cli from-lammps`: the language of scripts, boxes with faces that follow the particles, and
//! the limits on a script.
#![expect(clippy::unwrap_used, reason = "these are tests")]

use crate::from_lammps::{folder, translated};
use crate::support::{Said, Start, Workdir};

const SYSTEM: &str = "units lj\nboundary p p s\nlattice sc 0.7\nregion b block 0 4 0 4 0 4\ncreate_box 1 b\ncreate_atoms 1 box\n\
     mass 1 1.0\n";
const PAIRS: &str = "pair_style lj/cut 2.5\npair_coeff * * 1.0 1.0\n";

fn refused(script: &str) -> String {
    let said = folder(script).call(Start::Plain, "from-lammps in.script");
    assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{said:?}");
    unwrapped(&said)
}

/// Returns standard error with each note in one line.
fn unwrapped(said: &Said) -> String {
    said.stderr.replace("\n      ", " ")
}

fn number(said: &Said, table: &str, key: &str) -> f64 {
    let scenario: toml::Table = said.stdout.parse().unwrap();
    let value = &scenario[table][key];
    value.as_float().or(value.as_integer().map(|value| value as f64)).unwrap()
}

/// 80 particles at -4.30194341979 and -2.67690431988, as `lmp` prints.
#[test]
fn a_face_that_shrinks_has_the_particles_and_the_box_of_lammps() {
    let workdir = folder(&format!("{SYSTEM}{PAIRS}fix 1 all nve\nrun 1\n"));
    translated(&workdir, "");
    workdir.succeed(Start::Threads(1), "forces scenario.toml --quiet --output out");
    let summary: serde_json::Value = serde_json::from_str(&workdir.read("out/summary.json")).unwrap();
    let number = |key: &str| summary[key].as_f64().unwrap();
    assert_eq!(number("atoms"), 80.0);
    assert!((number("potential_energy") / 80.0 + 4.301_943_419_79).abs() < 1e-10, "{summary}");
    assert!((number("pressure") + 2.676_904_319_88).abs() < 1e-10, "{summary}");
}

/// What particles would do otherwise in LAMMPS is not taken, wherever it stands in the script.
#[test]
fn the_order_of_commands_counts() {
    let begin = format!("{}{PAIRS}", SYSTEM.replace("p p s", "p p p"));
    let create = "velocity all create 1.0 1\n";
    let minimise = "minimize 1e-4 1e-6 10 100\n";
    let run = "fix 1 all nve\nrun 20\n";
    for (script, expected) in [
        (
            format!("{begin}{create}{minimise}{run}"),
            "not taken: `run 20`: particles have the velocities from before `minimize` in LAMMPS",
        ),
        (format!("{begin}{run}{minimise}run 10\n"), "not taken: `run 10`: particles have the velocities"),
        (format!("{begin}{create}mass 1 4.0\n{run}"), "not taken: `mass 1 4.0`: it comes after `velocity`"),
        (
            format!("{begin}{create}create_atoms 1 single 0.5 0.5 0.5\n{run}"),
            "not taken: `create_atoms 1 single 0.5 0.5 0.5`: it comes after `velocity`",
        ),
        (
            format!("{SYSTEM}{PAIRS}{create}{run}"),
            "not taken: `run 20`: the box follows particles that move (`s` in `boundary`)",
        ),
        (
            format!("units lj\nboundary s s s\nread_data d.data\n{PAIRS}{run}"),
            "not taken: `read_data d.data`: the box ends at the particles of the file",
        ),
        (
            format!("units lj\nread_data d.data add append\n{PAIRS}{run}"),
            "not taken: `read_data d.data add append`: the keyword `add` of read_data has no equivalent here",
        ),
    ] {
        let text = refused(&script);
        assert!(text.contains(expected), "{expected}: {text}");
    }
    for script in [
        format!("{begin}{minimise}{run}"),
        format!("{begin}{create}{run}{minimise}"),
        format!("{begin}{create}mass 1 1.0\n{run}"),
        format!("{SYSTEM}{PAIRS}{create}fix 1 all nve\nrun 0\n"),
    ] {
        translated(&folder(&script), "");
    }
    let drift = translated(&folder(&format!("{begin}velocity all set 0.1 0.2 0.3\n{run}")), "");
    assert!(drift.stderr.contains("temperature and pressure here are about the mean velocity"), "{drift:?}");
    let long = format!("{begin}{run}print {}\n", "x".repeat(1000));
    let said = translated(&folder(&long), "");
    assert!(said.stderr.lines().all(|line| line.len() < 400), "{}", said.stderr);
}

#[test]
fn coefficients_belong_to_the_pair_style_in_force() {
    let morse = "pair_style morse 2.5\npair_coeff * * 1.0 5.0 1.1\n";
    let text = refused(&format!("{SYSTEM}{PAIRS}{morse}fix 1 all nve\nrun 20\n"));
    let expected = "`pair_coeff * * 1.0 5.0 1.1`: it belongs to the pair_style `morse`, which is not taken";
    assert!(text.contains(expected), "{text}");
    assert!(text.contains("its pair_style `morse` cannot be taken, only lj/cut"), "{text}");
    // After a run the pairs of that run remain, but only without these lines.
    let late = format!("{SYSTEM}{PAIRS}fix 1 all nve\nrun 20\n{morse}run 20\n");
    assert!(refused(&late).contains(expected));
    let scenario = translated(&folder(&late), "--partial").stdout;
    assert!(scenario.contains("\nepsilon = 1.0\nsigma = 1.0\n"), "{scenario}");
    // Another style of Lennard-Jones pairs does not inherit the coefficients of the previous one.
    let text = refused(&format!("{SYSTEM}{PAIRS}pair_style lj/cut/opt 2.5\nfix 1 all nve\nrun 20\n"));
    assert!(text.contains("there is no pair_coeff 1 1"), "{text}");
}

#[test]
fn a_region_without_a_lattice_is_in_sigma() {
    let script = "units lj\nregion cell block -10 10 -10 10 -10 10\ncreate_box 1 cell\n\
         create_atoms 1 random 500 341 cell\nmass 1 1.0\n";
    let workdir = folder(&format!("{script}{PAIRS}fix 1 all nve\nminimize 1e-4 1e-6 1000 10000\nrun 10\n"));
    let said = translated(&workdir, "");
    let gas = "gas = { atoms = 500, box = [20.0, 20.0, 20.0], minimal_distance = 0.9 }";
    assert!(said.stdout.contains(gas), "{said:?}");
    let expected = "differs: `create_atoms 1 random 500 341 cell`: the places are drawn in another way";
    assert!(unwrapped(&said).contains(expected), "{said:?}");
    workdir.succeed(Start::Threads(1), "check scenario.toml");
}

/// The values are those that `lmp` prints after `create_atoms`.
#[test]
fn formulas_know_what_the_commands_before_have_made() {
    for (formula, expected) in [
        ("atoms", 80.0),
        ("lx", 4.504_991_521_77),
        ("zhi-zlo", 4.505_892_520_08),
        ("xlat", 1.126_247_880_44),
        ("dt*1000", 5.0),
        ("vol", 91.446_857_142_9),
    ] {
        let script =
            format!("{SYSTEM}{PAIRS}variable v equal {formula}\ntimestep $v\nfix 1 all nve\nrun 1\n");
        let found = number(&translated(&folder(&script), ""), "simulation", "timestep");
        assert!((found - expected).abs() < 1e-10 * expected, "{formula}: {found}");
    }
    let text = refused(&format!("{SYSTEM}{PAIRS}timestep $(temp/100)\nfix 1 all nve\nrun 1\n"));
    assert!(text.contains("`temp` in a formula, whose value only a run knows"), "{text}");
    let late = format!("{SYSTEM}{PAIRS}fix 1 all nve\nrun 1\nrun $(lz)\n");
    assert!(refused(&late).contains("only the run before knows `lz`"));
}

fn with_include(name: &str, text: &str) -> Workdir {
    let workdir = folder(&format!("{SYSTEM}include {name}\nfix 1 all nve\nrun 1\n"));
    workdir.write("pairs.in", text);
    workdir
}

#[test]
fn included_scripts_are_read_where_they_are_named() {
    let workdir = with_include(
        "pairs.in",
        &format!("variable c index 1.5\n{PAIRS}pair_coeff 1 1 $c 1.0\nfix 2 all deform\n"),
    );
    let said = translated(&workdir, "--partial");
    assert!(said.stdout.contains("\nepsilon = 1.5\n"), "{said:?}");
    assert!(said.stdout.contains("# line 5 of pairs.in, not taken: fix 2 all deform ("), "{said:?}");
    assert!(said.stderr.contains("pairs.in:5: not taken: `fix 2 all deform`"), "{said:?}");
    let said = workdir.call(Start::Plain, "from-lammps in.script");
    assert!(unwrapped(&said).contains("(line 5 of pairs.in)"), "{said:?}");
    // `quit` in an included script ends the whole script.
    let workdir = with_include("pairs.in", &format!("{PAIRS}fix 1 all nve\nrun 7\nquit\n"));
    assert_eq!(number(&translated(&workdir, ""), "simulation", "steps"), 7.0);
    let said = with_include("nowhere.in", "").call(Start::Plain, "from-lammps in.script");
    assert!(said.code == Some(2) && said.stderr.contains("not taken: `include nowhere.in`: "), "{said:?}");
    let said = with_include("pairs.in", "include pairs.in\n").call(Start::Plain, "from-lammps in.script");
    let expected = "not taken: `include pairs.in`: `pairs.in` includes itself";
    assert!(said.code == Some(2) && unwrapped(&said).contains(expected), "{said:?}");
}

#[test]
fn control_of_the_script_is_refused_by_name() {
    for line in ["jump SELF loop", "next a", "if 1 then \"run 5\""] {
        let text = refused(&format!("{SYSTEM}{PAIRS}fix 1 all nve\nlabel loop\n{line}\nrun 1\n"));
        assert!(text.contains(&format!("not taken: `{line}`: control of the script")), "{text}");
    }
}

#[test]
fn what_a_script_can_ask_for_is_bounded() {
    let doubled: String = ('b'..='z')
        .map(|name| format!("variable {name} string $a$a\nvariable a delete\nvariable a string ${name}\n"))
        .collect();
    let text = refused(&format!(
        "variable a string 0123456789\n{doubled}timestep $z\n{SYSTEM}{PAIRS}fix 1 all nve\nrun 1\n"
    ));
    assert!(text.contains("with its variables it has more than 16384 characters"), "{text}");
    // A command with half a million pairs is below the limit of a million.
    let many = SYSTEM.replace("create_box 1", "create_box 1000");
    let text = refused(&format!("{many}{PAIRS}{}", "units lj\n".repeat(1000)));
    assert!(text.contains("or too many for the pairs"), "{text}");
}

#[test]
fn many_runs_become_many_stages() {
    let script = format!("{SYSTEM}{PAIRS}fix 1 all nve\n{}", "run 1\n".repeat(20_000));
    let said = translated(&folder(&script), "");
    assert_eq!(said.stdout.matches("[[stage]]").count(), 20_000);
}
