//! Faults of particle files, as the whole program reports them, and files that contradict the
//! scenario.

use crate::support::{Start, Workdir, error, error_everywhere, starts};
use insta::assert_snapshot;

const SCENARIO: &str = r#"[simulation]
steps = 10

[system]
file = { path = "start.data", format = "lammps-data" }
"#;

const ATOMS: &str = "LAMMPS data file

4 atoms
1 atom types

0 9 xlo xhi
0 9 ylo yhi
0 9 zlo zhi

Masses

1 2.0

Atoms # atomic

1 1 1.0 1.0 1.0
2 1 3.0 1.0 1.0
3 1 1.0 4.0 1.0
4 1 1.0 1.0 5.0

Velocities

1 0.5 0.0 0.0
2 0.0 0.5 0.0
3 0.0 0.0 -0.5
4 -0.5 -0.5 0.5
";

/// Returns a folder with [`SCENARIO`] with an addition, and [`ATOMS`] after a change.
fn workdir(addition: &str, from: &str, to: &str) -> Workdir {
    assert!(ATOMS.contains(from), "nothing to replace: {from}");
    let workdir = Workdir::new(&format!("{SCENARIO}{addition}"));
    workdir.write("start.data", &ATOMS.replacen(from, to, 1));
    workdir
}

/// Returns the error of `md-cli run` on [`ATOMS`] after a change.
fn run_after(from: &str, to: &str) -> String {
    let workdir = workdir("", from, to);
    let text = error(&workdir, "run melt.toml", Start::Threads(1));
    assert_eq!(workdir.files("."), ["melt.toml", "start.data"], "nothing is created");
    text
}

#[test]
fn the_file_is_good_unless_changed() {
    let workdir = workdir("", "", "");
    for start in starts() {
        workdir.succeed(start, "run melt.toml");
        assert!(workdir.read("out/thermo.csv").lines().count() > 1);
    }
}

#[test]
fn missing() {
    let workdir = Workdir::new(SCENARIO);
    assert_snapshot!(error_everywhere(&workdir, "run melt.toml", &starts()), @r#"
    exit code 2
    error: × cannot read `start.data`: No such file or directory (os error 2)
       ╭─[melt.toml:5:17]
     4 │ [system]
     5 │ file = { path = "start.data", format = "lammps-data" }
       ·                 ────────────
       ╰────
      help: a path from the folder of the scenario, or from the root (`/`)
    "#);
    let workdir = Workdir::new(&SCENARIO.replace("start.data", "a/../b/start.data"));
    assert_snapshot!(error(&workdir, "forces melt.toml", Start::Plain), @r#"
    exit code 2
    error: × cannot read `a/../b/start.data`: No such file or directory (os error 2)
       ╭─[melt.toml:5:17]
     4 │ [system]
     5 │ file = { path = "a/../b/start.data", format = "lammps-data" }
       ·                 ───────────────────
       ╰────
      help: a path from the folder of the scenario, or from the root (`/`)
    "#);
}

#[test]
fn empty() {
    assert_snapshot!(run_after(ATOMS, ""), @r"
    exit code 2
    error: start.data: the file is empty
    ");
}

#[test]
fn truncated_between_atoms() {
    let end = ATOMS.find("3 1 1.0").unwrap();
    let workdir = workdir("", &ATOMS[end..], "");
    assert_snapshot!(error_everywhere(&workdir, "run melt.toml", &starts()), @r"
    exit code 2
    error: start.data:17: the file ends too early: 4 atoms promised, 2 found
    ");
}

#[test]
fn truncated_within_an_atom() {
    assert_snapshot!(run_after("4 1 1.0 1.0 5.0\n", "4 1 1.0"), @r"
    exit code 2
    error: start.data:19: found 3 columns in `4 1 1.0`, expected an atom: id type x y z [ix iy iz]
    ");
}

#[test]
fn truncated_before_the_atoms() {
    let end = ATOMS.find("Atoms").unwrap();
    assert_snapshot!(run_after(&ATOMS[end..], ""), @r"
    exit code 2
    error: start.data: section `Atoms` is missing: a section `Atoms # atomic` with 4 lines
    ");
}

#[test]
fn malformed_number() {
    let workdir = workdir("", "3 1 1.0 4.0 1.0", "3 1 1.0 4.o 1.0");
    assert_snapshot!(error_everywhere(&workdir, "run melt.toml", &starts()), @r"
    exit code 2
    error: start.data:18: `4.o` is not a number (an atom: id type x y z [ix iy iz])
    ");
}

#[test]
fn position_that_is_not_a_number() {
    assert_snapshot!(run_after("3 1 1.0 4.0 1.0", "3 1 1.0 nan 1.0"), @r"
    exit code 2
    error: start.data:18: `nan` is not finite (an atom: id type x y z [ix iy iz])
    ");
}

#[test]
fn masses_that_cannot_be() {
    assert_snapshot!(run_after("1 2.0", "1 nan"), @r"
    exit code 2
    error: start.data:12: `nan` is not finite (a mass: type mass)
    ");
    assert_snapshot!(run_after("1 2.0", "1 -2.0"), @r"
    exit code 2
    error: start.data:12: the mass of type 1 must be above 0, found `-2.0`
    ");
    assert_snapshot!(run_after("1 2.0", "1 inf"), @r"
    exit code 2
    error: start.data:12: `inf` is not finite (a mass: type mass)
    ");
}

#[test]
fn unknown_type() {
    assert_snapshot!(run_after("3 1 1.0 4.0 1.0", "3 2 1.0 4.0 1.0"), @r"
    exit code 2
    error: start.data:18: type 2 does not exist: the types are 1 to 1
    ");
}

#[test]
fn the_same_id_twice() {
    assert_snapshot!(run_after("3 1 1.0 4.0 1.0", "2 1 1.0 4.0 1.0"), @r"
    exit code 2
    error: start.data:18: id 2 is given twice, first in line 17
    ");
}

#[test]
fn mass_that_contradicts_the_file() {
    let workdir = workdir("[[species]]\nname = \"A\"\nmass = 3.0\n", "", "");
    assert_snapshot!(error_everywhere(&workdir, "run melt.toml", &starts()), @r#"
    exit code 2
    error: × mass 3 of species 1 contradicts 2 in the file
       ╭─[melt.toml:8:8]
     7 │ name = "A"
     8 │ mass = 3.0
       ·        ───
       ╰────
      help: remove one of the two
    "#);
}

/// The default mass, if it is written in the scenario, counts like any other mass.
#[test]
fn mass_of_one_that_contradicts_the_file() {
    let workdir = workdir("[[species]]\nname = \"A\"\nmass = 1.0\n", "", "");
    assert_snapshot!(error_everywhere(&workdir, "run melt.toml", &starts()), @r#"
    exit code 2
    error: × mass 1 of species 1 contradicts 2 in the file
       ╭─[melt.toml:8:8]
     7 │ name = "A"
     8 │ mass = 1.0
       ·        ───
       ╰────
      help: remove one of the two
    "#);
}

/// The output of `check` contains everything that results depend on, does not contradict the file,
/// and needs no default.
#[test]
fn the_effective_scenario_has_the_masses_of_the_file() {
    let workdir = workdir("[[species]]\nname = \"A\"\n", "", "");
    let effective = workdir.succeed(Start::Threads(1), "check melt.toml").stdout;
    assert!(effective.contains("[[species]]\nname = \"A\"\nmass = 2.0\n"), "{effective}");
    workdir.write("effective.toml", &effective);
    workdir.succeed(Start::Threads(1), "run effective.toml");
}

#[test]
fn the_same_mass_in_both_places() {
    workdir("[[species]]\nname = \"A\"\nmass = 2.0\n", "", "").succeed(Start::Threads(1), "run melt.toml");
}

#[test]
fn more_types_than_species() {
    let workdir = workdir("", "1 atom types", "2 atom types");
    workdir.write("start.data", &workdir.read("start.data").replace("1 2.0\n", "1 2.0\n2 1.0\n"));
    assert_snapshot!(error_everywhere(&workdir, "run melt.toml", &starts()), @r"
    exit code 2
    error: × melt.toml: the file has 2 atom types, the scenario 1 species
      help: give one [[species]] per atom type, in order
    ");
    workdir.write("melt.toml", &format!("{SCENARIO}[[species]]\nname = \"A\"\n"));
    assert_snapshot!(error(&workdir, "run melt.toml", Start::Threads(1)), @r#"
    exit code 2
    error: × the file has 2 atom types, the scenario 1 species
       ╭─[melt.toml:6:1]
     5 │ file = { path = "start.data", format = "lammps-data" }
     6 │ [[species]]
       · ───────────
     7 │ name = "A"
       ╰────
      help: give one [[species]] per atom type, in order
    "#);
}

#[test]
fn box_of_the_file_too_small() {
    assert_snapshot!(run_after("0 9 ylo yhi", "0 2 ylo yhi"), @r"
    exit code 2
    error: × melt.toml: the box is 2 long in y, shorter than cutoff + skin = 2.51875; one layer of periodic
      │ images cannot hold all neighbours
      help: a larger box along y, a smaller cutoff or a smaller skin
    ");
}

#[test]
fn a_file_without_velocities() {
    let scenario = workdir("", &ATOMS[ATOMS.find("\nVelocities").unwrap()..], "");
    assert_snapshot!(error_everywhere(&scenario, "run melt.toml", &starts()), @r"
    exit code 2
    error: start.data: section `Velocities` is missing: give it, or `system.temperature` in the scenario, 0 for particles at rest
    ");
    assert_eq!(scenario.call(Start::Plain, "check melt.toml").code, Some(2));
    scenario.succeed(Start::Threads(1), "forces melt.toml");
    scenario.succeed(Start::Threads(1), "run melt.toml --set system.temperature=0");
}

#[test]
fn a_last_number_that_may_be_cut() {
    assert_snapshot!(run_after("-0.5 0.5\n", "-0.5 0.5"), @r"
    exit code 2
    error: start.data:26: the file ends without a newline, so `0.5` may be cut: add one if the file is complete
    ");
}

#[test]
fn a_particle_behind_a_wall() {
    const WALLS: &str = "boundary = [\"reflecting\", \"periodic\", \"reflecting\"]\n";
    let workdir = workdir(WALLS, "3 1 1.0 4.0 1.0", "3 1 9.5 -4.0 1.0");
    assert_snapshot!(error_everywhere(&workdir, "run melt.toml", &starts()), @r"
    exit code 2
    error: start.data:18: particle 3: x is 9.5, behind the reflecting wall at x = 9.0
    ");
    let below =
        workdir.read("start.data").replace("3 1 9.5", "3 1 9.0").replace("1.0 1.0 5.0", "1.0 1.0 -1e-9");
    workdir.write("start.data", &below);
    assert_snapshot!(error(&workdir, "forces melt.toml", Start::Threads(1)), @r"
    exit code 2
    error: start.data:19: particle 4: z is -1e-9, behind the reflecting wall at z = 0.0
    ");
    workdir.write("start.data", &below.replace("-1e-9", "0.0"));
    workdir.succeed(Start::Threads(1), "forces melt.toml");
}

#[test]
fn velocities_beyond_the_range_of_numbers() {
    assert_snapshot!(run_after("3 0.0 0.0 -0.5", "3 0.0 1e200 -0.5"), @r"
    exit code 2
    error: start.data:25: particle 3: v_y is 1e200, beyond 1e140: its square is hardly a number
    ");
    let slower = workdir("", "3 0.0 0.0 -0.5", "3 0.0 -2e140 -0.5");
    let text = error(&slower, "forces melt.toml", Start::Threads(1));
    assert!(text.contains("error: start.data:25: particle 3: v_y is -2e140, beyond 1e140: "), "{text}");
    // Velocities are drawn.
    slower.succeed(Start::Threads(1), "run melt.toml --set system.temperature=1.0");
}

#[test]
fn coordinates_that_would_lose_their_digits() {
    assert_snapshot!(run_after("3 1 1.0 4.0 1.0", "3 1 1.0 1e17 1.0"), @r"
    exit code 2
    error: start.data:18: particle 3: y is 1e17, more than 1e6 box lengths away: brought back into the box it would lose its digits
    ");
    assert_snapshot!(run_after("0 9 ylo yhi", "1e12 1000000000020 ylo yhi"), @r#"
    exit code 2
    error: × the box reaches to y = 1000000000020.0, beyond 1e9 cutoffs of 2.5: coordinates there have too
      │ few digits
       ╭─[melt.toml:5:8]
     4 │ [system]
     5 │ file = { path = "start.data", format = "lammps-data" }
       ·        ───────────────────────────────────────────────
       ╰────
      help: a smaller box, nearer to the origin
    "#);
    workdir("", "3 1 1.0 4.0 1.0", "3 1 1.0 -894.0 1.0").succeed(Start::Threads(1), "run melt.toml");
}

#[test]
fn two_dimensions_are_one_plane_without_motion_across() {
    const FLAT: &str = "[simulation]\nsteps = 10\ndimension = 2\n";
    let flat = |from: &str, to: &str| {
        let workdir = workdir("", from, to);
        workdir.write("melt.toml", &SCENARIO.replace("[simulation]\nsteps = 10\n", FLAT));
        workdir
    };
    let start = Start::Threads(1);
    assert_snapshot!(error_everywhere(&flat("4 1 1.0 1.0 5.0", "4 1 4.0 4.0 1.5"), "run melt.toml", &starts()), @r"
    exit code 2
    error: start.data:19: particle 4: z is 1.5, but 1.0 of particle 1: in 2D all particles lie in one plane
    ");
    assert_snapshot!(error(&flat("4 1 1.0 1.0 5.0", "4 1 4.0 4.0 40.0"), "run melt.toml", start), @r"
    exit code 2
    error: start.data:19: particle 4: z is 40.0, outside the layer from 0.0 to 9.0 of a 2D simulation
    ");
    let moving = flat("4 1 1.0 1.0 5.0", "4 1 4.0 4.0 1.0");
    assert_snapshot!(error(&moving, "run melt.toml", start), @r"
    exit code 2
    error: start.data:25: particle 3: v_z is -0.5, but in 2D nothing moves in z: it must be 0
    ");
    moving.succeed(start, "run melt.toml --set system.temperature=0.5");
    let flattened =
        moving.read("start.data").replace("0.0 -0.5\n", "0.0 0.0\n").replace("-0.5 0.5\n", "-0.5 0.0\n");
    moving.write("start.data", &flattened);
    moving.succeed(start, "run melt.toml");
}

#[test]
fn pair_coefficients_of_a_data_file() {
    let two = ATOMS
        .replace("1 atom types", "2 atom types")
        .replace("1 2.0\n", "1 2.0\n2 1.0\n")
        .replace("2 1 3.0", "2 2 3.0")
        .replace(
            "Atoms #",
            "PairIJ Coeffs # lj/cut\n\n1 1 1 1 2.6\n1 2 1.5 0.8 2.6\n2 2 0.5 0.88 2.6\n\nAtoms #",
        );
    let workdir = workdir("", ATOMS, &two);
    let start = Start::Threads(1);
    let notes = workdir.succeed(start, "run melt.toml").stderr;
    assert_snapshot!(notes, @r"
    note: epsilon, sigma and the cutoff are those of the file
    note: the whole system moves at [0, -0.0714, 0]: `temperature` and `pressure` are about this velocity, which thermostats and barostats leave as it is; `kinetic_per_atom` includes it
    ");
    let effective = workdir.read("out/scenario.toml");
    for part in [
        "[[species]]\nname = \"A\"\nmass = 2.0\nepsilon = 1.0\nsigma = 1.0\n\n[[species]]\nname = \"B\"\nmass = 1.0\nepsilon = 0.5\nsigma = 0.88\n",
        "cutoff = 2.6\n",
        "[[interaction.pair]]\nspecies = [\"A\", \"B\"]\nepsilon = 1.5\nsigma = 0.8\n",
    ] {
        assert!(effective.contains(part), "{effective}");
    }
    let thermo = workdir.read("out/thermo.csv");
    workdir.write("effective.toml", &effective);
    let notes = workdir.succeed(start, "run effective.toml").stderr;
    let left_out =
        "note: the pair coefficients and cutoffs of the file are left out: the scenario has [[species]]\n";
    assert!(notes.starts_with(left_out), "{notes}");
    assert_eq!(workdir.read("out/thermo.csv"), thermo);
    workdir.write("start.data", &two.replace("0.88 2.6", "0.88 2.5"));
    assert_snapshot!(error(&workdir, "run melt.toml", start), @r"
    exit code 2
    error: start.data: its pair coefficients cannot be used: the cutoffs 2.6 and 2.5 differ, but all pairs have the same one: give `interaction.cutoff`
    ");
    let notes = workdir.succeed(start, "run melt.toml --set interaction.cutoff=2.5").stderr;
    let first = notes.lines().next().unwrap_or_default();
    assert_snapshot!(first, @"note: epsilon and sigma are those of the file; its cutoffs are left out: the scenario has `interaction.cutoff`");
    workdir.write("start.data", &two.replace("# lj/cut", "# eam"));
    assert_snapshot!(error(&workdir, "run melt.toml", start), @r"
    exit code 2
    error: start.data: its pair coefficients cannot be used: their style is `eam`, not `lj/cut`: give [[species]] in the scenario
    ");
    workdir.write("start.data", &two.replace("2 2 0.5 0.88 2.6", "2 2 0.5 0.88"));
    assert_snapshot!(error(&workdir, "run melt.toml", start), @r"
    exit code 2
    error: start.data:19: found 4 columns in `2 2 0.5 0.88`, expected 5 as in the first line
    ");
    workdir.write("start.data", &two.replace("1 2 1.5", "1 1 1.5"));
    assert_snapshot!(error(&workdir, "run melt.toml", start), @r"
    exit code 2
    error: start.data:18: the pair of types 1 and 1 is given twice
    ");
}

/// `write_data` names the units in the title.
#[test]
fn units_that_are_not_reduced() {
    let title = "LAMMPS data file via write_data, version 2 Aug 2023, timestep = 100, units = ";
    let change = |to: &str| ATOMS.replacen("LAMMPS data file", to, 1);
    assert_snapshot!(run_after(ATOMS, &change(&format!("{title}metal"))), @r"
    exit code 2
    error: start.data:1: a file in `units = metal` is not supported: the numbers must be in reduced units, `units = lj`
    ");
    assert_snapshot!(run_after("4 atoms", "4 atoms # (UNITS=real)"), @r"
    exit code 2
    error: start.data:3: a file in `units = real` is not supported: the numbers must be in reduced units, `units = lj`
    ");
    for good in [format!("{title}lj"), "units of my own".to_owned()] {
        workdir("", ATOMS, &change(&good)).succeed(Start::Threads(1), "run melt.toml");
    }
    workdir("", "# atomic", "# atomic units = real").succeed(Start::Threads(1), "run melt.toml");
}

/// Every pair of types has separate parameters, so the number of types has a limit.
#[test]
fn too_many_atom_types() {
    let workdir = workdir("", "1 atom types", "1001 atom types");
    assert_snapshot!(error(&workdir, "run melt.toml", Start::Threads(1)), @r"
    exit code 2
    error: start.data:4: a file of 1001 atom types is not supported: there can be at most 1000
    ");
}
