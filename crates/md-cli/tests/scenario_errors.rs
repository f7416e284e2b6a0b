//! The exact text of every error of a scenario file.

mod scenario_common;

use insta::assert_snapshot;
use scenario_common::{MELT, error, error_after, error_set, error_with, layer};

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
     help: allowed: `fcc`, `bcc`, `sc`, `hex`, `sq`
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
     help: `md-cli forces` evaluates the forces of the initial state without motion
    ");
}

#[test]
fn two_sources() {
    assert_snapshot!(error_after("temperature = 1.44", "file = { path = \"data.lammps\", format = \"lammps-data\" }"), @r#"
     × both `system.lattice` and `system.file` are given
       ╭─[melt.toml:10:1]
     9 │ lattice = { kind = "fcc", density = 0.8442, cells = [20, 20, 20] }
    10 │ file = { path = "data.lammps", format = "lammps-data" }
       · ────
    11 │ boundary = ["periodic", "periodic", "periodic"]
       ╰────
     help: keep one source of particles
    "#);
}

#[test]
fn no_source() {
    assert_snapshot!(error_after("lattice = { kind = \"fcc\", density = 0.8442, cells = [20, 20, 20] }\n", ""), @r#"
     × [system] has no source of particles
      ╭─[melt.toml:8:1]
    7 │ 
    8 │ [system]
      · ────────
    9 │ temperature = 1.44
      ╰────
     help: give `lattice = { kind = "fcc", density = 0.8442, cells = [20, 20, 20] }` or `file =
           { path = "data.lammps", format = "lammps-data" }`
    "#);
}

#[test]
fn density_and_spacing() {
    assert_snapshot!(error_after("density = 0.8442", "density = 0.8442, spacing = 1.7"), @r#"
     × both `density` and `spacing` of the lattice are given
       ╭─[melt.toml:9:45]
     8 │ [system]
     9 │ lattice = { kind = "fcc", density = 0.8442, spacing = 1.7, cells = [20, 20, 20] }
       ·                                             ───────
    10 │ temperature = 1.44
       ╰────
     help: keep one: each follows from the other
    "#);
}

#[test]
fn neither_density_nor_spacing() {
    assert_snapshot!(error_after("density = 0.8442, ", ""), @r#"
     × the lattice has neither `density` nor `spacing`
       ╭─[melt.toml:9:11]
     8 │ [system]
     9 │ lattice = { kind = "fcc", cells = [20, 20, 20] }
       ·           ──────────────────────────────────────
    10 │ temperature = 1.44
       ╰────
     help: give one, for example `density = 0.8442`
    "#);
}

#[test]
fn zero_density() {
    assert_snapshot!(error_after("density = 0.8442", "density = 0.0"), @r#"
     × `system.lattice.density` must be a finite number above 0, found 0.0
       ╭─[melt.toml:9:37]
     8 │ [system]
     9 │ lattice = { kind = "fcc", density = 0.0, cells = [20, 20, 20] }
       ·                                     ───
    10 │ temperature = 1.44
       ╰────
     help: particles per volume, for example 0.8442
    "#);
}

#[test]
fn negative_spacing() {
    assert_snapshot!(error_after("density = 0.8442", "spacing = -1.7"), @r#"
     × `system.lattice.spacing` must be a finite number above 0, found -1.7
       ╭─[melt.toml:9:37]
     8 │ [system]
     9 │ lattice = { kind = "fcc", spacing = -1.7, cells = [20, 20, 20] }
       ·                                     ────
    10 │ temperature = 1.44
       ╰────
     help: the edge of the unit cell, for example 1.68
    "#);
}

#[test]
fn zero_cells() {
    assert_snapshot!(error_after("cells = [20, 20, 20]", "cells = [20, 0, 20]"), @r#"
     × `system.lattice.cells[1]` must be at least 1, found 0
       ╭─[melt.toml:9:58]
     8 │ [system]
     9 │ lattice = { kind = "fcc", density = 0.8442, cells = [20, 0, 20] }
       ·                                                          ─
    10 │ temperature = 1.44
       ╰────
     help: unit cells along x, y and z, for example [20, 20, 20]
    "#);
}

#[test]
fn lattice_of_another_dimension() {
    assert_snapshot!(error_after("kind = \"fcc\"", "kind = \"hex\""), @r#"
     × lattice `hex` is 2D, but the simulation is 3D
       ╭─[melt.toml:9:20]
     8 │ [system]
     9 │ lattice = { kind = "hex", density = 0.8442, cells = [20, 20, 20] }
       ·                    ─────
    10 │ temperature = 1.44
       ╰────
     help: lattices in 3D: `fcc`, `bcc`, `sc`; or set `simulation.dimension = 2`
    "#);
}

#[test]
fn negative_temperature() {
    assert_snapshot!(error_after("temperature = 1.44", "temperature = -1.44"), @r#"
     × `system.temperature` must be a finite number of at least 0, found -1.44
       ╭─[melt.toml:10:15]
     9 │ lattice = { kind = "fcc", density = 0.8442, cells = [20, 20, 20] }
    10 │ temperature = -1.44
       ·               ─────
    11 │ boundary = ["periodic", "periodic", "periodic"]
       ╰────
     help: leave the key out for particles at rest
    "#);
}

#[test]
fn nan_mass() {
    assert_snapshot!(error_after("mass = 2.0", "mass = nan"), @r#"
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
    assert_snapshot!(error_after("mass = 2.0", "mass = -2.0"), @r#"
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
    assert_snapshot!(error_after("name = \"B\"", "name = \"A\""), @r#"
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
    assert_snapshot!(error_after("name = \"B\"", "name = \"B C\""), @r#"
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

#[test]
fn negative_skin() {
    assert_snapshot!(error_after("skin = 0.3", "skin = -0.3"), @r#"
     × `neighbor.skin` must be a finite number of at least 0, found -0.3
       ╭─[melt.toml:37:8]
    36 │ method = "clusters"
    37 │ skin = -0.3
       ·        ────
    38 │ rebuild = { every = 20 }
       ╰────
     help: 0.3 is usual, in units of sigma
    "#);
}

#[test]
fn no_rebuild() {
    assert_snapshot!(error_after("rebuild = { every = 20 }", "rebuild = {}"), @r#"
     × `neighbor.rebuild` has neither `every` nor `displacement`
       ╭─[melt.toml:38:11]
    37 │ skin = 0.3
    38 │ rebuild = {}
       ·           ──
    39 │ precision = "double"
       ╰────
     help: write `rebuild = { every = 20 }` or `rebuild = { displacement = true }`
    "#);
}

#[test]
fn both_rebuilds() {
    assert_snapshot!(error_after("rebuild = { every = 20 }", "rebuild = { every = 20, displacement = true }"), @r#"
     × both `every` and `displacement` are given
       ╭─[melt.toml:38:11]
    37 │ skin = 0.3
    38 │ rebuild = { every = 20, displacement = true }
       ·           ───────────────────────────────────
    39 │ precision = "double"
       ╰────
     help: write `rebuild = { every = 20 }` or `rebuild = { displacement = true }`
    "#);
}

#[test]
fn zero_rebuild() {
    assert_snapshot!(error_after("rebuild = { every = 20 }", "rebuild = { every = 0 }"), @r#"
     × `neighbor.rebuild.every` must be at least 1, found 0
       ╭─[melt.toml:38:21]
    37 │ skin = 0.3
    38 │ rebuild = { every = 0 }
       ·                     ─
    39 │ precision = "double"
       ╰────
     help: write `rebuild = { every = 20 }` or `rebuild = { displacement = true }`
    "#);
}

#[test]
fn displacement_false() {
    assert_snapshot!(error_after("rebuild = { every = 20 }", "rebuild = { displacement = false }"), @r#"
     × `displacement = false` does not say when to rebuild
       ╭─[melt.toml:38:28]
    37 │ skin = 0.3
    38 │ rebuild = { displacement = false }
       ·                            ─────
    39 │ precision = "double"
       ╰────
     help: write `rebuild = { every = 20 }` or `rebuild = { displacement = true }`
    "#);
}

#[test]
fn displacement_without_skin() {
    assert_snapshot!(error_after("skin = 0.3\nrebuild = { every = 20 }", "skin = 0.0\nrebuild = { displacement = true }"), @r#"
     × `neighbor.skin` is 0, so the slightest motion would ask for a rebuild
       ╭─[melt.toml:37:8]
    36 │ method = "clusters"
    37 │ skin = 0.0
       ·        ───
    38 │ rebuild = { displacement = true }
       ╰────
     help: give a skin, for example 0.3, or use `rebuild = { every = 1 }`
    "#);
}

#[test]
fn zero_thermo() {
    assert_snapshot!(error_after("every = 100 }", "every = 0 }"), @r#"
     × `output.thermo.every` must be at least 1, found 0
       ╭─[melt.toml:50:20]
    49 │ directory = "out/lj-melt"
    50 │ thermo = { every = 0 }
       ·                    ─
    51 │ trajectory = { path = "traj.extxyz", every = 500 }
       ╰────
     help: steps between two rows of thermo.csv
    "#);
}

#[test]
fn trajectory_without_a_frame() {
    assert_snapshot!(error_after("every = 500", "every = 5000"), @r#"
     × `output.trajectory.every` is 5000, but the run has 1000 steps: no frame after step 0 would be
     │ written
       ╭─[melt.toml:51:46]
    50 │ thermo = { every = 100 }
    51 │ trajectory = { path = "traj.extxyz", every = 5000 }
       ·                                              ────
       ╰────
     help: give at most 1000, or leave the trajectory out
    "#);
}

#[test]
fn zero_trajectory() {
    assert_snapshot!(error_after("every = 500", "every = 0"), @r#"
     × `output.trajectory.every` must be at least 1, found 0
       ╭─[melt.toml:51:46]
    50 │ thermo = { every = 100 }
    51 │ trajectory = { path = "traj.extxyz", every = 0 }
       ·                                              ─
       ╰────
     help: steps between two frames
    "#);
}

#[test]
fn trajectory_elsewhere() {
    assert_snapshot!(error_after("\"traj.extxyz\"", "\"../traj.extxyz\""), @r#"
     × `output.trajectory.path` must be a plain file name, found "../traj.extxyz"
       ╭─[melt.toml:51:23]
    50 │ thermo = { every = 100 }
    51 │ trajectory = { path = "../traj.extxyz", every = 500 }
       ·                       ────────────────
       ╰────
     help: it is put into `output.directory`, e.g. "traj.extxyz"
    "#);
}

#[test]
fn trajectory_without_extension() {
    assert_snapshot!(error_after("\"traj.extxyz\"", "\"traj\""), @r#"
     × `output.trajectory.path = "traj"` has no extension, which gives the format
       ╭─[melt.toml:51:23]
    50 │ thermo = { every = 100 }
    51 │ trajectory = { path = "traj", every = 500 }
       ·                       ──────
       ╰────
     help: available: `.extxyz`
    "#);
}

#[test]
fn grid_of_another_partition() {
    assert_snapshot!(error_after("partition = \"rect\"", "partition = \"stripe\"\ngrid = [2, 1, 1]"), @r#"
     × partition `stripe` takes no `grid`
       ╭─[melt.toml:46:1]
    45 │ partition = "stripe"
    46 │ grid = [2, 1, 1]
       · ────
    47 │ threads = 1
       ╰────
     help: leave it out, or use `partition = "rect"`
    "#);
}

#[test]
fn zero_grid() {
    assert_snapshot!(error_after("partition = \"rect\"", "grid = [2, 0, 1]"), @r#"
     × `parallel.grid[1]` must be at least 1, found 0
       ╭─[melt.toml:45:12]
    44 │ exchange = "direct"
    45 │ grid = [2, 0, 1]
       ·            ─
    46 │ threads = 1
       ╰────
     help: ranks along x, y and z; their product is the number of ranks
    "#);
}

#[test]
fn ranks_of_another_backend() {
    assert_snapshot!(error_after("backend = \"local\"", "backend = \"p2p\"\nranks = 4"), @r#"
     × `parallel.ranks = 4` needs backend `local`, found `p2p`
       ╭─[melt.toml:43:9]
    42 │ backend = "p2p"
    43 │ ranks = 4
       ·         ─
    44 │ shell = "half"
       ╰────
     help: start `mpirun -n 4` for `p2p`, or use `local`
    "#);
}

#[test]
fn zero_ranks() {
    assert_snapshot!(error_after("backend = \"local\"", "backend = \"local\"\nranks = 0"), @r#"
     × `parallel.ranks` must be at least 1, found 0
       ╭─[melt.toml:43:9]
    42 │ backend = "local"
    43 │ ranks = 0
       ·         ─
    44 │ shell = "half"
       ╰────
     help: ranks as threads of this process, for `local` only
    "#);
}

#[test]
fn zero_threads() {
    assert_snapshot!(error_after("threads = 1", "threads = 0"), @r#"
     × `parallel.threads` must be at least 1, found 0
       ╭─[melt.toml:46:11]
    45 │ partition = "rect"
    46 │ threads = 0
       ·           ─
    47 │ 
       ╰────
     help: threads per rank
    "#);
}

#[test]
fn zero_watchdog() {
    assert_snapshot!(error_after("threads = 1", "threads = 1\nwatchdog_s = 0.0"), @r"
     × `parallel.watchdog_s` must be a finite number above 0, found 0.0
       ╭─[melt.toml:47:14]
    46 │ threads = 1
    47 │ watchdog_s = 0.0
       ·              ───
    48 │ 
       ╰────
     help: seconds, the default is 60.0
    ");
}

#[test]
fn empty_directory() {
    assert_snapshot!(error_after("directory = \"out/lj-melt\"", "directory = \"\""), @r#"
     × `output.directory` is empty
       ╭─[melt.toml:49:13]
    48 │ [output]
    49 │ directory = ""
       ·             ──
    50 │ thermo = { every = 100 }
       ╰────
     help: give the folder of all files, for example "out"
    "#);
}

#[test]
fn mixed_precision_without_clusters() {
    let from = "method = \"clusters\"\nskin = 0.3\nrebuild = { every = 20 }\nprecision = \"double\"";
    let to = "method = \"cells\"\nskin = 0.3\nrebuild = { every = 20 }\nprecision = \"mixed\"";
    let text = error_after(from, to);
    assert!(text.contains("only `neighbor.method = \"clusters\"` computes in mixed precision"), "{text}");
    assert!(text.contains("help: use method `clusters`, or precision `double`"), "{text}");
    assert!(text.contains("[melt.toml:39:13]"), "{text}");
}

#[test]
fn metis_not_yet() {
    assert_snapshot!(error_after("partition = \"rect\"", "partition = \"metis\""), @r#"
     × `parallel.partition = "metis"` is not available yet
       ╭─[melt.toml:45:13]
    44 │ exchange = "direct"
    45 │ partition = "metis"
       ·             ───┬───
       ·                ╰── not available yet
    46 │ threads = 1
       ╰────
     help: available: `rect`, `stripe`
    "#);
}

#[test]
fn between_nodes_by_itself() {
    assert_snapshot!(error_after("backend = \"local\"", "backend = \"local\"\nbetween_nodes = \"shm\""), @r#"
     × `parallel.between_nodes = "shm"` cannot move messages between nodes by itself
       ╭─[melt.toml:43:17]
    42 │ backend = "local"
    43 │ between_nodes = "shm"
       ·                 ─────
    44 │ shell = "half"
       ╰────
     help: available: `p2p`, `p2p-persistent`, `neighbor-collective`, `rma-fence`, `rma-pscw`, `rma-
           lock`, `rma-lock-epoch`, `rma-barrier`, `rma-notify`, `rma-ring`
    "#);
}

/// The scenario with another backend and a table of options for it.
fn rma_error(backend: &str, option: &str) -> String {
    let text = MELT.replace("backend = \"local\"", &format!("backend = {backend:?}"));
    error(&text.replace("[output]", &format!("[parallel.rma]\n{option}\n\n[output]")))
}

#[test]
fn rma_option_of_a_backend_without_windows() {
    assert_snapshot!(rma_error("p2p", "window = \"create\""), @r#"
     × backend `p2p` does not take this `window`
       ╭─[melt.toml:49:10]
    48 │ [parallel.rma]
    49 │ window = "create"
       ·          ────────
    50 │ 
       ╰────
     help: the backend is two-sided: there is no window
    "#);
}

#[test]
fn rma_get_where_it_cannot_be() {
    assert_snapshot!(rma_error("rma-lock-epoch", "operation = \"get\""), @r#"
     × backend `rma-lock-epoch` does not take this `operation`
       ╭─[melt.toml:49:13]
    48 │ [parallel.rma]
    49 │ operation = "get"
       ·             ─────
    50 │ 
       ╰────
     help: its epoch has ended when the receiver is told, and a get needs an open one; `rma-fence`
           and `rma-lock` can get
    "#);
}

#[test]
fn rma_one_ring_in_many_windows() {
    assert_snapshot!(rma_error("rma-ring", "ring = \"shared\"\nwindows = \"per-edge\""), @r#"
     × backend `rma-ring` does not take this `windows`
       ╭─[melt.toml:50:11]
    49 │ ring = "shared"
    50 │ windows = "per-edge"
       ·           ──────────
    51 │ 
       ╰────
     help: all edges share one ring, so that there is nothing to divide among windows
    "#);
}

#[test]
fn rma_strict_polling_without_flags() {
    assert_snapshot!(rma_error("rma-lock", "polling = \"strict\""), @r#"
     × backend `rma-lock` does not take this `polling`
       ╭─[melt.toml:49:11]
    48 │ [parallel.rma]
    49 │ polling = "strict"
       ·           ────────
    50 │ 
       ╰────
     help: no flags are polled; `rma-notify` does
    "#);
}

#[test]
fn rma_slots_without_slots() {
    assert_snapshot!(rma_error("neighbor-collective", "slots = 1"), @r"
     × backend `neighbor-collective` does not take this `slots`
       ╭─[melt.toml:49:9]
    48 │ [parallel.rma]
    49 │ slots = 1
       ·         ─
    50 │ 
       ╰────
     help: the library keeps the buffers of a collective: there is no window
    ");
}

#[test]
fn rma_slots_out_of_range() {
    assert_snapshot!(rma_error("local", "slots = 3"), @r"
     × `parallel.rma.slots` must be 1 or 2, found 3
       ╭─[melt.toml:49:9]
    48 │ [parallel.rma]
    49 │ slots = 3
       ·         ─
    50 │ 
       ╰────
     help: 2 is double buffering, the default
    ");
}

#[test]
fn rma_unknown_value() {
    assert_snapshot!(rma_error("rma-fence", "window = \"created\""), @r#"
     × `parallel.rma.window` cannot be "created"
       ╭─[melt.toml:49:10]
    48 │ [parallel.rma]
    49 │ window = "created"
       ·          ────┬────
       ·              ╰── unknown name
    50 │ 
       ╰────
     help: did you mean `create`? Allowed: `allocate`, `create`, `dynamic`
    "#);
}

#[test]
fn checkpoint_not_yet() {
    assert_snapshot!(error_after("directory = \"out/lj-melt\"", "directory = \"out/lj-melt\"\ncheckpoint = { every = 1000 }"), @r#"
     × `output.checkpoint` is not available yet
       ╭─[melt.toml:50:1]
    49 │ directory = "out/lj-melt"
    50 │ checkpoint = { every = 1000 }
       · ──────────
    51 │ thermo = { every = 100 }
       ╰────
     help: leave the key out: a run cannot be resumed yet
    "#);
}

#[test]
fn trajectory_format_not_yet() {
    assert_snapshot!(error_after("\"traj.extxyz\"", "\"traj.lammpstrj\""), @r#"
     × `output.trajectory.path = "traj.lammpstrj"` is not available yet
       ╭─[melt.toml:51:23]
    50 │ thermo = { every = 100 }
    51 │ trajectory = { path = "traj.lammpstrj", every = 500 }
       ·                       ────────┬───────
       ·                               ╰── not available yet
       ╰────
     help: the extension gives the format; available: `.extxyz`
    "#);
}

#[test]
fn missing_table() {
    assert_snapshot!(error("[simulation]\nsteps = 10\n"), @r"
    × melt.toml: missing table [system]
    help: `system`, a table: Where the particles come from.
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

#[test]
fn two_layers_in_2d() {
    assert_snapshot!(error(&layer("[8, 8, 2]", "periodic")), @r#"
     × a 2D lattice has one layer, found 2 cells in z
      ╭─[melt.toml:5:57]
    4 │ [system]
    5 │ lattice = { kind = "hex", density = 0.8, cells = [8, 8, 2] }
      ·                                                         ─
    6 │ boundary = ["periodic", "periodic", "periodic"]
      ╰────
     help: write `cells = [8, 8, 1]`
    "#);
}

#[test]
fn reflecting_in_z_in_2d() {
    assert_snapshot!(error(&layer("[8, 8, 1]", "reflecting")), @r#"
     × a 2D simulation has no motion in z, so nothing can be reflected there
      ╭─[melt.toml:6:37]
    5 │ lattice = { kind = "hex", density = 0.8, cells = [8, 8, 1] }
    6 │ boundary = ["periodic", "periodic", "reflecting"]
      ·                                     ────────────
      ╰────
     help: write "periodic" as the third boundary
    "#);
}

#[test]
fn grid_in_z_in_2d() {
    assert_snapshot!(error(&(layer("[8, 8, 1]", "periodic") + "[parallel]\ngrid = [1, 1, 2]\n")), @r"
     × a 2D simulation cannot be divided in z, found 2 ranks there
      ╭─[melt.toml:8:15]
    7 │ [parallel]
    8 │ grid = [1, 1, 2]
      ·               ─
      ╰────
     help: write `grid = [1, 1, 1]`
    ");
}

#[test]
fn override_unknown_key() {
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
fn override_wrong_type() {
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
fn override_unknown_name() {
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
fn override_bad_value() {
    assert_snapshot!(error_with(&["simulation.steps=10", "simulation.steps=0"]), @r"
     × `simulation.steps` must be at least 1, found 0
      ╭─[command line:1:24]
    1 │ --set simulation.steps=0
      ·                        ─
      ╰────
     help: `md-cli forces` evaluates the forces of the initial state without motion
    ");
}

#[test]
fn override_of_a_species() {
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
fn override_outside_an_array() {
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
fn override_through_a_number() {
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
fn override_without_equals_sign() {
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
fn override_without_value() {
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
fn override_with_a_bad_path() {
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
fn override_makes_a_table_without_a_key() {
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
fn override_clashes_with_the_file() {
    assert_snapshot!(error_with(&["neighbor.rebuild.displacement=true"]), @r"
     × both `every` and `displacement` are given
      ╭─[command line:1:37]
    1 │ --set neighbor.rebuild.displacement=true
      ·                                     ────
      ╰────
     help: write `rebuild = { every = 20 }` or `rebuild = { displacement = true }`
    ");
}

#[test]
fn override_does_not_hide_a_fault_of_the_file() {
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
