//! `[interaction]`

use insta::assert_snapshot;

use crate::scenario_common::error_after;

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
