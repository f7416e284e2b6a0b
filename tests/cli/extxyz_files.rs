//! Extended XYZ as particle file: its columns and its comment line, and contradictions to the
//! scenario.

use crate::support::{Start, Workdir, error, error_everywhere, starts};
use insta::assert_snapshot;

const SCENARIO: &str = r#"[simulation]
steps = 10

[system]
file = { path = "start.extxyz", format = "extxyz" }
"#;

/// Returns [`SCENARIO`] with an addition to `[system]`, which reads this text as extended XYZ.
fn extxyz(addition: &str, text: &str) -> Workdir {
    let workdir = Workdir::new(&format!("{SCENARIO}{addition}"));
    workdir.write("start.extxyz", text);
    workdir
}

const FRAME: &str = "2
Lattice=\"9 0 0 0 9 0 0 0 9\" Properties=species:S:1:pos:R:3:velo:R:3:masses:R:1:momenta:R:3 Step=70 pbc=\"T T T\"
A 1.0 1.0 1.0 0.5 0.0 0.0 2.0 1.0 0.0 0.0
A 4.0 1.0 1.0 0.0 0.25 0.0 2.0 0.0 0.5 0.0
";

#[test]
fn masses_of_a_trajectory_are_used() {
    let workdir = extxyz("[output]\ntrajectory = { path = \"traj.extxyz\", every = 10 }\n", FRAME);
    for start in starts() {
        workdir.succeed(start, "run melt.toml");
        let kinetic =
            workdir.read("out/thermo.csv").lines().nth(1).unwrap().split(',').nth(4).unwrap().to_owned();
        assert_eq!(kinetic, "0.15625", "half of 2 (0.5^2 + 0.25^2) / 2");
        assert!(workdir.read("out/traj.extxyz").lines().nth(2).unwrap().contains(" 1 1 0 0.5 0.0 0.0 2.0"));
    }
    workdir.write(
        "start.extxyz",
        &FRAME.replace("A 4.0 1.0 1.0 0.0 0.25 0.0 2.0", "A 4.0 1.0 1.0 0.0 0.25 0.0 2.5"),
    );
    assert_snapshot!(error_everywhere(&workdir, "run melt.toml", &starts()), @r"
    exit code 2
    error: start.extxyz:4: the mass of `A` is 2.5, but 2 in line 3: all particles of a species have the same mass
    ");
    workdir.write("start.extxyz", FRAME);
    workdir
        .write("melt.toml", &format!("{}[[species]]\nname = \"A\"\nmass = 1.0\n", workdir.read("melt.toml")));
    assert_snapshot!(error(&workdir, "run melt.toml", Start::Threads(1)), @r#"
    exit code 2
    error: × mass 1 of species 1 contradicts 2 in the file
        ╭─[melt.toml:10:8]
      9 │ name = "A"
     10 │ mass = 1.0
        ·        ───
        ╰────
      help: remove one of the two
    "#);
}

#[test]
fn momenta_are_velocities_times_masses() {
    let text = FRAME.replace("velo:R:3", "old:R:3");
    let workdir = extxyz("", &text);
    workdir.succeed(Start::Threads(1), "run melt.toml");
    assert!(workdir.read("out/thermo.csv").lines().nth(1).unwrap().contains(",0.15625,"));
    workdir.write("start.extxyz", &FRAME.replace("2.0 0.0 0.5 0.0", "2.0 0.0 0.75 0.0"));
    assert_snapshot!(error(&workdir, "run melt.toml", Start::Threads(1)), @r"
    exit code 2
    error: start.extxyz:4: particle 2: its velocity is [0.0, 0.25, 0.0] and its mass 2, but its momentum [0.0, 0.75, 0.0]; keep one of the two columns
    ");
    workdir.write("start.extxyz", &text.replace("masses", "unused"));
    assert_snapshot!(error(&workdir, "run melt.toml", Start::Threads(1)), @r"
    exit code 2
    error: × melt.toml: the file has momenta, but no mass of species 1
      help: give `mass` of the species, or a column `masses:R:1`
    ");
    // If velocities are drawn, momenta are ignored.
    workdir.succeed(Start::Threads(1), "run melt.toml --set system.temperature=1.0");
}

#[test]
fn periodic_faces_that_contradict_the_scenario() {
    let workdir = extxyz("", &FRAME.replace("T T T", "F T F"));
    assert_snapshot!(error_everywhere(&workdir, "run melt.toml", &starts()), @r#"
    exit code 2
    error: × `pbc="F T F"` of the file contradicts `system.boundary = ["periodic", "periodic", "periodic"]`
       ╭─[melt.toml:4:1]
     3 │ 
     4 │ [system]
       · ────────
     5 │ file = { path = "start.extxyz", format = "extxyz" }
       ╰────
      help: set `system.boundary = ["reflecting", "periodic", "reflecting"]`, or change `pbc`
    "#);
    let walls = "boundary = [\"reflecting\", \"periodic\", \"reflecting\"]\n";
    workdir.write("melt.toml", &format!("{}{walls}", workdir.read("melt.toml")));
    workdir.succeed(Start::Threads(1), "run melt.toml");
    workdir.write("start.extxyz", FRAME);
    assert_snapshot!(error(&workdir, "run melt.toml", Start::Threads(1)), @r#"
    exit code 2
    error: × `pbc="T T T"` of the file contradicts `system.boundary = ["reflecting", "periodic",
      │ "reflecting"]`
       ╭─[melt.toml:6:12]
     5 │ file = { path = "start.extxyz", format = "extxyz" }
     6 │ boundary = ["reflecting", "periodic", "reflecting"]
       ·            ────────────────────────────────────────
       ╰────
      help: set `system.boundary = ["periodic", "periodic", "periodic"]`, or change `pbc`
    "#);
}

#[test]
fn frames_of_a_trajectory() {
    let workdir = extxyz(
        "",
        &format!(
            "{FRAME}{}",
            FRAME.replace("0.5 0.0 0.0 2.0 1.0", "1.5 0.0 0.0 2.0 3.0").replace("=70", "=80")
        ),
    );
    let start = Start::Threads(1);
    for command in ["run", "forces", "check", "compare --steps 1 --repeat 1"] {
        let said = workdir.succeed(start, &format!("{command} melt.toml"));
        let note = "note: the particles are those of frame 2 of 2 (step 80)";
        assert_eq!(said.stderr.lines().next(), Some(note), "{command}");
    }
    workdir.succeed(start, "run melt.toml");
    assert!(workdir.read("out/thermo.csv").lines().nth(1).unwrap().contains(",1.15625,"));
    workdir.write("melt.toml", &workdir.read("melt.toml").replace("\"extxyz\" }", "\"extxyz\", frame = 1 }"));
    let notes = workdir.succeed(start, "run melt.toml").stderr;
    assert_snapshot!(notes, @r"
    note: the particles are those of frame 1 of 2 (step 70)
    note: the whole system moves at [0.25, 0.125, 0]: `temperature` and `pressure` are about this velocity, which thermostats and barostats leave as it is; `kinetic_per_atom` includes it
    ");
    assert_eq!(workdir.succeed(start, "run melt.toml --quiet").stderr, "");
    assert_snapshot!(error(&workdir, "run melt.toml --set system.file.frame=3", start), @r"
    exit code 2
    error: start.extxyz: `system.file.frame` is 3, but the frames are 1 to 2
    ");
    assert_snapshot!(error(&workdir, "run melt.toml --set system.file.frame=0", start), @r"
    exit code 2
    error: × `system.file.frame` must be at least 1, found 0
       ╭─[command line:1:25]
     1 │ --set system.file.frame=0
       ·                         ─
       ╰────
      help: frames are counted from 1
    ");
    assert_snapshot!(error(&workdir, "run melt.toml --set system.file.format=lammps-data", start), @r#"
    exit code 2
    error: × a LAMMPS data file has no frames
       ╭─[melt.toml:5:52]
     4 │ [system]
     5 │ file = { path = "start.extxyz", format = "extxyz", frame = 1 }
       ·                                                    ─────
       ╰────
      help: leave `frame` out
    "#);
}

/// Wherever the file is cut, the error names a frame that can be read, and reading that frame
/// succeeds.
#[test]
fn a_trajectory_that_was_cut() {
    let whole = FRAME.repeat(3);
    let start = Start::Threads(1);
    let workdir = extxyz("", &whole);
    let last = 2 * FRAME.len();
    let after = |text: &str| last + FRAME.find(text).unwrap() + text.len();
    for (end, fault) in [
        (
            after("2"),
            "9: the file ends within frame 3: 2 particles promised, 0 found; `system.file.frame = 2` is the last whole one",
        ),
        (
            after("Lattice"),
            "10: the file ends within frame 3: 2 particles promised, 0 found; `system.file.frame = 2` is the last whole one",
        ),
        (
            after("A 1.0"),
            "11: the file ends within frame 3: 2 particles promised, 1 found; `system.file.frame = 2` is the last whole one",
        ),
        (
            after("A 4.0 1.0 1.0 0.0 0.25 0.0 2.0 0.0 0.5 0.0"),
            "12: the file ends without a newline, so `0.0` may be cut: add one if the file is complete, else frame 3 is cut: `system.file.frame = 2` is the last whole one",
        ),
    ] {
        workdir.write("start.extxyz", &whole[..end]);
        assert_eq!(
            error(&workdir, "run melt.toml", start),
            format!("exit code 2\nerror: start.extxyz:{fault}\n")
        );
        workdir.succeed(start, "run melt.toml --quiet --set system.file.frame=2");
    }
}

#[test]
fn what_a_file_says_in_vain_is_noted() {
    let text = FRAME.replace("masses:R:1:momenta:R:3", "Mass:R:1:weight:R:3");
    let workdir = extxyz("temperature = 1.0\n", &text);
    for start in starts() {
        assert_eq!(
            workdir.succeed(start, "run melt.toml").stderr,
            "note: columns of the file that mean nothing here are left out: `Mass`, `weight`\n\
             note: the velocities of the file are replaced: the scenario has `system.temperature`\n"
        );
    }
}

#[test]
fn extxyz_of_an_unknown_species() {
    let text = "1\nLattice=\"9 0 0 0 9 0 0 0 9\" Properties=species:S:1:pos:R:3\nB 1.0 1.0 1.0\n";
    let workdir = extxyz("", text);
    assert_snapshot!(error(&workdir, "run melt.toml", Start::Threads(1)), @r"
    exit code 2
    error: start.extxyz:3: there is no species `B`: the scenario has `A`
    ");
}

#[test]
fn no_velocities() {
    let scenario = extxyz("", "1\nLattice=\"9 0 0 0 9 0 0 0 9\"\nA 1.0 1.0 1.0\n");
    assert_snapshot!(error(&scenario, "run melt.toml", Start::Threads(1)), @r"
    exit code 2
    error: start.extxyz: column `velo` or `momenta` is missing: give it, or `system.temperature` in the scenario, 0 for particles at rest
    ");
}

#[test]
fn a_last_number_that_may_be_cut() {
    let workdir = extxyz("", FRAME.trim_end());
    assert_snapshot!(error_everywhere(&workdir, "run melt.toml", &starts()), @r"
    exit code 2
    error: start.extxyz:4: the file ends without a newline, so `0.0` may be cut: add one if the file is complete
    ");
}
