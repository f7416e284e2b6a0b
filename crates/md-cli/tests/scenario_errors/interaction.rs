//! `[interaction]`

use insta::assert_snapshot;

use crate::scenario_common::{MELT, error, error_after};

#[test]
fn zero_cutoff() {
    assert_snapshot!(error_after("cutoff = 2.5", "cutoff = 0.0"), @r#"
     × `interaction.cutoff` must be a finite number above 0, found 0.0
       ╭─[melt.toml:26:10]
    25 │ kind = "lennard-jones"
    26 │ cutoff = 0.0
       ·          ───
    27 │ shift = "none"
       ╰────
     help: 2.5 is usual, in units of sigma
    "#);
}

#[test]
fn tail_correction_of_a_shifted_potential() {
    assert_snapshot!(error_after("shift = \"none\"", "shift = \"energy\"\ntail_correction = true"), @r#"
     × `tail_correction` adds what a plain cutoff leaves out, but the potential is shifted
       ╭─[melt.toml:28:19]
    27 │ shift = "energy"
    28 │ tail_correction = true
       ·                   ────
    29 │ mixing = "lorentz-berthelot"
       ╰────
     help: use `shift = "none"`, or leave `tail_correction` out
    "#);
}

#[test]
fn tail_correction_between_walls() {
    let walls = "boundary = [\"periodic\", \"reflecting\", \"periodic\"]";
    let text = MELT
        .replace("shift = \"none\"", "tail_correction = true")
        .replace("boundary = [\"periodic\", \"periodic\", \"periodic\"]", walls);
    assert_snapshot!(error(&text), @r#"
     × `tail_correction` is that of a system without faces, but `system.boundary` has walls
       ╭─[melt.toml:27:19]
    26 │ cutoff = 2.5
    27 │ tail_correction = true
       ·                   ────
    28 │ mixing = "lorentz-berthelot"
       ╰────
     help: leave `tail_correction` out, or make all faces "periodic"
    "#);
}

#[test]
fn pair_of_an_unknown_species() {
    assert_snapshot!(error_after("species = [\"A\", \"B\"]", "species = [\"A\", \"C\"]"), @r#"
     × there is no species `C`
       ╭─[melt.toml:31:17]
    30 │ [[interaction.pair]]
    31 │ species = ["A", "C"]
       ·                 ───
    32 │ epsilon = 1.5
       ╰────
     help: the species are `A`, `B`
    "#);
}

#[test]
fn pair_given_twice() {
    assert_snapshot!(error_after("sigma = 0.8", "sigma = 0.8\n[[interaction.pair]]\nspecies = [\"B\", \"A\"]\nepsilon = 1.0\nsigma = 1.0"), @r#"
     × the pair `B`, `A` is given twice: interaction.pair[0] and [1]
       ╭─[melt.toml:35:11]
    34 │ [[interaction.pair]]
    35 │ species = ["B", "A"]
       ·           ──────────
    36 │ epsilon = 1.0
       ╰────
     help: keep one; the order of the two names does not matter
    "#);
}

#[test]
fn negative_sigma_of_a_pair() {
    assert_snapshot!(error_after("sigma = 0.8", "sigma = -0.8"), @r"
     × `interaction.pair[0].sigma` must be a finite number above 0, found -0.8
       ╭─[melt.toml:33:9]
    32 │ epsilon = 1.5
    33 │ sigma = -0.8
       ·         ────
    34 │ 
       ╰────
     help: parameters of this pair, in place of the mixed ones
    ");
}

/// Returns [`MELT`] with a Morse potential and the given parameters.
fn morse(parameters: &str) -> String {
    let start = MELT.find("[interaction]\n").unwrap_or_default();
    let end = MELT.find("[neighbor]").unwrap_or_default();
    let (before, after) = (&MELT[..start], &MELT[end..]);
    let before = before.replace("epsilon = 0.5\nsigma = 1.1\n", "");
    format!("{before}[interaction]\nkind = \"morse\"\n{parameters}\n{after}")
}

#[test]
fn unknown_kind() {
    assert_snapshot!(error_after("\"lennard-jones\"", "\"mors\""), @r#"
     × `interaction.kind` cannot be "mors"
       ╭─[melt.toml:25:8]
    24 │ [interaction]
    25 │ kind = "mors"
       ·        ───┬──
       ·           ╰── unknown name
    26 │ cutoff = 2.5
       ╰────
     help: did you mean `morse`? Allowed: `lennard-jones`, `morse`, `sutton-chen`
    "#);
}

#[test]
fn key_of_another_kind() {
    assert_snapshot!(error_after("mixing = \"lorentz-berthelot\"", "depth = 1.0"), @r#"
     × unknown key `depth` in [interaction] of kind `lennard-jones`
       ╭─[melt.toml:28:1]
    27 │ shift = "none"
    28 │ depth = 1.0
       · ──┬──
       ·   ╰── unknown key
    29 │ 
       ╰────
     help: `depth` is a key of kind `morse`; valid keys: `cutoff`, `kind`, `mixing`, `pair`, `shift`,
           `tail_correction`
    "#);
    assert_snapshot!(error(&morse("depth = 1.0\nalpha = 6.0\nr0 = 1.0\nmixing = \"geometric\"")), @r#"
     × unknown key `mixing` in [interaction] of kind `morse`
       ╭─[melt.toml:27:1]
    26 │ r0 = 1.0
    27 │ mixing = "geometric"
       · ───┬──
       ·    ╰── unknown key
    28 │ [neighbor]
       ╰────
     help: `mixing` is a key of kind `lennard-jones`; valid keys: `alpha`, `cutoff`, `depth`, `kind`,
           `pair`, `r0`, `shift`, `tail_correction`
    "#);
    assert_snapshot!(error_after("epsilon = 1.5\n", "depth = 1.5\n"), @r#"
     × unknown key `depth` in interaction.pair[0]
       ╭─[melt.toml:32:1]
    31 │ species = ["A", "B"]
    32 │ depth = 1.5
       · ──┬──
       ·   ╰── unknown key
    33 │ sigma = 0.8
       ╰────
     help: valid keys: `epsilon`, `sigma`, `species`
    "#);
}

#[test]
fn missing_depth() {
    assert_snapshot!(error(&morse("alpha = 6.0\nr0 = 1.0")), @r#"
     × missing key `depth` in [interaction]
       ╭─[melt.toml:22:1]
    21 │ 
    22 │ [interaction]
       · ──────┬──────
       ·       ╰── `depth` is missing here
    23 │ kind = "morse"
       ╰────
     help: `depth`, a number: Well depth D of all pairs of species.
    "#);
    assert_snapshot!(
        error(&morse("depth = 1.0\nalpha = 6.0\nr0 = 1.0\n[[interaction.pair]]\nspecies = [\"A\", \"B\"]\nalpha = 6.0\nr0 = 1.0")),
        @r#"
         × missing key `depth` in interaction.pair[0]
           ╭─[melt.toml:27:1]
        26 │ r0 = 1.0
        27 │ [[interaction.pair]]
           · ──────────┬─────────
           ·           ╰── `depth` is missing here
        28 │ species = ["A", "B"]
           ╰────
         help: `depth`, a number: Well depth of this pair.
        "#
    );
}

#[test]
fn negative_depth() {
    assert_snapshot!(error(&morse("depth = -1.0\nalpha = 6.0\nr0 = 1.0")), @r#"
     × `interaction.depth` must be a finite number of at least 0, found -1.0
       ╭─[melt.toml:24:9]
    23 │ kind = "morse"
    24 │ depth = -1.0
       ·         ────
    25 │ alpha = 6.0
       ╰────
     help: the depth of the well, for example 1.0
    "#);
}

#[test]
fn wells_of_species_with_another_potential() {
    let text =
        morse("depth = 1.0\nalpha = 6.0\nr0 = 1.0").replace("mass = 2.0\n", "mass = 2.0\nsigma = 1.1\n");
    assert_snapshot!(error(&text), @r#"
     × `species[1].sigma` belongs to kind `lennard-jones`, but the interaction is `morse`
       ╭─[melt.toml:21:1]
    20 │ mass = 2.0
    21 │ sigma = 1.1
       · ─────
    22 │ 
       ╰────
     help: leave it out; `depth`, `alpha` and `r0` of [interaction] are for all species
    "#);
}

/// Returns the standard scenario with one species of copper and other settings.
fn copper(parameters: &str) -> String {
    let text = morse("").replace("kind = \"morse\"", &format!("kind = \"sutton-chen\"\n{parameters}"));
    let species = text.find("[[species]]").unwrap_or_default();
    let rest = text[species..].find("[interaction]").map_or(text.len(), |at| species + at);
    format!("{}{}", &text[..species], &text[rest..])
}

#[test]
fn sutton_chen_of_several_faults() {
    let own = "epsilon = 1.0\na = 1.0\nc = 39.432\n";
    assert_snapshot!(error(&copper(&format!("{own}n = 6\nm = 9"))), @r#"
     × `interaction.m` is 9, but must be at least 1 and below `n`, which is 6
       ╭─[melt.toml:19:5]
    18 │ n = 6
    19 │ m = 9
       ·     ─
    20 │ 
       ╰────
     help: 6 and 9 for copper
    "#);
    assert_snapshot!(error(&copper(&format!("{own}n = 9\nm = 6\ntail_correction = true"))), @r#"
     × kind `sutton-chen` has no tail correction
       ╭─[melt.toml:20:19]
    19 │ m = 6
    20 │ tail_correction = true
       ·                   ────
    21 │ 
       ╰────
     help: leave `tail_correction` out
    "#);
    assert_snapshot!(error(&morse("").replace("kind = \"morse\"", &format!("kind = \"sutton-chen\"\n{own}n = 9\nm = 6"))), @r#"
     × kind `sutton-chen` has parameters of one species only
       ╭─[melt.toml:13:1]
    12 │ 
    13 │ [[species]]
       · ───────────
    14 │ name = "A"
       ╰────
     help: leave one species
    "#);
    let mixed =
        copper(&format!("{own}n = 9\nm = 6")).replace("precision = \"double\"", "precision = \"mixed\"");
    assert_snapshot!(error(&mixed), @r#"
     × kind `sutton-chen` is computed in double precision only
       ╭─[melt.toml:25:13]
    24 │ rebuild = { every = 20 }
    25 │ precision = "mixed"
       ·             ───────
    26 │ 
       ╰────
     help: use precision `double`
    "#);
}
