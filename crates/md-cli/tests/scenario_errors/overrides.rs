//! Faults caused by `--set`.

use insta::assert_snapshot;

use crate::scenario_common::{MELT, error_set, error_with};

#[test]
fn unknown_key() {
    assert_snapshot!(error_with(&["interaction.cutof=3"]), @r"
     × unknown key `cutof` in [interaction]
      ╭─[command line:1:7]
    1 │ --set interaction.cutof=3
      ·       ────────┬────────
      ·               ╰── unknown key
      ╰────
     help: did you mean `cutoff`?
    ");
}

#[test]
fn wrong_type() {
    assert_snapshot!(error_with(&["interaction.cutoff=far"]), @r#"
     × `interaction.cutoff` must be a number, found the string "far"
      ╭─[command line:1:26]
    1 │ --set interaction.cutoff=far
      ·                          ─┬─
      ·                           ╰── expected a number
      ╰────
     help: `interaction.cutoff`: Cutoff radius in units of sigma.
    "#);
}

#[test]
fn unknown_name() {
    assert_snapshot!(error_with(&["parallel.shell=haf"]), @r#"
     × `parallel.shell` cannot be "haf"
      ╭─[command line:1:22]
    1 │ --set parallel.shell=haf
      ·                      ─┬─
      ·                       ╰── unknown name
      ╰────
     help: did you mean `half`? Allowed: `full`, `half`, `eighth`
    "#);
}

#[test]
fn bad_value() {
    assert_snapshot!(error_with(&["simulation.steps=10", "simulation.steps=0"]), @r"
     × `simulation.steps` must be at least 1, found 0
      ╭─[command line:1:24]
    1 │ --set simulation.steps=0
      ·                        ─
      ╰────
     help: `md-cli forces` evaluates the forces without motion; with stages, leave the key out
    ");
}

#[test]
fn of_a_species() {
    assert_snapshot!(error_with(&["species[1].mass=-2"]), @r"
     × `species[1].mass` must be a finite number above 0, found -2.0
      ╭─[command line:1:23]
    1 │ --set species[1].mass=-2
      ·                       ──
      ╰────
     help: the default is 1.0
    ");
}

#[test]
fn outside_an_array() {
    assert_snapshot!(error_with(&["species[2].mass=2"]), @r"
     × cannot set `species[2].mass`: `species` has 2 entries, counted from [0]
      ╭─[command line:1:7]
    1 │ --set species[2].mass=2
      ·       ───────────────
      ╰────
     help: the path must lead through tables and existing entries of arrays
    ");
}

#[test]
fn through_a_number() {
    assert_snapshot!(error_with(&["interaction.cutoff.value=2"]), @r"
     × cannot set `interaction.cutoff.value`: `interaction.cutoff` is the number 2.5
      ╭─[command line:1:7]
    1 │ --set interaction.cutoff.value=2
      ·       ────────────────────────
      ╰────
     help: the path must lead through tables and existing entries of arrays
    ");
}

#[test]
fn without_equals_sign() {
    assert_snapshot!(error_with(&["interaction.cutoff"]), @r"
     × no `=` in `--set interaction.cutoff`
      ╭─[command line:1:7]
    1 │ --set interaction.cutoff
      ·       ──────────────────
      ╰────
     help: give `key.path=value`, for example `interaction.cutoff=3.0`
    ");
}

#[test]
fn without_value() {
    assert_snapshot!(error_with(&["interaction.cutoff="]), @r"
     × no value for `interaction.cutoff` in `--set interaction.cutoff=`
      ╭─[command line:1:7]
    1 │ --set interaction.cutoff=
      ·       ───────────────────
      ╰────
     help: give `key.path=value`, for example `interaction.cutoff=3.0`
    ");
}

#[test]
fn with_a_bad_path() {
    assert_snapshot!(error_with(&["interaction..cutoff=3"]), @r"
     × `interaction..cutoff` is no path of a key
      ╭─[command line:1:7]
    1 │ --set interaction..cutoff=3
      ·       ───────────────────
      ╰────
     help: give `key.path=value`, for example `interaction.cutoff=3.0`
    ");
}

#[test]
fn makes_a_table_without_a_key() {
    assert_snapshot!(error_with(&["output.checkpoint.keep=2"]), @r"
     × missing key `every` in [output.checkpoint]
      ╭─[command line:1:7]
    1 │ --set output.checkpoint.keep=2
      ·       ───────────┬──────────
      ·                  ╰── `every` is missing here
      ╰────
     help: `every`, an integer of at least 1: Steps between two checkpoints.
    ");
}

#[test]
fn clashes_with_the_file() {
    assert_snapshot!(error_with(&["neighbor.rebuild.displacement=true"]), @r"
     × both `every` and `displacement` are given
      ╭─[command line:1:37]
    1 │ --set neighbor.rebuild.displacement=true
      ·                                     ────
      ╰────
     help: write `rebuild = { displacement = true }`, `rebuild = { every = 20 }` or `rebuild =
           { drift = 1e-4 }`
    ");
}

#[test]
fn does_not_hide_a_fault_of_the_file() {
    assert_snapshot!(error_set(&MELT.replace("cutoff = 2.5", "cutoff = true"), &["interaction.cutoff=3"]), @r#"
     × `interaction.cutoff` must be a number, found the boolean true
       ╭─[melt.toml:26:10]
    25 │ kind = "lennard-jones"
    26 │ cutoff = true
       ·          ──┬─
       ·            ╰── expected a number
    27 │ shift = "none"
       ╰────
     help: `interaction.cutoff`: Cutoff radius in units of sigma.
    "#);
}
