//! Invalid TOML, and scenarios without their tables.

use insta::assert_snapshot;

use crate::scenario_common::{error, error_after};

#[test]
fn syntax() {
    assert_snapshot!(error_after("steps = 1000", "steps = = 1000"), @r"
     × not valid TOML: extra `=`, expected nothing
      ╭─[melt.toml:5:9]
    4 │ timestep = 0.005
    5 │ steps = = 1000
      ·         ┬
      ·         ╰── here
    6 │ seed = 87287
      ╰────
     help: a scenario is a TOML file: [tables] of `key = value`
    ");
}

#[test]
fn duplicate_key() {
    assert_snapshot!(error_after("steps = 1000", "steps = 1000\nsteps = 2000"), @r"
     × not valid TOML: duplicate key
      ╭─[melt.toml:6:1]
    5 │ steps = 1000
    6 │ steps = 2000
      · ──┬──
      ·   ╰── here
    7 │ seed = 87287
      ╰────
     help: a scenario is a TOML file: [tables] of `key = value`
    ");
}

#[test]
fn empty_file() {
    assert_snapshot!(error(""), @r"
    × melt.toml: missing table [simulation]
    help: `simulation`, a table: Title, time step, length of the run.
    ");
}

#[test]
fn missing_table() {
    assert_snapshot!(error("[simulation]\nsteps = 10\n"), @r"
    × melt.toml: missing table [system]
    help: `system`, a table: Source of the particles.
    ");
}
