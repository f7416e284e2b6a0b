//! `[simulation]`

use insta::assert_snapshot;

use crate::scenario_common::error_after;

#[test]
fn dimension_four() {
    assert_snapshot!(error_after("dimension = 3", "dimension = 4"), @r#"
     × `simulation.dimension` must be 2 or 3, found 4
      ╭─[melt.toml:3:13]
    2 │ title = "LJ melt"
    3 │ dimension = 4
      ·             ─
    4 │ timestep = 0.005
      ╰────
     help: 2 is one layer in z without motion in z
    "#);
}

#[test]
fn negative_timestep() {
    assert_snapshot!(error_after("timestep = 0.005", "timestep = -0.005"), @r"
     × `simulation.timestep` must be a finite number above 0, found -0.005
      ╭─[melt.toml:4:12]
    3 │ dimension = 3
    4 │ timestep = -0.005
      ·            ──────
    5 │ steps = 1000
      ╰────
     help: 0.005 is usual for a Lennard-Jones liquid
    ");
}

#[test]
fn infinite_timestep() {
    assert_snapshot!(error_after("timestep = 0.005", "timestep = inf"), @r"
     × `simulation.timestep` must be a finite number above 0, found inf
      ╭─[melt.toml:4:12]
    3 │ dimension = 3
    4 │ timestep = inf
      ·            ───
    5 │ steps = 1000
      ╰────
     help: 0.005 is usual for a Lennard-Jones liquid
    ");
}

#[test]
fn zero_steps() {
    assert_snapshot!(error_after("steps = 1000", "steps = 0"), @r"
     × `simulation.steps` must be at least 1, found 0
      ╭─[melt.toml:5:9]
    4 │ timestep = 0.005
    5 │ steps = 0
      ·         ─
    6 │ seed = 87287
      ╰────
     help: `md-cli forces` evaluates the forces without motion; with stages, leave the key out
    ");
}
