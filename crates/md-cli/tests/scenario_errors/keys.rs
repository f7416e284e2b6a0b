//! Unknown and missing keys.

use insta::assert_snapshot;

use crate::scenario_common::error_after;

#[test]
fn unknown_key_with_a_near_one() {
    assert_snapshot!(error_after("cutoff = 2.5", "cutof = 2.5"), @r#"
     × unknown key `cutof` in [interaction]
       ╭─[melt.toml:26:1]
    25 │ kind = "lennard-jones"
    26 │ cutof = 2.5
       · ──┬──
       ·   ╰── unknown key
    27 │ shift = "none"
       ╰────
     help: did you mean `cutoff`?
    "#);
}

#[test]
fn unknown_key_with_none_near() {
    assert_snapshot!(error_after("cutoff = 2.5", "radius = 2.5"), @r#"
     × unknown key `radius` in [interaction]
       ╭─[melt.toml:26:1]
    25 │ kind = "lennard-jones"
    26 │ radius = 2.5
       · ───┬──
       ·    ╰── unknown key
    27 │ shift = "none"
       ╰────
     help: valid keys: `cutoff`, `kind`, `mixing`, `pair`, `shift`, `tail_correction`
    "#);
}

#[test]
fn key_in_the_wrong_table() {
    assert_snapshot!(error_after("steps = 1000", "steps = 1000\ntemperature = 1.0"), @r"
     × unknown key `temperature` in [simulation]
      ╭─[melt.toml:6:1]
    5 │ steps = 1000
    6 │ temperature = 1.0
      · ─────┬─────
      ·      ╰── unknown key
    7 │ seed = 87287
      ╰────
     help: `temperature` is a key of [system]
    ");
}

#[test]
fn unknown_table() {
    assert_snapshot!(error_after("[neighbor]", "[neighbour]"), @r#"
     × unknown key `neighbour` at the top level
       ╭─[melt.toml:35:2]
    34 │ 
    35 │ [neighbour]
       ·  ────┬────
       ·      ╰── unknown key
    36 │ method = "clusters"
       ╰────
     help: did you mean `neighbor`?
    "#);
}

#[test]
fn unknown_key_of_an_inline_table() {
    assert_snapshot!(error_after("density = 0.8442", "densty = 0.8442"), @r#"
     × unknown key `densty` in [system.lattice]
       ╭─[melt.toml:9:27]
     8 │ [system]
     9 │ lattice = { kind = "fcc", densty = 0.8442, cells = [20, 20, 20] }
       ·                           ───┬──
       ·                              ╰── unknown key
    10 │ temperature = 1.44
       ╰────
     help: did you mean `density`?
    "#);
}

#[test]
fn unknown_key_of_a_species() {
    assert_snapshot!(error_after("mass = 2.0", "mas = 2.0"), @r#"
     × unknown key `mas` in species[1]
       ╭─[melt.toml:20:1]
    19 │ name = "B"
    20 │ mas = 2.0
       · ─┬─
       ·  ╰── unknown key
    21 │ epsilon = 0.5
       ╰────
     help: did you mean `mass`?
    "#);
}

#[test]
fn missing_key() {
    assert_snapshot!(error_after("steps = 1000\n", ""), @r#"
     × missing key `steps` in [simulation]
      ╭─[melt.toml:1:1]
    1 │ [simulation]
      · ──────┬─────
      ·       ╰── `steps` is missing here
    2 │ title = "LJ melt"
      ╰────
     help: `steps`, an integer of at least 1: Number of time steps.
    "#);
}

#[test]
fn missing_key_of_an_inline_table() {
    assert_snapshot!(error_after(", cells = [20, 20, 20]", ""), @r#"
     × missing key `cells` in [system.lattice]
       ╭─[melt.toml:9:11]
     8 │ [system]
     9 │ lattice = { kind = "fcc", density = 0.8442 }
       ·           ─────────────────┬────────────────
       ·                            ╰── `cells` is missing here
    10 │ temperature = 1.44
       ╰────
     help: `cells`, an array of 3: Unit cells per dimension (in 2D the third is 1).
    "#);
}

#[test]
fn missing_name_of_a_species() {
    assert_snapshot!(error_after("name = \"B\"\n", ""), @r"
     × missing key `name` in species[1]
       ╭─[melt.toml:18:1]
    17 │ 
    18 │ [[species]]
       · ─────┬─────
       ·      ╰── `name` is missing here
    19 │ mass = 2.0
       ╰────
     help: `name`, a string: Name, used by `interaction.pair` and in trajectories.
    ");
}
