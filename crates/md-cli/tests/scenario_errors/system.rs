//! `[system]`

use insta::assert_snapshot;

use crate::scenario_common::{error, error_after, layer};

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
fn a_wall_where_the_box_is_periodic() {
    let wall = "boundary = [\"periodic\", \"periodic\", \"periodic\"]\nwalls = [{ axis = \"z\" }]";
    assert_snapshot!(error_after("boundary = [\"periodic\", \"periodic\", \"periodic\"]", wall), @r#"
     × a wall across z, where `system.boundary` is periodic
       ╭─[melt.toml:12:19]
    11 │ boundary = ["periodic", "periodic", "periodic"]
    12 │ walls = [{ axis = "z" }]
       ·                   ───
    13 │ 
       ╰────
     help: write "reflecting" as the boundary along z: nothing passes the wall
    "#);
}

#[test]
fn two_walls_at_a_face() {
    let wall = "boundary = [\"periodic\", \"periodic\", \"reflecting\"]\nwalls = [{ axis = \"z\" }, { axis = \"z\", side = \"low\" }]";
    assert_snapshot!(error_after("boundary = [\"periodic\", \"periodic\", \"periodic\"]", wall), @r#"
     × two walls stand at the same face across z
       ╭─[melt.toml:12:35]
    11 │ boundary = ["periodic", "periodic", "reflecting"]
    12 │ walls = [{ axis = "z" }, { axis = "z", side = "low" }]
       ·                                   ───
    13 │ 
       ╰────
     help: one wall per face
    "#);
}

#[test]
fn a_wall_without_size() {
    let wall =
        "boundary = [\"periodic\", \"periodic\", \"reflecting\"]\nwalls = [{ axis = \"z\", sigma = 0.0 }]";
    assert_snapshot!(error_after("boundary = [\"periodic\", \"periodic\", \"periodic\"]", wall), @r#"
     × `system.walls[0].sigma` must be a finite number above 0, found 0.0
       ╭─[melt.toml:12:32]
    11 │ boundary = ["periodic", "periodic", "reflecting"]
    12 │ walls = [{ axis = "z", sigma = 0.0 }]
       ·                                ───
    13 │ 
       ╰────
     help: the default is 1.0
    "#);
}

const LATTICE: &str = "lattice = { kind = \"fcc\", density = 0.8442, cells = [20, 20, 20] }";

#[test]
fn a_gas_that_is_too_dense() {
    let gas = "gas = { atoms = 1000, density = 0.9, minimal_distance = 0.95 }";
    assert_snapshot!(error_after(LATTICE, gas), @r#"
     × 1000 particles 0.95 apart would fill 0.77 of the box (particles times the distance to the
     │ power of 3, per volume), more than 0.5
       ╭─[melt.toml:9:57]
     8 │ [system]
     9 │ gas = { atoms = 1000, density = 0.9, minimal_distance = 0.95 }
       ·                                                         ────
    10 │ temperature = 1.44
       ╰────
     help: a smaller distance, a lower density, or a lattice
    "#);
}

#[test]
fn a_gas_without_a_box() {
    assert_snapshot!(error_after(LATTICE, "gas = { atoms = 1000 }"), @r#"
     × the gas has neither `density` nor `box`
       ╭─[melt.toml:9:7]
     8 │ [system]
     9 │ gas = { atoms = 1000 }
       ·       ────────────────
    10 │ temperature = 1.44
       ╰────
     help: give one, for example `density = 0.1`
    "#);
}

#[test]
fn a_region_beyond_the_box() {
    let lattice = "{ kind = \"sc\", spacing = 1.2, low = [0.0, 0.0, 2.0], high = [9.0, 9.0, 12.0] }";
    assert_snapshot!(error_after(LATTICE, &format!("regions = {{ box = [9.0, 9.0, 11.0], lattices = [{lattice}] }}")), @r#"
     × `system.regions.lattices[0].high[2]` is 12.0, not between 2.0, where the region begins, and
     │ 11.0
       ╭─[melt.toml:9:120]
     8 │ [system]
     9 │ regions = { box = [9.0, 9.0, 11.0], lattices = [{ kind = "sc", spacing = 1.2, low = [0.0, 0.0, 2.0], high = [9.0, 9.0, 12.0] }] }
       ·                                                                                                                        ────
    10 │ temperature = 1.44
       ╰────
     help: a region lies in the box and has its lower corner below its upper one
    "#);
}

#[test]
fn no_copies_of_a_file() {
    let file = "file = { path = \"a.data\", format = \"lammps-data\", replicate = [2, 0, 1] }";
    assert_snapshot!(error_after(LATTICE, file), @r#"
     × `system.file.replicate[1]` must be at least 1, found 0
       ╭─[melt.toml:9:67]
     8 │ [system]
     9 │ file = { path = "a.data", format = "lammps-data", replicate = [2, 0, 1] }
       ·                                                                   ─
    10 │ temperature = 1.44
       ╰────
     help: copies along x, y and z
    "#);
}

#[test]
fn two_sources_that_are_made() {
    let two = format!("{LATTICE}\ngas = {{ atoms = 1000, density = 0.1 }}");
    assert_snapshot!(error_after(LATTICE, &two), @r#"
     × both `system.lattice` and `system.gas` are given
       ╭─[melt.toml:10:1]
     9 │ lattice = { kind = "fcc", density = 0.8442, cells = [20, 20, 20] }
    10 │ gas = { atoms = 1000, density = 0.1 }
       · ───
    11 │ temperature = 1.44
       ╰────
     help: keep one source of particles
    "#);
}
