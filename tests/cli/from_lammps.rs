//! `md-cli from-lammps`: the translation of a script, the notes about the rest, and LAMMPS's own
//! energies where LAMMPS is installed.
#![expect(clippy::unwrap_used, reason = "these are tests")]

use std::path::Path;
use std::process::Command;

use crate::support::{Said, Start, Workdir, as_from_a_terminal, md_cli};

/// Script with all commands that are translated exactly.
const SCRIPT: &str = "\
# two kinds of particles
variable t index 1.2
variable n equal 2*3

units lj
boundary p p f
lattice fcc 0.8
region box block 0 $n 0 ${n} 0 10
create_box 2 box
region lower block INF INF INF INF 1 4
region upper block INF INF INF INF 5 9
create_atoms 1 region lower
create_atoms 2 region upper
mass * 1.0
mass 2 2.5
velocity all create $t 4711 loop geom
pair_style lj/cut 2.5
pair_coeff * * 1.0 1.0
pair_coeff 2 2 0.5 1.1
pair_modify shift yes &
    mix arithmetic
neighbor 0.4 bin
neigh_modify every 10 delay 0 check no
fix walls all wall/lj93 zlo EDGE 1.0 1.0 2.5 zhi EDGE 1.5 1.0 2.5
fix bath all nvt temp $t 1.0 0.5
thermo 20
dump d all custom 50 dump.lammpstrj id type x y z
run 100
unfix bath
fix move all nve
compute rdf all rdf 100
fix pull upper addforce 0 0 1
run $(v_n*10)
";

pub(crate) fn folder(script: &str) -> Workdir {
    let workdir = Workdir::new("");
    workdir.write("in.script", script);
    workdir
}

/// Returns the scenario and the notes.
pub(crate) fn translated(workdir: &Workdir, arguments: &str) -> Said {
    let said = workdir.call(Start::Plain, &format!("from-lammps in.script {arguments}"));
    assert_eq!(said.code, Some(0), "{said:?}");
    workdir.write("scenario.toml", &said.stdout);
    said
}

#[test]
fn a_script_becomes_a_scenario_that_runs() {
    let workdir = folder(SCRIPT);
    let said = translated(&workdir, "--partial");
    let length = 6.0 * (4.0_f64 / 0.8).cbrt();
    let height = 10.0 * (4.0_f64 / 0.8).cbrt();
    let scenario: toml::Table = said.stdout.parse().unwrap();
    let system = scenario["system"].as_table().unwrap();
    let lengths: Vec<f64> = system["regions"]["box"]
        .as_array()
        .unwrap()
        .iter()
        .map(|length| length.as_float().unwrap())
        .collect();
    for (found, expected) in lengths.iter().zip([length, length, height]) {
        assert!((found - expected).abs() < 1e-12, "{lengths:?}");
    }
    assert_eq!(system["temperature"].as_float(), Some(1.2));
    assert_eq!(system["boundary"].to_string(), "[\"periodic\", \"periodic\", \"reflecting\"]");
    assert_eq!(system["walls"].as_array().unwrap().len(), 2);
    assert_eq!(scenario["simulation"]["seed"].as_integer(), Some(4711));
    assert_eq!(scenario["species"][1]["mass"].as_float(), Some(2.5));
    assert_eq!(scenario["interaction"]["mixing"].as_str(), Some("lorentz-berthelot"));
    assert_eq!(scenario["interaction"]["shift"].as_str(), Some("energy"));
    // All pairs had coefficients before, so the coefficient of the unlike pair remains valid.
    assert_eq!(scenario["interaction"]["pair"][0]["epsilon"].as_float(), Some(1.0));
    assert_eq!(scenario["neighbor"]["rebuild"]["every"].as_integer(), Some(10));
    assert_eq!(scenario["stage"][0]["integrator"]["temperature"]["to"].as_float(), Some(1.0));
    assert_eq!(scenario["stage"][1]["steps"].as_integer(), Some(60));
    assert_eq!(scenario["stage"][1]["integrator"]["kind"].as_str(), Some("velocity-verlet"));
    assert_eq!(
        scenario["output"]["trajectory"].to_string(),
        "{ columns = [], every = 50, path = \"dump.lammpstrj\" }"
    );
    assert_eq!(scenario["output"]["rdf"].to_string(), "{ bins = 100, every = 10 }");
    workdir.succeed(Start::Threads(2), "run scenario.toml --quiet --output out");
    let rows = workdir.read("out/thermo.csv").lines().count();
    assert_eq!(rows, 1 + 9, "steps 0, 20, ... 160");
}

#[test]
fn what_is_not_taken_is_said_line_by_line() {
    let said = translated(&folder(SCRIPT), "--partial");
    let expected = [
        "in.script:6: differs: `boundary p p f`: faces that are not periodic reflect here, and the box keeps its size",
        "in.script:16: differs: `velocity all create $t 4711 loop geom`: the temperature is the same, the velocities are drawn \
         in another way",
        "in.script:24: differs: `fix walls all wall/lj93 zlo EDGE 1.0 1.0 2.5 zhi EDGE 1.5 1.0 2.5`: their energy and virial \
         count, as after `fix_modify energy yes virial yes`",
        "in.script:32: not taken: `fix pull upper addforce 0 0 1`: a group: the fix `addforce` acts on `upper`, and here all particles \
         are treated alike",
    ];
    let lines: Vec<&str> = said.stderr.lines().map(|line| line.trim_start_matches("note: ")).collect();
    assert_eq!(lines, expected);
    assert!(said.stdout.contains("# line 32, not taken: fix pull upper addforce 0 0 1 ("), "{}", said.stdout);
}

/// Returns the words of a message, which is broken into lines, in one line.
fn in_one_line(said: &Said) -> String {
    said.stderr.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ")
}

#[test]
fn without_a_needed_line_there_is_no_scenario() {
    let said = folder(SCRIPT).call(Start::Plain, "from-lammps in.script");
    assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{said:?}");
    let expected = "in.script does not come to a scenario: particles would move in another way without what is not taken (line 32); \
                    `--partial` writes the scenario without it";
    assert!(in_one_line(&said).ends_with(expected), "{}", said.stderr);
    let without = SCRIPT.replace("fix pull upper addforce 0 0 1\n", "");
    assert_eq!(folder(&without).call(Start::Plain, "from-lammps in.script").code, Some(0));
}

/// A line that is needed is identified, and a line that is not needed does not prevent the
/// translation.
#[test]
fn a_line_says_what_it_is() {
    let script = SCRIPT.replace("fix pull upper addforce 0 0 1\n", "");
    for (line, is_taken, expected) in [
        ("velocity upper create 1.0 1", false, "it comes after a run"),
        ("bond_style harmonic", false, "bonds: particles are points without bonds here"),
        ("kspace_style pppm 1e-4", false, "electrostatics: charges have no forces here"),
        ("set type 1 charge 1.0", false, "properties of some particles"),
        ("delete_atoms region lower", false, "particles that are removed"),
        ("rerun dump.lammpstrj dump x y z", false, "a state that LAMMPS has written"),
        ("fix r all rigid single", false, "bonds or rigid bodies: the fix `rigid`"),
        (
            "fix r all setforce 0 0 0",
            false,
            "forces on particles that are no pairs' or walls': the fix `setforce`",
        ),
        ("fix r all deform 1 x erate 0.1", false, "a box that changes its shape: the fix `deform`"),
        ("fix r all gcmc 10 1 1 1 1 1.0 1.0 0.1", false, "particles that come, go or change their type"),
        ("fix r all heat 1 1.0", false, "momentum or heat that is exchanged: the fix `heat`"),
        ("fix r all dt/reset 1 0 1 0.1", false, "a run whose length or time step changes"),
        ("fix_modify move temp other", false, "the fix with another `temp other`"),
        ("thermo_modify lost ignore", false, "particles that leave the box and are deleted"),
        ("neigh_modify exclude type 1 2", false, "pairs that are excluded"),
        (
            "fix r all temp/rescale 1 1.0 1.0 10.0 1.0",
            false,
            "temperatures that are off by up to 10 are left as they are",
        ),
        (
            "fix r all temp/rescale 1 1.0 1.0 0.0 0.5",
            false,
            "the temperature goes only a part of the way (0.5)",
        ),
        (
            "fix r all nvt temp 1.0 1.0 0.5 drag 5.0",
            false,
            "the keyword `drag` of nvt, or its value, has no equivalent here",
        ),
        ("fix r all langevin 1.0 1.0 1.0 7 zero yes", false, "the keyword `zero` of langevin, or its value"),
        ("compute_modify move_temp extra/dof 0", false, "a temperature that is computed in another way"),
        ("compute_modify s extra/dof 0", true, "what computes give is not written here"),
        ("run 10 every 5 NULL", false, "the keyword `every` of run has no equivalent here"),
        ("unknown_command 1", false, "the command `unknown_command` is not known here"),
        (
            "compute s all stress/atom NULL",
            true,
            "what the compute `stress/atom` computes is not written here",
        ),
        (
            "fix a upper ave/chunk 1 1 1 c density/number",
            true,
            "what the fix `ave/chunk` computes is not written",
        ),
        (
            "group upper region upper",
            true,
            "a group of particles: each command that acts on it is told by itself",
        ),
        ("dump e upper xyz 10 e.xyz", true, "a group: it acts on `upper`"),
        ("write_data end.data", true, "it writes a file of LAMMPS's own"),
        ("print done", true, "it sets how LAMMPS itself runs or prints"),
        ("unfix nothing", true, "that fix was not taken either"),
    ] {
        let said = folder(&format!("{script}{line}\n")).call(Start::Plain, "from-lammps in.script");
        let fate = if is_taken { "without effect" } else { "not taken" };
        let expected = format!("{fate}: `{line}`: {expected}");
        assert!(in_one_line(&said).contains(&expected), "{expected}: {}", said.stderr);
        assert_eq!(
            (said.code, said.stdout.is_empty()),
            (Some(if is_taken { 0 } else { 2 }), !is_taken),
            "{line}"
        );
    }
    let forms = script.replace("velocity all create", "velocity upper create");
    let said = folder(&forms).call(Start::Plain, "from-lammps in.script");
    let group = "a group: it acts on `upper`, and here all particles are treated alike";
    assert!(in_one_line(&said).contains(group), "{}", said.stderr);
    let ramp = script.replace("velocity all create $t 4711 loop geom", "velocity all ramp vx 0 1 y 0 10");
    let said = folder(&ramp).call(Start::Plain, "from-lammps in.script");
    assert!(
        in_one_line(&said).contains("velocities by `ramp`, which depend on the particle"),
        "{}",
        said.stderr
    );
}

/// The lengths of the box change together or separately. Keywords of LAMMPS's own equations of
/// motion are left out.
#[test]
fn constant_pressure_in_every_form() {
    let script = |keywords: &str| {
        format!(
            "units lj\nlattice fcc 0.8\nregion a block 0 4 0 4 0 4\ncreate_box 1 a\ncreate_atoms 1 box\nmass 1 1.0\n\
             pair_style lj/cut 2.5\npair_coeff 1 1 1.0 1.0\nvelocity all create 1.0 1\n\
             fix p all npt temp 1.0 1.0 0.5 {keywords}\nrun 10\n"
        )
    };
    let each = "x 1.0 1.0 2.0 y 1.0 1.0 2.0 z 1.0 1.0 2.0";
    for (keywords, axes, without) in [
        ("iso 1.0 1.0 2.0 tchain 5", None, ", without its `tchain`\n"),
        ("aniso 1.0 1.0 2.0", Some("\"xyz\""), "rescaling\n"),
        (&format!("{each} couple xyz"), None, "rescaling\n"),
        (
            &format!("mtk no {each} couple none pchain 2 drag 0.0"),
            Some("\"xyz\""),
            ", without its `mtk`, without its `pchain`\n",
        ),
        ("z 1.0 1.0 2.0", Some("[\"z\"]"), "rescaling\n"),
        ("y 1.0 1.0 2.0 x 1.0 1.0 2.0", Some("[\"x\", \"y\"]"), "rescaling\n"),
    ] {
        let workdir = folder(&script(keywords));
        let said = translated(&workdir, "");
        let scenario: toml::Table = said.stdout.parse().unwrap();
        let barostat = scenario["integrator"]["barostat"].as_table().unwrap();
        assert_eq!(barostat.get("axes").map(ToString::to_string).as_deref(), axes, "{keywords}");
        assert_eq!(barostat["relaxation"].as_float(), Some(2.0), "{keywords}");
        let text = said.stderr.replace("\n      ", "");
        assert!(text.contains(without), "{keywords}: {text}");
        workdir.succeed(Start::Threads(1), "check scenario.toml");
    }
    let pressures = "npt with pressures that change or that differ between axes, with two axes coupled, or without a pressure";
    for (keywords, expected) in [
        ("z 1.0 2.0 2.0", pressures),
        ("x 1.0 1.0 2.0 z 1.0 1.0 3.0", pressures),
        ("", pressures),
        ("tri 1.0 1.0 2.0", "the keyword `tri` of npt, or its value, has no equivalent here"),
        ("iso 1.0 1.0", "the keyword `iso` of npt, or its value, has no equivalent here"),
    ] {
        let said = folder(&script(keywords)).call(Start::Plain, "from-lammps in.script");
        assert!(said.stderr.replace("\n      ", "").contains(expected), "{keywords}: {said:?}");
    }
}

#[test]
fn variables_of_the_command_line_win() {
    let workdir = folder(SCRIPT);
    let said = translated(&workdir, "--var t=0.7 --partial");
    assert!(said.stdout.contains("\ntemperature = 0.7\n"), "{}", said.stdout);
}

#[test]
fn scripts_that_do_not_come_to_a_scenario() {
    for (script, expected) in [
        (
            "units lj\n",
            "in.script does not come to a scenario: the script makes no box (create_box, read_data)",
        ),
        (
            "lattice fcc 0.8442\nregion a block 0 4 0 4 0 4\ncreate_box 1 a\npair_style lj/cut 2.5\n",
            "the script makes no particles (create_atoms, read_data)",
        ),
        (
            "lattice diamond 0.8442\nregion a block 0 4 0 4 0 4\ncreate_box 1 a\n",
            "in.script:1: not taken: `lattice diamond 0.8442`: only fcc, bcc, sc, hex, sq and sq2 can be taken",
        ),
        ("units metal\n", "in.script:1: not taken: `units metal`: only reduced units (lj) can be taken"),
        (
            "lattice fcc 0.8442\nregion a block 0 4 0 4 0 4\ncreate_box 1 a\ncreate_atoms 1 box\n\
             pair_style lj/cut 2.5\npair_coeff 1 1 1.0 1.0\nfix 1 all nph iso 1.0 1.0 5.0\nrun 20\n",
            "in.script does not come to a scenario: none of its runs could be taken",
        ),
        ("run ${n}\n", "in.script:1: not taken: `run ${n}`: there is no variable `n`"),
    ] {
        let said = folder(script).call(Start::Plain, "from-lammps in.script");
        assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{said:?}");
        assert!(said.stderr.contains(expected), "{expected}: {}", said.stderr);
    }
}

/// A crystal of two species between walls, and a melt from a data file that is replicated: LAMMPS's
/// energy and pressure of step 0.
const OWN: [&str; 2] = [
    "units lj\nboundary p p f\nlattice fcc 0.8\nregion box block 0 5 0 5 0 8\ncreate_box 2 box\n\
     region lower block INF INF INF INF 1 4\nregion upper block INF INF INF INF 5 7\nlattice fcc 0.8\n\
     create_atoms 1 region lower\ncreate_atoms 2 region upper\nmass 1 1.0\nmass 2 2.0\n\
     pair_style lj/cut 2.5\npair_coeff * * 1.0 1.0\npair_coeff 2 2 0.5 1.1\npair_modify shift yes\n\
     fix w all wall/lj93 zlo EDGE 1.0 1.0 2.5 zhi EDGE 1.5 0.9 2.0\nfix_modify w energy yes virial yes\nfix 1 all nve\n",
    "units lj\ndimension 2\nlattice hex 0.9\nregion box block 0 20 0 12 -0.1 0.1\ncreate_box 1 box\ncreate_atoms 1 box\n\
     mass 1 1.0\npair_style lj/cut 2.5\npair_coeff 1 1 1.2 0.95 2.5\nfix 1 all nve\nfix 2 all enforce2d\n",
];

/// Returns LAMMPS's values of step 0: potential energy per atom and pressure, with particles at
/// rest.
fn by_lammps(folder: &Path, script: &str) -> Option<[f64; 2]> {
    let script = format!(
        "{script}\nvelocity all set 0 0 0\nthermo_modify norm yes\nthermo_style custom step pe press\n\
         thermo_modify format float %20.15g norm yes\nrun 0\n"
    );
    std::fs::write(folder.join("in.lammps"), script).unwrap();
    let mut command = Command::new("lmp");
    command.args(["-in", "in.lammps", "-log", "none"]).current_dir(folder);
    let said = command.output().ok()?;
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    let row = text.lines().skip_while(|line| !line.contains("PotEng")).nth(1);
    let row = row.unwrap_or_else(|| panic!("LAMMPS made no step: {text}"));
    let numbers: Vec<f64> = row.split_whitespace().map(|number| number.parse().unwrap()).collect();
    Some([numbers[1], numbers[2]])
}

fn without_motion(script: &str) -> String {
    let moves = ["velocity", "run", "thermo", "dump", "minimize"];
    script
        .lines()
        .filter(|line| !moves.iter().any(|word| line.starts_with(word)))
        .map(|line| format!("{line}\n"))
        .collect()
}

/// Returns the energy per atom and the pressure of the scenario's particles at rest.
fn by_md(workdir: &Workdir) -> [f64; 2] {
    workdir
        .succeed(Start::Threads(2), "forces scenario.toml --set system.temperature=0.0 --quiet --output out");
    let summary: serde_json::Value = serde_json::from_str(&workdir.read("out/summary.json")).unwrap();
    let number = |key: &str| summary[key].as_f64().unwrap();
    [number("potential_energy") / number("atoms"), number("pressure")]
}

pub(crate) fn compare(script: &str) -> Option<()> {
    let workdir = folder(script);
    translated(&workdir, "");
    let expected = by_lammps(&workdir.path("."), &without_motion(script))?;
    let found = by_md(&workdir);
    for (found, expected) in found.into_iter().zip(expected) {
        assert!((found - expected).abs() < 1e-9 * expected.abs().max(1.0), "{found} {expected}: {script}");
    }
    Some(())
}

#[test]
fn own_scripts_have_the_energies_of_lammps() {
    for script in OWN {
        if compare(script).is_none() {
            eprintln!("skipped: LAMMPS (lmp) is not installed");
            return;
        }
    }
}

/// The commands of LAMMPS's `bench/in.lj`.
const BENCH: &str = "\
# 3d Lennard-Jones melt
variable x index 1
variable y index 1
variable z index 1
variable xx equal 20*$x
variable yy equal 20*$y
variable zz equal 20*$z
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 ${xx} 0 ${yy} 0 ${zz}
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify delay 0 every 20 check no
fix 1 all nve
run 100
";

/// Compares with the first row in the log that is published with LAMMPS (`tests/data/melt32000`).
#[test]
fn the_script_of_lammps_bench_begins_like_its_log() {
    let workdir = folder(BENCH);
    let said = translated(&workdir, "");
    assert!(!said.stderr.contains("not taken"), "{}", said.stderr);
    for key in ["cells = [20, 20, 20]", "steps = 100", "rebuild = { every = 20 }", "skin = 0.3"] {
        assert!(said.stdout.contains(key), "{key}: {}", said.stdout);
    }
    workdir.succeed(Start::Threads(2), "run scenario.toml --steps 1 --quiet --output out");
    let thermo = workdir.read("out/thermo.csv");
    let mut rows = thermo.lines().map(|row| row.split(',').collect::<Vec<_>>());
    let (names, first) = (rows.next().unwrap(), rows.next().unwrap());
    for (name, expected, printed_to) in [
        ("temperature", 1.44, 1e-9),
        ("potential_per_atom", -6.773_368_1, 1e-7),
        ("total_per_atom", -4.613_435_6, 1e-7),
        ("pressure", -5.019_707_3, 1e-7),
    ] {
        let found: f64 = first[names.iter().position(|other| *other == name).unwrap()].parse().unwrap();
        assert!((found - expected).abs() < printed_to, "{name}: {found}, {expected}");
    }
}

pub(crate) fn example(name: &str) -> Option<String> {
    std::fs::read_to_string(Path::new("/usr/share/lammps/examples").join(name)).ok()
}

/// A square lattice melts, and is minimised.
#[test]
fn the_minimisation_of_lammps_is_run() {
    let Some(script) = example("min/in.min") else {
        return eprintln!("skipped: LAMMPS's examples are not there");
    };
    let workdir = folder(&script);
    let said = translated(&workdir, "");
    assert!(said.stdout.contains("kind = \"sq2\", density = 0.8442, cells = [20, 20, 1]"), "{}", said.stdout);
    workdir.succeed(Start::Threads(2), "run scenario.toml --quiet --output out");
    let thermo = workdir.read("out/thermo.csv");
    let column = |row: &str, place: usize| row.split(',').nth(place).unwrap().parse::<f64>().unwrap();
    let energies: Vec<f64> = thermo.lines().skip(1).map(|row| column(row, 3)).collect();
    let end = thermo.lines().last().unwrap();
    assert!(column(end, 0) > 1000.0 && column(end, 3) < energies[0], "below that of the lattice: {end}");
}

/// Frames have the columns, names and positions of LAMMPS's own dump.
#[test]
fn a_dump_is_that_of_lammps() {
    let system = "units lj\nlattice fcc 0.8442\nregion box block 0 4 0 4 0 4\ncreate_box 1 box\ncreate_atoms 1 box\nmass 1 1.0\n\
         pair_style lj/cut 2.5\npair_coeff 1 1 1.0 1.0 2.5\nfix 1 all nve\n";
    let dump = "dump 1 all custom 10 dump.lammpstrj id type x y z ix iy iz fx fy fz\n";
    let workdir = folder(&format!("{system}{dump}run 10\n"));
    assert_eq!(translated(&workdir, "").stderr, "", "it is taken to the letter");
    workdir.succeed(Start::Threads(2), "run scenario.toml --quiet --output out");
    workdir.write("in.lammps", &format!("{system}{dump}dump_modify 1 sort id format float %.17g\nrun 0\n"));
    let mut lammps = Command::new("lmp");
    lammps.args(["-in", "in.lammps", "-log", "none"]).current_dir(workdir.path("."));
    if lammps.output().is_err() {
        return eprintln!("skipped: LAMMPS (lmp) is not installed");
    }
    let [theirs, ours] = ["dump.lammpstrj", "out/dump.lammpstrj"].map(|file| workdir.read(file));
    assert_eq!(ours.lines().count(), 2 * theirs.lines().count(), "steps 0 and 10");
    for (theirs, ours) in theirs.lines().zip(ours.lines()) {
        let numbers = |line: &str| line.split(' ').map(str::parse::<f64>).collect::<Result<Vec<_>, _>>();
        match (numbers(theirs), numbers(ours)) {
            (Ok(theirs), Ok(ours)) => {
                let agree = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-10;
                assert!(
                    theirs.len() == ours.len() && theirs.iter().zip(&ours).all(agree),
                    "{theirs:?} {ours:?}"
                );
            }
            _ => assert_eq!(theirs.trim(), ours.trim()),
        }
    }
}

/// The program prints the scenario even if its notes are not read.
#[test]
fn the_scenario_comes_through_a_pipe() {
    let workdir = folder(SCRIPT);
    let mut command = as_from_a_terminal("bash");
    command.current_dir(workdir.path(".")).env("md", md_cli());
    command.args(["-c", "$md from-lammps in.script --partial 2>/dev/null | $md check /dev/stdin"]);
    let said = Said::of(command);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.stdout.contains("[[stage]]"), "{}", said.stdout);
}
