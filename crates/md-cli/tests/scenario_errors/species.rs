//! `[[species]]`

use insta::assert_snapshot;

use crate::scenario_common::{error, error_after};

/// Returns the error with another mass of the second species.
fn error_of_mass(mass: &str) -> String {
    error_after("mass = 2.0", &format!("mass = {mass}"))
}

/// Returns the error with another name of the second species.
fn error_of_name(name: &str) -> String {
    error_after("name = \"B\"", &format!("name = {name:?}"))
}

#[test]
fn no_species() {
    assert_snapshot!(error("species = []\n[simulation]\nsteps = 10\n[system]\nlattice = { kind = \"sc\", spacing = 1.1, cells = [8, 8, 8] }\n"), @r"
     × there are no species
      ╭─[melt.toml:1:11]
    1 │ species = []
      ·           ──
    2 │ [simulation]
      ╰────
     help: give at least one [[species]]
    ");
}

#[test]
fn nan_mass() {
    assert_snapshot!(error_of_mass("nan"), @r#"
     × `species[1].mass` must be a finite number above 0, found nan
       ╭─[melt.toml:20:8]
    19 │ name = "B"
    20 │ mass = nan
       ·        ───
    21 │ epsilon = 0.5
       ╰────
     help: the default is 1.0
    "#);
}

#[test]
fn negative_mass() {
    assert_snapshot!(error_of_mass("-2.0"), @r#"
     × `species[1].mass` must be a finite number above 0, found -2.0
       ╭─[melt.toml:20:8]
    19 │ name = "B"
    20 │ mass = -2.0
       ·        ────
    21 │ epsilon = 0.5
       ╰────
     help: the default is 1.0
    "#);
}

#[test]
fn negative_epsilon() {
    assert_snapshot!(error_after("epsilon = 0.5", "epsilon = -0.5"), @r"
     × `species[1].epsilon` must be a finite number of at least 0, found -0.5
       ╭─[melt.toml:21:11]
    20 │ mass = 2.0
    21 │ epsilon = -0.5
       ·           ────
    22 │ sigma = 1.1
       ╰────
     help: the default is 1.0
    ");
}

#[test]
fn zero_sigma() {
    assert_snapshot!(error_after("sigma = 1.1", "sigma = 0"), @r"
     × `species[1].sigma` must be a finite number above 0, found 0.0
       ╭─[melt.toml:22:9]
    21 │ epsilon = 0.5
    22 │ sigma = 0
       ·         ─
    23 │ 
       ╰────
     help: the default is 1.0
    ");
}

#[test]
fn duplicate_species() {
    assert_snapshot!(error_of_name("A"), @r#"
     × two species have the name `A`: species[0] and species[1]
       ╭─[melt.toml:19:8]
    18 │ [[species]]
    19 │ name = "A"
       ·        ───
    20 │ mass = 2.0
       ╰────
     help: give every species its own name
    "#);
}

#[test]
fn species_name_with_a_space() {
    assert_snapshot!(error_of_name("B C"), @r#"
     × "B C" cannot be the name of a species
       ╭─[melt.toml:19:8]
    18 │ [[species]]
    19 │ name = "B C"
       ·        ─────
    20 │ mass = 2.0
       ╰────
     help: a name is one word: it is a column in files
    "#);
}

#[test]
fn fraction_above_one() {
    assert_snapshot!(error_after("fraction = 0.9", "fraction = 1.5"), @r"
     × `species[0].fraction` must be from 0 to 1, found 1.5
       ╭─[melt.toml:16:12]
    15 │ mass = 1.0
    16 │ fraction = 1.5
       ·            ───
    17 │ 
       ╰────
     help: the share of lattice sites, for example 0.9
    ");
}

#[test]
fn fractions_do_not_add_up() {
    assert_snapshot!(error_after("sigma = 1.1", "sigma = 1.1\nfraction = 0.2"), @r"
     × the fractions of the species add up to 1.1, not to 1
       ╭─[melt.toml:23:12]
    22 │ sigma = 1.1
    23 │ fraction = 0.2
       ·            ───
    24 │ 
       ╰────
     help: one species may leave its fraction out and takes the rest
    ");
}

#[test]
fn no_fractions() {
    assert_snapshot!(error_after("fraction = 0.9\n", ""), @r#"
     × 2 of 2 species have no `fraction`
       ╭─[melt.toml:13:1]
    12 │ 
    13 │ [[species]]
       · ───────────
    14 │ name = "A"
       ╰────
     help: give every species its share of the lattice sites; one may leave it out and takes the rest
    "#);
}

#[test]
fn fraction_without_a_lattice() {
    assert_snapshot!(error("[simulation]\nsteps = 10\n[system]\nfile = { path = \"data.lammps\", format = \"lammps-data\" }\n[[species]]\nname = \"A\"\nfraction = 1.0\n"), @r#"
     × `species[0].fraction` has no meaning: the file of [system] says which particle is what
      ╭─[melt.toml:7:1]
    6 │ name = "A"
    7 │ fraction = 1.0
      · ────────
      ╰────
     help: leave it out, or use a lattice
    "#);
}
