//! Values of the wrong type, and unknown names.

use insta::assert_snapshot;

use crate::scenario_common::error_after;

#[test]
fn wrong_type() {
    assert_snapshot!(error_after("cutoff = 2.5", "cutoff = \"far\""), @r#"
     × `interaction.cutoff` must be a number, found the string "far"
       ╭─[melt.toml:26:10]
    25 │ kind = "lennard-jones"
    26 │ cutoff = "far"
       ·          ──┬──
       ·            ╰── expected a number
    27 │ shift = "none"
       ╰────
     help: `interaction.cutoff`: Cutoff radius in units of sigma.
    "#);
}

#[test]
fn float_for_an_integer() {
    assert_snapshot!(error_after("steps = 1000", "steps = 1e3"), @r"
     × `simulation.steps` must be an integer of at least 1, found the number 1000.0
      ╭─[melt.toml:5:9]
    4 │ timestep = 0.005
    5 │ steps = 1e3
      ·         ─┬─
      ·          ╰── expected an integer of at least 1
    6 │ seed = 87287
      ╰────
     help: `simulation.steps`: Number of time steps.
    ");
}

#[test]
fn negative_integer() {
    assert_snapshot!(error_after("steps = 1000", "steps = -1"), @r"
     × `simulation.steps` must be an integer of at least 1, found the integer -1
      ╭─[melt.toml:5:9]
    4 │ timestep = 0.005
    5 │ steps = -1
      ·         ─┬
      ·          ╰── expected an integer of at least 1
    6 │ seed = 87287
      ╰────
     help: `simulation.steps`: Number of time steps.
    ");
}

#[test]
fn wrong_length() {
    assert_snapshot!(error_after("cells = [20, 20, 20]", "cells = [20, 20]"), @r#"
     × `system.lattice.cells` must be an array of 3, found an array of 2
       ╭─[melt.toml:9:53]
     8 │ [system]
     9 │ lattice = { kind = "fcc", density = 0.8442, cells = [20, 20] }
       ·                                                     ────┬───
       ·                                                         ╰── expected an array of 3
    10 │ temperature = 1.44
       ╰────
     help: `system.lattice.cells`: Unit cells per dimension (in 2D the third is 1).
    "#);
}

#[test]
fn wrong_type_in_an_array() {
    assert_snapshot!(error_after("cells = [20, 20, 20]", "cells = [20, 20, 2.5]"), @r#"
     × `system.lattice.cells[2]` must be an integer of at least 1, found the number 2.5
       ╭─[melt.toml:9:62]
     8 │ [system]
     9 │ lattice = { kind = "fcc", density = 0.8442, cells = [20, 20, 2.5] }
       ·                                                              ─┬─
       ·                                                               ╰── expected an integer of at least 1
    10 │ temperature = 1.44
       ╰────
     help: give an integer of at least 1
    "#);
}

#[test]
fn table_expected() {
    assert_snapshot!(error_after("thermo = { every = 100 }", "thermo = 100"), @r#"
     × `output.thermo` must be a table, found the integer 100
       ╭─[melt.toml:50:10]
    49 │ directory = "out/lj-melt"
    50 │ thermo = 100
       ·          ─┬─
       ·           ╰── expected a table
    51 │ trajectory = { path = "traj.extxyz", every = 500 }
       ╰────
     help: keys of `output.thermo`: `every`
    "#);
}

#[test]
fn unknown_name_with_a_near_one() {
    assert_snapshot!(error_after("shell = \"half\"", "shell = \"haf\""), @r#"
     × `parallel.shell` cannot be "haf"
       ╭─[melt.toml:43:9]
    42 │ backend = "local"
    43 │ shell = "haf"
       ·         ──┬──
       ·           ╰── unknown name
    44 │ exchange = "direct"
       ╰────
     help: did you mean `half`? Allowed: `full`, `half`, `eighth`
    "#);
}

#[test]
fn unknown_name_with_none_near() {
    assert_snapshot!(error_after("kind = \"fcc\"", "kind = \"diamond\""), @r#"
     × `system.lattice.kind` cannot be "diamond"
       ╭─[melt.toml:9:20]
     8 │ [system]
     9 │ lattice = { kind = "diamond", density = 0.8442, cells = [20, 20, 20] }
       ·                    ────┬────
       ·                        ╰── unknown name
    10 │ temperature = 1.44
       ╰────
     help: allowed: `fcc`, `bcc`, `sc`, `hex`, `sq`, `sq2`
    "#);
}

#[test]
fn integer_too_large() {
    assert_snapshot!(error_after("cells = [20, 20, 20]", "cells = [20, 20, 5000000000]"), @r#"
     × `system.lattice.cells[2]` must be an integer up to 4294967295, found the integer 5000000000
       ╭─[melt.toml:9:62]
     8 │ [system]
     9 │ lattice = { kind = "fcc", density = 0.8442, cells = [20, 20, 5000000000] }
       ·                                                              ─────┬────
       ·                                                                   ╰── expected an integer up to 4294967295
    10 │ temperature = 1.44
       ╰────
     help: give an integer up to 4294967295
    "#);
}

#[test]
fn dimension_too_large() {
    assert_snapshot!(error_after("dimension = 3", "dimension = 300"), @r#"
     × `simulation.dimension` must be an integer up to 3, found the integer 300
      ╭─[melt.toml:3:13]
    2 │ title = "LJ melt"
    3 │ dimension = 300
      ·             ─┬─
      ·              ╰── expected an integer up to 3
    4 │ timestep = 0.005
      ╰────
     help: `simulation.dimension`: 2 (one layer in z, no motion in z) or 3.
    "#);
}

/// Explanations are made from comments, whose lines have other breaks.
#[test]
fn explanations_break_at_the_edge_only() {
    let text = error_after("threads = 1", "threads = 1\nsecond_share = true");
    let whole = "forces are sent back; the rest is computed while positions are sent. It determines the\n";
    assert!(text.contains(whole), "{text}");
}
