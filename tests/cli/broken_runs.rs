//! Runs that fail one of their own checks: overlapping particles, or time steps that are far too
//! large. The exit code is 1, the particles concerned are listed by their ids, and the text is the
//! same on any number of ranks.

use crate::support::{MELT, Start, Workdir, error, error_everywhere, starts};
use insta::assert_snapshot;

/// Returns a system with two particles at this distance along x, within a rank or across ranks, and
/// some others.
fn pair_at(distance: &str) -> Workdir {
    let workdir = Workdir::new(
        "[simulation]\nsteps = 10\n\n[system]\nfile = { path = \"start.data\", format = \"lammps-data\" }\n\
         temperature = 0.0\n",
    );
    let atoms = format!(
        "pair\n\n4 atoms\n1 atom types\n\n0 9 xlo xhi\n0 9 ylo yhi\n0 9 zlo zhi\n\nAtoms # atomic\n\n\
         17 1 8.5 1.0 1.0\n23 1 4.0 1.0 1.0\n42 1 {distance} 1.0 1.0\n99 1 1.0 1.0 5.0\n"
    );
    workdir.write("start.data", &atoms);
    workdir
}

#[test]
fn coincident_particles() {
    let workdir = pair_at("4.0");
    assert_snapshot!(error_everywhere(&workdir, "run melt.toml", &starts()), @r"
    exit code 1
    error: step 0: the energy explodes: particles 42 and 23 are 0.000e0 apart, the force on 42 is inf and would throw it further than the cutoff in one step
    particles on top of each other, or a time step that is too large
    ");
    assert_snapshot!(error_everywhere(&workdir, "forces melt.toml", &starts()), @r"
    exit code 1
    error: step 0: the energy explodes: particles 42 and 23 are 0.000e0 apart, the force on 42 is inf and would throw it further than the cutoff in one step
    particles on top of each other, or a time step that is too large
    ");
    assert_eq!(workdir.files("out"), ["scenario.toml"], "no results");
}

#[test]
fn nearly_coincident_particles() {
    let workdir = pair_at("4.001");
    assert_snapshot!(error_everywhere(&workdir, "run melt.toml", &starts()), @r"
    exit code 1
    error: step 0: the energy explodes: particles 42 and 23 are 1.000e-3 apart, the force on 42 is 4.800e40 and would throw it further than the cutoff in one step
    particles on top of each other, or a time step that is too large
    ");
}

/// The particles are on opposite sides of the periodic boundary, and of a border between ranks.
#[test]
fn nearly_coincident_through_the_boundary() {
    let workdir = pair_at("0.0");
    let atoms = workdir.read("start.data").replace("17 1 8.5", "17 1 8.999");
    workdir.write("start.data", &atoms);
    assert_snapshot!(error_everywhere(&workdir, "run melt.toml", &starts()), @r"
    exit code 1
    error: step 0: the energy explodes: particles 17 and 42 are 1.000e-3 apart, the force on 17 is 4.800e40 and would throw it further than the cutoff in one step
    particles on top of each other, or a time step that is too large
    ");
}

#[test]
fn far_too_large_a_time_step() {
    let workdir = Workdir::new(&MELT.replace("steps = 20", "steps = 20\ntimestep = 1.0"));
    assert_snapshot!(error_everywhere(&workdir, "run melt.toml --set neighbor.skin=0.3", &starts()), @r"
    exit code 1
    error: step 1: 8 particles lost: moved further than one cell since the last rebuild
      id 2 at (-2.708, -0.101, 1.763), moved 4.072
      id 92 at (3.106, 4.143, -0.330), moved 4.175
      id 137 at (3.044, -1.015, 2.275), moved 3.858
      id 173 at (-0.360, 3.527, -2.574), moved 4.720
      id 196 at (0.341, 1.621, 2.508), moved 4.271
    the time step is too large, particles overlap, or the neighbourhood is rebuilt too rarely
    ");
    let thermo = workdir.read("out/thermo.csv");
    assert_eq!(thermo.lines().count(), 2, "the state at step 0 stays: {thermo}");
    assert_eq!(workdir.files("out"), ["scenario.toml", "thermo.csv"], "no results of a run that failed");
}

/// Chaos amplifies rounding differences, so that only the first line is the same on all ranks.
#[test]
fn lost_particles_between_two_rebuilds() {
    let workdir =
        Workdir::new(&MELT.replace("[output]", "[neighbor]\nrebuild = { every = 1000 }\n\n[output]"));
    for start in starts() {
        let text = error(&workdir, "run melt.toml --set simulation.timestep=0.5", start);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "exit code 1");
        assert!(lines[1].starts_with("error: step 7: "), "{text}");
        assert!(lines[1].ends_with(" particles lost: moved further than one cell since the last rebuild"));
        assert!(lines[2].starts_with("  id "), "{text}");
        assert_eq!(lines.len(), 8, "{text}");
        let why = "the time step is too large, particles overlap, or the neighbourhood is rebuilt too rarely";
        assert_eq!(lines[7], why);
        assert_eq!(workdir.files("out"), ["scenario.toml", "thermo.csv"]);
    }
}

#[test]
fn forces_that_would_throw_particles_out_at_once() {
    let workdir = Workdir::new(&MELT.replace("steps = 20", "steps = 20\ntimestep = 1e80"));
    let text = error(&workdir, "run melt.toml", Start::Threads(1));
    assert!(text.starts_with("exit code 1\nerror: step 0: the energy explodes: particles "), "{text}");
    assert!(text.ends_with("particles on top of each other, or a time step that is too large\n"), "{text}");
}

#[test]
fn a_limit_on_waiting_that_no_clock_can_hold() {
    let workdir = Workdir::new(&MELT.replace("[output]", "[parallel]\nwatchdog_s = 1e300\n\n[output]"));
    for start in starts() {
        workdir.succeed(start, "run melt.toml");
    }
}
